"""Which data do the parts of a load pass to each other?

    Ask    the request, in the task's terms             built by a task from a prompt
    Wire   the bytes and headers on the connection      built by a backend from an Ask
    Reply  the response, with the time of every read    built by the transport
    Answer the meaning of the response                  built by the backend from a Reply

Times are monotonic nanoseconds with their uncertainty: the kernel's, or taken at the socket read before any parsing.  All of these are
stateless.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple

from fireassay.spec.sections.serving import Target
from fireassay.traffic.chunks import Framed

Json = Mapping[str, Any]
Status = Literal["ok", "refused", "4xx", "5xx", "reset", "timeout", "malformed", "truncated", "error", "cancelled", "unsent", "lost"]
Ended = Literal["complete", "closed", "timeout", "too_large", "refused", "cancelled", "malformed"]


class Kind(IntEnum):
    """Content of a chunk: column `chunk_kind` of table `requests`."""

    ROLE = 0  # a choice without text: the role, or nothing
    CONTENT = 1
    REASONING = 2
    TOOL = 3
    FINISH = 4  # a finish reason without text
    USAGE = 5  # usage without a choice
    DONE = 6  # the end mark
    ERROR = 7
    OTHER = 8


TEXT = frozenset({Kind.CONTENT, Kind.REASONING, Kind.TOOL})  # kinds that carry tokens


class Prompt(NamedTuple):
    """One text to send, as the traffic generated it."""

    text: str = ""
    messages: tuple[Json, ...] = ()  # of a conversation, oldest first; empty: only `text`
    documents: tuple[str, ...] = ()  # embeddings and rerank
    query: str = ""  # rerank
    images: tuple[bytes, ...] = ()  # PNG
    size: tuple[int, int, int] | None = None  # of the images to make: width, height, number
    tokens_in: int | None = None  # requested
    tokens_out: int | None = None
    example: str | None = None
    expected: str | None = None


class Ask(NamedTuple):
    """One model request, independent of dialect."""

    task: str
    model: str
    messages: tuple[Json, ...] = ()  # chat, in OpenAI's format; images are embedded as data URLs
    prompt: str = ""  # completions
    documents: tuple[str, ...] = ()
    query: str = ""
    max_tokens: int | None = None
    stream: bool = True
    temperature: float = 0.0
    ignore_eos: bool = True
    seed: int | None = None
    logprobs: bool = False
    size: tuple[int, int, int] | None = None  # text_to_image


class Wire(NamedTuple):
    """A request as sent. `path` begins with a slash and is appended to the replica's URL and its path."""

    path: str
    body: bytes
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)


Sign = Callable[[Wire, str], Wire]  # (request, the replica's URL) -> the request as sent, with credentials or a signature


