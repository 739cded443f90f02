"""Which rows of a damaged stream can be read, and how are streams sorted that exceed the memory?

Which rows of a stream can be read after its writer was killed or its disk filled up?

A stream is a sequence of Arrow messages: the schema, record batches, an end mark.  Batches are read one by one up to
the first damaged or truncated one; everything before it is kept.
Source: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format

How are streams sorted that do not fit into memory?  In two passes: which stretches overlap, then the rows.

A million requests with every chunk exceed a gigabyte.  The first pass finds the intact batches, as `fireassay.record.unsealed`
does, and keeps of each stretch of a file (some megabytes of batches) its offset and its first and last key.  Stretches whose
keys overlap are sorted together; a rank's stretches are one after the other, so that its millions of keys are never held at once.
The second pass writes the rows in order, one row group of some megabytes at a time, and reads the stretches that each group
needs: writers emit rows nearly in order, so each is read once or twice.  Any other order holds the sort columns of all rows.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.messages import CONTINUATION, END_MARK, Row, batch_message
from fireassay.record.tables import TABLES
from fireassay.record.untrusted import paths

if TYPE_CHECKING:
    import numpy.typing as npt


# ---- reading ---------------------------------------------------------------------------------------------------------


MAX_COLUMNS: Final = 256
SHARED: Final = 2  # bound on memory per body byte; validity bitmaps and padding stay below it
TYPES: Final = (pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.list_(pa.int64()), pa.list_(pa.float64()))


@dataclass(frozen=True, kw_only=True)
class Salvaged:
    """The readable part of one stream."""

    schema: pa.Schema | None  # None if even the schema is unreadable
    batches: tuple[pa.RecordBatch, ...]
    lost_bytes: int  # unreadable bytes at the end of the stream; 0 for an intact stream

    @property
    def rows(self) -> int:
        """Number of readable rows."""
        return sum(batch.num_rows for batch in self.batches)


def to_batch(table: str, rows: Sequence[Row]) -> pa.RecordBatch | None:
    """The rows as one record batch of the table; None if a row has values of the wrong number or type, or a forbidden null."""
    message = batch_message(table, rows)
    return None if message is None else pa.ipc.read_record_batch(pa.py_buffer(message), arrow_schema(table))


def read_stream(path: Path) -> Salvaged:
    """Every intact batch of a stream file.

    The file is read, not mapped: a mapped file that shrinks kills its reader.

    Raises:
        OSError: the file cannot be opened.
    """
    content = path.read_bytes()
    if not content:  # the writer was killed before its first write
        return Salvaged(schema=None, batches=(), lost_bytes=0)
    return read_buffer(pa.py_buffer(content))


def batches(path: Path, launch: str, table: str) -> Iterator[pa.RecordBatch]:
    """Every intact batch of one table of an unfinished launch, stream by stream, one at a time in memory.

    Raises:
        OSError: the launch's folder cannot be listed, or a stream cannot be opened.
    """
    folder = path / "streams" / launch
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if file.name.startswith(f"{table}.") and file.suffix == ".arrows" and file.stat().st_size:
            paths.plain(path, f"streams/{launch}/{file.name}")
            yield from _one_by_one(file)


def _one_by_one(file: Path) -> Iterator[pa.RecordBatch]:
    with file.open("rb") as opened:
        messages = _intact(opened, file.stat().st_size)
        next(messages, None)  # the schema
        for batch, _ in messages:
            yield batch


def _intact(source: Any, size: int) -> Iterator[tuple[Any, int]]:
    """The schema, then every batch, each with its end in the stream, up to the first that the bytes show to be damaged.

    Raises:
        OSError: the stream cannot be read further, or there is no memory; this says nothing of its bytes.
    """
    schema, end = None, 0
    while True:
        try:
            found = schema_of(source) if schema is None else next_batch(source, schema)
        except StopIteration:
            return
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            if _is_damage(error, source, end, size):
                return
            if isinstance(error, MemoryError):
                raise OSError(errno.ENOMEM, os.strerror(errno.ENOMEM)) from error
            raise
        schema, end = found if schema is None else schema, source.tell()
        yield found, end


def _unread(source: Any, end: int, size: int) -> int:
    """Bytes behind the last intact message, without the end mark."""
    source.seek(end)
    return size - end - (len(END_MARK) if source.read(len(END_MARK)) == END_MARK else 0)


def schema_of(source: Any) -> pa.Schema:
    """The schema of a stream whose messages begin at the cursor.

    Raises:
        ValueError: a column name is not UTF-8, or a type occurs in no table: a few bytes of some types (run-end encoded, null)
        can stand for billions of rows.
        pa.ArrowException, OSError: the stream is damaged.
    """
    schema = pa.ipc.open_stream(source).schema
    if len(schema.names) > MAX_COLUMNS or any(field.type not in TYPES for field in schema):
        raise ValueError("columns of a type that no table has")
    return schema


def next_batch(source: Any, schema: pa.Schema) -> pa.RecordBatch:
    """The batch at the cursor, validated.

    Raises:
        StopIteration: the stream has ended.
        ValueError: the batch is compressed or its columns share bytes, so that it would expand in memory; assay never writes these.
        pa.ArrowException, OSError, MemoryError: the batch is damaged, or cannot be read (`_is_damage`).
    """
    try:
        message = pa.ipc.read_message(source)
    except EOFError:
        raise StopIteration from None
    if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
        raise ValueError("a message that assay does not write")
    batch = pa.ipc.read_record_batch(message, schema)
    batch.validate(full=True)  # a flipped bit in an offset would crash users of the batch
    if batch.nbytes > SHARED * message.body.size:
        raise ValueError("columns that share their bytes")
    return batch


def _is_compressed(message: bytes) -> bool:
    """True if a RecordBatch message's header sets `compression`, its fourth field. Arrow has verified the flatbuffer."""
    table = int.from_bytes(message[:4], "little")
    field = _field(message, table, 2)
    header = field + int.from_bytes(message[field : field + 4], "little")
    return bool(_field(message, header, 3))


