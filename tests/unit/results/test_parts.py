"""How a part is written: what is small is quick to read, what is large takes little room."""

import pyarrow as pa
import pyarrow.parquet as pq

from vtax.results.parts import SMALL_BYTES, encoded

ROWS = 1000


def test_large_columns_are_compressed_well_and_small_ones_quickly() -> None:
    texts = [f"{row:0{SMALL_BYTES // ROWS + 1}}" for row in range(ROWS)]
    rows = pa.table({"trial_id": range(ROWS), "histogram": texts, "marks": pa.array([["a", "b"]] * ROWS)})
    written = pa.BufferReader(encoded(rows))
    columns = pq.read_metadata(written).row_group(0)
    codecs = [columns.column(place).compression for place in range(columns.num_columns)]
    assert codecs == ["SNAPPY", "ZSTD", "SNAPPY"]
    assert pq.read_table(written).equals(rows)


def test_unit_and_meaning_travel_with_a_column() -> None:
    field = pa.field("delay_ns", pa.int64(), metadata={"unit": "ns", "meaning": "one-way delay"})
    rows = pa.table([pa.array([1])], pa.schema([field]))
    assert pq.read_schema(pa.BufferReader(encoded(rows))).field("delay_ns").metadata == field.metadata
