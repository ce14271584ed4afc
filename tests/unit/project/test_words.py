"""The texts on the way into vtax speak as its docs are to speak: tests/helpers/words.py has the patterns."""

import io
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import typer.main
import yaml
from rich.console import Console

from tests.helpers.paths import ROOT
from tests.helpers.results.forwarding import blocks, make
from tests.helpers.words import offences, printed
from vtax import views
from vtax.cli import app

PACKAGE = ROOT / "vtax"


@pytest.mark.parametrize(
    ("refused", "better"),
    [
        ("What of each was run where", "Test status by platform"),
        (
            "They take no absolute value for another machine's",
            "Absolute values do not transfer to other machines",
        ),
        ("their values say nothing of KVM", "they do not indicate KVM performance"),
        ("the machine below stole time", "the hypervisor below took CPU time (steal)"),
        ("Largest mean; the interval allows for picking it.", "Highest mean, corrected for selection."),
        ("shows no difference beyond ±5.23 µs", "+2.29 µs, not significant (−0.64 to +5.23)"),
        ("On the thin diagonal all that is offered arrives.", "Thin diagonal: no loss."),
        ("Overload: not both carried it in full.", "Overload: at least one platform lost frames."),
        ("100 with fewer than 8 campaigns and so not asked", "100 series skipped: fewer than 8 campaigns"),
        ("repeats no paper that has claims", "this scenario does not reproduce a paper"),
        ('key "workload" again; it stands at line 3', 'duplicate key "workload", first defined at line 3'),
        ("without this file the next run tries again", "delete this file to test KVM again"),
        ("How much longer has a host a packet?", "How does the host's packet delay grow?"),
        ("one that dies is told of with its last words", "if one dies, vtax reports its last output"),
        ("it takes all rights from itself", "it drops all capabilities"),
        ("lost ones count as beyond all others", "lost probes count as later than any received one"),
        ("The same of bulk streams.", "Return the goodput of each bulk stream, in Mbit/s."),
        ("What this machine can measure", "What can this machine measure?"),
        ("word " * 26, "word " * 25),
    ],
)
def test_a_pattern_refuses_what_it_names_and_not_what_is_better(refused: str, better: str) -> None:
    assert list(offences(refused)) != []
    assert list(offences(better)) == []


def helps(command: click.Command, name: str = "vtax") -> Iterator[tuple[str, list[str]]]:
    """Each command's texts under `--help`."""
    options = (getattr(parameter, "help", None) for parameter in command.params)
    yield name, [text for text in (command.help, *options) if text]
    for sub in getattr(command, "commands", {}).values():
        yield from helps(sub, f"{name} {sub.name}")


HELPS = dict(helps(typer.main.get_command(app)))
TO_BE_REWRITTEN = pytest.mark.xfail(strict=True, reason="is still to be rewritten")


@pytest.mark.parametrize(
    "command", [pytest.param(name, marks=TO_BE_REWRITTEN if name == "vtax compare" else ()) for name in HELPS]
)
def test_what_a_command_says_of_itself(command: str) -> None:
    assert {text: found for text in HELPS[command] if (found := list(offences(text)))} == {}


@pytest.mark.parametrize("kind", ["scenarios", "platforms"])
def test_titles_and_questions(kind: str) -> None:
    documents = [yaml.safe_load(path.read_text()) for path in (PACKAGE / "data" / kind).rglob("*.yaml")]
    texts = [
        document[key]
        for document in documents
        for key in ("title", "question", "untried")
        if isinstance(document, dict) and key in document
    ]
    assert len(texts) > 20
    assert {text: found for text in texts if (found := list(offences(text)))} == {}


@pytest.mark.parametrize("module", sorted((PACKAGE / "doctor").glob("*.py")), ids=lambda path: path.stem)
def test_what_the_doctor_prints(module: Path) -> None:
    assert {text: found for text in printed(module) if (found := list(offences(text)))} == {}


@TO_BE_REWRITTEN
def test_what_the_demo_prints(tmp_path: Path) -> None:
    trials = [trial for name in ("raw", "container") for trial in blocks([50.0, 51.0], platform=name)]
    emulated = blocks([5.0, 6.0], platform="qemu-virtio", emulated=True)
    result = make(tmp_path / "result", [*trials, *emulated], shared_core=True)
    views.show(result, Console(file=(stream := io.StringIO()), width=10_000))
    lines = [*stream.getvalue().splitlines(), *printed(PACKAGE / "commands/run.py")]
    assert {line: found for line in lines if (found := list(offences(line)))} == {}


@TO_BE_REWRITTEN
def test_the_readme() -> None:
    text = (ROOT / "README.md").read_text()
    paragraphs = [" ".join(paragraph.split()) for paragraph in text.split("\n\n")]
    assert {text: found for text in paragraphs if (found := list(offences(text)))} == {}
    assert max(map(len, text.splitlines())) <= 120
