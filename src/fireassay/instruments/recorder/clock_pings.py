"""How far apart are the clocks of a job's hosts?

Each host pings rank 0's at the beginning, periodically and at the end, but only if a job spans several hosts (LOCAL_WORLD_SIZE below
WORLD_SIZE) or FIREASSAY_CLOCKS=1. Rank 0 answers from a helper thread; the first rank of every other host pings from one. Rank 0's port
(chosen by the kernel) and a shared secret are in the launch's folder; its address is MASTER_ADDR, which the ranks use anyway.
A ping is 8 bytes over one TCP connection, its reply 24: receive and send time. Each gives four times and a bound (`stats/groups/clocks.py`);
a reply delayed by a busy interpreter only widens its own bound.
Pings come in bursts, because the fastest of many counts. `REST_S` between bursts keeps the cost unmeasurable and still shows drift.
Rank 0 waits for the others' last burst, at most half a second. Cannot tell: anything after rank 0's end.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

Now = Callable[[], int]
Take = Callable[[str, tuple[int, int, int, int]], None]  # rank 0's host; sent, received there, sent there, received

FORCED: Final = "FIREASSAY_CLOCKS"
FIRST, BURST, LAST = 40, 10, 20  # pings at the beginning, in between and at the end
REST_S, PAUSE_S = 5.0, 0.002  # between bursts; within a burst
FIND_S, FIND_EVERY_S = 300.0, 0.2  # timeout and interval of the search for rank 0
PATIENCE_S: Final = 5.0  # for a reply, or for a thread to end
LINGER_S: Final = 0.5  # how long rank 0 waits for the others' last pings
QUESTION, ANSWER = struct.Struct("!q"), struct.Struct("!qqq")
BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")
SHIFTS: Final = Path("/proc/self/timens_offsets")


def boot_id() -> str:
    """An identifier of this process's monotonic clock; empty if unknown.

    The running kernel, which a host's containers and network namespaces share, and the offset of the time namespace (time_namespaces(7)).
    """
    try:
        kernel, shifts = BOOT_ID.read_text().strip(), SHIFTS.read_text() if SHIFTS.exists() else ""
    except OSError:
        return ""
    shift = next((line.split()[1:] for line in shifts.splitlines() if line.startswith("monotonic")), ["0", "0"])
    return kernel if shift == ["0", "0"] else f"{kernel}+{'.'.join(shift)}"


def needed(environ: Mapping[str, str]) -> bool:
    """True if the job's workers run on several hosts, or the launch requests clock comparison."""
    if environ.get(FORCED) == "1":
        return True
    with suppress(ValueError):
        return 0 < int(environ.get("LOCAL_WORLD_SIZE") or 0) < int(environ.get("WORLD_SIZE") or 0)
    return False


def begin(
    folder: Path,
    environ: Mapping[str, str],
    append: Callable[[str, tuple[Any, ...]], None],
    key: tuple[int, int, int],
    host: str,
    now: Now = time.monotonic_ns,
) -> Callable[[], None]:
    """Answer or send pings, by this rank's role; the returned function stops, after a last burst. No-op on one host.

    Raises:
        OSError: rank 0 cannot listen, or cannot publish its port.
    """
    if not needed(environ):
        return _nothing
    launch, rank, incarnation = key
    path = folder / "clocks" / f"incarnation={incarnation}.json"
    if rank == 0:
        return Answering(path, host, now).close
    if environ.get("LOCAL_RANK") != "0" and environ.get(FORCED) != "1":
        return _nothing

    def take(peer: str, times: tuple[int, int, int, int]) -> None:
        sent, heard, answered, received = times
        bound = ((received - sent) - (answered - heard) + 1) // 2
        append("clocks", (launch, rank, incarnation, host, peer, *times, bound))

    return Asking(path, environ.get("MASTER_ADDR") or "127.0.0.1", take, now).close


