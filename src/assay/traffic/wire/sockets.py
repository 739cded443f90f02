"""When did the bytes reach this machine, and how unsure is that?

Where the kernel can tell (Linux, without TLS), it stamps what comes in (SO_TIMESTAMPNS), and a read gives the stamp with the
bytes.  The time of a packet that is read alone is then right even if the process was busy, waited for a processor or was asleep.  Of
several packets in one read the last one's stamp is all that there is: the others came between the last moment at which nothing lay
in the socket and that stamp.  Every read therefore says how unsure its time is (`assay.traffic.parts.Reply.unsure`):

    unsure = stamp - the later of  begin of the look before this one (epoll names what has bytes; it did not name this socket, or
                                   the socket was read to its end after that)
                                   begin of the last read that emptied the socket (it gave less than there was room for)

A process that is stopped, starved or busy looks rarely, so that this becomes large by itself.  One that sleeps because nothing comes is
woken to look every 0.5 ms while an answer is awaited: 6 to 7 % of a core on a virtual machine, and nothing when idle.
asyncio's transports cannot pass the stamp on, so these connections are read here: one epoll for all of a replica's, which the loop
watches like any descriptor.

A stamp is the kernel's wall clock, held against the monotonic one at each look: both run at one rate, so that they move apart only
when the wall clock is set.  At a look that finds them moved, the times are those of the reads.  Times of one connection never run
backwards.  A stamp from long before a look that found nothing (a packet held up, or waiting for a lost one) is not taken either.
Cannot tell: what happened before the stamp, and the microseconds from there to the socket.
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

from assay.traffic.client.timer import Ticker

SO_TIMESTAMPNS: Final = 35  # include/uapi/asm-generic/socket.h; the module socket does not name it
READ_BYTES: Final = 1 << 14
LONGEST_AGO_NS: Final = 10_000_000_000  # a stamp that is older was made by another clock
LOOK_NS: Final = 5000  # that a look at the two clocks may take; else the process was interrupted in between
LOOKS: Final = 5
LOOK_EVERY_NS: Final = 500_000  # while something is expected: so far back may bytes of a merged read have come
TICKS: Final = 64  # after so many of these looks it is asked whether anything still is
DELAYED_NS: Final = 1_000_000  # a stamp that is so much older than a look that found nothing: the packet was held up
MOVED_NS: Final = 10_000  # of one clock by the other: more is no error of the look
_ANCILLARY: Final = socket.CMSG_SPACE(16) if hasattr(socket, "CMSG_SPACE") else 0
_TIMESPEC: Final = struct.Struct("qq")
NS: Final = 1_000_000_000


def polling() -> bool:
    """Whether a `Poller` can be made here."""
    return hasattr(select, "epoll")


def stamping() -> bool:
    """Whether the kernel can stamp what comes in."""
    return sys.platform.startswith("linux") and hasattr(select, "epoll") and sys.maxsize > 1 << 32


class Receiver(Protocol):
    """What a link tells of its connection."""

    def received(self, data: bytes, ns: int, unsure: int) -> None:
        """Bytes came, at this monotonic time; how unsure that is (`assay.traffic.parts.Reply.unsure`)."""

    def eof_received(self) -> None:
        """The other side says no more."""

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed; called once."""


