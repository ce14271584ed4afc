"""A scenario that has been checked: its file, its grid, and where each of its values came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from vtax.inputs import Document, InputError, advised, suggestion, validate
from vtax.inputs.beneath import read_beneath
from vtax.keys.cell import Cell
from vtax.keys.fields import Scalar
from vtax.results.stored import adaptive_key
from vtax.scenario.grid import Factor, expand, place, read_factors, refusal
from vtax.scenario.modes import check_modes
from vtax.scenario.names import Key
from vtax.scenario.overrides import apply_overrides, apply_turns
from vtax.scenario.schema import ScenarioFile

MOST_FILE_BYTES = 4 << 20
"""Of a file that programs find beside them: a script, a configuration, a program."""


@dataclass(frozen=True)
class Scenario:
    """What to measure. Every instance is valid: each cell of its grid can be built and sent.

    `file` holds the keys as written, `factors` the grid's axes in order.
    """

    file: ScenarioFile
    factors: tuple[Factor, ...]
    beside: Path
    """Where the files are that it names."""
    _document: Document
    _cells: tuple[Cell, ...]

    @classmethod
    def from_document(cls, document: Document, beside: Path | None = None) -> "Scenario":
        """The scenario in `document`; InputError with the position of what is wrong in it.

        The files that it names are `beside` the document, or in that directory.
        """
        file = validate(ScenarioFile, document)
        factors = read_factors(document, file)
        cells = expand(document, file, factors)
        check_modes(document, file, factors, cells)
        return cls(file, factors, beside or document.path.parent, document, cells)

    @classmethod
    def from_resolved(
        cls, resolved: dict[str, JsonValue], path: Path = Path("campaign.json"), beside: Path | None = None
    ) -> "Scenario":
        """The scenario that `resolved()` gave; `path` is named in errors."""
        return cls.from_document(Document(path, resolved), beside)

    @property
    def name(self) -> str:
        """Its name, as `schlosser2011/dedicated`."""
        return self.file.name

    @property
    def repetitions(self) -> int:
        """Trials of every cell, at most so many with `precision`; searches of every cell with `search`."""
        return self.file.repetitions

    @property
    def adaptive_key(self) -> str | None:
        """The key that has the values decide how many repetitions there are; None without one."""
        return adaptive_key(self.file.model_dump(include={"precision", "ab"}))

    @property
    def trials(self) -> int | None:
        """Trials in all; None where that is decided by what they show."""
        adaptive = self.adaptive_key or self.file.search
        return (
            None
            if adaptive
            else self.repetitions * sum(cell.workload.trials_in_a_row for cell in self._cells)
        )

    @property
    def platforms(self) -> list[str]:
        """The presets that are compared, in the scenario's order."""
        return [
            str(value) for factor in self.factors if factor.column == "platform" for value in factor.values
        ]

    @property
    def chooses_loads(self) -> bool:
        """Whether the loads of trials are chosen for what earlier ones showed, and are not their cells'."""
        return self.file.search is not None

    def cells(self) -> list[Cell]:
        """The grid, the last factor varying fastest."""
        return list(self._cells)

    def resolved(self) -> dict[str, JsonValue]:
        """The scenario as JSON values, defaults and overrides included."""
        return self.file.model_dump(mode="json")

    def described(self) -> dict[str, JsonValue]:
        """What campaign.json has of it: what it is, and what a trial of it records."""
        cell = self._cells[0]
        return {
            "name": self.name,
            "scenario": self.resolved(),
            "factors": list(cell.factors),
            "columns": [column.as_json() for column in cell.workload.columns()],
        }

    def override(
        self,
        platforms: list[str] | None = None,
        sets: list[str] | None = None,
        repetitions: int | None = None,
        duration_s: float | None = None,
    ) -> "Scenario":
        """A scenario with the command line's changes, checked as a file is.

        `sets` are texts `KEY=V1,V2`: a list makes KEY a factor, a single value fixes it.
        """
        document = apply_overrides(self._document, platforms or [], sets or [], repetitions, duration_s)
        return Scenario.from_document(document, self.beside)

    def by_turns(self, factor: str, fail_on: str, blocks: int, budget_s: float | None) -> "Scenario":
        """A scenario that measures two levels of a factor by turns, in at most so many blocks.

        `factor` is a text `KEY=A,B`, of which A is the reference, `fail_on` the rules that end it. Without a budget all
        blocks are measured, and the rules are judged at their end.
        """
        document = apply_turns(self._document, factor, fail_on, blocks, budget_s)
        return Scenario.from_document(document, self.beside)

    def check_figures(self, known: Sequence[str]) -> None:
        """Refuse a figure that is not among `known`, those that views can draw."""
        for index, name in enumerate(self.file.figures):
            if name not in known:
                problem = advised(
                    f'no figure "{name}"', suggestion(name, known), f"allowed: {', '.join(known)}"
                )
                raise self._document.error(("figures", index), problem)

    def files(self) -> dict[str, bytes]:
        """What is in the files that it names, by their names; InputError for one that cannot be read or used."""
        found: dict[str, bytes] = {}
        for index, name in enumerate(self.file.workload.own_files()):
            loc = ("workload", "files", index)
            if name in found:
                raise self._document.error(loc, f"{name} is in the list twice")
            try:
                found[name] = read_beneath(self.beside, name, MOST_FILE_BYTES)
            except InputError as error:
                raise self._document.error(loc, str(error)) from None
        return found

    def where(self, *loc: str | int) -> str:
        """Where the value at `loc` was given: `file:line`, or the option as it was typed."""
        return self._document.where(loc)

    def is_typed(self, key: str, value: Scalar | None = None) -> bool:
        """Whether an option of the command line gave `value` to the factor or dotted key `key`.

        Of a key whose values are no factor's, None stands for its value.
        """
        return self._document.is_typed(place(self.factors, Key.parse(key), value))

    def where_value(self, key: str, value: Scalar | None = None) -> str:
        """Where that value was given; see `where`."""
        return self._document.where(place(self.factors, Key.parse(key), value))

    def error(self, key: str, value: Scalar, problem: str) -> InputError:
        """An error about `value` of the factor or dotted key `key`, at the place where it was given."""
        return refusal(self._document, self.factors, Key.parse(key), value, problem)
