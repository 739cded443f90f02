"""How are an engine's replicas started, watched, killed, restarted and ended?

    settings = ServerSettings(folder=..., log_folder=..., mark=..., grace_s=5.0, log_bytes=1 << 24)
    with Replicas(target, settings, serving_model=..., emit=write) as replicas:
        replicas.start()                      # all at once; returns when all are ready, the router last
        load(replicas.urls)

Each replica runs under its own supervisor (launchers/support/supervisor.py), so nothing is left running whatever dies.  A thread polls
each every 50 ms and reports to `emit(kind, ns, replica, detail)`, with `replica` None for the router:

    server_start  just before the supervisor starts    {"port", "url", "log", "start"}: start 0 is the first
    server_ready  the ready path answered              {"port", "after_s", "started_ns"}: seconds since server_start; time just before the
                                                       server's process started: the difference is assay's own overhead
    server_exit   the replica's last process exited    {"exit_code", "signal", "asked", "trouble"}; asked: assay ended it

`emit` is also called from that thread, one call at a time, and may be replaced between launches.  The server inherits the user's
environment except the variables of an outer launch; `environment` takes the same placeholders as `command`
(CUDA_VISIBLE_DEVICES = "{replica}").  The process list shows the command as written: secrets belong in the environment.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from types import TracebackType
from typing import Self

from fireassay.errors import Interrupted, WorkloadError
from fireassay.launchers.support import base, launch_log, ports, supervisor
from fireassay.launchers.support.base import ENGINE_VARIABLES, Ending, Request, filled
from fireassay.launchers.support.ports import HOST, Ports
from fireassay.record.secrets.redact import redact, redact_arguments, redact_environment, secret_values
from fireassay.spec.sections.serving import Target
from fireassay.spec.sections.workload import Launcher as Settings
from fireassay.units import NS_PER_S

Emit = Callable[[str, int, int | None, dict[str, object]], None]
LOOK_S = 0.05
LAST_LINES, LAST_BYTES = 12, 1 << 15  # of a server's output, in a message
GONE_S = 10.0  # deadline for all processes to exit after SIGKILL


@dataclass(slots=True)
class _Server:
    """A replica, or the router, across all its starts."""

    replica: int | None
    port: int
    command: tuple[str, ...]
    state: str = "new"  # new, starting, ready, exited
    starts: int = 0
    began_ns: int = 0
    asked: bool = False  # whether assay ended it
    log: Path = Path()
    handle: base.SupervisedHandle | None = None
    ending: Ending | None = None
    trouble: str = ""  # why the last check found it not ready

    @property
    def name(self) -> str:
        return "the router" if self.replica is None else f"replica {self.replica}"

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Servers' folders, logs and grace period."""

    folder: Path  # their working directory, and {folder}
    log_folder: Path
    mark: str  # prefix of FIREASSAY_MARK for every process started
    secrets: Sequence[str] = ()  # values that must not reach a log, besides secret-looking variables
    grace_s: float
    log_bytes: int  # bytes of one start's output to keep


