"""The tables of a result: every column that all campaigns have, with its type, unit and meaning, in one place.

`trials` has more: those that the kind of workload declares, which campaign.json lists, and the campaign's factors.
The Arrow schemas that files are written with and the tables of docs/results.md both come from here. Unit and
meaning also travel in each Parquet file as Arrow field metadata, so that a file found alone explains itself.
Terms follow RFC 1242, RFC 2544 and RFC 5481. `mbps` is layer 1: preamble, gap and FCS included, 24 bytes a
frame.
"""

import re
from collections.abc import Mapping
from itertools import islice
from typing import Final

import pyarrow as pa
from pydantic import JsonValue

from vtax.columns import Column, ColumnType
from vtax.results.schema.flows import FLOWS, HOPS, LATENCY, SERIES
from vtax.results.schema.former import FORMER
from vtax.results.schema.hosts import CANARY, CPU, ENVIRONMENT
from vtax.results.schema.samples import SAMPLES
from vtax.results.schema.stages import PACKETS, STAGES
from vtax.results.schema.table import (
    BOOL,
    DOUBLE,
    INT32,
    INT64,
    STRING,
    Row,
    Table,
    Value,
    number,
    schema_of,
    text,
    whole,
)
from vtax.results.schema.trials import SEARCHES, TRIALS
from vtax.results.stored import listed, mapping

__all__ = [
    "BLOCK_TABLES",
    "FLOWS",
    "FORMAT_VERSION",
    "TABLES",
    "TRIALS",
    "TRIAL_TABLES",
    "Row",
    "Table",
    "Value",
    "factor_columns",
    "number",
    "own_columns",
    "schemas",
    "text",
    "whole",
]

FORMAT_VERSION: Final = 1

TABLES: Final = {
    table.name: table
    for table in (
        TRIALS,
        FLOWS,
        SERIES,
        CPU,
        HOPS,
        LATENCY,
        SAMPLES,
        STAGES,
        PACKETS,
        ENVIRONMENT,
        CANARY,
        SEARCHES,
    )
}

TRIAL_TABLES: Final = frozenset({SAMPLES.name})
"""Tables with many rows: each trial has a file of its own."""
BLOCK_TABLES: Final = tuple(name for name in TABLES if name not in TRIAL_TABLES)
"""The others: each block has one."""
OWN_PLACE: Final = [column.name for column in TRIALS.columns].index("platform") + 1
OWN_TYPES: Final = frozenset({INT32, INT64, DOUBLE, STRING, BOOL})
COLUMN_NAME: Final = re.compile(r"[a-z][a-z0-9_]{0,62}")
MOST_COLUMNS: Final = 256
"""Many more than any kind of workload has."""


def schemas(campaign: Mapping[str, JsonValue]) -> dict[str, pa.Schema]:
    """The Arrow schema of each table of this campaign, of which `campaign` is campaign.json's content.

    `trials` also has the columns that are its kind's own, behind the platform, and last one of text for each further
    factor.
    """
    own, factors = own_columns(campaign), factor_columns(campaign)
    trials = (*TRIALS.columns[:OWN_PLACE], *own, *TRIALS.columns[OWN_PLACE:], *factors)
    return {table.name: schema_of(trials if table is TRIALS else table.columns) for table in TABLES.values()}


def own_columns(campaign: Mapping[str, JsonValue]) -> list[Column]:
    """The columns that campaign.json lists: those of the kind of workload. Before they were listed, all had all."""
    if "columns" not in campaign:
        return [*FORMER]
    told = [_column(each) for each in islice(listed(campaign["columns"]), MOST_COLUMNS)]
    fixed = {column.name for column in TRIALS.columns}
    return [*{column.name: column for column in told if column and column.name not in fixed}.values()]


def factor_columns(campaign: Mapping[str, JsonValue]) -> list[Column]:
    """A column for each factor that `trials` does not have in another way.

    campaign.json's `factors`, in want of these those of its scenario, name them.
    """
    factors = listed(campaign.get("factors")) or mapping(mapping(campaign.get("scenario")).get("factors"))
    there = {column.name for column in (*TRIALS.columns, *own_columns(campaign))}
    names = dict.fromkeys(name for name in factors if isinstance(name, str) and name and name not in there)
    return [Column(name, STRING, "", "level of this factor, as text") for name in names]


def _column(told: JsonValue) -> Column | None:
    """A column as it is listed; None for one that vtax does not write, whose values are then unknown to it."""
    match told:
        case {
            "name": str(name),
            "type": str(kind),
            "unit": str(unit),
            "meaning": str(meaning),
            "is_level": bool(is_level),
        }:
            if COLUMN_NAME.fullmatch(name) and kind in OWN_TYPES:
                return Column(name, ColumnType(kind), unit, meaning, is_level)
    return None
