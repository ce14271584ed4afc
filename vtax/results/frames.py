"""A result's tables as polars frames, which hold the same Arrow columns."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from vtax.inputs import InputError
from vtax.results.reader import Result

if TYPE_CHECKING:
    import polars


def frames(result: Result) -> dict[str, polars.DataFrame]:
    """Each table by name, and `cells` as `vtax sql` has it; what could not be read is warned of.

    InputError where polars is not installed: vtax itself does without it.
    """
    try:
        import polars  # noqa: PLC0415, an extra
    except ModuleNotFoundError:
        raise InputError(
            "vtax.load needs polars, which vtax itself does not: pip install 'vtax[frames]'"
        ) from None
    for caution in (*result.damaged, *result.notes):
        warnings.warn(caution, stacklevel=3)
    tables = {**result.tables, "cells": result.query("SELECT * FROM cells")}
    return {name: polars.DataFrame(rows) for name, rows in tables.items()}
