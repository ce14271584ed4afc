"""What agents answered may match its types and still make no sense together: such a trial is invalid, and no more.

Contradictions within one answer are breaches (vtax.machine.plausible). What only shows when a trial is judged or
written is an error of arithmetic or of a look-up, here.
"""

import math
import traceback
from collections.abc import Collection
from pathlib import PurePath

import pyarrow as pa

from vtax.results import TrialRecord
from vtax.statistics import Distribution, decode, decode_all
from vtax.trial.guest import called

UNTENABLE = (ArithmeticError, LookupError, TypeError, ValueError, StopIteration, RuntimeError, AssertionError)
"""What numbers, names and lists raise that do not go together; a StopIteration within a generator is a RuntimeError."""


def untenable(error: BaseException, guests: Collection[str]) -> str:
    """Return why a trial cannot be evaluated: whose answers it has, and where the evaluation ended."""
    whose = ", ".join(called(name) for name in guests) or "the agents"
    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{PurePath(frame.filename).name}:{frame.lineno}"
    problem = str(error).split("\n", 1)[0][:160]
    words = ": ".join(part for part in (type(error).__name__, problem) if part)
    return f"answers of {whose} or of the instrument's agents contradict each other ({words}, at {place})"


def counted(histogram: str, count: int) -> Distribution:
    """Read a histogram of so many values; raises ValueError where it has others."""
    found = decode(histogram)
    if found.samples != count:
        raise ValueError(f"histogram of {found.samples} values, and count {count}")
    return found


def check_rows(rows: TrialRecord) -> None:
    """Raise ValueError, which names table and column, for what no view can read; see also ResultWriter.check."""
    tables = {
        "trials": [rows.trial],
        "flows": rows.flows,
        "series": rows.series,
        "cpu": rows.cpu,
        "hops": rows.hops,
        "latency": rows.latency,
        "stages": rows.stages,
        "canary": rows.canary,
    }
    for table, of_table in tables.items():
        for row in of_table:
            for column, value in row.items():
                if isinstance(value, float) and not math.isfinite(value):
                    raise ValueError(f"{table}.{column}: {value}")
    found = [row["histogram"] for row in (*rows.latency, *rows.stages) if row.get("histogram") is not None]
    if found:
        decode_all(pa.array(found, pa.large_string()), [0] * len(found))
