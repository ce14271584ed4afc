"""Finding scenarios: by name among those that come with vtax, or by path."""

from dataclasses import dataclass
from pathlib import Path

from vtax.inputs import InputError, advised, closest, one_line, read_document, suggestion
from vtax.scenario.scenario import Scenario

SCENARIOS = Path(__file__).parent.parent / "data" / "scenarios"
CLAIMS = "claims.yaml"
"""The file beside a paper's scenarios that is none itself."""


@dataclass(frozen=True)
class ScenarioSummary:
    """A line of `vtax list scenarios`."""

    name: str
    title: str
    question: str
    cells: int
    trials: int | None
    """None where it is decided by what they show."""


def load_scenario(name_or_path: str) -> Scenario:
    """The scenario of that name, or else in the file at that path; loading runs nothing."""
    named = _named()
    if name_or_path in named:
        return Scenario.from_document(read_document(named[name_or_path]))
    path = Path(name_or_path)
    if path.exists() or path.suffix in {".yaml", ".yml"}:
        return Scenario.from_document(read_document(path))
    endings = {name.rpartition("/")[2]: name for name in named}
    near = suggestion(endings.get(closest(name_or_path, endings), name_or_path), named)
    others = "vtax list scenarios prints them all; a file of your own is named by its path"
    raise InputError(advised(f'no scenario "{one_line(name_or_path)}"', near, others))


def list_scenarios() -> list[ScenarioSummary]:
    """The scenarios that come with vtax, by name."""
    scenarios = [Scenario.from_document(read_document(path)) for path in _named().values()]
    return [
        ScenarioSummary(
            name=scenario.name,
            title=scenario.file.title,
            question=scenario.file.question,
            cells=len(scenario.cells()),
            trials=scenario.trials,
        )
        for scenario in scenarios
    ]


def _named() -> dict[str, Path]:
    paths = sorted(path for path in SCENARIOS.rglob("*.yaml") if path.name != CLAIMS)
    return {path.relative_to(SCENARIOS).with_suffix("").as_posix(): path for path in paths}
