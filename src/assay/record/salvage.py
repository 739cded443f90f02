"""Which rows of a stream can still be read after its writer was killed or its disk filled up?

A stream is a sequence of Arrow messages: the schema, record batches, an end mark.  Batches are read one by one up to
the first one that is damaged or cut off; everything before it is kept.
Source: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from assay.record.untrusted import paths

END_MARK = b"\xff\xff\xff\xff\x00\x00\x00\x00"
MOST_COLUMNS: Final = 256
SHARED: Final = 2  # validity maps and padding make less than this
TYPES: Final = (pa.int32(), pa.int64(), pa.float64(), pa.string(), pa.list_(pa.int64()), pa.list_(pa.float64()))


@dataclass(frozen=True, kw_only=True)
class Salvaged:
    """What could be read of one stream."""

    schema: pa.Schema | None  # None if not even the schema could be read
    batches: tuple[pa.RecordBatch, ...]
    lost_bytes: int  # bytes at the end of the stream that hold no readable rows; 0 for a whole stream

    @property
    def rows(self) -> int:
        """Rows that could be read."""
        return sum(batch.num_rows for batch in self.batches)


def read_stream(path: Path) -> Salvaged:
    """Every whole batch of a stream file.

    The file is read, not mapped: a mapped file that shrinks under its reader kills the reader.

    Raises:
        OSError: the file cannot be opened.
    """
    content = path.read_bytes()
    if not content:  # killed between creating the file and the first write
        return Salvaged(schema=None, batches=(), lost_bytes=0)
    return read_buffer(pa.py_buffer(content))


def batches(path: Path, launch: str, table: str) -> Iterator[pa.RecordBatch]:
    """Every whole batch of one table of an unfinished launch, stream by stream, one at a time in memory.

    Raises:
        OSError: the launch's folder cannot be listed, or a stream not be opened.
    """
    folder = path / "streams" / launch
    for file in sorted(folder.iterdir()) if folder.is_dir() else ():
        if file.name.startswith(f"{table}.") and file.suffix == ".arrows" and file.stat().st_size:
            paths.plain(path, f"streams/{launch}/{file.name}")
            yield from _one_by_one(file)


def _one_by_one(file: Path) -> Iterator[pa.RecordBatch]:
    with file.open("rb") as opened:
        try:
            schema = schema_of(opened)
            while True:
                yield next_batch(opened, schema)
        except StopIteration:
            return
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            if not is_damage(error):
                raise


def schema_of(source: Any) -> pa.Schema:
    """The columns of a stream, whose messages begin at the cursor.

    Raises:
        ValueError: their names are no UTF-8, or they are of a type that no table has: a few bytes of some types (run-end encoded, null)
        mean billions of rows. pa.ArrowException, OSError: it is damaged.
    """
    schema = pa.ipc.open_stream(source).schema
    if len(schema.names) > MOST_COLUMNS or any(field.type not in TYPES for field in schema):
        raise ValueError("columns of a type that no table has")
    return schema


def next_batch(source: Any, schema: pa.Schema) -> pa.RecordBatch:
    """The batch at the cursor, whole and in order.

    Raises:
        StopIteration: the stream has ended.
        ValueError: it is compressed, or its columns share their bytes: it would take more memory than its writer ever had.
        pa.ArrowException, OSError, MemoryError: it is damaged.
    """
    try:
        message = pa.ipc.read_message(source)
    except EOFError:
        raise StopIteration from None
    if message.type != "record batch" or _is_compressed(message.metadata.to_pybytes()):
        raise ValueError("a message that assay does not write")
    batch = pa.ipc.read_record_batch(message, schema)
    batch.validate(full=True)  # a flipped bit in an offset would crash whoever uses the batch
    if batch.nbytes > SHARED * message.body.size:
        raise ValueError("columns that share their bytes")
    return batch


def _is_compressed(message: bytes) -> bool:
    """Whether the header of a message, a RecordBatch, names a compression: its fourth field. The flatbuffer has been verified by Arrow."""
    table = int.from_bytes(message[:4], "little")
    field = _field(message, table, 2)
    header = field + int.from_bytes(message[field : field + 4], "little")
    return bool(_field(message, header, 3))


def _field(message: bytes, table: int, number: int) -> int:
    """Where the field of a table lies; 0: it has none."""
    listed = table - int.from_bytes(message[table : table + 4], "little", signed=True)
    place = 4 + 2 * number
    if place >= int.from_bytes(message[listed : listed + 2], "little"):
        return 0
    offset = int.from_bytes(message[listed + place : listed + place + 2], "little")
    return table + offset if offset else 0


def is_damage(error: Exception) -> bool:
    """Whether the stream is at fault: Arrow raises an OSError without a number where a message is cut off."""
    return not isinstance(error, OSError) or error.errno is None


def read_buffer(content: pa.Buffer) -> Salvaged:
    """Every whole batch of a stream held in memory."""
    source = pa.BufferReader(content)
    batches: list[pa.RecordBatch] = []
    good, schema = 0, None
    try:
        schema = schema_of(source)
        good = source.tell()
        while True:
            batches.append(next_batch(source, schema))
            good = source.tell()
    except StopIteration:
        end = good + len(END_MARK) if content[good : good + len(END_MARK)].to_pybytes() == END_MARK else good
        return Salvaged(schema=schema, batches=tuple(batches), lost_bytes=content.size - end)
    except (pa.ArrowException, OSError, ValueError, MemoryError):
        return Salvaged(schema=schema, batches=tuple(batches), lost_bytes=content.size - good)
