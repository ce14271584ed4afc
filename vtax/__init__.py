"""vtax measures what virtualization costs every packet: throughput, loss, delay and CPU time."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import polars

__version__ = "0.1.0"


def load(path: Path | str) -> dict[str, polars.DataFrame]:
    """The tables of the result in directory `path` as polars frames, by name; docs/results.md has their columns.

    `cells` has a row for each flow of a usable trial, with the trial's columns. InputError where there is no result.
    """
    from vtax.results import Result
    from vtax.results.frames import frames

    return frames(Result.open(path))
