"""How are a million requests recorded, each with every chunk, without one Python object per number?

A request's numbers go into one flat array, its lists into three more; every few hundred requests become one Arrow record batch of table
`requests` (`BatchWriter.append_batch`).  Building it takes a millisecond, during which no incoming data could be timestamped, and another
thread would only hold the GIL: so it is built column by column (`advance`).  A batch frees the memory of its requests.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, get_args

from fireassay.traffic.arrivals.schedule import KINDS, NONE, PHASES
from fireassay.traffic.parts import TEXT, Answer, Kind, Status

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pyarrow

ROWS = 512  # requests per batch
CHUNKS = 1 << 16  # chunks per batch: long answers make small batches
STATUSES: Final = get_args(Status)
TRANSPORTS: Final = ("kernel", "lean", "library", "process", "empty", "compiled")
MAX_SAID_LENGTH = 2000  # characters of an error message kept until secrets are removed and it is truncated again

# columns of the flat array; -1 is null
# fmt: off
_NUMBERS: Final = (
    "request", "phase", "kind", "stream", "session", "turn", "replica", "transport", "scheduled_ns", "sent_ns", "connect_ns",
    "first_byte_ns", "first_token_ns", "first_visible_ns", "last_token_ns", "done_ns", "status", "http_status", "tokens_in",
    "tokens_out", "tokens_reasoning", "tokens_cached", "bytes_out", "bytes_in", "tokenize_ns", "prefill_ns", "chunks", "logprobs",
    "unsure",
)
# fmt: on
_NAMED: Final = {"phase": PHASES, "kind": KINDS, "transport": TRANSPORTS, "status": STATUSES}
_CODES: Final = {name: {word: code for code, word in enumerate(words)} for name, words in _NAMED.items()}
_TEXT_KINDS: Final = frozenset(int(kind) for kind in TEXT)


@dataclass(slots=True, kw_only=True)
class LogRow:
    """A request's data besides its answer. Numbers are -1 if missing."""

    request: int
    phase: int  # index in PHASES
    kind: int = 0  # index in KINDS
    stream: int = NONE
    session: int = NONE
    turn: int = NONE
    replica: int = NONE
    transport: str = "empty"
    scheduled_ns: int
    sent_ns: int | None = None
    connect_ns: int | None = None
    first_byte_ns: int | None = None
    done_ns: int | None = None
    http_status: int | None = None
    bytes_out: int = 0
    bytes_in: int = 0


@dataclass(slots=True, kw_only=True)
class Times:
    """First and last times of an answer's text. None: no text."""

    first_token_ns: int | None = None
    first_visible_ns: int | None = None
    last_token_ns: int | None = None


def times_of(answer: Answer) -> Times:
    """The first and last text of an answer, from its chunks."""
    times = Times()
    kinds, ns = answer.chunk_kind, answer.chunk_ns
    for index, kind in enumerate(kinds):
        if kind in _TEXT_KINDS:
            if times.first_token_ns is None:
                times.first_token_ns = ns[index]
            if kind != Kind.REASONING:
                times.first_visible_ns = ns[index]
                break
    if times.first_token_ns is not None:
        for index in range(len(kinds) - 1, -1, -1):
            if kinds[index] in _TEXT_KINDS:
                times.last_token_ns = ns[index]
                break
    return times


def _n(value: int | None) -> int:
    return NONE if value is None else value


@dataclass(kw_only=True)
class RequestLog:
    """Rows of table `requests`, collected into batches.

    put: receives a finished batch and removes secrets from its texts (`fireassay.record.secrets.batches`).
    """

    launch: int
    client: int
    put: Callable[[pyarrow.RecordBatch], None]
    keep_text: bool = True

    def __post_init__(self) -> None:
        self.rows = 0  # total
        self._waiting = _Gathered()
        self._full: deque[_Gathered] = deque()
        self._making: Iterator[pyarrow.RecordBatch | None] = iter(())  # the batch under construction

    @property
    def pending(self) -> bool:
        """True if a batch is under construction."""
        return bool(self._full)

    def add(self, row: LogRow, answer: Answer, times: Times) -> None:
        waiting = self._waiting
        waiting.numbers.fromlist(
            [
                row.request,
                row.phase,
                row.kind,
                row.stream,
                row.session,
                row.turn,
                row.replica,
                _CODES["transport"][row.transport],
                row.scheduled_ns,
                _n(row.sent_ns),
                _n(row.connect_ns),
                _n(row.first_byte_ns),
                _n(times.first_token_ns),
                _n(times.first_visible_ns),
                _n(times.last_token_ns),
                _n(row.done_ns),
                _CODES["status"][answer.status],
                _n(row.http_status),
                _n(answer.tokens_in),
                _n(answer.tokens_out),
                _n(answer.tokens_reasoning),
                _n(answer.tokens_cached),
                row.bytes_out,
                row.bytes_in,
                _n(answer.tokenize_ns),
                _n(answer.prefill_ns),
                len(answer.chunk_ns),
                len(answer.logprobs),
                len(answer.chunk_uncertainty_ns),
            ]
        )
        waiting.chunk_ns.fromlist(answer.chunk_ns)
        waiting.unsure.fromlist(answer.chunk_uncertainty_ns)
        waiting.chunk_kind += bytes(answer.chunk_kind)
        waiting.chunk_chars.fromlist(answer.chunk_chars)
        if answer.logprobs:
            waiting.logprobs.fromlist(answer.logprobs)
        waiting.error.append(None if answer.error is None else answer.error[:MAX_SAID_LENGTH])
        waiting.finish.append(answer.finish_reason)
        keep = self.keep_text
        waiting.text.append(answer.text if keep else None)
        waiting.reasoning.append(answer.reasoning if keep else None)
        self.rows += 1
        if len(waiting.error) >= ROWS or len(waiting.chunk_ns) >= CHUNKS:
            self.cut()

    def cut(self) -> None:
        """Make the rows collected so far the next batch, however small."""
        if self._waiting.error:
            self._full.append(self._waiting)
            self._waiting = _Gathered()

    def advance(self) -> None:
        """Build some hundredths of a millisecond of the next batch; hand it over when complete."""
        batch = next(self._making, _NOTHING)
        if batch is _NOTHING and self._full:
            self._making = self._full[0].steps(self.launch, self.client)
        elif batch is not None and batch is not _NOTHING:
            self._full.popleft()
            self.put(batch)

    def flush(self) -> None:
        """Hand over all collected rows."""
        self.cut()
        while self._full:
            self.advance()


