"""A Parquet file that is written piece by piece is whole, and says itself what it holds. Values and raw tables: test_csv.py."""

from __future__ import annotations

import io

import polars as pl
import pyarrow.parquet as pq

from fireassay.reports.exports.bundle import Table
from fireassay.reports.exports.parquet import _written

COLUMNS = (
    {"name": "launch", "type": "integer", "description": "its number"},
    {"name": "begin_ns", "type": "integer", "description": "begin", "unit": "ns"},
)


def test_several_frames_are_one_file_with_the_meaning_of_its_columns() -> None:
    frames = [pl.DataFrame({"launch": [number] * 3, "begin_ns": [1, 2, None]}) for number in range(4)]
    pieces = list(_written(Table(path="a", about="b", columns=COLUMNS, frames=lambda: iter(frames)), {"fireassay.digest": "d" * 64}))
    read = pq.read_table(io.BytesIO(b"".join(pieces)))
    assert pl.DataFrame(read).equals(pl.concat(frames))
    assert len(pieces) > len(frames)
    assert read.schema.field("begin_ns").metadata == {b"description": b"begin", b"unit": b"ns"}
    assert read.schema.metadata[b"fireassay.digest"] == b"d" * 64