class Replicas:
    """The replicas of an engine that has a `command`, and its router."""

    def __init__(
        self, target: Target, settings: ServerSettings, *, serving_model: str, emit: Emit, stopped: Callable[[], bool] = lambda: False
    ) -> None:
        """Start nothing yet.

        Args:
            stopped: whether the user wants to stop; polled while `start` waits.
        """
        self.target, self.emit = target, emit
        self._model = target.model or serving_model
        self._folder, self._logs, self._mark = settings.folder.resolve(), settings.log_folder.resolve(), settings.mark
        self._grace_s, self._log_bytes, self._stopped = settings.grace_s, settings.log_bytes, stopped
        self._outer = {name: value for name, value in os.environ.items() if name not in ENGINE_VARIABLES}
        # Find programs installed beside this Python, after those in the user's PATH.
        beside = os.path.dirname(sys.executable)
        self._outer["PATH"] = os.pathsep.join(filter(None, (self._outer.get("PATH", os.defpath), beside)))
        self._secrets = (*settings.secrets, *secret_values({**self._outer, **target.environment}))
        self._ports = Ports()
        self._servers: list[_Server] = []
        self._router: _Server | None = None
        self._lock = threading.RLock()
        self._ending = threading.Event()
        self._watcher: threading.Thread | None = None

    # ---- start and stop

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()

    def start(self) -> None:
        """Start all replicas together, wait until all are ready, then start the router.

        Raises:
            WorkloadError: one did not start, exited, or was not ready in time; nothing is left running.
            Interrupted: the user wants to stop.
        """
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def _start(self) -> None:
        for replica in range(self.target.replicas):
            port = self._ports.take()
            command = self._filled(self.target.command, port, replica)
            self._servers.append(_Server(replica=replica, port=port, command=command))
        self._watcher = threading.Thread(target=self._watch, name="assay-servers", daemon=True)
        self._watcher.start()
        for server in self._servers:
            self._launch(server)
        self._wait(self._servers)
        if self.target.router:
            port = self._ports.take()
            self._router = _Server(replica=None, port=port, command=self._filled(self.target.router, port, None))
            self._launch(self._router)
            self._wait([self._router])

    def stop(self) -> None:
        """End everything, the router first; kill what is left after the grace period. Idempotent."""
        for group in ([self._router] if self._router else [], self._servers):
            self._end(group)
        self._ending.set()
        if self._watcher is not None and self._watcher is not threading.current_thread():
            self._watcher.join()
            self._watcher = None
        self._check_all()  # record what has exited meanwhile
        self._ports.close()

    def _end(self, servers: Sequence[_Server]) -> None:
        with self._lock:
            alive = [server for server in servers if server.handle is not None]
            for server in alive:
                server.asked = server.asked or server.state != "exited"
                if server.handle is not None:
                    server.handle.stop()
        deadline = time.monotonic() + self._grace_s + base.ANSWER_S
        while time.monotonic() < deadline and not all(self._has_ended(server) for server in alive):
            time.sleep(supervisor.POLL_S)
        for server in alive:
            self._close(server)

    def _has_ended(self, server: _Server) -> bool:
        with self._lock:
            return server.handle is None or server.handle.poll() is not None

    def _close(self, server: _Server) -> None:
        """Ensure that nothing of its last start is left, and report its end."""
        with self._lock:
            if server.handle is None:
                return
            server.handle.close()
            self._note_end(server)
            server.handle = None

    # ---- queries and faults

    @property
    def urls(self) -> tuple[str, ...]:
        """URLs for the load: the router if there is one, else every replica."""
        return (self._router.url,) if self._router is not None else self.replica_urls

    @property
    def replica_urls(self) -> tuple[str, ...]:
        """The replicas' own addresses, bypassing the router: for the prober."""
        return tuple(server.url for server in self._servers)

    def port(self, replica: int) -> int:
        """The replica's own port, constant across restarts."""
        return self._servers[replica].port

    def pids(self, replica: int | None = None) -> tuple[int, ...]:
        """Live processes of a replica, its main process first; None: of all replicas, the router and the supervisors."""
        with self._lock:
            if replica is not None:
                handle = self._servers[replica].handle
                return handle.pids()[1:] if handle is not None else ()
            servers = [*self._servers, *([self._router] if self._router else [])]
            return tuple(pid for server in servers if server.handle is not None for pid in server.handle.pids())

    @property
    def broken(self) -> bool:
        """True if any server is not ready: it exited, or is restarting."""
        servers = [*self._servers, *([self._router] if self._router else [])]
        return any(server.state != "ready" for server in servers)

    def state(self, replica: int) -> str:
        """new, starting, ready or exited."""
        return self._servers[replica].state

    def kill(self, replica: int, number: int = signal.SIGKILL) -> tuple[int, ...]:
        """Send a signal to all processes of a replica at once, without a graceful stop; returns those that were hit.

        SIGKILL is repeated until none is left, because a process may start another meanwhile.

        Raises:
            ProcessLookupError: none of its processes is running.
        """
        signalled = list(self.pids(replica))
        if not signalled:
            raise ProcessLookupError(f"no process of replica {replica} is running")
        with self._lock:
            self._servers[replica].asked = number in (signal.SIGKILL, signal.SIGTERM)
        supervisor.send(signalled, number)
        deadline = time.monotonic() + GONE_S
        while number == signal.SIGKILL and (remaining := self.pids(replica)) and time.monotonic() < deadline:
            signalled += [pid for pid in remaining if pid not in signalled]
            supervisor.send(remaining, number)
            time.sleep(0.001)
        return tuple(signalled)

    def restart(self, replica: int) -> None:
        """Restart a replica on its port, ending what is left of it. Returns immediately; `server_ready` reports the rest.

        Raises:
            WorkloadError: it did not start.
        """
        server = self._servers[replica]
        self._close(server)
        self._launch(server)

    def described(self) -> dict[str, object]:
        """JSON-serialisable, for the record: what was started, without secrets."""
        return {
            "command": redact_arguments(self.target.command, self._secrets),
            "router": redact_arguments(self.target.router, self._secrets),
            "environment": redact_environment(self.target.environment, self._secrets),
            "ports": [server.port for server in self._servers],
            "logs": [server.log.name for server in self._servers],
        }

    # ---- one server

    def _filled(self, words: Sequence[str], port: int, replica: int | None) -> tuple[str, ...]:
        values = self._values(port, replica)
        return tuple(filled(word, values) for word in words)

    def _values(self, port: int, replica: int | None) -> dict[str, str]:
        return {
            "{port}": str(port),
            "{replica}": "" if replica is None else str(replica),
            "{model}": self._model,
            "{folder}": str(self._folder),
            "{ports}": ",".join(str(server.port) for server in self._servers),
        }

    def _launch(self, server: _Server) -> None:
        with self._lock:
            server.log = self._new_log(server)
            server.began_ns = time.monotonic_ns()
            self._ports.before_start(server.port)
            server.handle = base.start(self._request(server), server.command)
            server.state, server.asked, server.ending, server.trouble = "starting", False, None, ""
            server.starts += 1
            self.emit(
                "server_start",
                server.began_ns,
                server.replica,
                {"port": server.port, "url": server.url, "log": server.log.name, "start": server.starts - 1},
            )

    def _request(self, server: _Server) -> Request:
        values = self._values(server.port, server.replica)
        environment = {name: filled(value, values) for name, value in self.target.environment.items()}
        return Request(
            script=Path(server.command[0]),
            arguments=server.command[1:],
            workers=1,
            environment={**self._outer, **environment},
            cwd=self._folder,
            log=server.log,
            log_bytes=self._log_bytes,
            secrets=self._secrets,
            mark=f"{self._mark}{self.target.name}.{'router' if server.replica is None else server.replica}.",
            max_restarts=0,
            grace_s=self._grace_s,
            settings=Settings(),
        )

    def _new_log(self, server: _Server) -> Path:
        """One log per start, so that each keeps its beginning and end."""
        stem = f"server-{self.target.name}-{'router' if server.replica is None else server.replica}"
        names = chain([f"{stem}.log"], (f"{stem}.{start}.log" for start in count(1)))
        return next(path for name in names if not (path := self._logs / name).exists())

    # ---- the watching thread

    def _watch(self) -> None:
        while not self._ending.wait(LOOK_S):
            self._check_all()

    def _check_all(self) -> None:
        for server in [*self._servers, *([self._router] if self._router else [])]:
            self._check(server)

    def _check(self, server: _Server) -> None:
        with self._lock:
            if server.handle is None:
                return
            self._note_end(server)
            if server.state != "starting" or self._ending.is_set():
                return
            start = server.starts
        # may take seconds: outside the lock
        trouble = ports.trouble(server.url, self.target.ready, headers=self._headers())
        now = time.monotonic_ns()
        with self._lock:
            server.trouble = trouble
            if not trouble and server.state == "starting" and server.starts == start:
                server.state = "ready"
                after_s = (now - server.began_ns) / NS_PER_S
                started_ns = server.handle.started_ns if server.handle is not None else None
                self.emit("server_ready", now, server.replica, {"port": server.port, "after_s": after_s, "started_ns": started_ns})

    def _headers(self) -> Mapping[str, str]:
        key = os.environ.get(self.target.api_key_env, "") if self.target.api_key_env else ""
        return {"authorization": f"Bearer {key}"} if key else {}

    def _note_end(self, server: _Server) -> None:
        if server.handle is None or server.state == "exited" or (ending := server.handle.poll()) is None:
            return
        server.state, server.ending = "exited", ending
        self.emit(
            "server_exit",
            ending.end_ns or time.monotonic_ns(),
            server.replica,
            {
                "exit_code": ending.exit_code,
                "signal": ending.signal,
                "asked": server.asked,
                "trouble": redact(ending.trouble, self._secrets),
            },
        )

    # ---- waiting

    def _wait(self, servers: Sequence[_Server]) -> None:
        deadline = time.monotonic() + self.target.ready_timeout_s
        restarted: set[int] = set()
        while any(server.state != "ready" for server in servers):
            if self._stopped():
                raise Interrupted(f"stopped while {self.target.name} was starting")
            for server in servers:
                if server.state == "exited" and server.port not in restarted and self._port_is_in_the_way(server):
                    restarted.add(server.port)
                    self._retry(server)
                elif server.state == "exited":
                    raise WorkloadError(self._why_ended(server))
            if time.monotonic() > deadline:
                unready = next(server for server in servers if server.state != "ready")
                raise WorkloadError(self._why_late(unready))
            time.sleep(supervisor.POLL_S)

    def _port_is_in_the_way(self, server: _Server) -> bool:
        return "in use" in "\n".join(last_lines(server.log)).lower()

    def _retry(self, server: _Server) -> None:
        """Retry with the port released, for servers that do not set SO_REUSEADDR."""
        self._close(server)
        self._ports.release(server.port)
        self._launch(server)

    def _why_ended(self, server: _Server) -> str:
        ending = server.ending
        if ending is None or ending.trouble:
            cause = ending.trouble.removeprefix("the engine could not be started: ") if ending else "it is gone"
            cause = f"could not be started: {redact(cause, self._secrets)}"
        elif ending.signal is not None:
            cause = f"was ended by {signal.Signals(ending.signal).name} before it was ready"
        else:
            cause = f"ended with exit code {ending.exit_code} before it was ready"
        return self._message(server, cause)

    def _why_late(self, server: _Server) -> str:
        trouble = f" ({redact(server.trouble, self._secrets)})" if server.trouble else ""
        return self._message(
            server,
            f"was not ready within ready_timeout_s = {self.target.ready_timeout_s:g} s: GET {server.url}{self.target.ready}{trouble}",
        )

    def _message(self, server: _Server, cause: str) -> str:
        lines = [redact(line, self._secrets) for line in last_lines(server.log)]
        output = "".join(f"\n    {line}" for line in lines) if lines else " nothing"
        command = " ".join(redact_arguments(server.command, self._secrets))
        return (
            f"{server.name} of {self.target.name} {cause}.\n  command: {command}\n  the last it printed (logs/{server.log.name}):{output}"
        )


def last_lines(log: Path) -> list[str]:
    """Last lines of a server's output without terminal control sequences; also works during writing."""
    lines: list[str] = []
    for path in (log, launch_log.older_of(log), launch_log.tail_of(log)):
        try:
            with path.open("rb") as file:
                file.seek(0, os.SEEK_END)
                file.seek(max(0, file.tell() - LAST_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            continue
        lines += [_plain(line) for line in text.splitlines() if line.strip()]
    return lines[-LAST_LINES:]


def _plain(line: str) -> str:
    return "".join(char if char.isprintable() else " " for char in line).rstrip()[:500]