class Reply:
    """A response. `body` has no transfer framing; `ends[i]` is how much of it had arrived by the read at `ns[i]`.

    `unsure[i]`: uncertainty of that read, ns.  0 or more: its last byte arrived at `ns[i]`, each other byte at most that much earlier.
    Below 0: so may the last byte.  Empty: unknown.

    A reader that knows the common form of a stream parses `framed`, framing included, and then sets `size`; `body`, `ends` and
    `ended` remove and check the framing on access.
    """

    __slots__ = ("_body", "_end_unsure", "_ended", "_ends", "_why", "framed", "headers", "http_status", "ns", "size", "unsure")

    def __init__(
        self,
        *,
        ended: Ended,
        http_status: int | None,
        headers: Mapping[str, str],
        body: bytes | Framed,
        ends: Sequence[int] = (),
        ns: Sequence[int],
        why: str = "",
        unsure: Sequence[int] = (),
    ) -> None:
        self.framed: Framed | None = None  # a chunked body with its framing
        self._body = b""
        if isinstance(body, Framed):
            self.framed = body
        else:
            self._body = body
        self._ended, self._ends, self._why = ended, ends, why
        self.http_status, self.ns = http_status, ns
        self.unsure = unsure if len(unsure) == len(ns) else ()
        self._end_unsure = self.unsure[-1:]  # of its end, framing included
        self.headers = headers  # lower-case names
        self.size = len(self._body)  # bytes of the body

    @property
    def ended(self) -> Ended:
        """How it ended."""
        self._unframe()
        return self._ended

    @property
    def why(self) -> str:
        """The failure below HTTP."""
        self._unframe()
        return self._why

    @property
    def body(self) -> bytes:
        """The body without framing."""
        self._unframe()
        return self._body

    @property
    def ends(self) -> Sequence[int]:
        """How much of the body had arrived by each read."""
        self._unframe()
        return self._ends

    def begin(self, most: int) -> bytes:
        """First bytes of the body, with framing unless already removed."""
        return (self.framed.raw if self.framed is not None else self._body)[:most]

    def _unframe(self) -> None:
        if self.framed is None:
            return
        framed, self.framed = self.framed, None
        try:
            self._body, self._ends = framed.unframed()
            self.unsure = framed.without_framing(self.unsure)
        except ValueError as error:
            self._ended, self._why, self._ends = "malformed", str(error), [0] * len(self.ns)
        self.size = len(self._body)

    def at(self, end: int) -> int:
        """When the first `end` bytes of the body had all arrived."""
        return self.ns[min(bisect_left(self.ends, end), len(self.ns) - 1)]

    def unsure_at(self, end: int) -> int | None:
        """How much earlier they may have arrived, ns; None: unknown."""
        if not self.unsure:
            return None
        read = min(bisect_left(self.ends, end), len(self.ns) - 1)
        unsure = self.unsure[read]
        return 0 if unsure >= 0 and self.ends[read] == end else abs(unsure)

    def unsure_whole(self) -> list[int]:
        """Uncertainty of a non-streamed answer, which ends with its last read: one entry, or none if unknown."""
        return [max(0, -unsure) for unsure in self._end_unsure]


@dataclass(slots=True, kw_only=True)
class Answer:
    """The meaning of a reply. Times are absolute; lists have one entry per chunk, or are empty if unknown.

    chunk_uncertainty_ns: how much earlier than its time a chunk may have been complete; empty: unknown.
    """

    status: Status
    error: str | None = None
    finish_reason: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    tokens_cached: int | None = None
    chunk_ns: list[int] = field(default_factory=list)
    chunk_uncertainty_ns: list[int] = field(default_factory=list)
    chunk_kind: list[int] = field(default_factory=list)
    chunk_chars: list[int] = field(default_factory=list)
    text: str | None = None
    reasoning: str | None = None
    logprobs: list[float] = field(default_factory=list)
    tokenize_ns: int | None = None  # time to tokenise the prompt; only without a server
    prefill_ns: int | None = None  # time of the first forward pass over the prompt; only without a server


@dataclass(frozen=True, kw_only=True)
class Option:
    """One option of `Target.options` that a backend accepts."""

    meaning: str
    kind: type[str] | type[int] | type[float] | type[bool] = str
    choices: tuple[str, ...] = ()  # empty: any
    needed: bool = False


@dataclass(frozen=True, kw_only=True)
class Task:
    """A kind of request: turns a prompt into an ask."""

    name: str
    streams: bool  # whether its answers are streamed
    ask: Callable[[Prompt, Ask], Ask]  # (prompt, ask without content) -> ask


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A dialect over HTTP. `prepare` is called once per process for the expensive setup: credentials, checks of options.

    `wire` must be fast: it is called once per request, just before it is due.  `read` is called when a reply has ended.
    A backend without HTTP (`process`) gets the ask and returns the answer itself.
    """

    name: str
    tasks: tuple[str, ...]
    wire: Callable[[Ask, Target], Wire]
    read: Callable[[Reply, Ask], Answer]
    prepare: Callable[[Target], Sign] | None = None  # signs each request at send time
    process: Callable[[Target], Callable[[Ask], Answer]] | None = None  # in this process, no server
    tokenize: str = ""  # path of its tokenize endpoint, if any
    options: Mapping[str, Option] = field(default_factory=dict)  # accepted `Target.options`, by name
    own_keys: tuple[str, ...] | None = None  # body keys written by the backend; None: rejects `body.KEY`
    stops: bool = False  # whether a body's key `stop` names strings at which the engine ends an answer
    native: tuple[str, ...] = ()  # tasks in the engine's own dialect, with the option `native`
