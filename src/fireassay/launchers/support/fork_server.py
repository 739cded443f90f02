"""How are launches started without importing torch anew in each of their processes?

    coordinator --socket--> fork server (has imported torch) --fork--> supervisor --fork--> engine (torchrun)
                                                                           \\--fork--> workers, at the request of worker_proxy.py

A fork of a process with one thread is as good as a new one.  The supervisor is a fork of the server that runs nothing but
`launchers/support/supervisor.py` until it forks in turn.  torchrun, which has threads, forks nothing: for each worker it starts
`worker_proxy.py`, which asks the supervisor for a fork, passes signals on and ends as the worker ends.  So workers are children of the
supervisor, which reaps them and leaves none behind.
A worker is what `python -u script.py` would be: environment, working folder, standard streams, session, signals, `__main__`, sys.path
and new random states.  What differs: its imports took no time; memory layout and hash seed are those of the server, which is why
there is one server per block; the interpreter is not finalised at the end (exit handlers run); the command line in `ps` is the server's.
Linux only.  Standard library at import time.  Sources: fork(2), unix(7).
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import ctypes
import io
import json
import os
import runpy
import selectors
import signal
import socket
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

sys.path.append(str(Path(__file__).resolve().parents[3]))  # -P leaves it out
from fireassay.launchers.support import supervisor

IMPORTS: Final = ("torch", "torch.distributed", "torch.distributed.run", "torch._dynamo")  # DDP and every optimizer import the last
ROOM: Final = 400  # bytes for a launch's mark in the process's first environment
IDLE_S: Final = 60.0  # without a request or a launch
MAX_MESSAGE_BYTES: Final = 1 << 20  # bytes of a message
SOCKET: Final = "FIREASSAY_FORK"  # variable with the path of the supervisor's socket


class Server:
    """Forks a supervisor for every launch that the coordinator asks for."""

    def __init__(self, requests: socket.socket, path: list[str]) -> None:
        self.requests, self.path = requests, path

    def run(self) -> None:
        """Serve until the coordinator closes the socket or nothing happens for a while."""
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # forks are reaped by the system
        selector = selectors.DefaultSelector()
        selector.register(self.requests, selectors.EVENT_READ)
        while selector.select(IDLE_S) or supervisor.family(os.getpid()):
            if not selector.select(0):
                continue  # idle, but a launch is running
            message, descriptors, _, _ = socket.recv_fds(self.requests, MAX_MESSAGE_BYTES, 3)
            if not message:
                return
            self._fork(json.loads(message)["mark"], descriptors, selector)

    def _fork(self, mark: str, descriptors: list[int], selector: selectors.BaseSelector) -> None:
        pid = os.fork()
        if pid == 0:
            selector.close()
            _leave_on_error(lambda: self._supervise(mark, *descriptors))
        for descriptor in descriptors:
            os.close(descriptor)
        self.requests.send(json.dumps({"pid": pid}).encode())

    def _supervise(self, mark: str, control: int, out: int, log: int) -> None:
        """The supervisor's life: the job follows on `control`, as for `supervisor.py`."""
        os.setsid()
        self.requests.close()
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(log, 1)
        os.dup2(log, 2)
        os.close(log)
        write_mark(mark)
        if (sent := supervisor.first_line(control)) is not None:
            ForkingSupervisor(json.loads(sent[0]), control, out, sent[1], path=self.path).run()


class ForkingSupervisor(supervisor.Supervisor):
    """A supervisor that forks the engine and its workers."""

    def __init__(self, *words: Any, path: list[str]) -> None:
        super().__init__(*words)
        self.path = path  # sys.path of the workers
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.proxies: dict[int, socket.socket] = {}  # worker -> who asked for it

    def _start(self) -> int | None:
        read, write = os.pipe()
        supervisor._widen(read)
        self.listener.bind(self.job["fork"]["socket"])  # in a folder that only this user can open
        self.listener.listen(128)
        self.selector.register(self.listener, selectors.EVENT_READ, self._accept)
        started_ns = time.monotonic_ns()
        environment = {**self.job["environment"], SOCKET: self.job["fork"]["socket"]}
        null = os.open(os.devnull, os.O_RDONLY)
        guard = os.getpid()
        pid = os.fork()
        if pid == 0:
            supervisor.prctl(supervisor._SET_PDEATHSIG, int(signal.SIGTERM))
            if os.getppid() != guard:  # it died before PR_SET_PDEATHSIG took effect
                os.kill(os.getpid(), signal.SIGKILL)
            self._become((null, write, write), environment, self.job["cwd"])
            run_as_main(lambda: _engine(self.job["fork"]["engine"]))
        os.close(null)
        os.close(write)
        self.engine = pid
        os.set_blocking(read, False)
        self._say({"started": pid, "started_ns": started_ns})
        return read

    def _accept(self) -> None:
        """A proxy asks for a worker."""
        connection, _ = self.listener.accept()
        _, uid, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
        message, descriptors, _, _ = socket.recv_fds(connection, MAX_MESSAGE_BYTES, 3)
        if uid == os.getuid() and len(descriptors) == 3:
            self._fork_worker(connection, json.loads(message), descriptors)
        else:
            connection.close()
        for descriptor in descriptors:
            os.close(descriptor)

    def _fork_worker(self, connection: socket.socket, wanted: Mapping[str, Any], descriptors: list[int]) -> None:
        pid = os.fork()
        if pid == 0:
            self._become(descriptors, wanted["environment"], wanted["cwd"])
            run_as_main(lambda: _script(wanted["argv"]))
        self.proxies[pid] = connection
        self.selector.register(connection, selectors.EVENT_READ, lambda: self._proxy_gone(pid, connection))
        connection.send(json.dumps({"pid": pid}).encode())

    def _proxy_gone(self, pid: int, connection: socket.socket) -> None:
        """A proxy never writes again: it was killed, and its worker with it."""
        self.selector.unregister(connection)
        connection.close()
        if self.proxies.pop(pid, None) is not None:
            supervisor.send([pid], signal.SIGKILL)

    def _reaped(self, pid: int, status: int) -> None:
        super()._reaped(pid, status)
        if (connection := self.proxies.pop(pid, None)) is not None:
            self.selector.unregister(connection)
            with contextlib.suppress(OSError):
                connection.send(json.dumps({"status": status}).encode())
            connection.close()

    def _become(self, streams: Sequence[int], environment: Mapping[str, str], cwd: str) -> None:
        """In a new fork: nothing of the supervisor is left but its imports."""
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGHUP, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.setsid()
        for target, descriptor in enumerate(streams):
            os.dup2(descriptor, target)
        self.selector.close()
        for connection in (self.listener, *self.proxies.values()):
            connection.detach()
        for name in os.listdir("/proc/self/fd"):
            if int(name) > 2:
                with contextlib.suppress(OSError):  # that of the listing itself
                    os.close(int(name))
        sys.path[:] = self.path
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(cwd)
        _new_streams()
        _new_random_states()


