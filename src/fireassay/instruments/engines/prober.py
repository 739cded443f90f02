"""When did a replica stop answering, and when did it answer again?

Probed every 50 ms, independently of the load. A probe is a new TCP connection and a GET of the ready path. Probes overlap, so that a
hanging server is dated as precisely as a dead one. A probe fails if it is refused or reset, gets a status other than 2xx (or other than
the server's first status, say 404 or 401), or gets no answer within `TIMEOUT_S`. Behind https only the connection is probed. A single
failure does not count: two in a row, by send time, are an outage.

    replica_down  ns: start of the outage   {"last_good_ns", "first_bad_ns", "known_ns", "why", "every_s"}
    replica_up    ns: end of the outage     {"last_bad_ns", "first_good_ns", "every_s"}
    probed        ns: end of the probing    {"probes", "cpu_s", "every_s"}: the prober's own cost; value null

The start is the send time of the first failed probe, or the last good answer if that is later: the server was alive at its last answer
(`last_good_ns`; null: none) and no longer when the next was due (`first_bad_ns`, its send time). The end is the first good answer
(`first_good_ns`); the last failed probe was sent at `last_bad_ns`. So both are known to within `every_s` plus one response time;
`known_ns` is when the outage became certain.
"""

from __future__ import annotations

import errno
import os
import selectors
import socket
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Self
from urllib.parse import urlsplit

from fireassay.spec.sections.serving import Target
from fireassay.units import NS_PER_S

EVERY_S: Final = 0.05
TIMEOUT_S: Final = 2.0
ENOUGH: Final = 2  # consecutive failed probes
MAX_BYTES: Final = 1 << 16  # per answer; the rest is not read
Emit = Callable[[str, int, int | None, dict[str, Any]], None]


# ---- from probes to outages (pure) -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Probe:
    """A probe's outcome: `why` is empty for a good answer at `known_ns`."""

    sent_ns: int
    known_ns: int
    why: str = ""


@dataclass(slots=True)
class Fold:
    """The outages of one replica, from its probes in the order in which they became known."""

    up: bool = True
    good_sent_ns: int = -1  # the latest send time with a good answer
    good_ns: int | None = None  # the latest good answer
    bad: list[Probe] = field(default_factory=list)  # sent after the last good one
    begin_ns: int = 0  # of the outage: the send time of its first failed probe

    def feed(self, probe: Probe) -> tuple[str, int, dict[str, Any]] | None:
        """(kind, ns, detail) of the event that this probe makes certain, if any."""
        return self._good(probe) if not probe.why else self._failed(probe)

    def _failed(self, probe: Probe) -> tuple[str, int, dict[str, Any]] | None:
        if probe.sent_ns < self.good_sent_ns:
            return None  # a later probe was answered: only this one was lost
        self.bad.append(probe)
        if not self.up:
            self.bad = [max(self.bad, key=lambda failure: failure.sent_ns)]
            return None
        if len(self.bad) < ENOUGH:
            return None
        first = min(self.bad, key=lambda failure: failure.sent_ns)
        self.up, self.begin_ns = False, first.sent_ns
        return (
            "replica_down",
            max(first.sent_ns, self.good_ns or 0),
            {"last_good_ns": self.good_ns, "first_bad_ns": first.sent_ns, "known_ns": probe.known_ns, "why": first.why},
        )

    def _good(self, probe: Probe) -> tuple[str, int, dict[str, Any]] | None:
        if not self.up and probe.sent_ns < self.begin_ns:
            return None  # answered before the outage, but read late
        last_bad = max((failure.sent_ns for failure in self.bad), default=self.begin_ns)
        self.good_sent_ns = max(self.good_sent_ns, probe.sent_ns)
        self.good_ns = max(self.good_ns or 0, probe.known_ns)
        self.bad = [failure for failure in self.bad if failure.sent_ns > self.good_sent_ns] if self.up else []
        if self.up:
            return None
        self.up = True
        return "replica_up", probe.known_ns, {"last_bad_ns": last_bad, "first_good_ns": probe.known_ns}


# ---- probing -----------------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class _Connection:
    """A pending probe."""

    replica: int
    sent_ns: int
    socket: socket.socket
    reported: bool = False
    heard: bytes = b""


class _Replica:
    """A replica's probe address and state."""

    def __init__(self, url: str, path: str, headers: str) -> None:
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        resolved = socket.getaddrinfo(parts.hostname, port, type=socket.SOCK_STREAM)[0]
        self.family, self.address = resolved[0], resolved[4]
        asks = parts.scheme != "https" and bool(path)
        self.request = f"GET {path} HTTP/1.1\r\nhost: {parts.netloc}\r\nconnection: close\r\n{headers}\r\n".encode() if asks else b""
        self.fold = Fold()
        self.accepted: int | None = None  # its first status

    def trouble(self, status: int) -> str:
        """Why a status means that the replica does not serve; empty if it does."""
        if self.accepted is None:
            self.accepted = status
        return "" if 200 <= status < 300 or (status == self.accepted and status < 500) else f"status {status}"


