"""Columns of lists as a query gives them, a list of numbers a row."""

from array import array
from collections.abc import Sequence
from itertools import pairwise

import pyarrow as pa


def series(column: pa.ChunkedArray) -> list[Sequence[float]]:
    """Each row's list: an array, a quarter of a tuple's size, where all numbers are known; else a tuple with None.

    Whether there can be a None is known where the query is.
    """
    lists = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if lists.null_count or lists.values.null_count:
        return [tuple(each or ()) for each in lists.to_pylist()]
    numbers = lists.values.to_numpy()
    return [
        array(numbers.dtype.char, numbers[begin:end].tobytes())
        for begin, end in pairwise(lists.offsets.to_pylist())
    ]
