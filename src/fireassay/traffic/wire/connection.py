"""How is a request sent with as little as possible between the socket and the clock?

HTTP/1.1 on a bare asyncio protocol.  A request is one `write` to the socket, just after `sent_ns` is taken.  A read's time is the kernel's
for its last byte (`fireassay.traffic.wire.sockets`), or else is taken before anything else happens; its uncertainty is stored with it.

A request is never processed twice: it moves to another connection only if the server had closed a kept-alive one before its kernel took
a byte of the request (`_untaken`); otherwise a lost connection is a failure of that request.  Redirects are not followed.
Source: RFC 9112.
"""

from __future__ import annotations

import asyncio
import os
import select
import socket
import sys
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, cast

from fireassay.traffic.parts import Ended
from fireassay.traffic.wire.response import CHUNKED, CLOSE, END, LENGTH, NONE, Address, Exchange, closed_because, plain_reason
from fireassay.traffic.wire.sockets import Poller, connected, polling, stamping

if TYPE_CHECKING:
    import ssl

READ_COST = 128  # memory cost of a read beyond its data: a drip of single bytes must not fill the memory
FULL_BYTES = 1 << 14  # read size at which asyncio's buffer may have been full
FRESH_NS = 10_000_000  # connections idle for less are reused without a check


class Connection(asyncio.Protocol):
    """One connection to a replica: one exchange at a time."""

    # fmt: off
    __slots__ = (
        "_exchange", "_fd", "_framing", "_left", "_poll", "_pool", "_since", "_socket", "_transport", "_unsent", "began_ns", "closed",
        "connect_ns", "idle_ns", "used", "way",
    )
    # fmt: on

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._socket = -1
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._framing = NONE
        self._left = 0
        self._fd = -1
        self._poll: Any = None
        self.connect_ns: int | None = None  # until the first exchange takes it
        self.idle_ns = 0
        self.used = False
        self._unsent = False  # the last request was only partly sent
        self._since = 0  # a time at which the socket was empty, if the last read may have left data
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
        """True if a request may be sent: the server has not closed it while idle."""
        transport = self._transport
        if self.closed or transport is None or transport.is_closing():
            return False
        if self._poll is None or monotonic_ns() - self.idle_ns < FRESH_NS:
            return True
        return not self._poll.poll(0)

    def start(self, exchange: Exchange) -> bool:
        """Send a request. False: none of it was taken, because the server had closed this connection."""
        transport = self._transport
        assert transport is not None
        exchange.connection = self
        exchange.transport = self.way
        exchange.connect_ns, self.connect_ns = self.connect_ns, None
        self._exchange, self._framing = exchange, NONE
        payload = exchange.payload
        self._pool.under_way()
        exchange.sent_ns = monotonic_ns()
        if self._fd < 0:
            self._unsent = True  # until asyncio reports otherwise
            transport.write(payload)
            return True
        try:
            written = os.write(self._fd, payload)
        except BlockingIOError:
            written = 0
        except OSError as error:
            self._exchange = exchange.connection = None
            transport.abort()
            if self.used:
                exchange.sent_ns = None
                return False
            exchange.finish("closed", f"reset: {error.strerror}")
            return True
        if written < len(payload):
            self._unsent = True
            transport.write(payload[written:])
        return True

    def data_received(self, data: bytes) -> None:
        """Handle a read by asyncio's own transport."""
        ns, looks = monotonic_ns(), self._pool.looks
        if looks is None:
            self.received(data, ns, None)
            return
        since, self._since = self._since or looks.long_ago_ns, 0
        if len(data) >= FULL_BYTES:  # more may follow, of the same age
            self._since = since
        self.received(data, ns, min(-1, since - ns))

    @property
    def expects(self) -> bool:
        """True if an answer is in progress."""
        return self._exchange is not None

    def received(self, data: bytes, ns: int, unsure: int | None) -> None:
        """Handle a read, with its arrival time and uncertainty (`Reply.unsure`); None: unknown."""
        exchange = self._exchange
        if exchange is None:  # unsolicited: a closing message, or the rest of an aborted answer
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
        elif self._framing == CHUNKED:
            if size < 5 or data.endswith(END):
                self._look_for_the_last_chunk(exchange)
        elif self._framing == LENGTH:
            self._left -= size
            if self._left <= 0:
                self._complete(exchange, exact=not self._left)
        elif self._framing == NONE:
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
        if head.framing == LENGTH:
            self._left = exchange.length_left()
            if self._left <= 0:
                self._complete(exchange, exact=not self._left)
        elif head.framing == CHUNKED and data.endswith(END):
            self._look_for_the_last_chunk(exchange)

    def _look_for_the_last_chunk(self, exchange: Exchange) -> None:
        try:
            trailing = exchange.chunks_ended()
        except ValueError as error:
            self._end("malformed", str(error))
            return
        if trailing is not None:
            self._complete(exchange, exact=not trailing)

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
        """True if part of the last request is unsent: the answer came before the request was complete."""
        self._unsent = False
        return self._transport is None or self._transport.get_write_buffer_size() > 0

    def _end(self, ended: Ended, reason: str) -> None:
        exchange = self._exchange
        self._exchange = None
        self._drop()
        if exchange is not None:
            exchange.connection = None
            exchange.finish(ended, reason)

    def give_up(self, exchange: Exchange, ended: Ended, why: str) -> None:
        """Abort on timeout or cancellation."""
        self._end(ended, why)

    def refresh(self, exchange: Exchange) -> None:
        """Nothing to do: exchanges are always up to date here."""

    def _drop(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def eof_received(self) -> None:
        """The server has finished; the transport closes itself."""
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
        """Resend on another connection if this one was closed before any of the request was taken.

        Only a FIN is conclusive: it acknowledges what had arrived when it was sent.  A reset is not.
        """
        exchange = self._exchange
        if exchange is None or exchange.ns or not self.used or self._socket < 0:
            return
        if _untaken(self._socket) >= len(exchange.payload):
            self._exchange = exchange.connection = None
            exchange.sent_ns = None
            self._pool.send(exchange)

    def _lost(self, exchange: Exchange, exc: Exception | None) -> None:
        if exc is None and self._framing == CLOSE:
            exchange.finish("complete")
        elif isinstance(exc, OSError):
            exchange.finish("closed", closed_because(exc.errno or -1, bool(exchange.ns)))
        else:
            exchange.finish("closed", closed_because(0, bool(exchange.ns)))


def _untaken(descriptor: int) -> int:
    """Bytes written to a socket that the peer's kernel has not acknowledged; 0 if unknown."""
    try:
        import fcntl
        import termios

        answer = fcntl.ioctl(descriptor, termios.TIOCOUTQ, b"\0\0\0\0")
    except (ImportError, OSError):
        return 0
    return int.from_bytes(answer, sys.byteorder)


class Pool:
    """The connections to one replica. The most recently used is reused first."""

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
        self._addresses: list[tuple[int, tuple[Any, ...]]] = []  # (socket family, address) of the host
        self._closed = False
        self.looks: Poller | None = None
        self.stamping = context is None and not address.tls and stamping()

    @property
    def open(self) -> int:
        return self._open

    def send(self, exchange: Exchange) -> None:
        """Send a request now, or as soon as a connection is free."""
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
        """Number of requests waiting for a connection."""
        return len(self._waiting)

    def warm(self, connections: int) -> None:
        """Open this many connections in advance."""
        for _ in range(connections - self.open - len(self._connecting)):
            self._connect_one()

    async def warmed(self) -> None:
        """Wait until no connection is being opened."""
        while self._connecting:
            await asyncio.wait(list(self._connecting))

    def replenish(self) -> None:
        """Open a connection for every waiting request, within the limit."""
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
            self.fail("refused", plain_reason(error))
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
        addresses = self._addresses
        if not addresses:
            resolved = await loop.getaddrinfo(self.address.host, self.address.port, type=socket.SOCK_STREAM)
            addresses = self._addresses = list(dict.fromkeys((int(address[0]), tuple(address[4])) for address in resolved))
        for number, (family, address) in enumerate(addresses):
            try:
                welcome = await self.reach(loop, family, address)
            except OSError:
                if number + 1 == len(addresses):
                    raise
                continue
            if number:
                self._addresses = [(family, address), *(other for other in addresses if other != (family, address))]
            return welcome
        raise OSError("the host has no address")

    async def reach(self, loop: asyncio.AbstractEventLoop, family: int, address: tuple[Any, ...]) -> Callable[[int], None]:
        """Connect to an address; returns the function that registers the new connection, given its connect time in ns.

        Raises:
            OSError: the connection failed.
        """
        return partial(self._welcome, await self._connection(loop, family, address))

    async def _connection(self, loop: asyncio.AbstractEventLoop, family: int, address: tuple[Any, ...]) -> Connection:
        if self.stamping:
            connection = Connection(self)
            if await connected(loop, family, address, connection, self._looking(loop)):
                connection.way = "kernel"
                return connection
            self.stamping = False
        if polling():
            self._looking(loop)
        name = self.address.host if self.address.tls else None
        _, connection = await loop.create_connection(
            lambda: Connection(self), str(address[0]), self.address.port, ssl=self._context, server_hostname=name
        )
        return connection

    def _looking(self, loop: asyncio.AbstractEventLoop) -> Poller:
        if self.looks is None:
            self.looks = Poller(loop, lambda: any(connection.expects for connection in self._all))
        return self.looks

    def under_way(self) -> None:
        """A request is being sent: poll often until none is in flight."""
        if self.looks is not None:
            self.looks.hurry()

    def fail(self, ended: Ended, why: str) -> None:
        """A connection failed: so has the request that waited longest."""
        self._addresses = []
        while self._waiting:
            exchange = self._waiting.popleft()
            if exchange.live:
                exchange.finish(ended, why)
                break
        self.replenish()

    def release(self, connection: Connection, ns: int) -> None:
        """A connection is free: it takes the request that has waited longest."""
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
        if connection in self._all:
            self._all.discard(connection)
            self._open -= 1
        with suppress(ValueError):
            self._idle.remove(connection)
        if self._waiting:
            self.replenish()

    def waiting(self) -> list[Exchange]:
        return [exchange for exchange in self._waiting if exchange.live]

    async def leave(self) -> None:
        """Stop opening connections."""
        self._closed = True
        for task in list(self._connecting):
            task.cancel()
        while self._connecting:
            await asyncio.sleep(0)

    async def close(self) -> None:
        """Close all connections and pending attempts."""
        await self.leave()
        for connection in list(self._all):
            connection._drop()
        while self._all:
            await asyncio.sleep(0)
        if self.looks is not None:
            self.looks.close()
