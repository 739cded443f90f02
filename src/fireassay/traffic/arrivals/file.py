"""How is a schedule stored, identified by its content, and recorded?

On disk it is one Arrow IPC file with one column per array, memory-mapped when read, so that all client processes share its pages.  Its
SHA-256 covers the columns' names, types and little-endian content, and the expected answers: equal schedules have equal digests on every
platform.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from fireassay.traffic.arrivals.rows import TYPES
from fireassay.traffic.arrivals.schedule import KINDS, NONE, PAUSES, PHASES, Schedule

if TYPE_CHECKING:
    import pyarrow

HEAD: Final = b"assay schedule 1\n"
EXPECTED, CLUSTER, BLOCKS, TOGETHER = "expected", "cluster", "blocks", b"together"
ROWS_PER_BATCH: Final = 65536


def write(schedule: Schedule, path: Path) -> None:
    """Write the schedule as an Arrow IPC file."""
    import pyarrow as pa

    columns = {name: pa.array(getattr(schedule, name)) for name in TYPES}
    for name in (EXPECTED, CLUSTER):
        if texts := getattr(schedule, name):
            columns[name] = _texts(texts, range(len(schedule)))
    if schedule.blocks:
        ids = [schedule.blocks.get(number) for number in range(len(schedule))]
        columns[BLOCKS] = pa.array(ids, pa.list_(pa.int64()))
    batch = pa.RecordBatch.from_pydict(columns, metadata={TOGETHER: str(schedule.together)})
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, batch.schema) as writer:
        writer.write_batch(batch)


def read(path: Path) -> Schedule:
    """Read a schedule written by `write`; its arrays are read-only views of the mapped file."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as file:
        batch = pa.ipc.open_file(file).get_batch(0)
    columns: dict[str, Any] = {name: batch.column(name).to_numpy(zero_copy_only=True) for name in TYPES}
    blocks = {number: tuple(ids) for number, ids in _known(batch, BLOCKS).items()}
    together = int(batch.schema.metadata[TOGETHER])
    texts = {name: _known(batch, name) for name in (EXPECTED, CLUSTER)}
    return Schedule(**columns | texts, blocks=blocks, together=together)


def _known(batch: pyarrow.RecordBatch, name: str) -> dict[int, Any]:
    """Request number -> value, for requests that have one."""
    if name not in batch.schema.names:
        return {}
    values = batch.column(name)
    indices = np.flatnonzero(values.is_valid().to_numpy(zero_copy_only=False))
    return dict(zip(indices.tolist(), values.drop_null().to_pylist(), strict=True))


def digest(schedule: Schedule, extra: str = "") -> str:
    """Hexadecimal SHA-256 of everything to be sent; `extra`: further input (a digest of the texts' source)."""
    checksum = hashlib.sha256(HEAD)
    for name, kind in TYPES.items():
        values = np.ascontiguousarray(getattr(schedule, name), dtype=np.dtype(kind).newbyteorder("<"))
        checksum.update(f"{name} {values.dtype.str} {len(values)}\n".encode())
        checksum.update(values.data)
    extras = [sorted(schedule.expected.items()), sorted(schedule.blocks.items()), schedule.together, extra]
    checksum.update(json.dumps(extras, ensure_ascii=True, separators=(",", ":")).encode())
    return checksum.hexdigest()


def batch(schedule: Schedule, launch: int, begin: int = 0, end: int | None = None) -> pyarrow.RecordBatch:
    """Rows of table `arrivals` for the requests `begin` <= number < `end`."""
    import pyarrow as pa

    from fireassay.record.tables import arrow_schema

    part = slice(begin, len(schedule) if end is None else min(end, len(schedule)))
    numbers = np.arange(part.start, max(part.start, part.stop), dtype=np.int64)

    def optional(name: str) -> pyarrow.Array:
        column = getattr(schedule, name)[part]
        return pa.array(column, mask=column == NONE)

    def named(name: str, names: tuple[str, ...]) -> pyarrow.Array:
        return pa.array(names, pa.string()).take(pa.array(getattr(schedule, name)[part].astype(np.int32)))

    columns = {
        "launch": pa.array(np.full(len(numbers), launch, dtype=np.int32)),
        "request": pa.array(numbers),
        "phase": named("phase", PHASES),
        "kind": named("kind", KINDS),
        **{name: optional(name) for name in ("stream", "session", "turn", "due_ns")},
        "pause_ns": pa.array(schedule.pause_ns[part]),
        "pause_kind": named("pause_kind", PAUSES),
        **{name: optional(name) for name in ("tokens_in", "tokens_out")},
        "seed": pa.array(schedule.seed[part]),
        "replica": optional("replica"),
        "example": optional("example").cast(pa.string()),
        **{name: _texts(getattr(schedule, name), range(part.start, part.start + len(numbers))) for name in (EXPECTED, CLUSTER)},
    }
    schema = arrow_schema("arrivals")
    return pa.RecordBatch.from_arrays([columns[name] for name in schema.names], schema=schema)


def batches(schedule: Schedule, launch: int, end: int | None = None, begin: int = 0) -> list[pyarrow.RecordBatch]:
    """The same in batches small enough to write without a second copy of the whole."""
    last = len(schedule) if end is None else min(end, len(schedule))
    return [batch(schedule, launch, at, min(at + ROWS_PER_BATCH, last)) for at in range(begin, last, ROWS_PER_BATCH)]


def _texts(texts: Mapping[int, str], numbers: range) -> pyarrow.Array:
    import pyarrow as pa

    if not texts:
        return pa.nulls(len(numbers), pa.string())
    return pa.array([texts.get(number) for number in numbers], pa.string())
