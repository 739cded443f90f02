"""What do the parts of a load hand to each other?

    Ask    what is wanted, in the terms of the task           made by a task from a prompt
    Wire   what goes over the connection                      made by a backend from an Ask
    Reply  what came back, with the time of every read        made by the transport
    Answer what the reply says                                made by the backend from a Reply

Times are monotonic nanoseconds, the kernel's or taken at the socket read, before anything is parsed, with how unsure they are.  Nothing
here keeps state.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any, Literal, NamedTuple

from assay.spec.sections.serving import Target
from assay.traffic.chunks import Framed

Json = Mapping[str, Any]
Status = Literal["ok", "refused", "4xx", "5xx", "reset", "timeout", "malformed", "truncated", "error", "cancelled", "unsent", "lost"]
Ended = Literal["complete", "closed", "timeout", "too_large", "refused", "cancelled", "malformed"]


class Kind(IntEnum):
    """What a chunk carries: the column `chunk_kind` of the table `requests`."""

    ROLE = 0  # a choice without any text: the role, or nothing
    CONTENT = 1
    REASONING = 2
    TOOL = 3
    FINISH = 4  # a finish reason and no text
    USAGE = 5  # usage and no choice
    DONE = 6  # the end mark
    ERROR = 7
    OTHER = 8


TEXT = frozenset({Kind.CONTENT, Kind.REASONING, Kind.TOOL})  # kinds that bear tokens


class Prompt(NamedTuple):
    """One text to be sent, as the traffic made it."""

    text: str = ""
    messages: tuple[Json, ...] = ()  # of a conversation, oldest first; empty: `text` alone
    documents: tuple[str, ...] = ()  # embeddings and rerank
    query: str = ""  # rerank
    images: tuple[bytes, ...] = ()  # PNG
    tokens_in: int | None = None  # as asked for
    tokens_out: int | None = None
    example: str | None = None
    expected: str | None = None


class Ask(NamedTuple):
    """What is wanted of a model, whatever the dialect."""

    task: str
    model: str
    messages: tuple[Json, ...] = ()  # chat, in OpenAI's form; images are data URLs inside of them
    prompt: str = ""  # completions
    documents: tuple[str, ...] = ()
    query: str = ""
    max_tokens: int | None = None
    stream: bool = True
    temperature: float = 0.0
    ignore_eos: bool = True
    seed: int | None = None
    logprobs: bool = False


class Wire(NamedTuple):
    """A request as it is sent. `path` begins with a slash and comes after the replica's URL and its own path."""

    path: str
    body: bytes
    method: str = "POST"
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)


class Reply:
    """What came back. `body` is without transfer framing; `ends[i]` is how much of it had come by the read at `ns[i]`.

    `unsure[i]`, nanoseconds, of that read: 0 or more: its last byte came at `ns[i]`, each of the others at most so much before.
    Below 0: the last byte, too, may have come so much before.  Empty: nothing is known.

    A reader that knows the common form of a stream takes it from `framed`, framing and all, and then sets `size`; who asks for
    `body`, `ends` or `ended` gets them with the framing taken off and checked.
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
        self.framed: Framed | None = None  # a chunked body that is still in its framing
        self._body = b""
        if isinstance(body, Framed):
            self.framed = body
        else:
            self._body = body
        self._ended, self._ends, self._why = ended, ends, why
        self.http_status, self.ns = http_status, ns
        self.unsure = unsure if len(unsure) == len(ns) else ()
        self._end_unsure = self.unsure[-1:]  # of its very end, framing included
        self.headers = headers  # lower-case names
        self.size = len(self._body)  # bytes of the body

    @property
    def ended(self) -> Ended:
        """How it ended."""
        self._unframe()
        return self._ended

    @property
    def why(self) -> str:
        """What went wrong below HTTP."""
        self._unframe()
        return self._why

    @property
    def body(self) -> bytes:
        """The body, without framing."""
        self._unframe()
        return self._body

    @property
    def ends(self) -> Sequence[int]:
        """How much of the body had come by each read."""
        self._unframe()
        return self._ends

    def begin(self, most: int) -> bytes:
        """The first bytes of the body, in their framing where it has not been taken off."""
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
        """When the first `end` bytes of the body had all come."""
        return self.ns[min(bisect_left(self.ends, end), len(self.ns) - 1)]

    def unsure_at(self, end: int) -> int | None:
        """How much before that they may have come, ns; None: not known."""
        if not self.unsure:
            return None
        read = min(bisect_left(self.ends, end), len(self.ns) - 1)
        unsure = self.unsure[read]
        return 0 if unsure >= 0 and self.ends[read] == end else abs(unsure)

    def unsure_whole(self) -> list[int]:
        """The uncertainty of an answer in one piece, which ends with its last read: one entry, or none if it is not known."""
        return [max(0, -unsure) for unsure in self._end_unsure]


@dataclass(slots=True, kw_only=True)
class Answer:
    """What a reply says. Times are absolute; lists have one entry per chunk, but for what is not known.

    chunk_uncertainty_ns: how much earlier than its time a chunk may have been complete; empty: not known.
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
    tokenize_ns: int | None = None  # how long the prompt's tokens took; only where there is no server
    prefill_ns: int | None = None  # how long the first pass over the prompt took; likewise


@dataclass(frozen=True, kw_only=True)
class Option:
    """What `Target.options` may say to a backend under one name."""

    meaning: str
    kind: type[str] | type[int] | type[float] | type[bool] = str
    choices: tuple[str, ...] = ()  # empty: any
    needed: bool = False


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is asked of an engine: turns a prompt into an ask."""

    name: str
    streams: bool  # whether its answers come in chunks
    ask: Callable[[Prompt, Ask], Ask]  # the prompt, and an ask with everything but the content


@dataclass(frozen=True, kw_only=True)
class Backend:
    """A dialect over HTTP. `prepare` is called once per process, for what costs time: credentials, checks of options.

    `wire` must be fast: it is called once per request, just ahead of its time.  `read` is called when a reply has ended.
    A backend without HTTP (`process`) gets the ask and gives the answer itself.
    """

    name: str
    tasks: tuple[str, ...]
    wire: Callable[[Ask, Target], Wire]
    read: Callable[[Reply, Ask], Answer]
    prepare: Callable[[Target], Callable[[Wire, str], Wire]] | None = None  # (wire, URL) -> signed wire, at the moment of sending
    process: Callable[[Target], Callable[[Ask], Answer]] | None = None  # in this process, no server
    cached_tokens: bool = False  # whether its usage tells tokens from the cache
    tokenize: str = ""  # path of its tokenize endpoint, if it has one
    options: Mapping[str, Option] = field(default_factory=dict)  # what `Target.options` may say, by name
    own_keys: tuple[str, ...] | None = None  # keys of its body that it writes itself; None: takes no `body.KEY`
    native: tuple[str, ...] = ()  # tasks of its own dialect, with the option `native`
