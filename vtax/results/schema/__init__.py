"""The tables of a result: every column with its type, unit and meaning, in one place.

The Arrow schemas that files are written with and the tables of docs/results.md both come from here. Unit and
meaning also travel in each Parquet file as Arrow field metadata, so that a file found alone explains itself.
Terms follow RFC 1242, RFC 2544 and RFC 5481. `mbps` is layer 1: preamble, gap and FCS included, 24 bytes a
frame.
"""

from collections.abc import Mapping
from typing import Final

import pyarrow as pa
from pydantic import JsonValue

from vtax.results.schema.flows import FLOWS, HOPS, LATENCY, SERIES
from vtax.results.schema.hosts import CPU, ENVIRONMENT
from vtax.results.schema.samples import SAMPLES
from vtax.results.schema.stages import PACKETS, STAGES
from vtax.results.schema.table import Row, Table, Value, number, text, whole
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
    "number",
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
        SEARCHES,
    )
}

TRIAL_TABLES: Final = frozenset({SAMPLES.name})
"""Tables with many rows: each trial has a file of its own."""
BLOCK_TABLES: Final = tuple(name for name in TABLES if name not in TRIAL_TABLES)
"""The others: each block has one."""


def schemas(campaign: Mapping[str, JsonValue]) -> dict[str, pa.Schema]:
    """The Arrow schema of each table of this campaign.

    `campaign` is campaign.json's content. Its `factors`, in want of these those of its scenario, name the
    factors' columns; those that `trials` does not have yet become string columns there.
    """
    factors = listed(campaign.get("factors")) or mapping(mapping(campaign.get("scenario")).get("factors"))
    fixed = {column.name for column in TRIALS.columns}
    named = dict.fromkeys(name for name in factors if isinstance(name, str) and name)
    further = [name for name in named if name not in fixed]
    return {table.name: table.schema(further if table is TRIALS else ()) for table in TABLES.values()}
