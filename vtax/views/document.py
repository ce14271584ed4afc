"""All view data as one JSON document, units in the names."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping

from pydantic import JsonValue

from vtax.views.bulk_cells import BulkCell, BulkSetting
from vtax.views.cells import Cell, Setting
from vtax.views.claims.document import claim_rows
from vtax.views.diagnosis.document import diagnosed_cells
from vtax.views.echoes import EchoSetting
from vtax.views.responses import ResponseSetting
from vtax.views.rounds import RoundSetting
from vtax.views.stages import TracedSetting
from vtax.views.summary import Summary

FORMAT_VERSION = 2


def summary_document(summary: Summary) -> dict[str, JsonValue]:
    """Everything the views show, as JSON values.

    An estimate is {value, low, high, n, left_out, bound}; low and high are null where no interval could be formed, and
    at the end that a bound leaves open: high where `bound` is "at least", low where it is "at most". Of what is
    "withheld" the value is null as well. The unit is in the name that holds it. `intended_mbps` is null for the flood
    (`max`).
    """
    document: dict[str, JsonValue] = {"format_version": FORMAT_VERSION}
    for field in dataclasses.fields(summary):
        if field.name == "diagnosis":
            document["diagnosis"] = diagnosed_cells(summary.diagnosis).model_dump(mode="json")
        elif field.name not in ("cells", "claims", "directory", "runs", "trials"):
            document[field.name] = _json(getattr(summary, field.name))
    return {**document, "claims": [claim.model_dump(mode="json") for claim in claim_rows(summary.claims)]}


def _json(value: object) -> JsonValue:
    if isinstance(
        value, Setting | BulkSetting | EchoSetting | ResponseSetting | RoundSetting | TracedSetting
    ):
        return {**dataclasses.asdict(value), "further": {**dict(value.further)}}
    if dataclasses.is_dataclass(value):
        found = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return {name: _json(item) for name, item in found.items() if not isinstance(item, Cell | BulkCell)}
    if isinstance(value, Mapping):
        return {_name(key): _json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_json(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _name(key: object) -> str:
    """A key; of an account of the CPU ledger, domain and number: `guest 0`."""
    return " ".join(str(part) for part in key if part is not None) if isinstance(key, tuple) else str(key)