def _new_streams() -> None:
    """Standard streams as of `python -u`."""
    for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        old = getattr(sys, f"__{name}__")
        encoding, errors = (old.encoding, old.errors) if old is not None else ("utf-8", "strict")
        raw: Any = io.FileIO(number, "r" if number == 0 else "w", closefd=False)
        raw = io.BufferedReader(raw) if number == 0 else raw
        stream = io.TextIOWrapper(raw, encoding, errors, line_buffering=number == 2, write_through=number != 0)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _new_random_states() -> None:
    """New seeds where an import drew one; `random` does so by itself, and torch starts from a constant."""
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()


def _engine(words: list[str]) -> None:
    """torchrun."""
    run: Any = sys.modules["torch.distributed.run"]
    sys.argv = [run.__file__, *words]
    run.main(words)


def _script(argv: list[str]) -> None:
    """`python -u script.py ARGUMENT...` or `python -u -m MODULE ARGUMENT...`, with the hooks that sitecustomize would have armed."""
    sys.argv, module = argv, argv[0] == "-m"
    sys.orig_argv[:] = [sys.executable, "-u", *argv]
    if not os.environ.get("PYTHONSAFEPATH"):
        sys.path.insert(0, str(Path.cwd() if module else Path(argv[0]).resolve().parent))
    if os.environ.get("FIREASSAY_ATTACH") == "1":
        from fireassay.instruments import attach, found_scores, loopback

        loopback.arm()
        attach.arm()
        found_scores.arm()
    if module:
        sys.argv = argv[1:]  # runpy puts the module's file in the first place
        runpy.run_module(argv[1], run_name="__main__", alter_sys=True)
        return
    main = ModuleType("__main__")
    vars(main).update(__file__=argv[0], __builtins__=builtins, __spec__=None, __cached__=None)
    sys.modules["__main__"] = main
    with open(argv[0], "rb") as file:
        code = compile(file.read(), argv[0], "exec", dont_inherit=True)
    exec(code, vars(main))


def run_as_main(body: Callable[[], None]) -> NoReturn:
    """Run what Python would have run, and end the process as Python would. Never returns into the supervisor's code."""
    code = _code_of(body)
    with contextlib.suppress(BaseException):
        threading._shutdown()  # type: ignore[attr-defined]
    with contextlib.suppress(BaseException):
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(code)


def _code_of(body: Callable[[], None]) -> int:
    """The exit code of a program, its uncaught exception printed as Python prints it."""
    try:
        body()
    except SystemExit as error:
        if error.code is None or isinstance(error.code, int):
            return (error.code or 0) & 0xFF
        print(error.code, file=sys.stderr)
        return 1
    except BaseException as error:
        own = {__file__, runpy.__file__}
        seen = error.__traceback__
        while seen is not None and seen.tb_frame.f_code.co_filename in own:
            seen = seen.tb_next
        sys.last_type, sys.last_value, sys.last_traceback = type(error), error, seen
        sys.excepthook(type(error), error.with_traceback(seen), seen)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _leave_on_error(body: Callable[[], None]) -> NoReturn:
    try:
        body()
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def write_mark(mark: str) -> None:
    """Write the launch's mark into the environment that /proc shows, which setenv(3) does not touch; forks inherit it."""
    libc = ctypes.CDLL(None)
    libc.getenv.restype = ctypes.c_void_p
    address = libc.getenv(supervisor.MARK.encode())
    if address:
        ctypes.memmove(address, mark.encode().ljust(ROOM, b"\0")[:ROOM], ROOM)
    os.environb[supervisor.MARK.encode()] = mark.encode()


def unfit() -> str:
    """Why this process must not be forked after its imports; "" if it may be."""
    threads = len(os.listdir("/proc/self/task"))
    if threads > 1:
        return f"importing torch started {threads - 1} threads, which a fork would lose; set launcher.threads_per_worker = 1"
    if sys.modules["torch"].cuda.is_initialized():
        return "importing torch initialised CUDA, which does not survive a fork"
    return ""


def _main() -> None:
    path = sys.path[:-1]
    requests = socket.socket(fileno=os.dup(0))
    try:
        for name in IMPORTS:
            __import__(name)
        trouble = unfit()
    except BaseException as error:
        trouble = f"{type(error).__name__}: {error}"
    requests.send(json.dumps({"trouble": trouble}).encode())
    if not trouble:
        Server(requests, path).run()
    os._exit(0)  # nothing to tidy up, and unloading torch takes a second


if __name__ == "__main__":
    _main()