class Answering:
    """Rank 0's side: a thread that answers pings carrying the secret."""

    def __init__(self, path: Path, host: str, now: Now = time.monotonic_ns) -> None:
        self._now = now
        self._secret = os.urandom(8)  # does not touch the script's generators
        self._listener = _listener()
        self._answering = 0
        self._idle = threading.Condition()
        path.parent.mkdir(parents=True, exist_ok=True)
        contact = {"port": self._listener.getsockname()[1], "word": self._secret.hex(), "host": host}
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(json.dumps(contact))
        fresh.replace(path)
        threading.Thread(target=self._accept, name="assay-clock", daemon=True).start()

    def close(self) -> None:
        """Accept no further host; connected ones may ping a last time, until the process ends."""
        self._listener.close()
        with self._idle:
            self._idle.wait_for(lambda: self._answering == 0, LINGER_S)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._count(1)
                threading.Thread(target=self._answered, args=(connection,), name="assay-clock", daemon=True).start()

    def _count(self, more: int) -> None:
        with self._idle:
            self._answering += more
            self._idle.notify_all()

    def _answered(self, connection: socket.socket) -> None:
        try:
            self._answer(connection)
        finally:
            self._count(-1)

    def _answer(self, connection: socket.socket) -> None:
        with suppress(OSError), connection:
            connection.settimeout(PATIENCE_S)
            _at_once(connection)
            if _whole(connection, len(self._secret)) != self._secret:
                return
            connection.settimeout(None)
            while question := _whole(connection, QUESTION.size):
                heard = self._now()
                (number,) = QUESTION.unpack(question)
                connection.sendall(ANSWER.pack(number, heard, self._now()))


class Asking:
    """Another host's side: a thread that pings in bursts until it is closed or rank 0 is gone."""

    def __init__(self, path: Path, address: str, take: Take, now: Now = time.monotonic_ns) -> None:
        self._path, self._address, self._take, self._now = path, address, take, now
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._ping, name="assay-clock-asks", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Send the last burst and wait for it, up to a limit."""
        self._over.set()
        if self._thread is not threading.current_thread():
            self._thread.join(PATIENCE_S)

    def _ping(self) -> None:
        with suppress(OSError, ValueError, KeyError):
            contact = self._contact()
            if contact is None:
                return
            peer = str(contact["host"])
            with socket.create_connection((self._address, int(contact["port"])), timeout=PATIENCE_S) as connection:
                _at_once(connection)
                connection.sendall(bytes.fromhex(contact["word"]))
                self._burst(connection, peer, FIRST)
                while not self._over.wait(REST_S):
                    self._burst(connection, peer, BURST)
                self._burst(connection, peer, LAST)

    def _contact(self) -> dict[str, Any] | None:
        """Rank 0's port and secret; None if it never published them."""
        until = time.monotonic() + FIND_S
        while time.monotonic() < until:
            with suppress(FileNotFoundError):
                return dict(json.loads(self._path.read_text()))
            if self._over.wait(FIND_EVERY_S):
                return None
        return None

    def _burst(self, connection: socket.socket, peer: str, count: int) -> None:
        for number in range(count):
            sent = self._now()
            connection.sendall(QUESTION.pack(number))
            answer = _whole(connection, ANSWER.size)
            received = self._now()
            if not answer:
                raise ConnectionError("rank 0 has closed the connection")
            _, heard, answered = ANSWER.unpack(answer)
            self._take(peer, (sent, heard, answered, received))
            time.sleep(PAUSE_S)


def _listener() -> socket.socket:
    """Listen on a port chosen by the kernel, on every interface: only the other hosts know which one they use."""
    if socket.has_dualstack_ipv6():
        with suppress(OSError):
            return socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
    return socket.create_server(("", 0))


def _at_once(connection: socket.socket) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


def _whole(connection: socket.socket, size: int) -> bytes:
    """Exactly `size` bytes; empty if the peer has closed."""
    received = b""
    while len(received) < size:
        more = connection.recv(size - len(received))
        if not more:
            return b""
        received += more
    return received


def _nothing() -> None:
    """One host has one clock."""
