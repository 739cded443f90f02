"""Which rows of a stream can be read after its writer was killed or its disk filled up?

A stream is a sequence of Arrow messages: the schema, record batches, an end mark.  Batches are read one by one up to
the first damaged or truncated one; everything before it is kept.
Source: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from fireassay.record.untrusted import paths

END_MARK = b"\xff\xff\xff\xff\x00\x00\x00\x00"
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
        pa.ArrowException, OSError, MemoryError: the batch is damaged.
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


def is_damage(error: Exception) -> bool:
    """True if the stream is at fault: for a truncated message Arrow raises an OSError without errno."""
    return not isinstance(error, OSError) or error.errno is None


def read_buffer(content: pa.Buffer) -> Salvaged:
    """Every intact batch of a stream held in memory."""
    source = pa.BufferReader(content)
    batches: list[pa.RecordBatch] = []
    intact_bytes, schema = 0, None
    try:
        schema = schema_of(source)
        intact_bytes = source.tell()
        while True:
            batches.append(next_batch(source, schema))
            intact_bytes = source.tell()
    except StopIteration:
        end = (
            intact_bytes + len(END_MARK) if content[intact_bytes : intact_bytes + len(END_MARK)].to_pybytes() == END_MARK else intact_bytes
        )
        return Salvaged(schema=schema, batches=tuple(batches), lost_bytes=content.size - end)
    except (pa.ArrowException, OSError, ValueError, MemoryError):
        return Salvaged(schema=schema, batches=tuple(batches), lost_bytes=content.size - intact_bytes)
