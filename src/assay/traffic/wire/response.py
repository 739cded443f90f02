"""How does an answer come in?  One request on its way, and what has come of its answer.

The bytes of a read are put on a list, and only the end of the answer is looked for.  Framing, headers and text are taken apart after the end
(`Exchange.reply`, `assay.traffic.replies.events`).  Source: RFC 9112.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import accumulate, pairwise
from time import monotonic_ns
from typing import Any, Final, NamedTuple, Protocol

from assay.traffic.chunks import LAST, Dechunker, Framed, certain_end, plain_chunks
from assay.traffic.parts import Answer, Ended, Reply

HEAD_BYTES = 1 << 16  # longest head of an answer, all interim heads included


NONE, CHUNKED, LENGTH, CLOSE = range(4)  # how an answer ends; none: its head has not come yet
END: Final = b"\r\n\r\n"


_SAID_ALL: Final = b"data: [DONE]\n\n\r\n"  # the last event of a stream, and the end of its chunk


class Head(NamedTuple):
    """The head of an answer, as far as it decides where the answer ends."""

    status: int
    headers: Mapping[str, str]
    framing: int
    length: int
    keep: bool


def parse_head(head: bytes) -> Head:
    """A head, its empty line included.

    Raises:
        ValueError: it is not one of HTTP/1, or tells its length in two ways.
    """
    lines = head[:-4].decode("latin-1").split("\r\n")
    version, _, rest = lines[0].partition(" ")
    code = rest[:3]
    if version not in ("HTTP/1.1", "HTTP/1.0") or not (code.isascii() and code.isdigit() and len(code) == 3):
        raise ValueError(f"not an answer of HTTP/1.1: {lines[0][:80]!r}")
    headers: dict[str, str] = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon or not name:
            raise ValueError(f"not a header: {line[:80]!r}")
        if name == "content-length" and headers.get(name, value) != value:
            raise ValueError("two different lengths")
        headers[name] = f"{headers[name]}, {value}" if name in headers and name != "content-length" else value
    return _framed(int(code), headers, old=version == "HTTP/1.0")


def _framed(status: int, headers: dict[str, str], *, old: bool) -> Head:
    connection = headers.get("connection", "").lower()
    keep = "keep-alive" in connection if old else "close" not in connection
    coding = headers.get("transfer-encoding", "").lower()
    if status in (204, 304) or 100 <= status < 200:
        return Head(status, headers, LENGTH, 0, keep)
    if coding:
        if coding != "chunked":
            raise ValueError(f"a transfer coding that was not asked for: {coding[:40]!r}")
        return Head(status, headers, CHUNKED, 0, keep and "content-length" not in headers)
    length = headers.get("content-length")
    if length is None:
        return Head(status, headers, CLOSE, 0, False)
    if not (length.isascii() and length.isdigit()):
        raise ValueError(f"not a length: {length[:40]!r}")
    return Head(status, headers, LENGTH, int(length), keep)


_HEADS: dict[bytes, Head] = {}  # heads seen: most servers send the same one for a second, some for ever


def _head_of(head: bytes) -> Head:
    parsed = _HEADS.get(head)
    if parsed is None:
        parsed = parse_head(head)
        if len(_HEADS) >= 64:
            _HEADS.clear()
        if len(head) <= 2048:
            _HEADS[head] = parsed
    return parsed


class GivesUp(Protocol):
    """What an exchange is under way on."""

    def give_up(self, exchange: Exchange, ended: Ended, why: str) -> None:
        """End it: nobody waits any longer."""

    def refresh(self, exchange: Exchange) -> None:
        """Note in it whether it was sent, and whether anything came."""


class Exchange:
    """A request on its way, and what has come of its answer."""

    __slots__ = (
        "_dechunker",
        "_ends",
        "_plain",
        "_raw_at",
        "answer",
        "back",
        "body",
        "body_at",
        "connect_ns",
        "connection",
        "done",
        "done_ns",
        "due_ns",
        "ended",
        "handle",
        "head",
        "heard",
        "live",
        "next",
        "ns",
        "number",
        "parts",
        "payload",
        "replica",
        "request",
        "returned",
        "room",
        "seen_ns",
        "sent_ns",
        "transport",
        "unsure",
        "why",
    )

    def __init__(self, request: Any, payload: Any, room: int, done: Callable[[Exchange], None]) -> None:
        self.request = request  # whatever the caller knows it by
        self.payload = payload  # bytes, on assay's own protocol
        self.room = room  # bytes that the answer may still have
        self.done = done  # called once, when it has ended
        self.live = True
        self.replica = 0
        self.transport = "lean"
        self.connection: GivesUp | None = None  # what it is under way on
        self.back: Callable[[Exchange], None] | None = None  # called instead, where it was handed over and not sent
        self.number = -1  # in the schedule
        self.due_ns = 0  # where it may be handed over before
        self.handle = -1  # the core's
        self.next: Exchange | None = None  # what the core lets follow
        self.returned = False  # it was handed over, and will not be sent
        self.heard = False  # whether anything has come, where the reads are told at the end
        self.answer: Answer | None = None  # where there is no reply to be read
        self.connect_ns: int | None = None
        self.sent_ns: int | None = None
        self.done_ns = 0
        self.seen_ns = 0  # when this process knew that it had ended: what follows is due from then on
        self.ended: Ended = "cancelled"
        self.why = ""
        self.head: Head | None = None
        self.parts: list[bytes] = []
        self.ns: list[int] = []
        self.unsure: list[int] = []  # per read, how much earlier its bytes may have come; below 0: its last one, too
        self.body: bytes | None = None  # without framing, where it is known already
        self.body_at = 0
        self._plain = False  # chunked, ended, and as plain as most are, or said to be
        self._dechunker: Dechunker | None = None
        self._ends: list[int] = []
        self._raw_at: list[int] | None = None  # how much had come by each read, where it is told

    def take(self, body: bytes, ends: list[int], head: Head | None) -> None:
        """The answer as a library gave it, without framing."""
        self.body, self._ends, self.head = body, ends, head

    def came(self, data: bytes, ns: list[int], ends: list[int], *, whole: bool) -> None:
        """All that came of the answer, and how much of it by each read. `whole`: it ended as it should."""
        self.ns = ns
        if not data:
            return
        self.parts = [data]
        with suppress(ValueError):
            self.find_head(data)
        if whole or self.head is None:
            self._plain = whole and self.head is not None and self.head.framing == CHUNKED
            self._raw_at = ends
        else:
            self.parts = [data[begin:end] for begin, end in pairwise([0, *ends])]

    def given_back(self, due_ns: int) -> None:
        """It was handed over, and will not be sent."""
        self.live, self.returned = False, True
        self.due_ns = due_ns or self.due_ns
        if self.back is not None:
            self.back(self)

    def finish(self, ended: Ended, why: str = "", at_ns: int | None = None, seen_ns: int | None = None) -> None:
        """It has ended, in this way. Later calls do nothing."""
        if not self.live:
            return
        self.live = False
        self.ended, self.why = ended, why
        self.seen_ns = monotonic_ns() if seen_ns is None else seen_ns
        self.done_ns = self.seen_ns if at_ns is None else at_ns
        self.payload = b""
        self.done(self)

    # -- while it comes in; called by the connection

    def find_head(self, fresh: bytes) -> bool:
        """Look for the end of the head in all that has come. True: it was found, and is no interim one.

        Raises:
            ValueError: it is too long, or no head.
        """
        raw = fresh if len(self.parts) == 1 else b"".join(self.parts)
        while True:
            stop = raw.find(END, self.body_at)
            if stop < 0:
                if len(raw) > HEAD_BYTES:
                    raise ValueError(f"the answer's head has no end in {len(raw)} bytes")
                return False
            head = _head_of(raw[self.body_at : stop + 4])
            self.body_at = stop + 4
            if head.status >= 200:
                self.head = head
                return True

    def chunks_ended(self) -> int | None:
        """Whether the chunked body has ended: bytes that came after its end, or None if it goes on.

        A stream that has said "[DONE]" and then ends like a body is believed for now: the framing is checked with the rest, when
        there is time (`Reply.ended`).

        Raises:
            ValueError: it is not chunked framing.
        """
        if self._dechunker is None:
            if self._said_all() or plain_chunks(b"".join(self.parts)[self.body_at :]) is not None:
                self._plain = True
                return 0
            self._dechunker = Dechunker()
        self._dechunk()
        return len(self._dechunker.rest) if self._dechunker.done else None

    def _said_all(self) -> bool:
        parts = self.parts
        last = parts[-1]
        if last == LAST and len(parts) > 1:
            return parts[-2].endswith(_SAID_ALL)
        return last.endswith(_SAID_ALL + LAST)

    def _dechunk(self) -> None:
        """Feed the reads that were not fed yet."""
        dechunker = self._dechunker
        assert dechunker is not None
        skip = 0 if self._ends else self.body_at  # the head came whole before the first part was fed
        for part in self.parts[len(self._ends) :]:
            try:
                if skip < len(part):
                    dechunker.feed(part[skip:] if skip else part)
            finally:  # what broke the framing is not fed again
                self._ends.append(dechunker.size)
            skip = max(0, skip - len(part))

    def length_left(self) -> int:
        """Bytes of a body of known length that are still to come; negative: more came."""
        assert self.head is not None
        return self.head.length - (sum(map(len, self.parts)) - self.body_at)

    # -- after its end

    def reply(self) -> Reply:
        """What came back, without framing. The reads are let go."""
        head = self.head
        body: bytes | Framed
        ends: list[int]
        if self._plain:
            body, ends = Framed(b"".join(self.parts)[self.body_at :], self._raw_ends()), self._ends
        else:
            body, ends = self._unframed()
        self.parts, self._dechunker = [], None
        return Reply(
            ended=self.ended,
            http_status=None if head is None else head.status,
            headers={} if head is None else head.headers,
            body=body,
            ends=ends,
            ns=self.ns,
            why=self.why,
            unsure=self._since_sent(),
        )

    def _since_sent(self) -> list[int]:
        """Each read's uncertainty: no answer came before it was asked for."""
        if self.unsure and self.sent_ns is not None and self.ns[0] - self.sent_ns < abs(self.unsure[0]):
            most = max(0, self.ns[0] - self.sent_ns)
            return [most if self.unsure[0] > 0 else -max(1, most), *self.unsure[1:]]
        return self.unsure

    def _raw_ends(self) -> list[int]:
        """How much had come by each read, from the begin of the body."""
        begin = self.body_at
        ends = accumulate(map(len, self.parts)) if self._raw_at is None else self._raw_at
        return [end - begin for end in ends]

    def _unframed(self) -> tuple[bytes, list[int]]:
        if self.body is not None:
            return self.body, self._ends
        if self.head is None:
            return b"", [0] * len(self.ns)
        if self.head.framing == CHUNKED:
            return self._unchunked()
        raw = b"".join(self.parts)[self.body_at :]
        length = self.head.length if self.head.framing == LENGTH else len(raw)
        return raw[:length], [min(length, max(0, end)) for end in self._raw_ends()]

    def _unchunked(self) -> tuple[bytes, list[int]]:
        self.unsure = [certain_end(part[-3:], unsure) for part, unsure in zip(self.parts, self.unsure, strict=False)]
        if self._dechunker is None:
            self._dechunker = Dechunker()
        with suppress(ValueError):  # what came before the framing broke is kept
            self._dechunk()
        self._ends += [self._dechunker.size] * (len(self.ns) - len(self._ends))
        return b"".join(self._dechunker.pieces), self._ends
