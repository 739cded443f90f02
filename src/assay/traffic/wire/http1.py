"""How does a request go out and an answer come in, with as little as possible between the socket and the clock?

HTTP/1.1 on a bare asyncio protocol.  A read's time is the kernel's, of when the last of its bytes came (`assay.traffic.wire.sockets`), or
else is
taken before anything else happens; how unsure it is, is kept with it; then its bytes are put on a list, and only the end of the answer is
looked for.  Framing,
headers and text are taken apart after the end (`Exchange.reply`, `assay.traffic.replies.events`).  A request is written by one `write` to
the socket, just after `sent_ns` is taken.

A request is never processed twice: another connection is taken only if the server had closed a kept-alive one before its kernel
took a byte of the request (`_untaken`); else a lost connection is that request's failure.  Redirects are not followed.
Source: RFC 9112.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import sys
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, pairwise
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, cast
from urllib.parse import urlsplit

from assay.traffic.chunks import LAST, Dechunker, Framed, certain_end, plain_chunks
from assay.traffic.parts import Answer, Ended, Reply, Wire
from assay.traffic.wire.sockets import Poller, connected, polling, stamping

if TYPE_CHECKING:
    import ssl

HEAD_BYTES = 1 << 16  # longest head of an answer, all interim heads included
READ_COST = 128  # bytes that a read costs beyond its data: a drip of single bytes must not fill the memory
FULL_BYTES = 1 << 14  # of a read by asyncio: so many may have filled its buffer
FRESH_NS = 10_000_000  # a connection that was idle for less is not looked at before it is used again
_END: Final = b"\r\n\r\n"
_SAID_ALL: Final = b"data: [DONE]\n\n\r\n"  # the last event of a stream, and the end of its chunk
_NONE, _CHUNKED, _LENGTH, _CLOSE = range(4)  # how an answer ends; none: its head has not come yet


# ---- where to ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Address:
    """A replica's URL, taken apart."""

    host: str
    port: int
    tls: bool
    path: str  # without a slash at its end
    authority: str  # for the Host header


def address_of(url: str) -> Address:
    """The address in a URL.

    Raises:
        ValueError: it is no URL of HTTP.
    """
    parts = urlsplit(url if "://" in url else f"http://{url}")
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("not a URL of http or https")
    tls = parts.scheme == "https"
    authority = parts.netloc.rpartition("@")[2]
    return Address(host=parts.hostname, port=parts.port or (443 if tls else 80), tls=tls, path=parts.path.rstrip("/"), authority=authority)


