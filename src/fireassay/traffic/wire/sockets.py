"""When did the bytes reach this machine, and how uncertain is that time?

Where supported (Linux, without TLS), the kernel timestamps incoming packets (SO_TIMESTAMPNS), and a read returns the timestamp with the
bytes.  The time of a packet read alone is then right even if the process was busy, descheduled or asleep.  If one read merges several
packets, only the last one's timestamp is known: the others arrived between the last time the socket was empty and that timestamp.
Every read therefore carries the uncertainty of its time (`fireassay.traffic.parts.Reply.unsure`):

    unsure = timestamp - the later of  start of the previous poll (epoll did not report this socket, or the socket was drained
                                       after that)
                                       start of the last read that drained the socket (it returned less than the buffer holds)

A stopped, starved or busy process polls rarely, so this grows by itself.  A process asleep for lack of data is woken to poll every 0.5 ms
while an answer is pending: 6 to 7 % of a core on a virtual machine, and nothing when idle.
asyncio's transports drop the timestamp, so these connections are read here: one epoll per replica, which the loop watches like any
descriptor.

A timestamp is wall-clock time, converted to monotonic time at each poll: both clocks run at the same rate and diverge only when the wall
clock is set.  A poll that detects this uses the reads' times.  Times of one connection never decrease.  A timestamp from well before a poll
that found nothing (a packet held up, or waiting for a lost one) is not used either.
Cannot tell: anything before the timestamp, and the microseconds from there to the socket.
Source: socket(7), epoll(7); tcp_recvmsg and ep_poll (with a timeout of 0 no signal interrupts it);
Documentation/networking/timestamping.rst of Linux.
"""

from __future__ import annotations

import asyncio
import select
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from time import monotonic_ns, time_ns
from typing import Any, Final, Protocol, cast

from fireassay.traffic.client.timer import Ticker

SO_TIMESTAMPNS: Final = 35  # include/uapi/asm-generic/socket.h; the socket module does not define it
READ_BYTES: Final = 1 << 14
MAX_AGO_NS: Final = 10_000_000_000  # an older timestamp must come from another clock
LOOK_NS: Final = 5000  # maximum time to read the two clocks; beyond it, the process was interrupted in between
LOOKS: Final = 5
LOOK_EVERY_NS: Final = 500_000  # polling interval while data is expected, which bounds the uncertainty of merged reads
TICKS: Final = 64  # polls between checks whether data is still expected
DELAYED_NS: Final = 1_000_000  # a timestamp this much older than an empty poll: the packet was held up
MOVED_NS: Final = 10_000  # clock divergence beyond the error of reading the clocks
_ANCILLARY: Final = socket.CMSG_SPACE(16) if hasattr(socket, "CMSG_SPACE") else 0
_TIMESPEC: Final = struct.Struct("qq")
NS: Final = 1_000_000_000


def polling() -> bool:
    """True if a `Poller` is supported here."""
    return hasattr(select, "epoll")


def stamping() -> bool:
    """True if the kernel can timestamp incoming packets."""
    return sys.platform.startswith("linux") and hasattr(select, "epoll") and sys.maxsize > 1 << 32