def _field(message: bytes, table: int, number: int) -> int:
    """Position of a field of a flatbuffer table; 0 if absent."""
    listed = table - int.from_bytes(message[table : table + 4], "little", signed=True)
    slot = 4 + 2 * number
    if slot >= int.from_bytes(message[listed : listed + 2], "little"):
        return 0
    offset = int.from_bytes(message[listed + slot : listed + slot + 2], "little")
    return table + offset if offset else 0


def _is_damage(error: Exception, source: Any, begin: int, size: int) -> bool:
    """True if the bytes of the message at `begin` are at fault: for a truncated one Arrow raises an OSError without errno.

    Memory is lacking because of the bytes only if they announce more than the stream has.
    """
    if not isinstance(error, MemoryError):
        return not isinstance(error, OSError) or error.errno is None
    source.seek(begin)
    mark, length = source.read(4), int.from_bytes(source.read(4), "little", signed=True)
    left = size - begin - 8
    if mark != CONTINUATION or not 0 <= length <= left:
        return True
    message = source.read(length)
    body = _field(message, int.from_bytes(message[:4], "little"), 3)
    return bool(body) and int.from_bytes(message[body : body + 8], "little", signed=True) > left - length


def read_buffer(content: pa.Buffer) -> Salvaged:
    """Every intact batch of a stream held in memory. Raises OSError: there is no memory."""
    source = pa.BufferReader(content)
    found = list(_intact(source, content.size))
    end = found[-1][1] if found else 0
    schema = found[0][0] if found else None
    return Salvaged(schema=schema, batches=tuple(batch for batch, _ in found[1:]), lost_bytes=_unread(source, end, content.size))


# ---- sorting ---------------------------------------------------------------------------------------------------------


GROUP_BYTES: Final = 32 << 20  # of a row group, before compression
GROUP_ROWS: Final = 1 << 18


NO_COLUMNS: Final = pa.schema([])  # of a stream without a readable schema, and so without rows
STRETCH_BYTES: Final = 4 << 20  # of batches that are read together
STRETCH_BATCHES: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class Stretch:
    """Intact batches of one file, one after the other."""

    file: Path
    offset: int
    batches: int
    rows: int
    in_order: bool


@dataclass(kw_only=True)
class Scanned:
    """Result of the first pass over one table of a launch."""

    schema: pa.Schema | None = None
    stretches: list[Stretch] = field(default_factory=list)
    first: list[pa.Table] = field(default_factory=list)  # smallest key of each stretch: one row
    last: list[pa.Table] = field(default_factory=list)  # largest
    bytes: int = 0
    lost: dict[Path, int] = field(default_factory=dict)  # unreadable bytes at the end of a file
    kept: dict[Path, int] = field(default_factory=dict)  # readable rows per file
    foreign: list[Path] = field(default_factory=list)  # files with other columns


def scan(paths: Sequence[Path], name: str) -> Scanned:
    """Find every intact batch in the streams of one table. Raises OSError: a file cannot be read."""
    scanned = Scanned()
    for path in paths:
        if size := path.stat().st_size:
            _scan_file(path, size, TABLES[name].order, scanned)
    return scanned


def _scan_file(path: Path, size: int, order: Sequence[str], scanned: Scanned) -> None:
    rows = 0
    keys: list[pa.RecordBatch] = []  # of the stretch that begins at `begin`
    with path.open("rb") as file:
        messages = _intact(file, size)
        schema, begin = next(messages, (NO_COLUMNS, 0))
        if begin and scanned.schema is not None and schema != scanned.schema:
            scanned.foreign.append(path)
            return
        end = begin
        for batch, end in messages:
            scanned.schema = schema
            keys.append(_copied(batch.select([column for column in order if column in schema.names])))
            scanned.bytes += batch.nbytes
            rows += batch.num_rows
            if end - begin >= STRETCH_BYTES or len(keys) >= STRETCH_BATCHES:
                _add_stretch(scanned, path, begin, keys)
                begin, keys = end, []
        lost = _unread(file, end, size)
    if keys:
        _add_stretch(scanned, path, begin, keys)
    scanned.kept[path] = rows
    if lost:
        scanned.lost[path] = lost


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy that does not keep the other columns' memory alive."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


