"""How does the coordinator use a fork server (`fork_server.py`)?

One server at a time: a new one for every block, so that memory layout and hash seed vary over an experiment as they do between
processes, and for every environment, because libraries read variables while they are imported.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Final

from fireassay.errors import EnvironmentLacks
from fireassay.launchers.support import fork_server, launch_log, supervisor
from fireassay.launchers.support.base import Request, SupervisedHandle, job_of, ready

PATIENCE_S: Final = 120.0  # for importing torch on a busy machine
PROXY: Final = Path(__file__).with_name("worker_proxy.py")
Key = tuple[str, frozenset[tuple[str, str]], Path]

_server: Server | None = None


class Server:
    """A running fork server."""

    def __init__(self, key: Key, request: Request) -> None:
        self.key = key
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        environment = {
            **_at_import(request.environment),
            supervisor.MARK: f"{request.mark.partition('.')[0]}.".ljust(fork_server.ROOM, "_"),
        }
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-P", fork_server.__file__],
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
                cwd=request.cwd,
                env=environment,
            )
        self.socket.settimeout(PATIENCE_S)
        trouble = self._receive().get("trouble", "it ended while it imported torch")
        if trouble:
            self.close()
            raise EnvironmentLacks(f'launcher.start = "fork" is not possible here: {trouble}. Set launcher.start = "exec".')

    def fork(self, mark: str, descriptors: list[int]) -> int | None:
        """A supervisor for a launch: its process ID; None if the server has ended. `descriptors`: its control, answers and standard error."""
        with suppress(OSError):
            socket.send_fds(self.socket, [json.dumps({"mark": mark}).encode()], descriptors)
        return self._receive().get("pid")

    def close(self) -> None:
        """End it; its forks live on."""
        self.socket.close()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(1.0)
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def _receive(self) -> dict[str, Any]:
        try:
            return dict(json.loads(self.socket.recv(fork_server.MAX_MESSAGE_BYTES) or b"{}"))
        except OSError:  # it did not answer in time, or is gone
            return {}


def prepare(request: Request) -> None:
    """Have a server ready before the launch begins, so that its imports are part of no launch.

    Raises:
        EnvironmentLacks: torch cannot be imported, or must not be forked afterwards.
    """
    global _server
    key = (request.session, frozenset(_at_import(request.environment).items()), request.cwd)
    if _server is not None and _server.key == key and _server.process.poll() is None:
        return
    end()
    _server = Server(key, request)


@atexit.register
def end() -> None:
    """End the server, if there is one."""
    global _server
    server, _server = _server, None
    if server is not None:
        server.close()


def start(request: Request, engine: list[str], folder: Path, *, after: Callable[[], object]) -> SupervisedHandle:
    """Start a launch. `engine`: torchrun's arguments; `folder`: the launch's own, for the socket."""
    control_read, control_write = os.pipe()
    out_read, out_write = os.pipe()
    request.log.parent.mkdir(parents=True, exist_ok=True)
    with launch_log.appending(request.log) as log:
        pid = _forked(request, [control_read, out_write, log.fileno()])
    os.close(control_read)
    os.close(out_write)
    process = ForkedProcess(pid, os.fdopen(control_write, "wb"), os.fdopen(out_read, "rb", buffering=0))
    handle = SupervisedHandle(process, request, after)
    handle.send({**job_of(request, ["torchrun"]), "fork": {"socket": str(folder / "fork"), "engine": engine}})
    return handle


def _forked(request: Request, descriptors: list[int]) -> int:
    """The process ID of a new supervisor; a server that has ended meanwhile is replaced once."""
    for _ in range(2):
        prepare(request)
        assert _server is not None
        if (pid := _server.fork(request.mark, descriptors)) is not None:
            return pid
        end()
    raise EnvironmentLacks('launcher.start = "fork": the process that had imported torch was ended twice. Set launcher.start = "exec".')


def script(folder: Path, request: Request) -> list[str]:
    """torchrun's words for a worker that is a fork."""
    return ["--no-python", "--", sys.executable, "-I", "-S", str(PROXY), str(folder / "fork"), *request.words]


def _at_import(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables without those of one launch."""
    return {name: value for name, value in environment.items() if not name.startswith("FIREASSAY_") and name != "PWD"}


class ForkedProcess:
    """A process that is no child of this one, with what `SupervisedHandle` uses of a Popen."""

    def __init__(self, pid: int, stdin: IO[bytes], stdout: IO[bytes]) -> None:
        self.pid = pid
        self.stdin: IO[bytes] | None = stdin
        self.stdout: IO[bytes] | None = stdout
        self.returncode: int | None = None
        self._pidfd: int | None = os.pidfd_open(pid)

    def poll(self) -> int | None:
        """0 once it has ended; its exit code is unknown."""
        if self._pidfd is not None and ready(self._pidfd, select.POLLIN, 0.0):
            os.close(self._pidfd)
            self._pidfd, self.returncode = None, 0
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Wait for its end. Raises subprocess.TimeoutExpired."""
        deadline = float("inf") if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            if time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired("supervisor", timeout or 0.0)
            time.sleep(supervisor.POLL_S)
        return 0

    def kill(self) -> None:
        if self._pidfd is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, signal.SIGKILL)
