"""How are requests sent by the compiled core?

One native thread (`_core.c`) sends, timestamps and releases followers; this is its Python side.

Requests are handed over before they are due, followers in a closed loop as soon as their body is built, so nothing that Python does
delays a send or a timestamp.  Exchanges come back when they have ended, with their reads, and are parsed like any other.
Connections are opened here and given to the core.  Without it (no compiler, no Linux), `fireassay.traffic.wire.connection` does everything.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from fireassay.traffic.chunks import Dechunker
from fireassay.traffic.parts import Ended
from fireassay.traffic.wire.connection import Pool
from fireassay.traffic.wire.response import Exchange, closed_because
from fireassay.traffic.wire.sockets import SO_TIMESTAMPNS

try:
    from fireassay.traffic.wire import _core
except ImportError:
    _core = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from fireassay.traffic.wire.response import Address

TICK_NS: Final = 500_000  # polling interval while anything is in flight, which bounds the uncertainty of merged reads
AWAKE_NS: Final = 150_000  # how early it wakes up before a request is due, to busy-wait
COMPLETE, CLOSED, TOO_LARGE, MALFORMED, GIVEN_UP, UNSTARTED = range(6)  # as in _core.c
QUEUED, WAITING, FLYING, DONE = range(4)
LARGE: Final = "the answer is larger than client.response_mib"


def built() -> bool:
    """True if the compiled core is available."""
    return _core is not None


class _Report(NamedTuple):
    """An exchange as returned by the core."""

    handle: int
    ended: int
    error: int
    tag: int
    exact: int
    due_ns: int
    sent_ns: int
    seen_ns: int
    done_ns: int
    connect_ns: int
    data: bytes
    ns: list[int]
    unsure: list[int]
    ends: list[int]


class Core:
    """The core thread of one client process.

    noted: where the core writes each request's due time once it is due (`fireassay.traffic.client.due`).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, noted: memoryview | None = None) -> None:
        self._core = _core.Core(TICK_NS, AWAKE_NS, noted)
        self._loop = loop
        self._flying: dict[int, Exchange] = {}
        self._pools: list[CorePool] = []
        self._reasons: list[tuple[Ended, str]] = []
        self._closed = False
        loop.add_reader(self._core.fileno(), self.take)

    def join(self, pool: CorePool) -> int:
        """Register a pool; returns its number."""
        self._pools.append(pool)
        number: int = self._core.pool()
        return number

    def counts(self, pool: int) -> tuple[int, int]:
        """A pool's open connections, and the requests waiting for one."""
        counts: tuple[int, int] = (0, 0) if self._closed else self._core.counts(pool)
        return counts

    def adopt(self, pool: int, sock: socket.socket, connect_ns: int) -> None:
        """Hand over a connected socket."""
        self._core.adopt(pool, sock.detach(), connect_ns)

    def send(self, pool: int, exchange: Exchange) -> None:
        """Send a request when it is due."""
        handle = self._core.send(pool, exchange.number, exchange.payload, exchange.room, exchange.due_ns)
        exchange.handle = handle
        self._flying[handle] = exchange

    def arm(self, before: Exchange, pool: int, exchange: Exchange, pause_ns: int) -> None:
        """Let a request follow another that ends well; otherwise it is returned (`Exchange.back`)."""
        handle = self._core.arm(before.handle, pool, exchange.number, exchange.payload, exchange.room, pause_ns)
        exchange.handle = handle
        self._flying[handle] = exchange

    def limit(self, end_ns: int) -> None:
        """No follower is sent at or after this time."""
        self._core.limit(end_ns)

    def hold(self, held: bool) -> None:
        """While held, no follower is sent: back-pressure for slow parsing."""
        self._core.hold(held)

    def stop(self) -> None:
        """Stop sending; unsent requests are returned."""
        if not self._closed:
            self._core.stop()
            self.settle()

    def give_up(self, exchange: Exchange, ended: Ended, why: str) -> None:
        """Abort an exchange, and process its result."""
        if self._closed or exchange.handle not in self._flying:
            return
        self._core.cancel(exchange.handle, self._tag(ended, why))
        self.settle()

    def fail(self, pool: int, ended: Ended, why: str) -> None:
        """The request that has waited longest for a connection has failed."""
        if not self._closed:
            self._core.fail(pool, self._tag(ended, why))

    def refresh(self, exchange: Exchange) -> None:
        """Update an exchange in flight: whether it was sent, and whether anything arrived."""
        if self._closed or exchange.handle not in self._flying:
            return
        state, sent_ns, reads = self._core.look(exchange.handle)
        if state >= FLYING and sent_ns:
            exchange.sent_ns = sent_ns
            exchange.heard = reads > 0

    def settle(self) -> None:
        """Wait until the core has processed all orders, then process ended exchanges."""
        self._core.sync()
        self.take()

    def take(self) -> None:
        """Process ended exchanges."""
        if self._closed:
            return
        for report in map(_Report._make, self._core.take()):
            exchange = self._flying.pop(report.handle)
            if report.ended == UNSTARTED:
                exchange.given_back(report.due_ns)
            else:
                self._ended(exchange, report)
        for pool in self._pools:
            pool.replenish()

    def close(self) -> None:
        """End the thread and close every connection."""
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._core.fileno())
            self._core.close()

    def _tag(self, ended: Ended, reason: str) -> int:
        if not self._reasons or self._reasons[-1] != (ended, reason):
            self._reasons.append((ended, reason))
        return len(self._reasons) - 1

    def _ended(self, exchange: Exchange, report: _Report) -> None:
        exchange.due_ns, exchange.sent_ns = report.due_ns, report.sent_ns or None
        exchange.connect_ns = report.connect_ns if report.connect_ns >= 0 else None
        exchange.came(report.data, report.ns, report.ends, whole=report.ended == COMPLETE)
        exchange.unsure = report.unsure
        exchange.room -= len(report.data)
        ended, reason = self._how(exchange, report)
        exchange.finish(ended, reason, at_ns=report.done_ns, seen_ns=report.seen_ns)

    def _how(self, exchange: Exchange, report: _Report) -> tuple[Ended, str]:
        if report.ended == GIVEN_UP:
            return self._reasons[report.tag]
        if report.ended == TOO_LARGE:
            return "too_large", LARGE
        if report.ended == CLOSED:
            return "closed", closed_because(report.error, bool(report.ns))
        if report.ended == MALFORMED or (report.data and exchange.head is None):
            return "malformed", _malformed(exchange, report.data)
        return "complete", ""


