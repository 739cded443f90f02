"""Does Arrow read what is written without it?"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.messages import END_MARK, batch_message, schema_message
from fireassay.record.streams import read_buffer
from fireassay.record.tables import TABLES

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "float64": st.floats(allow_nan=False),
    "string": st.text(max_size=9),
    "list<int64>": st.lists(st.integers(-(2**63), 2**63 - 1), max_size=3),
    "list<float64>": st.lists(st.floats(allow_nan=False) | st.none(), max_size=3),
}


@st.composite
def tables(draw: st.DrawFn) -> tuple[str, list[list[tuple[Any, ...]]]]:
    name = draw(st.sampled_from(sorted(TABLES)))
    row = st.tuples(*(VALUES[c.type] | st.none() if c.nullable else VALUES[c.type] for c in TABLES[name].columns))
    return name, draw(st.lists(st.lists(row, min_size=1, max_size=20), max_size=3))


@pytest.mark.parametrize("table", TABLES)
def test_a_schema_is_the_one_that_readers_expect(table: str) -> None:
    found = pa.ipc.open_stream(schema_message(table) + END_MARK).schema
    assert found.equals(arrow_schema(table), check_metadata=True)


@pytest.mark.slow
@given(tables())
def test_every_row_is_read_back_as_it_was_written(written: tuple[str, list[list[tuple[Any, ...]]]]) -> None:
    """By the reader that trusts no stream: aligned, validated in full, no byte lost."""
    table, batches = written
    messages = [batch_message(table, rows) for rows in batches]
    found = read_buffer(pa.py_buffer(b"".join([schema_message(table), *filter(None, messages), END_MARK])))
    assert found.lost_bytes == 0
    assert [list(zip(*batch.to_pydict().values(), strict=True)) for batch in found.batches] == batches
    assert all(len(message or b"") % 8 == 0 for message in messages)


@pytest.mark.parametrize(
    "row", [(0, 0, 0, 0, 0), (0, 0, 0, 0, None, [1]), (0, 0, 0, 0, "4", [1]), (2**31, 0, 0, 0, 0, [1]), (0, 0, 0, 0, 0, "12")]
)
def test_a_row_that_a_table_cannot_hold_is_no_message(row: tuple[Any, ...]) -> None:
    assert batch_message("samples", [(0, 0, 0, 0, 0, [1])]) is not None
    assert batch_message("samples", [(0, 0, 0, 0, 0, [1]), row]) is None