def _add_stretch(scanned: Scanned, path: Path, begin: int, batches: Sequence[pa.RecordBatch]) -> None:
    keys = pa.Table.from_batches(batches).combine_chunks()
    if rows := keys.num_rows if keys.num_columns else sum(batch.num_rows for batch in batches):
        order = _sorted(keys, rows)
        scanned.stretches.append(Stretch(path, begin, len(batches), rows, bool((order[1:] > order[:-1]).all())))
        scanned.first.append(keys.take(pa.array(order[:1])))
        scanned.last.append(keys.take(pa.array(order[-1:])))


def _sorted(keys: pa.Table, rows: int) -> npt.NDArray[np.int64]:
    """The rows' numbers in the order of all their columns; equal rows stay as they are."""
    import pyarrow.compute as pc

    if not keys.num_columns:
        return np.arange(rows, dtype=np.int64)
    by = [(column, "ascending") for column in keys.column_names]
    order: npt.NDArray[np.int64] = pc.sort_indices(keys, sort_keys=by).to_numpy().view(np.int64)
    return order


def groups(found: Scanned) -> Iterator[pa.Table]:
    """The sorted rows, some megabytes at a time. Raises OSError: a file cannot be read."""
    if found.schema is None or not found.stretches:
        return
    starts = np.cumsum([0, *(stretch.rows for stretch in found.stretches)], dtype=np.int64)
    total = int(starts[-1])
    step = max(1, min(GROUP_ROWS, total * GROUP_BYTES // max(1, found.bytes)))
    waiting = np.empty(0, dtype=np.int64)
    for order in _orders(found, starts):
        waiting = np.concatenate([waiting, order])
        whole = len(waiting) - len(waiting) % step
        for begin in range(0, whole, step):
            yield _gathered(found, starts, waiting[begin : begin + step])
        waiting = waiting[whole:]
    if len(waiting):
        yield _gathered(found, starts, waiting)


def _orders(found: Scanned, starts: npt.NDArray[np.int64]) -> Iterator[npt.NDArray[np.int64]]:
    """The numbers of all rows in order, those of overlapping stretches together."""
    for together in _overlapping(found):
        rows = np.concatenate([np.arange(starts[number], starts[number + 1]) for number in together])
        if len(together) == 1 and found.stretches[together[0]].in_order:
            yield rows
            continue
        names = found.first[0].column_names
        keys = [_copied(batch.select(names)) for number in together for batch in _read(found.stretches[number], found.schema)]
        yield rows[_sorted(pa.Table.from_batches(keys), len(rows))]


def _overlapping(found: Scanned) -> Iterator[list[int]]:
    """Stretches whose keys overlap, each group's in the order of reading. A tie counts as one, so that its rows keep that order."""
    count = len(found.stretches)
    place = np.empty(2 * count, dtype=np.int64)
    place[_sorted(pa.concat_tables([*found.first, *found.last]).combine_chunks(), 2 * count)] = np.arange(2 * count)
    together: list[int] = []
    reach = -1
    for number in np.argsort(place[:count]).tolist():
        if together and place[number] > reach:
            yield sorted(together)
            together = []
        together.append(number)
        reach = max(reach, int(place[count + number]))
    yield sorted(together)


def _gathered(scanned: Scanned, starts: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> pa.Table:
    """The rows with the given numbers, in that order."""
    by_place = np.argsort(wanted, kind="stable")
    ascending = wanted[by_place]
    parts: list[pa.Table] = []
    for number in np.unique(np.searchsorted(starts, ascending, side="right") - 1).tolist():
        first, last = np.searchsorted(ascending, starts[number : number + 2])
        picked = ascending[first:last] - starts[number]
        table = pa.Table.from_batches(_read(scanned.stretches[number], scanned.schema))
        neighbours = picked[-1] - picked[0] < len(picked)
        parts.append(table.slice(picked[0], len(picked)) if neighbours else table.take(pa.array(picked)))
    gathered = pa.concat_tables(parts).combine_chunks()
    if (by_place[1:] > by_place[:-1]).all():
        return gathered
    back = np.empty(len(wanted), dtype=np.int64)
    back[by_place] = np.arange(len(wanted))
    return gathered.take(pa.array(back))


def _read(stretch: Stretch, schema: pa.Schema | None) -> Iterator[pa.RecordBatch]:
    with stretch.file.open("rb") as file:
        file.seek(stretch.offset)
        for _ in range(stretch.batches):
            yield pa.ipc.read_record_batch(pa.ipc.read_message(file), schema)
