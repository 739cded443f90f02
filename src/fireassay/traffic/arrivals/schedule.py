"""What will a launch send, when, and in which order?

A schedule in columns, complete before the load begins: it depends on the experiment, the configuration and the launch's seed, but not
on the number of client processes.  A million requests take about 70 MB.

When a request is due:
* `due_ns` >= 0: that long after the load begins (open loop, and the first request of a closed stream, which has 0);
* `due_ns` = -1: `pause_ns` after its predecessor has ended: the nearest earlier request of its session if it has a session and a turn
  above 0, else of its stream.  With `together` = m > 0, requests after the cold ones form consecutive groups of m, and each is due
  when the whole previous group has ended.
Cold requests (`phase` cold) are sent one by one, in order, before the load begins; `due_ns` is -1 and they follow each other.
Those of `kind` normal measure the engine's cold start; others are sent alone, for comparison with answers under load.
A turn above 0 with `due_ns` >= 0 (a replayed trace) does not wait for the previous turn.
Client process k of n sends the requests whose stream, else session, else number is k modulo n; process 0 sends all cold requests, and
everything if `together` > 0 (`fireassay.traffic.arrivals.draws`).

How are a schedule's columns built, selected and concatenated?

How is a schedule stored, identified by its content, and recorded?

On disk it is one Arrow IPC file with one column per array, memory-mapped when read, so that all client processes share its pages.  Its
SHA-256 covers the columns' names, types and little-endian content, and the expected answers: equal schedules have equal digests on every
platform.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import pyarrow

PHASES: Final = ("cold", "warm_up", "main")
KINDS: Final = ("normal", "canary", "identity", "rerun", "needle")
PAUSES: Final = ("none", "think", "tool", "retrieval")
BLOCK_TOKENS: Final = 512
NONE: Final = -1  # column value for "not applicable"


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """One launch's requests; every array has one entry per request, -1 where not applicable."""

    phase: npt.NDArray[np.int8]  # index in PHASES; in a closed loop the client sets warm_up by the clock
    kind: npt.NDArray[np.int8]  # index in KINDS
    stream: npt.NDArray[np.int32]
    session: npt.NDArray[np.int64]
    turn: npt.NDArray[np.int32]
    due_ns: npt.NDArray[np.int64]
    pause_ns: npt.NDArray[np.int64]
    pause_kind: npt.NDArray[np.int8]  # index in PAUSES
    tokens_in: npt.NDArray[np.int64]
    tokens_out: npt.NDArray[np.int64]
    seed: npt.NDArray[np.int64]
    replica: npt.NDArray[np.int32]
    example: npt.NDArray[np.int64]  # number of the prompt in its file or set: equal for equal texts
    expected: Mapping[int, str] = field(default_factory=dict)  # request -> what the answer must contain or equal
    cluster: Mapping[int, str] = field(default_factory=dict)  # request -> label of prompts with shared content; not sent
    # request -> IDs of the blocks of BLOCK_TOKENS tokens in its text, the last truncated at tokens_in: equal IDs are equal text (Mooncake)
    blocks: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    together: int = 0  # MLPerf's MultiStream: requests per query; the next query follows when all have ended

    def __len__(self) -> int:
        return len(self.phase)


COLD, WARM_UP, MAIN = (PHASES.index(name) for name in ("cold", "warm_up", "main"))
NORMAL, CANARY, IDENTITY, RERUN, NEEDLE = range(len(KINDS))
THINK, TOOL = PAUSES.index("think"), PAUSES.index("tool")

TYPES: Final[dict[str, type[np.signedinteger[Any]]]] = {
    "phase": np.int8,
    "kind": np.int8,
    "stream": np.int32,
    "session": np.int64,
    "turn": np.int32,
    "due_ns": np.int64,
    "pause_ns": np.int64,
    "pause_kind": np.int8,
    "tokens_in": np.int64,
    "tokens_out": np.int64,
    "seed": np.int64,
    "replica": np.int32,
    "example": np.int64,
}
BLANK: Final = {"phase": MAIN, "kind": NORMAL, "pause_ns": 0, "pause_kind": 0}  # other columns: NONE

Column = npt.NDArray[np.signedinteger[Any]]
Ints = npt.NDArray[np.int64]
Value = TypeVar("Value")


def rows(n: int, **given: Column | int) -> Schedule:
    """`n` requests with these columns (arrays of length n, or one value for all); the others hold their blank value."""
    columns: dict[str, Any] = {}
    for name, kind in TYPES.items():
        value = given.get(name, BLANK.get(name, NONE))
        columns[name] = np.full(n, value, dtype=kind) if isinstance(value, int) else np.asarray(value, dtype=kind)
    return Schedule(**columns)


def replaced(schedule: Schedule, **given: Column) -> Schedule:
    """The same requests with some columns replaced."""
    return replace(schedule, **{name: np.asarray(column, TYPES[name]) for name, column in given.items()})  # type: ignore[arg-type]


def chosen(schedule: Schedule, which: Ints) -> Schedule:
    """The requests numbered `which`, in that order."""
    columns: dict[str, Any] = {name: getattr(schedule, name)[which] for name in TYPES}
    return replace(
        schedule,
        **columns,
        expected=_renumbered(schedule.expected, which),
        blocks=_renumbered(schedule.blocks, which),
        cluster=_renumbered(schedule.cluster, which),
    )


def joined(parts: Sequence[Schedule]) -> Schedule:
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in TYPES}
    offsets = np.cumsum([0, *(len(part) for part in parts)]).tolist()
    expected, cluster = (
        {begin + key: text for begin, part in zip(offsets, parts, strict=False) for key, text in getattr(part, name).items()}
        for name in ("expected", "cluster")
    )
    blocks = {begin + key: ids for begin, part in zip(offsets, parts, strict=False) for key, ids in part.blocks.items()}
    together = max(part.together for part in parts)
    return Schedule(**columns, expected=expected, cluster=cluster, blocks=blocks, together=together)


def _renumbered(values: Mapping[int, Value], indices: Ints) -> dict[int, Value]:
    if not values:
        return {}
    return {new: values[old] for new, old in enumerate(indices.tolist()) if old in values}


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

    from fireassay.record.arrow_schemas import arrow_schema

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
