"""The table of what is kept one by one: the iterations of micro-benchmarks."""

from typing import Final

from vtax.columns import Column
from vtax.results.schema.table import INT32, INT64, STRING, TRIAL_ID, Table

SAMPLES: Final = Table(
    "samples",
    "an iteration of a micro-benchmark",
    (
        TRIAL_ID,
        Column("run", INT32, "", "the run of the cell, from 0; a trial each"),
        Column("iteration", INT32, "", "number of the iteration in its run, from 0"),
        Column("ns", INT64, "ns", "what it took, or how long it was until it had failed"),
        Column("status", STRING, "", "done; else how it failed: timeout, refused, broken, ended or garbage"),
    ),
)
