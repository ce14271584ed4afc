"""docs/scenario.md against the schema: every key, its bounds, its default and its meaning, and a true example."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from tests.helpers.paths import ROOT
from vtax.inputs import allowed
from vtax.keys.encapsulation import TAG_BYTES
from vtax.keys.fields import Keys, marked
from vtax.keys.testbed import TestbedSettings
from vtax.registry.keys import KINDS
from vtax.scenario import Ab, Precision, ScenarioFile, Search, load_scenario
from vtax.scenario.grid import MAX_CELLS
from vtax.scenario.names import PLATFORM_NAMES, SHORT_NAMES
from vtax.scenario.schema import Source
from vtax.views import figure_names
from vtax.workloads.forwarding.keys import (
    FRAME_BYTES_BEYOND_MTU,
    GREATEST_FRAME_BYTES,
    LEAST_FRAME_BYTES,
    Forwarding,
)

DOCUMENT = ROOT / "docs" / "scenario.md"
PAGE = DOCUMENT.read_text()


def section(title: str) -> str:
    """The text below the heading that begins with `title`."""
    (found,) = re.findall(rf"^## {re.escape(title)}.*?\n(.*?)(?=^## |\Z)", PAGE, re.M | re.S)
    return str(found)


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| `")]


def row(name: str, model: type[BaseModel]) -> str:
    """The document's row of a key, as the schema has it."""
    field = model.model_fields[name]
    if field.is_required():
        default = "required"
    else:
        given = field.get_default(call_default_factory=True)
        default = WRITTEN.get((name, given is None), f"`{str(given).lower()}`")
    star = " *" if issubclass(model, Keys) and name in marked(model, "short") else ""
    return f"| `{name}`{star} | {allowed(field)} | {default} | {field.description} |"


WRITTEN = {
    ("intended_mbps", True): "`max`",
    ("link_mbps", True): "`unlimited`",
    ("vlan", True): "`none`",
    ("cap_mbps", True): "`none`",
    ("intended_goodput_mbps", True): "`max`",
    ("message_bytes", True): "`default`",
    ("response_bytes", True): "`equal`",
    ("buffer_bytes", True): "`default`",
    ("source", True): "none",
    ("testbed", False): "its defaults",
    ("platform", False): "none",
    ("figures", False): "none",
    ("files", False): "none",
    ("packages", False): "none",
    ("precision", True): "none",
    ("search", True): "none",
    ("ab", True): "none",
    ("budget_s", True): "none",
    ("goals", False): "NDR 0, PDR 0.005",
    ("max_mbps", True): "`link`",
}


@pytest.mark.parametrize(
    ("title", "model"),
    [
        ("Keys of a scenario", ScenarioFile),
        *((f"`workload` of kind `{kind}`", model) for kind, model in KINDS.items()),
        ("`precision`", Precision),
        ("`search`", Search),
        ("`ab`", Ab),
        ("`testbed`", TestbedSettings),
        ("`source`", Source),
    ],
)
def test_every_key_stands_there_as_the_schema_has_it(title: str, model: type[BaseModel]) -> None:
    assert rows(section(title)) == [row(name, model) for name in model.model_fields]


def test_every_figure_stands_there() -> None:
    documented = [line.split("`")[1] for line in rows(section("`figures`"))]
    assert sorted(documented) == figure_names()


@pytest.mark.parametrize("model", [ScenarioFile, *KINDS.values(), Ab, Precision, Search, TestbedSettings])
def test_what_is_allowed_in_words_is_what_the_schema_enforces(model: type[BaseModel]) -> None:
    bounds = {
        name: [
            f"{getattr(constraint, kind)}"
            for constraint in field.metadata
            for kind in ("ge", "gt", "le")
            if hasattr(constraint, kind)
        ]
        for name, field in model.model_fields.items()
    }
    if model is Forwarding:
        largest_mtu = max(
            int(number) for number in re.findall(r"\d+", allowed(TestbedSettings.model_fields["mtu"]))
        )
        assert largest_mtu + FRAME_BYTES_BEYOND_MTU + TAG_BYTES == GREATEST_FRAME_BYTES
        assert f"{LEAST_FRAME_BYTES} to testbed.mtu" in allowed(model.model_fields["frame_bytes"])
    for name, numbers in bounds.items():
        words = re.findall(r"[\d.]+", allowed(model.model_fields[name]))
        assert all(number in words for number in numbers), name


def test_every_short_name_stands_there() -> None:
    expected = [
        f"| `{short}` | `{dotted}` |" for short, dotted in SHORT_NAMES.items() if short in PLATFORM_NAMES
    ]
    assert rows(section("`factors`")) == expected


def test_the_bound_of_the_grid_stands_there() -> None:
    assert f"at most\n{MAX_CELLS} cells" in section("`factors`")


def test_the_example_is_a_scenario(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.S)
    path = tmp_path / "small-packets.yaml"
    path.write_text(example)
    scenario = load_scenario(str(path))
    changed = scenario.override(["raw", "qemu-e1000"], ["intended_mbps=10,20,40"], repetitions=3)
    assert (len(scenario.cells()), len(changed.cells())) == (9, 6)