class Payloads:
    """Requests as bytes: what does not change from one to the next is put together once."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._heads: dict[tuple[object, ...], bytes] = {}

    def payload(self, wire: Wire) -> bytes:
        """The whole request.

        Raises:
            ValueError: a header or the path would end its line.
        """
        key = (wire.method, wire.path, wire.headers)
        head = self._heads.get(key)
        if head is None:
            head = self._head(wire)
            if len(self._heads) < 64:  # signed requests differ in every header: they are not worth keeping
                self._heads[key] = head
        return b"%b%d\r\n\r\n%b" % (head, len(wire.body), wire.body)

    def _head(self, wire: Wire) -> bytes:
        headers = {"Host": self._address.authority, "Accept-Encoding": "identity", "User-Agent": "assay"}
        names = {name.lower(): name for name in headers}
        for name, value in wire.headers:
            headers.pop(names.get(name.lower(), ""), None)
            names[name.lower()] = name
            headers[name] = value
        lines = [f"{wire.method} {self._address.path}{wire.path} HTTP/1.1", *(f"{k}: {v}" for k, v in headers.items())]
        if any("\r" in line or "\n" in line or "\0" in line for line in lines):
            raise ValueError("a header or the path of a request holds a line break")
        return "\r\n".join([*lines, "Content-Length: "]).encode("latin-1", "replace")


# ---- an answer's head --------------------------------------------------------------------------------------------


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
        return Head(status, headers, _LENGTH, 0, keep)
    if coding:
        if coding != "chunked":
            raise ValueError(f"a transfer coding that was not asked for: {coding[:40]!r}")
        return Head(status, headers, _CHUNKED, 0, keep and "content-length" not in headers)
    length = headers.get("content-length")
    if length is None:
        return Head(status, headers, _CLOSE, 0, False)
    if not (length.isascii() and length.isdigit()):
        raise ValueError(f"not a length: {length[:40]!r}")
    return Head(status, headers, _LENGTH, int(length), keep)


_HEADS: dict[bytes, Head] = {}  # heads seen: most servers send the same one for a second, some for ever


def _head_of(head: bytes) -> Head:
    found = _HEADS.get(head)
    if found is None:
        found = parse_head(head)
        if len(_HEADS) >= 64:
            _HEADS.clear()
        if len(head) <= 2048:
            _HEADS[head] = found
    return found


# ---- one request and its answer ----------------------------------------------------------------------------------


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
            self._plain = whole and self.head is not None and self.head.framing == _CHUNKED
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
            stop = raw.find(_END, self.body_at)
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
        head, framed = self.head, None
        body, ends = b"", self._ends
        if self._plain:
            framed = Framed(b"".join(self.parts)[self.body_at :], self._raw_ends())
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
            framed=framed,
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
        if self.head.framing == _CHUNKED:
            return self._unchunked()
        raw = b"".join(self.parts)[self.body_at :]
        length = self.head.length if self.head.framing == _LENGTH else len(raw)
        return raw[:length], [min(length, max(0, end)) for end in self._raw_ends()]

    def _unchunked(self) -> tuple[bytes, list[int]]:
        self.unsure = [certain_end(part[-3:], unsure) for part, unsure in zip(self.parts, self.unsure, strict=False)]
        if self._dechunker is None:
            self._dechunker = Dechunker()
        with suppress(ValueError):  # what came before the framing broke is kept
            self._dechunk()
        self._ends += [self._dechunker.size] * (len(self.ns) - len(self._ends))
        return b"".join(self._dechunker.pieces), self._ends


# ---- a connection ------------------------------------------------------------------------------------------------


class Connection(asyncio.Protocol):
    """One connection to a replica: one exchange at a time."""

    __slots__ = (
        "_exchange",
        "_fd",
        "_framing",
        "_left",
        "_poll",
        "_pool",
        "_since",
        "_socket",
        "_transport",
        "_unsent",
        "began_ns",
        "closed",
        "connect_ns",
        "idle_ns",
        "used",
        "way",
    )

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._socket = -1
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._framing = _NONE
        self._left = 0
        self._fd = -1
        self._poll: Any = None
        self.connect_ns: int | None = None  # until the first exchange has taken it
        self.idle_ns = 0
        self.used = False
        self._unsent = False  # not all of the last request went out at once
        self._since = 0  # a moment at which nothing lay in the socket, if the last read may have left something
        self.closed = False
        self.way = "lean"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        link = transport.get_extra_info("socket")
        if link is not None and hasattr(select, "poll"):
            self._poll = select.poll()
            self._socket = link.fileno()
            self._poll.register(self._socket, getattr(select, "POLLRDHUP", select.POLLHUP))
            if not self._pool.address.tls:
                self._fd = self._socket

    def usable(self) -> bool:
        """Whether a request may be sent: the server has not closed it while it was idle."""
        transport = self._transport
        if self.closed or transport is None or transport.is_closing():
            return False
        if self._poll is None or monotonic_ns() - self.idle_ns < FRESH_NS:
            return True
        return not self._poll.poll(0)

    def start(self, exchange: Exchange) -> bool:
        """Send a request. False: nothing of it was taken, because the server had closed this connection."""
        transport = self._transport
        assert transport is not None
        exchange.connection = self
        exchange.transport = self.way
        exchange.connect_ns, self.connect_ns = self.connect_ns, None
        self._exchange, self._framing = exchange, _NONE
        payload = exchange.payload
        self._pool.under_way()
        exchange.sent_ns = monotonic_ns()
        if self._fd < 0:
            self._unsent = True  # as far as is known here
            transport.write(payload)
            return True
        try:
            taken = os.write(self._fd, payload)
        except BlockingIOError:
            taken = 0
        except OSError as error:
            self._exchange = exchange.connection = None
            transport.abort()
            if self.used:
                exchange.sent_ns = None
                return False
            exchange.finish("closed", f"reset: {error.strerror}")
            return True
        if taken < len(payload):
            self._unsent = True
            transport.write(payload[taken:])
        return True

    def data_received(self, data: bytes) -> None:
        """A read by asyncio's own transport."""
        ns, looks = monotonic_ns(), self._pool.looks
        if looks is None:
            self.received(data, ns, None)
            return
        since, self._since = self._since or looks.long_ago_ns, 0
        if len(data) >= FULL_BYTES:  # more may lie behind it, from as long ago
            self._since = since
        self.received(data, ns, min(-1, since - ns))

    @property
    def expects(self) -> bool:
        """Whether an answer is under way."""
        return self._exchange is not None

    def received(self, data: bytes, ns: int, unsure: int | None) -> None:
        """A read, when its bytes came, and how unsure that is (`Reply.unsure`); None: nobody knows."""
        exchange = self._exchange
        if exchange is None:  # nothing was asked: a farewell, or the rest of what was given up
            self._drop()
            return
        exchange.ns.append(ns)
        if unsure is not None:
            exchange.unsure.append(unsure)
        exchange.parts.append(data)
        size = len(data)
        exchange.room -= size + READ_COST
        if exchange.room < 0:
            self._end("too_large", "the answer is larger than client.response_mib")
        elif self._framing == _CHUNKED:
            if size < 5 or data.endswith(_END):
                self._look_for_the_last_chunk(exchange)
        elif self._framing == _LENGTH:
            self._left -= size
            if self._left <= 0:
                self._complete(exchange, exact=not self._left)
        elif self._framing == _NONE:
            self._look_for_the_head(exchange, data)

    def _look_for_the_head(self, exchange: Exchange, data: bytes) -> None:
        try:
            if not exchange.find_head(data):
                return
        except ValueError as error:
            self._end("malformed", str(error))
            return
        head = exchange.head
        assert head is not None
        self._framing = head.framing
        if head.framing == _LENGTH:
            self._left = exchange.length_left()
            if self._left <= 0:
                self._complete(exchange, exact=not self._left)
        elif head.framing == _CHUNKED and data.endswith(_END):
            self._look_for_the_last_chunk(exchange)

    def _look_for_the_last_chunk(self, exchange: Exchange) -> None:
        try:
            beyond = exchange.chunks_ended()
        except ValueError as error:
            self._end("malformed", str(error))
            return
        if beyond is not None:
            self._complete(exchange, exact=not beyond)

    def _complete(self, exchange: Exchange, *, exact: bool) -> None:
        head = exchange.head
        self._exchange = exchange.connection = None
        self.used = True
        if exact and head is not None and head.keep and not (self._unsent and self._holds_back()):
            self._pool.release(self, exchange.ns[-1])
        else:
            self._drop()
        exchange.finish("complete", at_ns=exchange.ns[-1])

    def _holds_back(self) -> bool:
        """Whether a part of the last request waits to be sent: an answer that came before all of it was asked."""
        self._unsent = False
        return self._transport is None or self._transport.get_write_buffer_size() > 0

    def _end(self, ended: Ended, why: str) -> None:
        """Give the exchange and the connection up."""
        exchange = self._exchange
        self._exchange = None
        self._drop()
        if exchange is not None:
            exchange.connection = None
            exchange.finish(ended, why)

    def give_up(self, exchange: Exchange, ended: Ended, why: str) -> None:
        """The client waits no longer."""
        self._end(ended, why)

    def refresh(self, exchange: Exchange) -> None:
        """It is always up to date here."""

    def _drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def eof_received(self) -> None:
        """The server says no more; the transport closes itself."""
        self._take_elsewhere()

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed = True
        self._fd = self._socket = -1
        self._poll = None
        exchange = self._exchange
        self._exchange = None
        if exchange is not None:
            exchange.connection = None
            self._lost(exchange, exc)
        self._pool.lost(self)

    def _take_elsewhere(self) -> None:
        """Send the request over another connection, if this one was closed before anything of it was taken.

        Told by the end itself: a FIN acknowledges what had come when it was sent.  A reset tells nothing of the kind.
        """
        exchange = self._exchange
        if exchange is None or exchange.ns or not self.used or self._socket < 0:
            return
        if _untaken(self._socket) >= len(exchange.payload):
            self._exchange = exchange.connection = None
            exchange.sent_ns = None
            self._pool.send(exchange)

    def _lost(self, exchange: Exchange, exc: Exception | None) -> None:
        if exc is None and self._framing == _CLOSE:
            exchange.finish("complete")
        elif isinstance(exc, OSError):
            exchange.finish("closed", closed_because(exc.errno or -1, bool(exchange.ns)))
        else:
            exchange.finish("closed", closed_because(0, bool(exchange.ns)))