def _malformed(exchange: Exchange, data: bytes) -> str:
    """The framing error of an answer, in the Python client's words."""
    try:
        if exchange.head is None:
            exchange.find_head(data)
            return f"the answer's head has no end in {len(data)} bytes"
        Dechunker().feed(data[exchange.body_at :])
    except ValueError as error:
        return str(error)
    return "the answer's framing cannot be parsed"


class CorePool(Pool):
    """The connections to one replica, owned by the core."""

    def __init__(self, core: Core, address: Address, *, most: int | None, connect_timeout_s: float) -> None:
        super().__init__(address, most=most, connect_timeout_s=connect_timeout_s)
        self.core = core
        self.number = core.join(self)

    @property
    def open(self) -> int:
        return self.core.counts(self.number)[0]

    def wanting(self) -> int:
        return self.core.counts(self.number)[1]

    def send(self, exchange: Exchange) -> None:
        exchange.connection = self
        exchange.transport = "compiled"
        self.core.send(self.number, exchange)

    def arm(self, before: Exchange, exchange: Exchange, pause_ns: int) -> None:
        """Let a request follow another."""
        exchange.connection = self
        exchange.transport = "compiled"
        self.core.arm(before, self.number, exchange, pause_ns)

    def give_up(self, exchange: Exchange, ended: Ended, why: str) -> None:
        """Abort on timeout or cancellation."""
        self.core.give_up(exchange, ended, why)

    def refresh(self, exchange: Exchange) -> None:
        """Update an exchange in flight."""
        self.core.refresh(exchange)

    def fail(self, ended: Ended, why: str) -> None:
        self._addresses = []
        self.core.fail(self.number, ended, why)

    async def reach(self, loop: asyncio.AbstractEventLoop, family: int, address: tuple[Any, ...]) -> Callable[[int], None]:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            with suppress(OSError):  # a kernel without timestamps: times are those of the reads, and marked as such
                sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, address)
        except BaseException:
            sock.close()
            raise
        return lambda connect_ns: self.core.adopt(self.number, sock, connect_ns)

    async def close(self) -> None:
        await self.leave()
        self.core.close()
