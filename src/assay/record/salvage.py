"""Which rows of a stream can still be read after its writer was killed or its disk filled up?

A stream is a sequence of Arrow messages: the schema, record batches, an end mark.  Batches are read one by one up to
the first one that is damaged or cut off; everything before it is kept.
Source: https://arrow.apache.org/docs/format/Columnar.html#ipc-streaming-format
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

END_MARK = b"\xff\xff\xff\xff\x00\x00\x00\x00"


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
            yield from _one_by_one(file)


def _one_by_one(file: Path) -> Iterator[pa.RecordBatch]:
    with file.open("rb") as opened:
        try:
            reader = pa.ipc.open_stream(opened)
            while True:
                batch = reader.read_next_batch()
                batch.validate(full=True)
                yield batch
        except StopIteration:
            return
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            if not is_damage(error):
                raise


def is_damage(error: Exception) -> bool:
    """Whether the stream is at fault: Arrow raises an OSError without a number where a message is cut off."""
    return not isinstance(error, OSError) or error.errno is None


def read_buffer(content: pa.Buffer) -> Salvaged:
    """Every whole batch of a stream held in memory."""
    source = pa.BufferReader(content)
    batches: list[pa.RecordBatch] = []
    good, schema = 0, None
    try:
        reader = pa.ipc.open_stream(source)
        schema, good = reader.schema, source.tell()
        while True:
            batch = reader.read_next_batch()
            batch.validate(full=True)  # a flipped bit in an offset would crash whoever uses the batch
            batches.append(batch)
            good = source.tell()
    except StopIteration:
        end = good + len(END_MARK) if content[good : good + len(END_MARK)].to_pybytes() == END_MARK else good
        return Salvaged(schema=schema, batches=tuple(batches), lost_bytes=content.size - end)
    except (pa.ArrowException, OSError, ValueError, MemoryError):
        return Salvaged(schema=schema, batches=tuple(batches), lost_bytes=content.size - good)
