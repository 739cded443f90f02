"""Are streams too large for memory ordered and mended exactly as small ones, whatever their writers left behind?"""

from __future__ import annotations

import errno
import random
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fireassay.errors import RecordError
from fireassay.record import seal, streams
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.batch_writer import BatchWriter
from fireassay.record.messages import END_MARK
from fireassay.record.reader import open_record
from fireassay.record.streams import batches, to_batch
from fireassay.record.tables import TABLES
from fireassay.record.unsealed import launch_name, read_launch, stream_files
from tests.record.making import unfinished

pytestmark = pytest.mark.slow


def request(number: int, client: int, chunks: int) -> tuple[Any, ...]:
    row: dict[str, Any] = {}
    for column in arrow_schema("requests"):
        empty: Any = "x" if pa.types.is_string(column.type) else 0
        row[column.name] = None if column.nullable else [] if pa.types.is_list(column.type) else empty
    row |= {"request": number, "client": client, "chunk_ns": list(range(chunks)), "text": "wörd " * chunks}
    return tuple(row.values())


def write(path: Path, numbers: list[int], *, writer: str, rows_each: int) -> Path:
    """A stream of requests in that order, so many rows to a batch."""
    folder = path / "streams" / launch_name(0)
    folder.mkdir(parents=True, exist_ok=True)
    stream = BatchWriter(folder, writer, flush_s=60.0)
    for begin in range(0, len(numbers), rows_each):
        rows = [request(number, ord(writer), number % 5) for number in numbers[begin : begin + rows_each]]
        batch = to_batch("requests", rows)
        assert batch is not None
        stream.append_batch("requests", batch)
        stream.flush()
    stream.close()
    return folder / f"requests.{writer}.arrows"


def ordered(path: Path, monkeypatch: pytest.MonkeyPatch | None = None) -> tuple[pa.Table | None, list[str]]:
    """Both ways; they must agree. What they give, and what they say was lost."""
    expected, lost = read_launch(path, 0, "requests")
    found = streams.scan(stream_files(path, 0, "requests"), "requests")
    parts = list(streams.groups(found))
    if expected is None:
        assert parts == []
        return None, list(lost)
    table = pa.concat_tables(parts)
    assert table.schema == expected.schema
    assert table.equals(expected)
    assert {file.name: size for file, size in found.lost.items()} == {
        note.split(":")[0].split("/")[-1]: int(note.split("the last ")[1].split(" bytes")[0]) for note in lost if "bytes" in note
    }
    return table, list(lost)


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.integers(0, 400), min_size=0, max_size=120, unique=True),
    st.integers(1, 3),
    st.integers(1, 40),
    st.integers(1, 4000),
    st.booleans(),
    st.integers(0, 900),
    st.sampled_from([1, 3000, 10_000, 1 << 22]),
)
def test_rows_are_those_of_the_short_way(
    tmp_path_factory: pytest.TempPathFactory,
    numbers: list[int],
    writers: int,
    rows_each: int,
    group: int,
    shuffled: bool,
    cut: int,
    stretch: int,
) -> None:
    """In any order, of any number of writers, in groups and stretches of any size, with a stream that was cut off anywhere."""
    path = tmp_path_factory.mktemp("large")
    if not shuffled:
        numbers = sorted(numbers)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(streams, "GROUP_BYTES", group)
        patch.setattr(streams, "STRETCH_BYTES", stretch)
        for place in range(writers):
            file = write(path, numbers[place::writers], writer="abc"[place], rows_each=rows_each)
            if place == 0 and cut and file.exists():
                content = file.read_bytes()
                file.write_bytes(content[: max(0, len(content) - cut)])
        ordered(path)


def test_a_damaged_batch_ends_its_stream_and_no_other(tmp_path: Path) -> None:
    file = write(tmp_path, list(range(0, 40, 2)), writer="a", rows_each=5)
    write(tmp_path, list(range(1, 40, 2)), writer="b", rows_each=5)
    content = bytearray(file.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 200] = random.Random(1).randbytes(200)
    file.write_bytes(content)
    table, lost = ordered(tmp_path)
    assert table is not None
    assert table["request"].to_pylist()[-10:] == list(range(21, 40, 2))
    assert len(lost) == 1


def test_a_stream_that_was_cut_off_can_be_read_batch_by_batch(tmp_path: Path) -> None:
    """As it is after a load whose client was killed in the middle of a write."""
    file = write(tmp_path, list(range(20)), writer="a", rows_each=5)
    content = file.read_bytes()
    for cut in (9, 60, 300):
        file.write_bytes(content[:-cut])
        assert [batch.num_rows for batch in batches(tmp_path, launch_name(0), "requests")] == [5, 5, 5]


