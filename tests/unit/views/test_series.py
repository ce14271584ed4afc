"""Columns of lists, as Python's own would be."""

from array import array

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vtax.model.series import series

FLOATS = st.lists(st.lists(st.floats(allow_nan=False), max_size=5), max_size=5)


@given(st.lists(FLOATS, max_size=3))
def test_each_row_is_its_list_in_whatever_chunks_they_come(chunks: list[list[list[float]]]) -> None:
    column = pa.chunked_array(chunks, pa.list_(pa.float64()))
    assert [list(each) for each in series(column)] == column.to_pylist()


@pytest.mark.parametrize("kind", [pa.int32(), pa.int64(), pa.float64()])
def test_known_numbers_are_kept_compact(kind: pa.DataType) -> None:
    assert series(pa.chunked_array([[[1, 2], [], [3]]], pa.list_(kind)).slice(1)) == [
        array(each.typecode, each) for each in series(pa.chunked_array([[[], [3]]], pa.list_(kind)))
    ]


def test_what_is_not_known_is_none() -> None:
    column = pa.chunked_array([[[1.0, None], None]], pa.list_(pa.float64()))
    assert series(column) == [(1.0, None), ()]
