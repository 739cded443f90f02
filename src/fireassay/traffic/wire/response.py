"""How is an answer received?

One request in flight, and the part of its answer that has arrived.  Reads are appended to a list, and only the end of the answer is
detected.  Framing, headers and text are parsed after the end (`Exchange.reply`, `fireassay.traffic.replies.openai_json`).  Source: RFC 9112.

Where is a request sent, as which bytes, and why did its connection fail?

HTTP/1.1, serialised in advance.  Source: RFC 9112.  Failures are worded so that equal ones compare equal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate, pairwise
from time import monotonic_ns
from typing import Any, Final, NamedTuple, Protocol
from urllib.parse import urlsplit

from fireassay.traffic.chunks import LAST, Dechunker, Framed, certain_end, plain_chunks
from fireassay.traffic.parts import Answer, Ended, Reply, Wire

HEAD_BYTES = 1 << 16  # maximum size of an answer's head, all interim heads included
NONE, CHUNKED, LENGTH, CLOSE = range(4)  # how an answer ends; none: no head yet
END: Final = b"\r\n\r\n"
_SAID_ALL: Final = b"data: [DONE]\n\n\r\n"  # the last event of a stream, and the end of its chunk


class Head(NamedTuple):
    """The parts of an answer's head that determine where the answer ends."""

    status: int
    headers: Mapping[str, str]
    framing: int
    length: int
    keep: bool


def parse_head(head: bytes) -> Head:
    """Parse a head, its empty line included. Raises ValueError: it is not an HTTP/1 head, or gives two lengths."""
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
            raise ValueError(f"an unrequested transfer coding: {coding[:40]!r}")
        return Head(status, headers, CHUNKED, 0, keep and "content-length" not in headers)
    length = headers.get("content-length")
    if length is None:
        return Head(status, headers, CLOSE, 0, False)
    if not (length.isascii() and length.isdigit()):
        raise ValueError(f"not a length: {length[:40]!r}")
    return Head(status, headers, LENGTH, int(length), keep)


_HEADS: dict[bytes, Head] = {}  # cache: most servers send the same head for a second, some always


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
    """The transport of an exchange in flight."""

    def give_up(self, exchange: Exchange, ended: Ended, why: str) -> None:
        """Abort it."""

    def refresh(self, exchange: Exchange) -> None:
        """Update it: whether it was sent, and whether anything arrived."""


class Exchange:
    """A request in flight, and the part of its answer that has arrived."""

    # fmt: off
    __slots__ = (
        "_dechunker", "_ends", "_plain", "_raw_at", "answer", "back", "body", "body_at", "connect_ns", "connection", "done", "done_ns",
        "due_ns", "ended", "handle", "head", "heard", "live", "next", "ns", "number", "parts", "payload", "replica", "request",
        "returned", "room", "seen_ns", "sent_ns", "transport", "unsure", "why",
    )
    # fmt: on

    def __init__(self, request: Any, payload: Any, room: int, done: Callable[[Exchange], None]) -> None:
        self.request = request  # the caller's own object
        self.payload = payload  # bytes, on assay's own protocol
        self.room = room  # bytes left for the answer
        self.done = done  # called once, when it has ended
        self.live = True
        self.replica = 0
        self.transport = "lean"
        self.connection: GivesUp | None = None  # its transport
        self.back: Callable[[Exchange], None] | None = None  # called instead of `done` if it was handed over but not sent
        self.number = -1  # in the schedule
        self.due_ns = 0  # set if it may be handed over early
        self.handle = -1  # in the core
        self.next: Exchange | None = None  # the follower that the core will send
        self.returned = False  # handed over, and will not be sent
        self.heard = False  # whether anything has arrived, if reads are reported at the end
        self.answer: Answer | None = None  # if there is no reply to parse
        self.connect_ns: int | None = None
        self.sent_ns: int | None = None
        self.done_ns = 0
        self.seen_ns = 0  # when this process learned of its end: followers are due from then on
        self.ended: Ended = "cancelled"
        self.why = ""
        self.head: Head | None = None
        self.parts: list[bytes] = []
        self.ns: list[int] = []
        self.unsure: list[int] = []  # per read, how much earlier its bytes may have arrived; below 0: even the last
        self.body: bytes | None = None  # without framing, if already known
        self.body_at = 0
        self._plain = False  # chunked, ended, and plain, or assumed to be
        self._dechunker: Dechunker | None = None
        self._ends: list[int] = []
        self._raw_at: list[int] | None = None  # bytes that had arrived by each read, if reported

    def take(self, body: bytes, ends: list[int], head: Head | None) -> None:
        """Store an answer from a library, without framing."""
        self.body, self._ends, self.head = body, ends, head

    def came(self, data: bytes, ns: list[int], ends: list[int], *, whole: bool) -> None:
        """Store the complete answer, and how much of it had arrived by each read. `whole`: it ended properly."""
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
        """Mark it as handed over and not to be sent."""
        self.live, self.returned = False, True
        self.due_ns = due_ns or self.due_ns
        if self.back is not None:
            self.back(self)

    def finish(self, ended: Ended, why: str = "", at_ns: int | None = None, seen_ns: int | None = None) -> None:
        """Mark it as ended, with this outcome. Later calls have no effect."""
        if not self.live:
            return
        self.live = False
        self.ended, self.why = ended, why
        self.seen_ns = monotonic_ns() if seen_ns is None else seen_ns
        self.done_ns = self.seen_ns if at_ns is None else at_ns
        self.payload = b""
        self.done(self)

    # -- receiving; called by the connection

    def find_head(self, fresh: bytes) -> bool:
        """Search everything received for the end of the head. True: found, and not an interim one.

        Raises:
            ValueError: it is too long, or invalid.
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
        """True if the chunked body has ended: the number of bytes after its end, or None if it continues.

        A stream that has sent "[DONE]" and then ends like a body is trusted for now: the framing is verified later, with the rest
        (`Reply.ended`).

        Raises:
            ValueError: the framing is not chunked.
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
        """Feed the new reads to the dechunker."""
        dechunker = self._dechunker
        assert dechunker is not None
        skip = 0 if self._ends else self.body_at  # the head was complete before the first part was fed
        try:
            for part in self.parts[len(self._ends) :]:
                if skip < len(part):
                    dechunker.feed(part[skip:] if skip else part)
                self._ends.append(dechunker.size)
                skip = max(0, skip - len(part))
        except ValueError:  # neither the part that broke the framing nor a later one is fed again
            self._ends += [dechunker.size] * (len(self.parts) - len(self._ends))
            raise

    def length_left(self) -> int:
        """Remaining bytes of a body of known length; negative: too many arrived."""
        assert self.head is not None
        return self.head.length - (sum(map(len, self.parts)) - self.body_at)

    # -- after the end

    def reply(self) -> Reply:
        """The reply without framing. Releases the reads."""
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
        """Each read's uncertainty, limited by the send time: no answer precedes its request."""
        if self.unsure and self.sent_ns is not None and self.ns[0] - self.sent_ns < abs(self.unsure[0]):
            most = max(0, self.ns[0] - self.sent_ns)
            return [most if self.unsure[0] > 0 else -max(1, most), *self.unsure[1:]]
        return self.unsure

    def _raw_ends(self) -> list[int]:
        """How much had arrived by each read, from the start of the body."""
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
        with suppress(ValueError):  # keep what came before the framing broke
            self._dechunk()
        self._ends += [self._dechunker.size] * (len(self.ns) - len(self._ends))
        return b"".join(self._dechunker.pieces), self._ends