@pytest.mark.parametrize("error", [MemoryError(), pa.ArrowMemoryError("malloc failed"), OSError(errno.EIO, "Input/output error")])
@pytest.mark.parametrize("large", [True, False])
def test_what_says_nothing_of_the_bytes_is_no_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, large: bool
) -> None:
    """A machine without memory must not seal a record that lacks rows: the streams stay, and sealing can be tried again."""
    record = unfinished(tmp_path, launches=1, steps=7)
    monkeypatch.setattr(seal, "AT_ONCE_BYTES", -1 if large else 1 << 40)
    with monkeypatch.context() as patch:
        patch.setattr(pa.ipc, "read_record_batch", Mock(side_effect=error))
        with pytest.raises(RecordError, match="Cannot allocate memory|Input/output error"):
            record.finish("complete")
    opened = open_record(record.path)
    assert (opened.state, opened.salvaged) == ("interrupted", ())
    assert opened.table("steps").height == 7


@pytest.mark.parametrize(("at", "announced"), [(4, b"\xff\xff\xff\x7f"), (0, b"\xff\xff\xff\x7f")])
def test_a_message_that_announces_more_bytes_than_there_are_is_damage(tmp_path: Path, at: int, announced: bytes) -> None:
    """Whether Arrow then lacks the bytes or the memory for them."""
    file = write(tmp_path, list(range(20)), writer="a", rows_each=5)
    content = file.read_bytes()
    last = content.rindex(END_MARK[:4], 0, -len(END_MARK))
    file.write_bytes(content[: last + at] + announced + content[last + at + 4 :])
    with file.open("rb") as opened:
        assert streams._is_damage(MemoryError(), opened, last, len(content))
    assert [batch.num_rows for batch in batches(tmp_path, launch_name(0), "requests")] == [5, 5, 5]


def test_groups_are_of_some_megabytes_and_long_rows_make_them_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, list(range(200)), writer="a", rows_each=20)
    found = streams.scan(stream_files(tmp_path, 0, "requests"), "requests")
    monkeypatch.setattr(streams, "GROUP_BYTES", found.bytes // 10)
    assert [group.num_rows for group in streams.groups(found)] == [20] * 10
    monkeypatch.setattr(streams, "GROUP_BYTES", 1)
    assert [group.num_rows for group in streams.groups(found)] == [1] * 200
    monkeypatch.setattr(streams, "GROUP_BYTES", 1 << 40)
    monkeypatch.setattr(streams, "GROUP_ROWS", 150)
    assert [group.num_rows for group in streams.groups(found)] == [150, 50]


def test_only_stretches_that_overlap_are_sorted_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table as large as a long training's is in order file by file; the keys of all its rows exceed a gigabyte."""
    monkeypatch.setattr(streams, "STRETCH_BYTES", 1)
    write(tmp_path, list(range(100, 200)), writer="a", rows_each=20)
    write(tmp_path, list(range(100)), writer="b", rows_each=20)
    write(tmp_path, [300, 340, 320, 360], writer="c", rows_each=2)
    sizes: list[int] = []
    sort = streams._sorted

    def counted(keys: pa.Table, rows: int) -> Any:
        sizes.append(rows)
        return sort(keys, rows)

    monkeypatch.setattr(streams, "_sorted", counted)
    table, _ = ordered(tmp_path)
    assert table is not None
    assert table["request"].to_pylist() == [*range(200), 300, 320, 340, 360]
    assert sizes == [*[20] * 10, 2, 2, 24, 4]  # each stretch, their ends, and the one pair that overlaps


def test_equal_keys_keep_the_order_of_reading(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STRETCH_BYTES", 1)
    for writer in "bac":
        write(tmp_path, [5, 5, 7], writer=writer, rows_each=1)
    table, _ = ordered(tmp_path)
    assert table is not None
    assert table["client"].to_pylist() == [*map(ord, "aabbcc"), *map(ord, "abc")]


def test_a_record_is_sealed_the_same_either_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every table of a record, with its notes; the row groups are all that differs."""
    made = []
    for bound in (1 << 40, -1):
        monkeypatch.setattr(seal, "AT_ONCE_BYTES", bound)
        path = unfinished(tmp_path / str(bound), launches=2, steps=7).path
        stream = next((path / "streams" / launch_name(1)).glob("steps.*.arrows"))
        stream.write_bytes(stream.read_bytes()[:-11])
        notes = seal.compact(path)
        tables = {
            file.relative_to(path).as_posix(): pq.read_table(file, partitioning=None)
            for file in sorted((path / "tables").rglob("*.parquet"))
        }
        made.append((tables, notes))
    (short, short_notes), (long, long_notes) = made
    assert short.keys() == long.keys()
    assert {name.split("/")[1] for name in short} <= set(TABLES)
    assert {name: table.num_rows for name, table in short.items()} == {n: t.num_rows for n, t in long.items()}
    assert len(short_notes) == len(long_notes) == 1
    for name, table in short.items():
        shared = [column for column in table.column_names if column not in ("host", "detail", "ns", "begin_ns", "end_ns")]
        assert table.select(shared).equals(long[name].select(shared)), name
