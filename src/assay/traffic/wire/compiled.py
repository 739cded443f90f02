"""How do requests take the compiled way?  One thread below the interpreter (`_core.c`) sends, stamps and follows; this is its Python side.

A request is handed over before it is due, and what follows it in a closed loop as soon as its body is made: then nothing that Python
does meanwhile delays a send or a stamp.  Exchanges come back when they have ended, with their reads, and are parsed here like any other.
Connections are made here and given to the core.  Where it is not built (no compiler, no Linux), `assay.traffic.wire.connection` alone does it
all.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from assay.traffic.chunks import Dechunker
from assay.traffic.parts import Ended
from assay.traffic.wire.connection import Pool
from assay.traffic.wire.failures import closed_because
from assay.traffic.wire.response import Exchange
from assay.traffic.wire.sockets import SO_TIMESTAMPNS

try:
    from assay.traffic.wire import _core
except ImportError:
    _core = None  # type: ignore[assignment]

if TYPE_CHECKING:
    from assay.traffic.wire.payloads import Address

TICK_NS: Final = 500_000  # between looks while anything is under way: so far back may bytes of a merged read have come
AWAKE_NS: Final = 150_000  # it wakes up so much before a request is due, and waits for the time awake
COMPLETE, CLOSED, TOO_LARGE, MALFORMED, GIVEN_UP, UNSTARTED = range(6)  # as in _core.c
QUEUED, WAITING, FLYING, DONE = range(4)
LARGE: Final = "the answer is larger than client.response_mib"


def built() -> bool:
    """Whether the compiled core is there."""
    return _core is not None


class _Told(NamedTuple):
    """An exchange as the core gives it back."""

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
    """The thread of one client process.

    noted: where the due time of each request is written when it is due (`assay.traffic.client.due_journal`).
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
        """The number of a new pool."""
        self._pools.append(pool)
        number: int = self._core.pool()
        return number

    def counts(self, pool: int) -> tuple[int, int]:
        """A pool's open connections, and how many requests wait for one."""
        found: tuple[int, int] = (0, 0) if self._closed else self._core.counts(pool)
        return found

    def adopt(self, pool: int, sock: socket.socket, connect_ns: int) -> None:
        """Give it a connected socket."""
        self._core.adopt(pool, sock.detach(), connect_ns)

    def send(self, pool: int, exchange: Exchange) -> None:
        """Send a request when it is due."""
        handle = self._core.send(pool, exchange.number, exchange.payload, exchange.room, exchange.due_ns)
        exchange.handle = handle
        self._flying[handle] = exchange

    def arm(self, before: Exchange, pool: int, exchange: Exchange, pause_ns: int) -> None:
        """Let a request follow another when that has ended well; else it is given back (`Exchange.back`)."""
        handle = self._core.arm(before.handle, pool, exchange.number, exchange.payload, exchange.room, pause_ns)
        exchange.handle = handle
        self._flying[handle] = exchange

    def limit(self, end_ns: int) -> None:
        """Nothing follows at or after this time."""
        self._core.limit(end_ns)

    def hold(self, held: bool) -> None:
        """While it is held, nothing follows by itself: who cannot parse as fast must not ask faster."""
        self._core.hold(held)

    def stop(self) -> None:
        """Send nothing more; what was not sent yet is given back."""
        if not self._closed:
            self._core.stop()
            self.settle()

    def give_up(self, exchange: Exchange, ended: Ended, why: str) -> None:
        """End an exchange, and take in what has come of it."""
        if self._closed or exchange.handle not in self._flying:
            return
        self._core.cancel(exchange.handle, self._tag(ended, why))
        self.settle()

    def fail(self, pool: int, ended: Ended, why: str) -> None:
        """The request that waits longest for a connection has failed."""
        if not self._closed:
            self._core.fail(pool, self._tag(ended, why))

    def refresh(self, exchange: Exchange) -> None:
        """Note in an exchange under way whether it was sent, and whether anything came."""
        if self._closed or exchange.handle not in self._flying:
            return
        state, sent_ns, reads = self._core.look(exchange.handle)
        if state >= FLYING and sent_ns:
            exchange.sent_ns = sent_ns
            exchange.heard = reads > 0

    def settle(self) -> None:
        """Wait until it has done what was asked, and take in what has ended."""
        self._core.sync()
        self.take()

    def take(self) -> None:
        """Take in what has ended."""
        if self._closed:
            return
        for told in map(_Told._make, self._core.take()):
            exchange = self._flying.pop(told.handle)
            if told.ended == UNSTARTED:
                exchange.given_back(told.due_ns)
            else:
                self._ended(exchange, told)
        for pool in self._pools:
            pool.replenish()

    def close(self) -> None:
        """End the thread, and close every connection."""
        if not self._closed:
            self._closed = True
            self._loop.remove_reader(self._core.fileno())
            self._core.close()

    def _tag(self, ended: Ended, why: str) -> int:
        if not self._reasons or self._reasons[-1] != (ended, why):
            self._reasons.append((ended, why))
        return len(self._reasons) - 1

    def _ended(self, exchange: Exchange, told: _Told) -> None:
        exchange.due_ns, exchange.sent_ns = told.due_ns, told.sent_ns or None
        exchange.connect_ns = told.connect_ns if told.connect_ns >= 0 else None
        exchange.came(told.data, told.ns, told.ends, whole=told.ended == COMPLETE)
        exchange.unsure = told.unsure
        exchange.room -= len(told.data)
        ended, why = self._how(exchange, told)
        exchange.finish(ended, why, at_ns=told.done_ns, seen_ns=told.seen_ns)

    def _how(self, exchange: Exchange, told: _Told) -> tuple[Ended, str]:
        if told.ended == GIVEN_UP:
            return self._reasons[told.tag]
        if told.ended == TOO_LARGE:
            return "too_large", LARGE
        if told.ended == CLOSED:
            return "closed", closed_because(told.error, bool(told.ns))
        if told.ended == MALFORMED or (told.data and exchange.head is None):
            return "malformed", _malformed(exchange, told.data)
        return "complete", ""


def _malformed(exchange: Exchange, data: bytes) -> str:
    """What is wrong with an answer, in the words of the client in Python."""
    try:
        if exchange.head is None:
            exchange.find_head(data)
            return f"the answer's head has no end in {len(data)} bytes"
        Dechunker().feed(data[exchange.body_at :])
    except ValueError as error:
        return str(error)
    return "the answer's framing cannot be read"


class CorePool(Pool):
    """The connections to one replica, which belong to the core."""

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
        """The client waits no longer."""
        self.core.give_up(exchange, ended, why)

    def refresh(self, exchange: Exchange) -> None:
        """Note what is known of an exchange under way."""
        self.core.refresh(exchange)

    def fail(self, ended: Ended, why: str) -> None:
        self._places = []
        self.core.fail(self.number, ended, why)

    async def reach(self, loop: asyncio.AbstractEventLoop, family: int, place: tuple[Any, ...]) -> Callable[[int], None]:
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            with suppress(OSError):  # a kernel that does not stamp: the times are those of the reads, and say so
                sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(sock, place)
        except BaseException:
            sock.close()
            raise
        return lambda connect_ns: self.core.adopt(self.number, sock, connect_ns)

    async def close(self) -> None:
        await self.leave()
        self.core.close()