# ---- the request -----------------------------------------------------------------------------------------------------


def closed_because(error: int, heard: bool) -> str:
    """Why an exchange lost its connection, from an errno (-1: unknown; 0: the peer closed it)."""
    if error:
        return f"reset: {os.strerror(error) if error > 0 else 'the connection was lost'}"
    if heard:
        return "the server closed the connection in the middle of its answer"
    return "reset: the server closed the connection without an answer"


def plain_reason(error: OSError) -> str:
    """A reason without addresses, so that equal failures are counted together."""
    if reason := getattr(error, "reason", None):  # TLS
        detail = getattr(error, "verify_message", "")
        return f"TLS: {str(reason).replace('_', ' ').lower()}{': ' if detail else ''}{detail}"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return (error.strerror or str(error))[:200] or "the connection was closed before it was set up"


@dataclass(frozen=True, kw_only=True)
class Address:
    """A parsed replica URL."""

    host: str
    port: int
    tls: bool
    path: str  # without a trailing slash
    authority: str  # for the Host header


def address_of(url: str) -> Address:
    """Parse a URL. Raises ValueError: it is not an HTTP URL."""
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not a URL of http or https")
    tls = parts.scheme == "https"
    authority = parts.netloc.rpartition("@")[2]
    return Address(host=parts.hostname, port=parts.port or (443 if tls else 80), tls=tls, path=parts.path.rstrip("/"), authority=authority)


def below(base: str, path: str) -> str:
    """A request's path below a server's; the /v1 with which many write the server's is not doubled."""
    return base + (path.removeprefix("/v1") if base.endswith("/v1") and path.startswith("/v1/") else path)


class Payloads:
    """Requests as bytes; the constant part is cached."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._heads: dict[tuple[object, ...], bytes] = {}

    def payload(self, wire: Wire) -> bytes:
        """Serialise a request. Raises ValueError: a header or the path contains a line break."""
        key = (wire.method, wire.path, wire.headers)
        head = self._heads.get(key)
        if head is None:
            head = self._head(wire)
            if len(self._heads) < 64:  # signed requests differ in every header: not worth caching
                self._heads[key] = head
        return b"%b%d\r\n\r\n%b" % (head, len(wire.body), wire.body)

    def _head(self, wire: Wire) -> bytes:
        headers = {"Host": self._address.authority, "Accept-Encoding": "identity", "User-Agent": "assay"}
        names = {name.lower(): name for name in headers}
        for name, value in wire.headers:
            headers.pop(names.get(name.lower(), ""), None)
            names[name.lower()] = name
            headers[name] = value
        lines = [
            f"{wire.method} {below(self._address.path, wire.path)} HTTP/1.1",
            *(f"{key}: {content}" for key, content in headers.items()),
        ]
        if any("\r" in line or "\n" in line or "\0" in line for line in lines):
            raise ValueError("a header or the path of a request contains a line break")
        return "\r\n".join([*lines, "Content-Length: "]).encode("latin-1", "replace")
