"""docs/adding-a-platform.md: the kind that it builds is whole, starts, and passes the tests that it shows.

docs/platforms.md: what of each preset was run.
"""

import re

from tests.helpers.paths import ROOT
from vtax.platforms import presets

TABLE = ROOT / "docs/platforms.md"
DOCUMENT = ROOT / "docs/adding-a-platform.md"


def test_every_preset_is_in_the_table_of_what_was_run() -> None:
    """A row each: what of it, where, and when. What doctor says of one that was not is said there in the same words."""
    table = re.findall(
        r"^\| ([a-z0-9-]+)(?::\S+)? \| (.*)$", TABLE.read_text().partition("**Switches**")[0], re.MULTILINE
    )
    rows = {name: row for name, row in table if name != "platform"}
    assert rows.keys() == presets().keys()
    for name, preset in presets().items():
        what, where, when, *_ = rows[name].split(" | ")
        assert what.startswith(preset.untried or ("frames forwarded", "the same", "nothing: "))
        assert re.fullmatch(r"(here|emulated host|simulator) \w+ 20\d\d|– –", f"{where} {when}"), name


def test_its_excerpt_stands_in_the_code() -> None:
    (excerpt,) = re.findall(r"`container.py`:\n\n```python\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    code = " ".join((ROOT / "vtax/platforms/container.py").read_text().split())
    assert " ".join(excerpt.split()) in code
