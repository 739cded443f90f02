"""A stream is readable up to its first damaged byte, whatever that byte is."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import binary

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.streams import END_MARK, read_buffer, read_stream, to_batch
from tests.record.making import sample_row

BATCHES = 3
ROWS = 4


def messages() -> list[bytes]:
    """The schema and three batches of four rows, as separate messages."""
    batches = [to_batch("samples", [sample_row(0, n * ROWS + i) for i in range(ROWS)]) for n in range(BATCHES)]
    assert all(batch is not None for batch in batches)
    parts = [arrow_schema("samples"), *batches]
    return [part.serialize().to_pybytes() for part in parts]


MESSAGES = messages()
OPEN_STREAM = b"".join(MESSAGES)  # of a writer that still runs or was killed
CLOSED_STREAM = OPEN_STREAM + END_MARK


def steps_of(content: bytes) -> list[int]:
    """The step numbers that can be read."""
    return [step for batch in read_buffer(pa.py_buffer(content)).batches for step in batch.column("step").to_pylist()]


def test_a_whole_stream_loses_nothing_with_and_without_its_end_mark() -> None:
    for content in (OPEN_STREAM, CLOSED_STREAM):
        assert steps_of(content) == list(range(BATCHES * ROWS))
        assert read_buffer(pa.py_buffer(content)).lost_bytes == 0


@pytest.mark.slow
def test_a_stream_cut_at_any_byte_keeps_exactly_its_whole_batches() -> None:
    ends = [sum(len(message) for message in MESSAGES[: n + 1]) for n in range(len(MESSAGES))]
    for length in range(1, len(CLOSED_STREAM)):
        whole = sum(end <= length for end in ends[1:])
        salvaged = read_buffer(pa.py_buffer(CLOSED_STREAM[:length]))
        assert salvaged.rows == whole * ROWS, f"cut at {length}"
        last_end = max([end for end in ends if end <= length], default=0)
        assert salvaged.lost_bytes == length - last_end, f"cut at {length}"


def test_zeros_that_a_power_cut_leaves_at_the_end_are_reported_as_lost() -> None:
    salvaged = read_buffer(pa.py_buffer(OPEN_STREAM + bytes(4096)))
    assert salvaged.rows == BATCHES * ROWS
    assert salvaged.lost_bytes == 4096


@given(garbage=binary(min_size=1, max_size=300).filter(lambda tail: not tail.startswith(END_MARK)))
def test_garbage_behind_the_rows_costs_no_row_and_is_counted(garbage: bytes) -> None:
    assert steps_of(OPEN_STREAM + garbage) == list(range(BATCHES * ROWS))
    assert read_buffer(pa.py_buffer(CLOSED_STREAM + garbage)).lost_bytes == len(garbage)


@given(at=st.integers(0, len(CLOSED_STREAM) - 1), value=st.integers(0, 255))
def test_any_overwritten_byte_leaves_valid_rows_and_never_more_than_were_written(at: int, value: int) -> None:
    content = bytearray(CLOSED_STREAM)
    content[at] = value
    salvaged = read_buffer(pa.py_buffer(bytes(content)))
    assert salvaged.rows <= BATCHES * ROWS
    for batch in salvaged.batches:
        batch.validate(full=True)


def test_a_file_created_but_never_written_holds_no_rows_and_lost_none(tmp_path: Path) -> None:
    (tmp_path / "steps.w.arrows").touch()
    salvaged = read_stream(tmp_path / "steps.w.arrows")
    assert (salvaged.rows, salvaged.lost_bytes, salvaged.schema) == (0, 0, None)