class Prober:
    """Probes replicas from its own thread, between `start` and `stop`."""

    def __init__(self, urls: Sequence[str], target: Target, emit: Emit, *, every_s: float = EVERY_S, timeout_s: float = TIMEOUT_S) -> None:
        """`emit(kind, ns, replica, detail)` is called from the prober's thread."""
        self._urls, self._target, self._emit = tuple(urls), target, emit
        self._every_ns, self._timeout_ns = round(every_s * NS_PER_S), round(timeout_s * NS_PER_S)
        self.probes, self.cpu_s, self.trouble = 0, 0.0, ""  # trouble: why it ended early
        self._ended = threading.Event()
        self._selector = selectors.DefaultSelector()
        self._open: set[_Connection] = set()
        self._replicas: list[_Replica] = []
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start probing."""
        self._thread = threading.Thread(target=self._run, name="assay-prober", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Stop and record the cost. No-op if it is not probing."""
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self._ended.set()
        thread.join()
        self._emit(
            "probed",
            time.monotonic_ns(),
            None,
            {
                "probes": self.probes,
                "cpu_s": self.cpu_s,
                "every_s": self._every_ns / NS_PER_S,
                **({"trouble": self.trouble} if self.trouble else {}),
            },
        )

    def _run(self) -> None:
        began = time.thread_time_ns()
        try:
            self._replicas = [_Replica(url, self._target.ready, self._headers()) for url in self._urls]
            self._loop()
        except Exception as error:  # otherwise an exception in a thread would go unnoticed
            self.trouble = f"{type(error).__name__}: {error}"[:200]
        finally:
            for connection in list(self._open):
                self._close(connection)
            self._selector.close()
            self.cpu_s = (time.thread_time_ns() - began) / NS_PER_S

    def _headers(self) -> str:
        key = os.environ.get(self._target.api_key_env, "") if self._target.api_key_env else ""
        return f"authorization: Bearer {key}\r\n" if key.isprintable() and key else ""

    def _loop(self) -> None:
        begin = time.monotonic_ns()
        count = len(self._replicas)
        due = [begin + number * self._every_ns // count for number in range(count)]  # staggered
        while not self._ended.is_set():
            now = time.monotonic_ns()
            for number, at in enumerate(due):
                if now >= at:
                    self._begin(number)
                    due[number] = max(at + self._every_ns, now)  # missed probes are not made up for
            left_ns = max(0, min(due) - time.monotonic_ns())
            # Before the timeout check: an answer waiting to be read has arrived in time.
            for key, _ in self._selector.select(left_ns / NS_PER_S):
                self._go_on(key.data)
            self._expire()

    def _begin(self, number: int) -> None:
        replica = self._replicas[number]
        self.probes += 1
        connection = _Connection(number, time.monotonic_ns(), socket.socket(replica.family, socket.SOCK_STREAM))
        connection.socket.setblocking(False)
        self._open.add(connection)
        self._selector.register(connection.socket, selectors.EVENT_WRITE, connection)
        try:
            connection.socket.connect(replica.address)
        except BlockingIOError:
            return
        except OSError as error:
            self._failed(connection, error)

    def _go_on(self, connection: _Connection) -> None:
        try:
            if self._selector.get_key(connection.socket).events == selectors.EVENT_WRITE:
                self._connected(connection)
            else:
                self._read(connection)
        except BlockingIOError:
            return
        except OSError as error:
            self._failed(connection, error)

    def _connected(self, connection: _Connection) -> None:
        if code := connection.socket.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            raise OSError(code, "")
        request = self._replicas[connection.replica].request
        if not request:
            self._conclude(connection, "")
            self._close(connection)
            return
        connection.socket.send(request)  # fits into the send buffer of a new connection
        self._selector.modify(connection.socket, selectors.EVENT_READ, connection)

    def _read(self, connection: _Connection) -> None:
        data = connection.socket.recv(MAX_BYTES)
        connection.heard += data
        if not connection.reported and b"\r\n" in connection.heard:
            status = _status(connection.heard)
            self._conclude(connection, "no HTTP" if status is None else self._replicas[connection.replica].trouble(status))
        if not data or len(connection.heard) > MAX_BYTES:
            self._conclude(connection, "closed without an answer")
            self._close(connection)

    def _expire(self) -> None:
        limit = time.monotonic_ns() - self._timeout_ns
        for connection in [connection for connection in self._open if connection.sent_ns < limit]:
            self._conclude(connection, f"no answer within {self._timeout_ns / NS_PER_S:g} s")
            self._close(connection)

    def _failed(self, connection: _Connection, error: OSError) -> None:
        self._conclude(connection, errno.errorcode.get(error.errno or 0, type(error).__name__))
        self._close(connection)

    def _conclude(self, connection: _Connection, why: str) -> None:
        if connection.reported:
            return
        connection.reported = True
        event = self._replicas[connection.replica].fold.feed(Probe(connection.sent_ns, time.monotonic_ns(), why))
        if event is not None:
            kind, ns, detail = event
            self._emit(kind, ns, connection.replica, {**detail, "every_s": self._every_ns / NS_PER_S})

    def _close(self, connection: _Connection) -> None:
        self._open.discard(connection)
        self._selector.unregister(connection.socket)
        connection.socket.close()


def _status(heard: bytes) -> int | None:
    words = heard.split(b"\r\n", 1)[0].split(b" ", 2)
    if len(words) < 2 or not words[0].startswith(b"HTTP/") or not words[1].isdigit() or len(words[1]) != 3:
        return None
    return int(words[1])