def closed_because(error: int, heard: bool) -> str:
    """Why an exchange lost its connection: an errno (-1: an unknown one), or 0 for an end that the server told."""
    if error:
        return f"reset: {os.strerror(error) if error > 0 else 'the connection was lost'}"
    if heard:
        return "the server closed the connection in the middle of its answer"
    return "reset: the server closed the connection without an answer"


def _untaken(descriptor: int) -> int:
    """Bytes written to a socket that the other side's kernel has not acknowledged; 0 where that cannot be told."""
    try:
        import fcntl
        import termios

        found = fcntl.ioctl(descriptor, termios.TIOCOUTQ, b"\0\0\0\0")
    except (ImportError, OSError):
        return 0
    return int.from_bytes(found, sys.byteorder)


# ---- all connections to a replica --------------------------------------------------------------------------------


class Pool:
    """The connections to one replica. The one that was used last is used first."""

    def __init__(
        self, address: Address, *, most: int | None = None, connect_timeout_s: float = 60.0, context: ssl.SSLContext | None = None
    ) -> None:
        self.address = address
        self._most, self._connect_timeout_s, self._context = most, connect_timeout_s, context
        self._idle: list[Connection] = []
        self._waiting: deque[Exchange] = deque()
        self._open = 0
        self._all: set[Connection] = set()
        self._connecting: set[asyncio.Task[None]] = set()
        self._places: list[tuple[int, tuple[Any, ...]]] = []  # socket families and addresses of the host
        self._closed = False
        self.looks: Poller | None = None
        self.stamping = context is None and not address.tls and stamping()

    @property
    def open(self) -> int:
        """Connections that are open."""
        return self._open

    def send(self, exchange: Exchange) -> None:
        """Send a request now, or as soon as there is a connection for it."""
        idle = self._idle
        while idle:
            connection = idle.pop()
            if not connection.usable():
                connection._drop()
            elif connection.start(exchange):
                return
        self._waiting.append(exchange)
        self.replenish()

    def wanting(self) -> int:
        """Requests that wait for a connection."""
        return len(self._waiting)

    def warm(self, connections: int) -> None:
        """Open so many connections ahead of need."""
        for _ in range(connections - self.open - len(self._connecting)):
            self._connect_one()

    async def warmed(self) -> None:
        """Wait until no connection is being made."""
        while self._connecting:
            await asyncio.wait(list(self._connecting))

    def replenish(self) -> None:
        """Open a connection for every request that waits, as far as allowed."""
        while len(self._connecting) < self.wanting() and not self._closed:
            if self._most is not None and self.open + len(self._connecting) >= self._most:
                return
            self._connect_one()

    def _connect_one(self) -> None:
        task = asyncio.get_running_loop().create_task(self._connect())
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(self) -> None:
        begin_ns = monotonic_ns()
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                welcome = await self._connected()
        except TimeoutError:
            self._forget_task()
            self.fail("timeout", f"no connection in {self._connect_timeout_s:g} s")
        except OSError as error:
            self._forget_task()
            self.fail("refused", _plain(error))
        else:
            self._forget_task()
            welcome(monotonic_ns() - begin_ns)

    def _welcome(self, connection: Connection, connect_ns: int) -> None:
        if connection.closed:
            self.fail("closed", closed_because(0, False))
            return
        connection.connect_ns = connect_ns
        self._all.add(connection)
        self._open += 1
        self.release(connection, monotonic_ns())

    def _forget_task(self) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._connecting.discard(task)

    async def _connected(self) -> Callable[[int], None]:
        loop = asyncio.get_running_loop()
        places = self._places
        if not places:
            found = await loop.getaddrinfo(self.address.host, self.address.port, type=socket.SOCK_STREAM)
            places = self._places = list(dict.fromkeys((int(place[0]), tuple(place[4])) for place in found))
        for number, (family, place) in enumerate(places):
            try:
                welcome = await self.reach(loop, family, place)
            except OSError:
                if number + 1 == len(places):
                    raise
                continue
            if number:
                self._places = [(family, place), *(other for other in places if other != (family, place))]
            return welcome
        raise OSError("the host has no address")

    async def reach(self, loop: asyncio.AbstractEventLoop, family: int, place: tuple[Any, ...]) -> Callable[[int], None]:
        """Connect to an address; what takes the new connection in, told how long it took, ns.

        Raises:
            OSError: no connection could be made.
        """
        return partial(self._welcome, await self._connection(loop, family, place))

    async def _connection(self, loop: asyncio.AbstractEventLoop, family: int, place: tuple[Any, ...]) -> Connection:
        if self.stamping:
            connection = Connection(self)
            if await connected(loop, family, place, connection, self._looking(loop)):
                connection.way = "kernel"
                return connection
            self.stamping = False
        if polling():
            self._looking(loop)
        name = self.address.host if self.address.tls else None
        _, connection = await loop.create_connection(
            lambda: Connection(self), str(place[0]), self.address.port, ssl=self._context, server_hostname=name
        )
        return connection

    def _looking(self, loop: asyncio.AbstractEventLoop) -> Poller:
        if self.looks is None:
            self.looks = Poller(loop, lambda: any(connection.expects for connection in self._all))
        return self.looks

    def under_way(self) -> None:
        """A request is being sent: look often from now on, until none is under way."""
        if self.looks is not None:
            self.looks.hurry()

    def fail(self, ended: Ended, why: str) -> None:
        """A connection could not be made: the request that has waited longest has failed."""
        self._places = []
        while self._waiting:
            exchange = self._waiting.popleft()
            if exchange.live:
                exchange.finish(ended, why)
                break
        self.replenish()

    def release(self, connection: Connection, ns: int) -> None:
        """A connection is free: it takes the request that waits longest."""
        connection.idle_ns = ns
        waiting = self._waiting
        while waiting:
            exchange = waiting.popleft()
            if not exchange.live:
                continue
            if not connection.closed and connection.start(exchange):
                return
            waiting.appendleft(exchange)
            self.replenish()
            return
        self._idle.append(connection)

    def lost(self, connection: Connection) -> None:
        """A connection is gone."""
        if connection in self._all:
            self._all.discard(connection)
            self._open -= 1
        with suppress(ValueError):
            self._idle.remove(connection)
        if self._waiting:
            self.replenish()

    def waiting(self) -> list[Exchange]:
        """Requests that wait for a connection."""
        return [exchange for exchange in self._waiting if exchange.live]

    async def leave(self) -> None:
        """Make no more connections."""
        self._closed = True
        for task in list(self._connecting):
            task.cancel()
        while self._connecting:
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Close all connections and attempts."""
        await self.leave()
        for connection in list(self._all):
            connection._drop()
        while self._all:
            await asyncio.sleep(0)
        if self.looks is not None:
            self.looks.close()


def _plain(error: OSError) -> str:
    """A reason without addresses in it, so that equal failures are counted together."""
    if reason := getattr(error, "reason", None):  # TLS
        told = getattr(error, "verify_message", "")
        return f"TLS: {str(reason).replace('_', ' ').lower()}{': ' if told else ''}{told}"
    if error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)
    return (error.strerror or str(error))[:200]