_NOTHING: Final[Any] = object()


class _Gathered:
    """Requests not yet in a batch."""

    __slots__ = ("chunk_chars", "chunk_kind", "chunk_ns", "error", "finish", "logprobs", "numbers", "reasoning", "text", "unsure")

    def __init__(self) -> None:
        self.numbers = array("q")
        self.chunk_ns, self.chunk_kind, self.chunk_chars = array("q"), bytearray(), array("q")
        self.logprobs, self.unsure = array("d"), array("q")
        self.error: list[str | None] = []
        self.finish: list[str | None] = []
        self.text: list[str | None] = []
        self.reasoning: list[str | None] = []

    def steps(self, launch: int, client: int) -> Iterator[pyarrow.RecordBatch | None]:
        """Build the batch in steps: yields None many times, then the batch."""
        import numpy as np
        import pyarrow as pa

        from fireassay.record.arrow_schemas import arrow_schema

        schema = arrow_schema("requests")
        table = np.frombuffer(self.numbers, dtype=np.int64).reshape(-1, len(_NUMBERS)).T
        numbers = dict(zip(_NUMBERS, table, strict=True))
        sent = np.where(numbers["sent_ns"] < 0, numbers["scheduled_ns"], numbers["sent_ns"])
        counts = numbers["chunks"]
        chunk_ns = np.frombuffer(self.chunk_ns, dtype=np.int64) - np.repeat(sent, counts)
        yield None
        texts = {"error": self.error, "finish_reason": self.finish, "text": self.text, "reasoning": self.reasoning}
        constants = {"launch": launch, "client": client}
        kinds = np.frombuffer(self.chunk_kind, dtype=np.uint8).astype(np.int64)
        lists = {
            "chunk_ns": (chunk_ns, counts),
            "chunk_kind": (kinds, counts),
            "chunk_chars": (np.frombuffer(self.chunk_chars, dtype=np.int64), counts),
            "logprobs": (np.frombuffer(self.logprobs, dtype=np.float64), numbers["logprobs"]),
            "chunk_uncertainty_ns": (np.frombuffer(self.unsure, dtype=np.int64), numbers["unsure"]),
        }
        arrays = []
        for column in schema:
            name = column.name
            if name in lists:
                arrays.append(_lists(*lists[name]))
            elif name in texts:
                arrays.append(_strings(texts[name]))
            elif name in constants:
                arrays.append(pa.array(np.full(len(self.error), constants[name], dtype=np.int32)))
            elif name in _NAMED:
                arrays.append(_words(_NAMED[name]).take(pa.array(numbers[name])))
            else:
                arrays.append(_optional(numbers[name], column))
            yield None
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _optional(values: npt.NDArray[np.int64], column: Any) -> pyarrow.Array:
    import numpy as np
    import pyarrow as pa

    values = np.ascontiguousarray(values)
    mask = values == NONE if column.nullable else None
    return pa.array(values.astype(np.int32) if pa.types.is_int32(column.type) else values, mask=mask)


def _lists(values: npt.NDArray[Any], counts: npt.NDArray[np.int64]) -> pyarrow.Array:
    import numpy as np
    import pyarrow as pa

    offsets = np.zeros(len(counts) + 1, dtype=np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values))


def _strings(values: list[str | None]) -> pyarrow.Array:
    """Text as an Arrow array; lone surrogates, invalid in UTF-8, become question marks."""
    import pyarrow as pa

    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        return pa.array([value if value is None else value.encode("utf-8", "replace").decode() for value in values], pa.string())


@lru_cache
def _words(words: tuple[str, ...]) -> pyarrow.Array:
    import pyarrow as pa

    return pa.array(words, pa.string())
