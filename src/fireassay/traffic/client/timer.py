"""How is an action timed to within microseconds of an absolute time?

uvloop's own timers have millisecond resolution.  The kernel's timerfd takes an absolute monotonic time in nanoseconds and then makes a
descriptor readable, which wakes the loop like any socket.  Elsewhere (macOS, Windows) the loop's timer is used.
An idle processor takes 0.1 ms or more to wake up, so the timer can wake that much early and busy-wait; nothing else runs meanwhile, and
never for more than a twentieth of the time.
Source: timerfd_create(2).

How are interpreter, scheduler and allocator pauses limited while timestamping?

    interpreter   the GIL switch interval is 0.05 ms instead of 5 ms
    processor     parsing yields to the thread that sends and timestamps, and to a server on the same machine
    memory        freed memory is kept for reuse: fresh pages cost up to milliseconds on a virtual machine

None of this is needed for correct results; it does nothing where a system lacks the call.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from time import monotonic_ns
from typing import Any, Final

SWITCH_S: Final = 5e-5
NICE: Final = 5  # for a thread that only parses: a quarter of a core when all are busy
KEPT_BYTES: Final = 256 << 20  # freed memory not returned to the system; unused memory is never allocated
_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_MAX_MMAP_THRESHOLD: Final = 32 << 20  # glibc's maximum


def steady() -> None:
    """Configure the process before it starts work."""
    import pyarrow as pa

    sys.setswitchinterval(SWITCH_S)
    with suppress(AttributeError, OSError, TypeError):  # mallopt(3) exists only in glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)
        libc.mallopt(_M_MMAP_THRESHOLD, _MAX_MMAP_THRESHOLD)
    pa.set_memory_pool(pa.system_memory_pool())


def give_way() -> None:
    """Lower this thread's priority; does nothing where priorities are per process."""
    if sys.platform.startswith("linux"):
        with suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), NICE)


NS: Final = 1_000_000_000
AWAKE_ONE_IN: Final = 20  # at most this fraction of the time is spent busy-waiting
_TFD_NONBLOCK: Final = os.O_NONBLOCK if hasattr(os, "O_NONBLOCK") else 0
_TFD_CLOEXEC: Final = getattr(os, "O_CLOEXEC", 0)
_CLOCK_MONOTONIC: Final = 1
_TFD_TIMER_ABSTIME: Final = 1


class _Itimerspec(ctypes.Structure):
    _fields_ = [(name, ctypes.c_long) for name in ("every_s", "every_ns", "at_s", "at_ns")]


class Timer:
    """Calls `fire` once, at or just after the time last set. Setting it again replaces the time.

    awake_ns: how early it may wake up to busy-wait.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, fire: Callable[[], None], awake_ns: int = 0) -> None:
        self._loop, self._fire, self._awake_ns = loop, fire, awake_ns
        self._awake_again_ns = 0  # no busy-wait before this time, to respect the limit
        self._handle: asyncio.TimerHandle | None = None
        self._fd, self._libc = _timerfd()
        self._set_ns = 0
        if self._fd >= 0:
            loop.add_reader(self._fd, self._read)

    @property
    def fine(self) -> bool:
        """True if the kernel's timer is used."""
        return self._fd >= 0

    def set(self, ns: int) -> None:
        """Fire at this monotonic time; immediately if it has passed."""
        if ns == self._set_ns:
            return
        self._set_ns = ns
        if self._fd < 0:
            if self._handle is not None:
                self._handle.cancel()
            self._handle = self._loop.call_later(max(0.0, (ns - monotonic_ns()) / NS), self._expire)
            return
        at = max(1, ns - self._awake_ns if ns > self._awake_again_ns else ns)  # 0 would disarm the timer
        spec = _Itimerspec(0, 0, at // NS, at % NS)
        if self._libc.timerfd_settime(self._fd, _TFD_TIMER_ABSTIME, ctypes.byref(spec), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")

    def close(self) -> None:
        """Never fire again."""
        if self._handle is not None:
            self._handle.cancel()
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1

    def _read(self) -> None:
        with suppress(BlockingIOError):  # reset since it expired
            os.read(self._fd, 8)
            self._expire()

    def _expire(self) -> None:
        left_ns = self._set_ns - monotonic_ns()
        if 0 < left_ns <= self._awake_ns:
            self._awake_again_ns = self._set_ns + AWAKE_ONE_IN * self._awake_ns
            while monotonic_ns() < self._set_ns:
                pass
        elif left_ns > 0:  # the loop's timer fired slightly early
            at, self._set_ns = self._set_ns, 0
            self.set(at)
            return
        self._set_ns = 0
        self._fire()


class Ticker:
    """A descriptor that becomes readable at regular intervals while running; `fd` is -1 where the kernel has no such timer."""

    def __init__(self) -> None:
        self.fd, self._libc = _timerfd()
        self.running = False

    def start(self, every_ns: int) -> None:
        """Start ticking; no effect if already running."""
        if not self.running and self.fd >= 0:
            self.running = True
            self._set(every_ns)

    def stop(self) -> None:
        if self.running:
            self.running = False
            self._set(0)

    def read(self) -> None:
        """Consume a tick; the kernel issues no further one before."""
        with suppress(BlockingIOError):
            os.read(self.fd, 8)

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            self.fd, self.running = -1, False

    def _set(self, every_ns: int) -> None:
        spec = _Itimerspec(every_ns // NS, every_ns % NS, every_ns // NS, every_ns % NS)
        if self._libc.timerfd_settime(self.fd, 0, ctypes.byref(spec), None) != 0:
            raise OSError(ctypes.get_errno(), "timerfd_settime")


def _timerfd() -> tuple[int, Any]:
    """A new timerfd and the C library; -1 where unsupported."""
    if not sys.platform.startswith("linux"):
        return -1, None
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        return int(libc.timerfd_create(_CLOCK_MONOTONIC, _TFD_NONBLOCK | _TFD_CLOEXEC)), libc
    except (OSError, AttributeError):
        return -1, None
