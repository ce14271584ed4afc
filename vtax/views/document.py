"""View data as the document of `vtax show`."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import asdict
from pydantic import JsonValue

from vtax.documents.base import Part
from vtax.documents.show import Show
from vtax.model.against import Added
from vtax.model.cell import Cell
from vtax.model.levels import Setting
from vtax.model.metric import Metric
from vtax.views.claims.document import claim_rows
from vtax.views.diagnosis.document import diagnosed_cells
from vtax.views.stream_cells import StreamCell
from vtax.views.summary import Summary
from vtax.views.verdicts import CellVerdict

MADE = ("format_version", "diagnosis", "cells", "added", "claims")
"""Fields of the document that are no field of a summary or its facets by the same name."""


def summary_document(summary: Summary) -> Show:
    """Return the document of `vtax show`."""
    shown = summary.catalogue.shown
    of_summary = {
        field.name: getattr(part, field.name)
        for part in (summary, *summary.facets)
        for field in dataclasses.fields(part)
    }
    found = {name: _json(of_summary[name]) for name in Show.model_fields if name not in MADE}
    return Show.model_validate(
        {
            **found,
            "diagnosis": diagnosed_cells(summary.diagnosis),
            "cells": [_cell(cell, shown) for cell in summary.measured],
            "added": {name: [_added(row) for row in rows] for name, rows in summary.added.items()},
            "claims": claim_rows(summary.claims),
        }
    )


def _cell(cell: Cell, metrics: Sequence[Metric]) -> JsonValue:
    """A cell with its metrics' estimates, by the names of their columns."""
    return {
        "key": cell.key,
        "platform": cell.platform,
        "uut_context": cell.uut_context,
        "setting": _json(cell.setting),
        "level": {**cell.level_by_column},
        "recorded": cell.recorded,
        "suspect": cell.suspect,
        "invalid": cell.invalid,
        "left_out": cell.left_out,
        "marks": {**cell.marks},
        "metrics": {metric.column: _json(cell.estimate(metric)) for metric in metrics},
    }


def _added(row: Added) -> JsonValue:
    """What a cell has more than its reference, with the cell's place."""
    cell = row.cell
    return {
        "key": cell.key,
        "platform": cell.platform,
        "reference": row.reference,
        "uut_context": cell.uut_context,
        "setting": _json(cell.setting),
        "level": {**cell.level_by_column},
        "added": _json(row.added),
    }


def _json(value: object) -> JsonValue:
    if isinstance(value, Part):
        return value.model_dump()
    if dataclasses.is_dataclass(value) or isinstance(value, Struct):
        return _fields(value)
    if isinstance(value, Mapping):
        return {_name(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, int | float | bool | None) else str(value)


def _fields(value: object) -> JsonValue:
    """A structure by its fields, but the cells behind it; a setting with its further factors by name."""
    if isinstance(value, Struct):
        return _plain(asdict(value))
    assert dataclasses.is_dataclass(value)  # noqa: S101 - of those only
    if isinstance(value, Setting):
        return {**_plain(asdict(value.levels)), "further": {**dict(value.further)}}
    found = {
        field.name: getattr(value, field.name)
        for field in dataclasses.fields(value)
        if field.metadata.get("in_document", True)
    }
    if isinstance(value, CellVerdict):
        del found["dimension"]
        level = {value.dimension.column: value.level} if value.dimension else {}
        return {**_plain(found), "level": {**level}, "left_out": value.left_out}
    return _plain({name: item for name, item in found.items() if not isinstance(item, Cell | StreamCell)})


def _plain(found: Mapping[str, object]) -> dict[str, JsonValue]:
    return {name: _json(item) for name, item in found.items()}


def _name(key: object) -> str:
    """A key; of an account of the CPU ledger, domain and number: `guest 0`."""
    return " ".join(str(part) for part in key if part is not None) if isinstance(key, tuple) else str(key)
