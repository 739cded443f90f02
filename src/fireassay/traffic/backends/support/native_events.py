"""How is a reply in an engine's own dialect read, event by event?

A dialect supplies one function that receives each event's JSON and adds its content to an `AnswerBuilder`.  The common part is here:
replies that failed below their content, errors within a 200, invalid JSON, and answers without an end marker, which are truncated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from fireassay.traffic.parts import Answer, Kind, Reply, Status
from fireassay.traffic.replies.openai_json import (
    MAX_ERROR,
    NO_MESSAGE,
    began_well,
    count,
    error_message,
    events,
    failure,
    is_error,
    is_failure,
    loads,
    no_end,
)

UNFINISHED: Final = "the answer ended without a finish reason"
# Vendors' names of the two usual finish reasons.
STOP: Final = frozenset(
    {"eos", "eos_token", "stop_sequence", "word", "end_turn", "complete", "completed", "finish", "stop_sequence_filtered"}
)
LENGTH: Final = frozenset({"limit", "max_tokens", "max_output_tokens", "max_length"})


def finish_of(reason: object) -> str | None:
    """A finish reason: OpenAI's `stop` or `length` where equivalent, else the vendor's in lower case."""
    if not isinstance(reason, str) or not reason:
        return None
    finish = reason.lower()
    return "stop" if finish in STOP else "length" if finish in LENGTH else finish


def has_member(reply: Reply, name: bytes) -> bool:
    """True if the start of a reply has a member of this name, which distinguishes the dialects of one engine."""
    return reply.body.find(b'"' + name + b'"', 0, 65536) >= 0


class AnswerBuilder:
    """An answer under construction."""

    def __init__(self) -> None:
        self.answer = Answer(status="ok")
        self.ended = False  # whether the server has marked the end
        self.malformed: str | None = None
        self._content: list[str] = []
        self._reasoning: list[str] = []

    def add(self, ns: int, kind: Kind, chars: int = 0) -> None:
        self.answer.chunk_ns.append(ns)
        self.answer.chunk_kind.append(int(kind))
        self.answer.chunk_chars.append(chars)

    def unsure(self, unsure: int | None) -> None:
        """Set how much earlier than its time each chunk added since the last call may have arrived, ns; None: unknown."""
        answer = self.answer
        if unsure is not None:
            answer.chunk_uncertainty_ns += [unsure] * (len(answer.chunk_ns) - len(answer.chunk_uncertainty_ns))

    def add_text(self, ns: int, text: str, *, reasoning: bool = False, empty: Kind = Kind.ROLE) -> None:
        """Add a chunk with text; of kind `empty` if there is none."""
        if not text:
            self.add(ns, empty)
            return
        self.add(ns, Kind.REASONING if reasoning else Kind.CONTENT, len(text))
        (self._reasoning if reasoning else self._content).append(text)

    def add_mixed(self, ns: int, content: str, reasoning: str, tool: int, empty: Kind) -> None:
        """Add a chunk that may have several kinds of text: it takes the first kind present of content, reasoning, tool."""
        kind = Kind.CONTENT if content else Kind.REASONING if reasoning else Kind.TOOL if tool else empty
        self.add(ns, kind, len(content) + len(reasoning) + tool)
        if content:
            self._content.append(content)
        if reasoning:
            self._reasoning.append(reasoning)

    def finish(self, reason: object) -> None:
        """The server reported the end of the answer, and the reason."""
        if (finish := finish_of(reason)) is not None:
            self.answer.finish_reason, self.ended = finish, True

    def fail(self, ns: int, message: str) -> None:
        """The server reported an error."""
        self.answer.error = self.answer.error or message[:MAX_ERROR] or NO_MESSAGE
        self.add(ns, Kind.ERROR)

    def mark_malformed(self, why: str) -> None:
        """Record invalid content; only the first instance is reported."""
        self.malformed = self.malformed or why

    def tokens(self, usage: Mapping[str, Any], names: Mapping[str, str]) -> None:
        """Take counts from a usage object: field of the answer -> name in the object."""
        for field, name in names.items():
            try:
                tokens = count(usage.get(name), name)
            except ValueError as error:
                self.mark_malformed(str(error))
                continue
            if tokens is not None:
                setattr(self.answer, field, tokens)

    def done(self, failed: Answer | None) -> Answer:
        """The finished answer; the transport's verdict takes precedence over the server's, and that over the content's."""
        answer = self.answer
        answer.text, answer.reasoning = "".join(self._content) or None, "".join(self._reasoning) or None
        status: Status
        if failed is not None and not (failed.status == "truncated" and answer.error):
            answer.status, answer.error = failed.status, failed.error
            return answer
        if answer.error:
            status = "error"
        elif self.malformed:
            status, answer.error = "malformed", self.malformed[:MAX_ERROR]
        elif (why := no_end(answer.finish_reason)) is not None:
            status, answer.error = "error", why
        elif not self.ended:
            status, answer.error = _unfinished(answer)
        else:
            status = "ok"
        answer.status = status
        return answer


def _unfinished(answer: Answer) -> tuple[Status, str]:
    if not answer.chunk_ns:
        return "malformed", "the answer has no chunk"
    return "truncated", UNFINISHED


Take = Callable[[Mapping[str, Any], str, int, AnswerBuilder], None]  # an event's JSON, its name, its time


def read_events(reply: Reply, take: Take, *, errors: bool = True) -> Answer:
    """Parse a reply of server-sent events or of one JSON document. Never raises, whatever the server sent.

    `errors`: whether an object with a member `error` reports an error, whatever else it contains.
    """
    failed = failure(reply)
    if failed is not None and not began_well(reply):
        return failed
    into = AnswerBuilder()
    for end, name, data in _pieces(reply):
        _take(data, name, reply.at(end), into, take, errors)
        into.unsure(reply.unsure_at(end))
    return into.done(failed)


def _pieces(reply: Reply) -> Iterable[tuple[int, str, bytes]]:
    kind = reply.headers.get("content-type", "")
    head = reply.body[:64].lstrip()
    if "event-stream" in kind or not head.startswith((b"{", b"[", b"<")):
        return events(reply.body, whole=reply.ended == "complete")
    return ((len(reply.body), "", reply.body),) if reply.ended == "complete" else ()


def _take(data: bytes, name: str, ns: int, into: AnswerBuilder, take: Take, errors: bool) -> None:
    if data.strip() == b"[DONE]":
        into.ended = True
        into.add(ns, Kind.DONE)
        return
    try:
        document = loads(data)
    except ValueError as error:
        if is_failure(name):
            into.fail(ns, data.decode("utf-8", "replace"))
        else:
            into.mark_malformed(f"a chunk is not JSON: {error}")
            into.add(ns, Kind.OTHER)
        return
    if not isinstance(document, dict):
        into.mark_malformed("a chunk is not a JSON object")
        into.add(ns, Kind.OTHER)
    elif is_failure(name) or (errors and is_error(document)):
        into.fail(ns, error_message(document) or NO_MESSAGE)
    else:
        guarded(into, ns, lambda: take(document, name, ns, into))


def guarded(into: AnswerBuilder, ns: int, take: Callable[[], None]) -> None:
    """Process one event: content that does not fit the dialect marks the answer as malformed, nothing else."""
    before = len(into.answer.chunk_ns)
    try:
        take()
    except (AttributeError, KeyError, TypeError, ValueError, IndexError) as error:
        into.mark_malformed(f"a chunk does not fit its dialect: {type(error).__name__}: {error}")
        if len(into.answer.chunk_ns) == before:
            into.add(ns, Kind.OTHER)
