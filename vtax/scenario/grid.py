"""The grid: every combination of the factors' values, each resolved to what a trial needs."""

import itertools
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from vtax.inputs import Document, InputError, Loc, problems
from vtax.keys.cell import Cell
from vtax.keys.fields import Scalar
from vtax.keys.testbed import TestbedSettings
from vtax.registry.keys import KINDS
from vtax.scenario.names import SECTIONS, Key, Section
from vtax.scenario.schema import ScenarioFile
from vtax.scenario.switches import switch_refusals

MAX_CELLS = 100_000


@dataclass(frozen=True)
class Factor:
    """A factor of the grid: what it varies, its values in the scenario's order, and where it is written."""

    key: Key
    values: tuple[Scalar, ...]
    loc: Loc

    @property
    def column(self) -> str:
        """Its name in cells and tables."""
        return self.key.column


def read_factors(document: Document, file: ScenarioFile) -> tuple[Factor, ...]:
    """The factors of `file`, each value checked by itself; InputError at the first that fails."""
    factors: dict[Key, Factor] = {}
    base = _base(file)
    for name, values in file.factors.items():
        loc = ("factors", name)
        try:
            key = Key.parse(name)
        except ValueError as error:
            raise document.error(loc, str(error)) from None
        if key in factors:
            raise document.error(loc, f"the same factor as {factors[key].loc[-1]}; keep one of them")
        factors[key] = Factor(key, tuple(values), loc)
        _check_values(document, base, file.workload.kind, factors[key])
    if Key("preset", "platform") not in factors:
        raise document.error(
            ("factors",), "platform is missing; name one preset at least, as in platform: [raw]"
        )
    return tuple(factors.values())


def expand(document: Document, file: ScenarioFile, factors: Sequence[Factor]) -> tuple[Cell, ...]:
    """The cells of the grid, the last factor varying fastest; InputError at an impossible combination."""
    count = math.prod(len(factor.values) for factor in factors)
    if count > MAX_CELLS:
        raise document.error(("factors",), f"the grid has {count} cells; allowed: at most {MAX_CELLS}")
    return tuple(_cells(document, file, factors))


def refusal(
    document: Document, factors: Sequence[Factor], key: Key, value: Scalar, problem: str
) -> InputError:
    """An error about `value` of `key`, at that value of a factor or else at the scenario's base value."""
    return document.error(place(factors, key, value), problem)


def place(factors: Sequence[Factor], key: Key, value: Scalar | None) -> Loc:
    """Where `value` of `key` stands: among a factor's values, or else as the scenario's base value."""
    for factor in factors:
        texts = [text(candidate) for candidate in factor.values]
        if factor.key == key and value is not None and text(value) in texts:
            return (*factor.loc, texts.index(text(value)))
    return key.section, key.name


def text(value: Scalar) -> str:
    """A factor's value as it stands in keys: quoted only where it could be taken for something else."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str) and not re.fullmatch(r"[^\s=\"]+", value):
        return json.dumps(value)
    return str(value)


def _cells(document: Document, file: ScenarioFile, factors: Sequence[Factor]) -> Iterator[Cell]:
    base, kind = _base(file), KINDS[file.workload.kind]
    for values in itertools.product(*(factor.values for factor in factors)):
        chosen = list(zip(factors, values, strict=True))
        given: dict[Section, dict[str, Scalar]] = {section: {} for section in SECTIONS}
        for factor, value in chosen:
            given[factor.key.section][factor.key.name] = value
        cell = Cell(
            key=" ".join(_assignment(factor, value) for factor, value in chosen),
            factors={factor.column: _column_value(factor, value) for factor, value in chosen},
            workload=kind.model_validate(base["workload"] | given["workload"]),
            testbed=TestbedSettings.model_validate(base["testbed"] | given["testbed"]),
            platform=str(given["preset"]["platform"]),
            platform_overrides=file.platform | given["platform"],
            plot=" ".join(_assignment(factor, value) for factor, value in chosen if factor.key.whole_plot),
        )
        _check_cell(document, factors, cell)
        yield cell


def _check_cell(document: Document, factors: Sequence[Factor], cell: Cell) -> None:
    """Raise InputError for a combination that cannot be sent."""
    testbed = cell.testbed
    if testbed.guests > 1 and not testbed.is_shared:
        problem = f"{testbed.guests} guests need one link that they share; allowed: shared"
        raise refusal(document, factors, Key("testbed", "uplink"), testbed.uplink, problem)
    if testbed.is_shared and testbed.has_neighbours:
        problem = "neighbours of guests behind a shared uplink are more of these; allowed: none, or uplink: dedicated"
        raise refusal(document, factors, Key("testbed", "neighbours"), testbed.neighbours, problem)
    if testbed.is_shared and testbed.cap_mbps is not None:
        problem = "guests behind a shared uplink have no port of their own; allowed: none"
        raise refusal(document, factors, Key("testbed", "cap_mbps"), testbed.cap_mbps, problem)
    refusals = (*cell.workload.refusals(testbed), *switch_refusals(testbed, cell.workload))
    for section, name, value, problem in refusals:
        raise refusal(document, factors, Key(section, name), value, problem)


def _base(file: ScenarioFile) -> dict[Section, dict[str, JsonValue]]:
    """The keys of models where no factor says otherwise, as they are written in a file."""
    written = file.model_dump(mode="json")
    return {"workload": written["workload"], "testbed": written["testbed"]}


def _assignment(factor: Factor, value: Scalar) -> str:
    return f"{factor.column}={text(value)}"


def _column_value(factor: Factor, value: Scalar) -> Scalar | None:
    """None where the column is one of numbers and the value none: the flood's load, a mix's length."""
    numeric = factor.key in (Key("workload", "intended_mbps"), Key("workload", "frame_bytes"))
    return None if numeric and isinstance(value, str) else value


def _check_values(
    document: Document, base: dict[Section, dict[str, JsonValue]], kind: str, factor: Factor
) -> None:
    model = factor.key.model(kind)
    if model is not None and factor.key.name not in model.model_fields:
        names = ", ".join(name for name in model.model_fields if name != "kind")
        raise document.error(factor.loc, f"{kind} workloads have no such key; allowed: {names}")
    if not factor.values:
        raise document.error(factor.loc, "the list is empty; name one value at least")
    seen: set[str] = set()
    for index, value in enumerate(factor.values):
        loc = (*factor.loc, index)
        if text(value) in seen:
            raise document.error(loc, f"{text(value)} is in the list twice")
        seen.add(text(value))
        if model is not None:
            for _, problem in problems(model, base[factor.key.section] | {factor.key.name: value}):
                raise document.error(loc, problem)
        elif factor.key.section == "preset" and (not value or not isinstance(value, str)):
            raise document.error(loc, f"{text(value)} is not the name of a platform preset")