class Poller:
    """Watches links, and reads those that have something.

    waiting: whether anything is expected; so long it looks every `LOOK_EVERY_NS`, where the kernel has a timer for that.
    long_ago_ns: when the look before the last two began.  The loop calls for at most one look per turn, so a whole turn lies between
    that and now; what the loop itself reads now was not there when that turn asked for events (of up to 1,024 sockets at once).
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, waiting: Callable[[], bool] = lambda: False) -> None:
        self.loop = loop
        self._waiting = waiting
        self._epoll = select.epoll()
        self._links: dict[int, Link] = {}
        self._ahead_ns = _ahead() or time_ns() - monotonic_ns()
        # when the last looks began: what one did not name was empty then
        self._last_ns = self._before_ns = self.long_ago_ns = monotonic_ns()
        self.now_ns = self._last_ns  # at or just before the read that comes next
        self._ticks = 0  # since it was last asked whether anything is expected
        self._timer = Ticker()
        if self._timer.fd >= 0:
            self._epoll.register(self._timer.fd, select.EPOLLIN)
        # The kernel begins to stamp some time after the first socket asks for it, and ends with the last: this one asks throughout.
        self._asking = socket.socket(type=socket.SOCK_DGRAM)
        with suppress(OSError):  # a kernel that does not stamp: `connected` says so
            self._asking.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        loop.add_reader(self._epoll.fileno(), self._look)

    def hurry(self) -> None:
        """Something is expected from now on: look often."""
        self._ticks = 0
        self._timer.start(LOOK_EVERY_NS)

    @property
    def hurried(self) -> bool:
        """Whether it looks often."""
        return self._timer.running

    def watch(self, link: Link) -> None:
        """Read it from now on."""
        self._links[link.fd] = link
        self._epoll.register(link.fd, select.EPOLLIN | select.EPOLLRDHUP)

    def want(self, link: Link, *, room: bool) -> None:
        """Tell it when there is room to write, or no longer."""
        self._epoll.modify(link.fd, select.EPOLLIN | select.EPOLLRDHUP | (select.EPOLLOUT if room else 0))

    def forget(self, link: Link) -> None:
        """Read it no more."""
        if self._links.pop(link.fd, None) is not None and not self._epoll.closed:
            self._epoll.unregister(link.fd)

    def close(self) -> None:
        """Stop watching."""
        if not self._epoll.closed:
            self.loop.remove_reader(self._epoll.fileno())
            self._epoll.close()
            self._asking.close()
            self._timer.close()

    def _look(self) -> None:
        began, links = monotonic_ns(), self._links
        events = self._epoll.poll(0, len(links) + 1)  # room for all: what it leaves out is known to be empty
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
        """By how much the wall clock is ahead of the monotonic one; None if it was just set, or that cannot be told."""
        ahead = _ahead()
        if ahead is None or abs(ahead - self._ahead_ns) < MOVED_NS:
            return None if ahead is None else self._ahead_ns
        self._ahead_ns = ahead
        return None


def _ahead() -> int | None:
    """The wall clock's time less the monotonic one's, ns; None if the process was interrupted at every look."""
    for _ in range(LOOKS):
        before, wall, now = monotonic_ns(), time_ns(), monotonic_ns()
        if now - before < LOOK_NS:
            return wall - (before + now) // 2
    return None


def judged(stamp_ns: int | None, now_ns: int, empty_ns: int, last_ns: int, *, emptied: bool) -> tuple[int, int]:
    """A read's time, and how unsure it is (`Reply.unsure`): from its stamp, its end, when nothing lay there, and the read before it."""
    if stamp_ns is None or not now_ns - LONGEST_AGO_NS < stamp_ns <= now_ns:
        return now_ns, min(-1, empty_ns - now_ns)
    if stamp_ns < empty_ns - DELAYED_NS:
        # It was stamped and not there yet: held up below, or waiting for a packet that was lost.  It came in between.
        return now_ns, stamp_ns - now_ns
    ns = max(stamp_ns, last_ns)
    if not emptied or ns > stamp_ns:
        return ns, min(-1, min(empty_ns, stamp_ns) - ns)
    return ns, max(0, ns - empty_ns)


class Link:
    """One connection: what asyncio calls a transport, as far as it is needed, with the kernel's stamps."""

    __slots__ = ("_behind", "_closed", "_empty_ns", "_last_ns", "_left", "_poller", "_receiver", "_recvmsg", "_socket", "fd")

    def __init__(self, sock: socket.socket, receiver: Receiver, poller: Poller) -> None:
        self._socket, self._receiver, self._poller = sock, receiver, poller
        self._recvmsg = sock.recvmsg
        self._left = b""  # to be written when there is room
        self._last_ns = 0  # when the last bytes came
        self._empty_ns = 0  # a moment at which all that had come was read
        self._behind = False  # the last read filled its buffer: more may lie behind it
        self._closed = False
        self.fd = sock.fileno()

    def begin(self) -> None:
        """Read from now on."""
        self._poller.watch(self)

    def ready(self, event: int, ahead_ns: int | None, since_ns: int) -> None:
        """Something can be read or written.

        ahead_ns: the wall clock's, of the monotonic one; None: not known.  since_ns: when the look before this one began.
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
        """Send it, now or as soon as there is room."""
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
            taken = self._socket.send(self._left)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            # The reading will say why, after the answer that the other side may have given before it closed.
            self._poller.want(self, room=False)
            return
        self._left = self._left[taken:]
        if not self._left:
            self._poller.want(self, room=False)

    def get_write_buffer_size(self) -> int:
        """Bytes that wait for room."""
        return len(self._left)

    def abort(self) -> None:
        """Close it."""
        self._close(None)

    def is_closing(self) -> bool:
        """Whether it is closed."""
        return self._closed

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """The socket."""
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
    """Connect `receiver` to an address, stamped by the kernel. False: this kernel does not stamp; nothing was connected.

    Raises:
        OSError: no connection could be made.
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
