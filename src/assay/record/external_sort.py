"""How are streams that are too large for memory brought into order?  Twice read: first the columns that order the rows, then the rows.

A million requests with every chunk are more than a gigabyte.  The first reading finds the whole batches, as
`assay.record.salvage` does, and keeps where each begins and the columns that its rows are ordered by.  The second writes the
rows in order, a row group of some megabytes at a time, and reads for each group the batches that it needs: rows come from
their writers nearly in order, so each batch is read once or twice.  In any other order it would take longer, not more memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from assay.record.salvage import END_MARK, is_damage, next_batch, schema_of
from assay.record.tables import TABLES

if TYPE_CHECKING:
    import numpy.typing as npt

GROUP_BYTES: Final = 32 << 20  # of a row group, before it is compressed
GROUP_ROWS: Final = 1 << 16


@dataclass(frozen=True)
class Place:
    """Where a whole batch begins in its file."""

    file: Path
    offset: int


@dataclass(kw_only=True)
class Scanned:
    """What the first reading found of one table of a launch."""

    schema: pa.Schema | None = None
    places: list[Place] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # of each
    keys: list[pa.RecordBatch] = field(default_factory=list)  # the columns that order them
    bytes: int = 0
    lost: dict[Path, int] = field(default_factory=dict)  # bytes at the end of a file that hold no readable rows
    kept: dict[Path, int] = field(default_factory=dict)  # rows of each file
    foreign: list[Path] = field(default_factory=list)  # files with other columns


def scan(paths: Sequence[Path], name: str) -> Scanned:
    """Find every whole batch of the streams of one table.

    Raises:
        OSError: a file cannot be read.
    """
    found = Scanned()
    for path in paths:
        if size := path.stat().st_size:
            _scan_file(path, size, TABLES[name].order, found)
    return found


def _scan_file(path: Path, size: int, order: Sequence[str], found: Scanned) -> None:
    good = rows = 0
    end_mark = False
    with path.open("rb") as file:
        try:
            schema = schema_of(file)
            good = file.tell()
            if found.schema is not None and schema != found.schema:
                found.foreign.append(path)
                return
            while True:
                offset = file.tell()
                batch = next_batch(file, schema)
                found.schema = schema
                found.places.append(Place(path, offset))
                found.rows.append(batch.num_rows)
                found.keys.append(_copied(batch.select([column for column in order if column in batch.schema.names])))
                found.bytes += batch.nbytes
                rows += batch.num_rows
                good = file.tell()
        except StopIteration:
            file.seek(good)
            end_mark = file.read(len(END_MARK)) == END_MARK
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            if not is_damage(error):
                raise
    found.kept[path] = rows
    if lost := size - good - (len(END_MARK) if end_mark else 0):
        found.lost[path] = lost


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Without the memory of the columns that were read with it."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


def groups(found: Scanned) -> Iterator[pa.Table]:
    """The rows in order, some megabytes at a time.

    Raises:
        OSError: a file cannot be read.
    """
    if found.schema is None:
        return
    order = _order(found)
    starts = np.concatenate([[0], np.cumsum(found.rows)]).astype(np.int64)
    step = max(1, min(GROUP_ROWS, len(order) * GROUP_BYTES // max(1, found.bytes)))
    for begin in range(0, len(order), step):
        yield _gathered(found, starts, order[begin : begin + step])


def _order(found: Scanned) -> npt.NDArray[np.int64]:
    import pyarrow.compute as pc

    keys = pa.Table.from_batches(found.keys)
    if not keys.num_columns:
        return np.arange(sum(found.rows), dtype=np.int64)
    by = [(column, "ascending") for column in keys.column_names]
    order: npt.NDArray[np.int64] = pc.sort_indices(keys, sort_keys=by).to_numpy().astype(np.int64)
    return order


def _gathered(found: Scanned, starts: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> pa.Table:
    """The rows of these numbers, in this order."""
    by_place = np.argsort(wanted, kind="stable")
    ascending = wanted[by_place]
    parts = []
    for number in np.unique(np.searchsorted(starts, ascending, side="right") - 1).tolist():
        first, last = np.searchsorted(ascending, starts[number : number + 2])
        batch = _read(found.places[number], found.schema)
        whole = last - first == batch.num_rows
        parts.append(batch if whole else batch.take(pa.array(ascending[first:last] - starts[number])))
    back = np.empty(len(wanted), dtype=np.int64)
    back[by_place] = np.arange(len(wanted))
    return pa.Table.from_batches(parts).combine_chunks().take(pa.array(back))


def _read(place: Place, schema: pa.Schema | None) -> pa.RecordBatch:
    with place.file.open("rb") as file:
        file.seek(place.offset)
        return pa.ipc.read_record_batch(pa.ipc.read_message(file), schema)