class Receiver(Protocol):
    """Callbacks of a link."""

    def received(self, data: bytes, ns: int, unsure: int) -> None:
        """Bytes arrived, at this monotonic time with this uncertainty (`fireassay.traffic.parts.Reply.unsure`)."""

    def eof_received(self) -> None:
        """The peer has finished sending."""

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is closed; called once."""


class Poller:
    """Watches links, and reads those with data.

    waiting: whether data is expected; while it is, the poller polls every `LOOK_EVERY_NS`, if the kernel has a timer for that.
    long_ago_ns: start of the poll before the last two.  The loop polls at most once per turn, so a whole turn lies between that time
    and now; data that the loop itself reads now was not there when that turn polled (up to 1,024 sockets at once).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, waiting: Callable[[], bool] = lambda: False) -> None:
        self.loop = loop
        self._waiting = waiting
        self._epoll = select.epoll()
        self._links: dict[int, Link] = {}
        self._ahead_ns = _ahead() or time_ns() - monotonic_ns()
        # when the last polls started: a socket not reported by one was empty then
        self._last_ns = self._before_ns = self.long_ago_ns = monotonic_ns()
        self.now_ns = self._last_ns  # at or just before the next read
        self._ticks = 0  # since the last check whether data is expected
        self._timer = Ticker()
        if self._timer.fd >= 0:
            self._epoll.register(self._timer.fd, select.EPOLLIN)
        # The kernel starts timestamping some time after the first socket enables it, and stops with the last: keep one open.
        self._asking = socket.socket(type=socket.SOCK_DGRAM)
        with suppress(OSError):  # a kernel without timestamps: `connected` reports it
            self._asking.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        loop.add_reader(self._epoll.fileno(), self._read_ready)

    def hurry(self) -> None:
        """Data is expected from now on: poll often."""
        self._ticks = 0
        self._timer.start(LOOK_EVERY_NS)

    def watch(self, link: Link) -> None:
        """Start reading a link."""
        self._links[link.fd] = link
        self._epoll.register(link.fd, select.EPOLLIN | select.EPOLLRDHUP)

    def want(self, link: Link, *, room: bool) -> None:
        """Start or stop reporting room to write."""
        self._epoll.modify(link.fd, select.EPOLLIN | select.EPOLLRDHUP | (select.EPOLLOUT if room else 0))

    def forget(self, link: Link) -> None:
        """Stop reading a link."""
        if self._links.pop(link.fd, None) is not None and not self._epoll.closed:
            self._epoll.unregister(link.fd)

    def close(self) -> None:
        """Stop watching."""
        if not self._epoll.closed:
            self.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._asking.close()
            self._timer.close()

    def _read_ready(self) -> None:
        began, links = monotonic_ns(), self._links
        events = self._epoll.poll(0, len(links) + 1)  # room for all: sockets left out are known to be empty
        since_ns = self._last_ns
        self.long_ago_ns, self._before_ns, self._last_ns = self._before_ns, since_ns, began
        self.now_ns = began
        timer = self._timer.fd
        ahead_ns = self._known_ahead() if events and events != [(timer, select.EPOLLIN)] else None
        for fd, event in events:
            link = links.get(fd)
            if link is not None:
                link.ready(event, ahead_ns, since_ns)
            elif fd == timer:
                self._tick()

    def _tick(self) -> None:
        self._timer.read()
        self._ticks += 1
        if self._ticks >= TICKS:
            self._ticks = 0
            if not self._waiting():
                self._timer.stop()

    def _known_ahead(self) -> int | None:
        """How far the wall clock is ahead of the monotonic one; None if it was just set, or unknown."""
        ahead = _ahead()
        if ahead is None or abs(ahead - self._ahead_ns) < MOVED_NS:
            return None if ahead is None else self._ahead_ns
        self._ahead_ns = ahead
        return None


def _ahead() -> int | None:
    """Wall-clock minus monotonic time, ns; None if every attempt was interrupted."""
    for _ in range(LOOKS):
        before_ns, wall, now = monotonic_ns(), time_ns(), monotonic_ns()
        if now - before_ns < LOOK_NS:
            return wall - (before_ns + now) // 2
    return None


def judged(stamp_ns: int | None, now_ns: int, empty_ns: int, last_ns: int, *, emptied: bool) -> tuple[int, int]:
    """A read's time and uncertainty (`Reply.unsure`), from its timestamp, its end, the last empty time, and the previous read."""
    if stamp_ns is None or not now_ns - MAX_AGO_NS < stamp_ns <= now_ns:
        return now_ns, min(-1, empty_ns - now_ns)
    if stamp_ns < empty_ns - DELAYED_NS:
        # Timestamped but not delivered yet: delayed in the kernel, or waiting for a lost packet.  It arrived in between.
        return now_ns, stamp_ns - now_ns
    ns = max(stamp_ns, last_ns)
    if not emptied or ns > stamp_ns:
        return ns, min(-1, min(empty_ns, stamp_ns) - ns)
    return ns, max(0, ns - empty_ns)


