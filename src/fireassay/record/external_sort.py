"""How are streams sorted that do not fit into memory?  In two passes: the sort columns, then the rows.

A million requests with every chunk exceed a gigabyte.  The first pass finds the intact batches, as `fireassay.record.unsealed`
does, and keeps their offsets and sort columns.  The second writes the rows in order, one row group of some megabytes at a
time, and reads the batches that each group needs: writers emit rows nearly in order, so each batch is read once or twice.
Any other order costs time, not memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np
import pyarrow as pa

from fireassay.record.salvage import END_MARK, is_damage, next_batch, schema_of
from fireassay.record.tables import TABLES

if TYPE_CHECKING:
    import numpy.typing as npt

GROUP_BYTES: Final = 32 << 20  # of a row group, before compression
GROUP_ROWS: Final = 1 << 16


@dataclass(frozen=True)
class Place:
    """Where an intact batch begins in its file."""

    file: Path
    offset: int


@dataclass(kw_only=True)
class Scanned:
    """Result of the first pass over one table of a launch."""

    schema: pa.Schema | None = None
    places: list[Place] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # per batch
    keys: list[pa.RecordBatch] = field(default_factory=list)  # sort columns, per batch
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
    readable_bytes = rows = 0
    end_mark = False
    with path.open("rb") as file:
        try:
            schema = schema_of(file)
            readable_bytes = file.tell()
            if scanned.schema is not None and schema != scanned.schema:
                scanned.foreign.append(path)
                return
            while True:
                offset = file.tell()
                batch = next_batch(file, schema)
                scanned.schema = schema
                scanned.places.append(Place(path, offset))
                scanned.rows.append(batch.num_rows)
                scanned.keys.append(_copied(batch.select([column for column in order if column in batch.schema.names])))
                scanned.bytes += batch.nbytes
                rows += batch.num_rows
                readable_bytes = file.tell()
        except StopIteration:
            file.seek(readable_bytes)
            end_mark = file.read(len(END_MARK)) == END_MARK
        except (pa.ArrowException, OSError, ValueError, MemoryError) as error:
            if not is_damage(error):
                raise
    scanned.kept[path] = rows
    if lost := size - readable_bytes - (len(END_MARK) if end_mark else 0):
        scanned.lost[path] = lost


def _copied(batch: pa.RecordBatch) -> pa.RecordBatch:
    """A copy that does not keep the other columns' memory alive."""
    return batch.take(pa.array(np.arange(batch.num_rows)))


def groups(found: Scanned) -> Iterator[pa.Table]:
    """The sorted rows, some megabytes at a time. Raises OSError: a file cannot be read."""
    if found.schema is None:
        return
    order = _order(found)
    starts = np.concatenate([[0], np.cumsum(found.rows)]).astype(np.int64)
    step = max(1, min(GROUP_ROWS, len(order) * GROUP_BYTES // max(1, found.bytes)))
    for begin in range(0, len(order), step):
        yield _gathered(found, starts, order[begin : begin + step])


def _order(scanned: Scanned) -> npt.NDArray[np.int64]:
    import pyarrow.compute as pc

    keys = pa.Table.from_batches(scanned.keys)
    if not keys.num_columns:
        return np.arange(sum(scanned.rows), dtype=np.int64)
    by = [(column, "ascending") for column in keys.column_names]
    order: npt.NDArray[np.int64] = pc.sort_indices(keys, sort_keys=by).to_numpy().astype(np.int64)
    return order


def _gathered(scanned: Scanned, starts: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> pa.Table:
    """The rows with the given numbers, in that order."""
    by_place = np.argsort(wanted, kind="stable")
    ascending = wanted[by_place]
    parts = []
    for number in np.unique(np.searchsorted(starts, ascending, side="right") - 1).tolist():
        first, last = np.searchsorted(ascending, starts[number : number + 2])
        batch = _read(scanned.places[number], scanned.schema)
        whole = last - first == batch.num_rows
        parts.append(batch if whole else batch.take(pa.array(ascending[first:last] - starts[number])))
    back = np.empty(len(wanted), dtype=np.int64)
    back[by_place] = np.arange(len(wanted))
    return pa.Table.from_batches(parts).combine_chunks().take(pa.array(back))


def _read(place: Place, schema: pa.Schema | None) -> pa.RecordBatch:
    with place.file.open("rb") as file:
        file.seek(place.offset)
        return pa.ipc.read_record_batch(pa.ipc.read_message(file), schema)