class Link:
    """One connection: the part of asyncio's transport interface that is needed, with kernel timestamps."""

    __slots__ = ("_behind", "_closed", "_empty_ns", "_last_ns", "_left", "_poller", "_receiver", "_recvmsg", "_socket", "fd")

    def __init__(self, sock: socket.socket, receiver: Receiver, poller: Poller) -> None:
        self._socket, self._receiver, self._poller = sock, receiver, poller
        self._recvmsg = sock.recvmsg
        self._left = b""  # to write when there is room
        self._last_ns = 0  # when the last bytes arrived
        self._empty_ns = 0  # a time at which everything received had been read
        self._behind = False  # the last read filled its buffer: more may follow
        self._closed = False
        self.fd = sock.fileno()

    def begin(self) -> None:
        """Start reading."""
        self._poller.watch(self)

    def ready(self, event: int, ahead_ns: int | None, since_ns: int) -> None:
        """Handle a readable or writable socket.

        ahead_ns: wall-clock minus monotonic time; None: unknown.  since_ns: start of the previous poll.
        """
        if event & select.EPOLLOUT:
            self._write_left()
        if not event & ~select.EPOLLOUT or self._closed:
            return
        poller = self._poller
        before_ns = poller.now_ns
        try:
            data, ancillary, _, _ = self._recvmsg(READ_BYTES, _ANCILLARY)
        except (BlockingIOError, InterruptedError):
            return
        except OSError as error:
            self._close(error)
            return
        if not data:
            self._receiver.eof_received()
            self._close(None)
            return
        poller.now_ns = now_ns = monotonic_ns()
        empty_ns = self._empty_ns if self._behind or self._empty_ns > since_ns else since_ns
        if len(data) < READ_BYTES:
            self._empty_ns, self._behind = before_ns, False
        else:
            self._empty_ns, self._behind = empty_ns, True
        stamp_ns = None
        if ancillary and ahead_ns is not None:
            seconds, rest = _TIMESPEC.unpack(ancillary[0][2])
            stamp_ns = seconds * NS + rest - ahead_ns
        ns, unsure = judged(stamp_ns, now_ns, empty_ns, self._last_ns, emptied=not self._behind)
        self._last_ns = ns
        self._receiver.received(data, ns, unsure)

    def write(self, data: bytes) -> None:
        """Send now, or as soon as there is room."""
        if self._closed:
            return
        if self._left:
            self._left += data
            return
        self._left = data
        self._poller.want(self, room=True)
        self._write_left()

    def _write_left(self) -> None:
        try:
            written = self._socket.send(self._left)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # Reading will report the reason, after any answer that the peer sent before it closed.
            self._poller.want(self, room=False)
            return
        self._left = self._left[written:]
        if not self._left:
            self._poller.want(self, room=False)

    def get_write_buffer_size(self) -> int:
        """Bytes waiting to be sent."""
        return len(self._left)

    def abort(self) -> None:
        """Close the connection."""
        self._close(None)

    def is_closing(self) -> bool:
        return self._closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self._socket if name == "socket" else default

    def _close(self, error: Exception | None) -> None:
        if self._closed:
            return
        self._closed = True
        self._poller.forget(self)
        self._poller.loop.call_soon(self._ended, error)

    def _ended(self, error: Exception | None) -> None:
        self._receiver.connection_lost(error)
        self._socket.close()


async def connected(loop: asyncio.AbstractEventLoop, family: int, address: tuple[Any, ...], receiver: Any, poller: Poller) -> bool:
    """Connect `receiver` to an address, with kernel timestamps. False: unsupported; nothing was connected.

    Raises:
        OSError: the connection failed.
    """
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setblocking(False)
        try:
            sock.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        except OSError:
            sock.close()
            return False
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await loop.sock_connect(sock, address)
    except BaseException:
        sock.close()
        raise
    link = Link(sock, cast(Receiver, receiver), poller)
    receiver.connection_made(link)
    link.begin()
    return True
