"""What must a launcher do?

Turn one launch into processes and return a handle that can end them.  A launcher is one file with one `LAUNCHER`; it builds the
engine's command line.  `supervisor_client.py` does the rest: supervision, output, and cleanup of every process.

How does the coordinator talk to a launch's supervisor?

`start` returns the handle of `launchers/support/base.py`.
"""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import IO, Any, Protocol

from fireassay import isolated
from fireassay.launchers.support import interpreter, launch_log, supervisor
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Host
from fireassay.spec.sections.workload import Launcher as Settings

# Variables that a launch must not inherit if an engine started assay itself.
# fmt: off
ENGINE_VARIABLES = frozenset({
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE", "ROLE_RANK", "ROLE_NAME",
    "ROLE_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_RUN_ID",
    "TORCHELASTIC_USE_AGENT_STORE", "TORCHELASTIC_ERROR_FILE", "TORCHELASTIC_LOG_DIR",
})
# fmt: on
INTERFACES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")  # interfaces on which these backends listen


def filled(text: str, values: Mapping[str, str]) -> str:
    """A text with its placeholders, as {workers}, replaced."""
    for placeholder, value in values.items():
        text = text.replace(placeholder, value)
    return text


@dataclass(frozen=True, kw_only=True)
class Request:
    """One launch to start."""

    script: Path  # absolute
    arguments: tuple[str, ...]
    workers: int
    environment: Mapping[str, str]  # the engine's complete environment
    cwd: Path
    log: Path
    log_bytes: int
    secrets: tuple[str, ...]  # values that must never reach the log
    mark: str  # value of FIREASSAY_MARK, which identifies every process of the launch
    max_restarts: int
    grace_s: float
    settings: Settings
    prefix: tuple[str, ...] = ()  # arguments before the engine's command: a profiler that starts it
    session: str = ""  # launches that may share what they are started from: a record's block
    most_workers: int = 0  # largest worker count of the experiment; processors are divided for that many
    module: str = ""  # started as `python -m` does, instead of the script's file

    @property
    def words(self) -> tuple[str, ...]:
        """Python's words for the script and its arguments."""
        return (*(("-m", self.module) if self.module else (str(self.script),)), *self.arguments)


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a launch ended."""

    exit_code: int | None  # of the engine; None if it was killed by a signal or never started
    signal: int | None = None  # that killed the engine
    end_ns: int | None = None  # monotonic time at which its last process exited, of those not ended by assay; None if unobserved
    trouble: str = ""  # a failure of the launch itself, one sentence
    left_running: int = 0  # processes that the engine left when it ended by itself, and that assay ended
    left: tuple[int, ...] = ()  # processes that could not be killed


def torchrun(request: Request) -> list[str]:
    """torchrun of the workers' Python, before its arguments."""
    return isolated.python("-m", "torch.distributed.run", python=interpreter.path(request.settings))


def torchrun_script(request: Request, entry: Sequence[str] = ()) -> list[str]:
    """torchrun's words for the script; without `--` it takes the script's options for abbreviations of its own. `entry`: a program before it."""
    if entry:
        return ["--", *entry, interpreter.path(request.settings), "-u", *request.words]
    return ["--module", "--", *request.words[1:]] if request.module else ["--", *request.words]


class Handle(Protocol):
    """A running launch."""

    def poll(self) -> Ending | None:
        """How it ended; None while any process is alive. Never waits."""
        ...

    def stop(self) -> None:
        """Terminate gracefully; kill what is left after the request's grace period. Returns immediately."""
        ...

    def kill(self) -> None:
        """Kill everything now. Returns immediately."""
        ...

    def pids(self) -> tuple[int, ...]:
        """Every live process of the launch."""
        ...

    def close(self) -> None:
        """Ensure that nothing is left, by force if needed. Always the last call."""
        ...


@dataclass(frozen=True, kw_only=True)
class Lost:
    """An allocation that ended before its time."""

    words: str  # "the end of Slurm job 7 (PREEMPTED)"
    state: str  # the engine's own word: PREEMPTED, TIMEOUT, NODE_FAIL
    again: bool = False  # whether nodes may be asked for again: nobody cancelled it on purpose


@dataclass(frozen=True, kw_only=True)
class Allocation:
    """Nodes that an engine lends to all launches of an experiment."""

    hosts: tuple[Host, ...]
    workers_per_node: int
    facts: Mapping[str, object]  # JSON-serialisable: the engine's own words about it, conditions of the record
    lost: Callable[[float], Lost | None]  # seconds to wait for it -> how it has ended before its time; None while it lasts
    release: Callable[[], None]  # give the nodes back
    waited_s: float | None = None  # in the queue, as the engine says it; None: until it answered


Waiting = Callable[[str], bool]  # what an engine waits for -> whether to give up


@dataclass(frozen=True, kw_only=True)
class Launcher:
    """A way to start workers."""

    name: str
    check: Callable[[Experiment], None]  # raises SpecError or EnvironmentLacks before launch
    start: Callable[[Request], Handle]
    describe: Callable[[Request], dict[str, object]]  # JSON-serialisable: the launch's placement
    prepare: Callable[[Request], None] = lambda _: None  # before the launch begins: what is part of no launch; raises EnvironmentLacks
    allocate: Callable[[Experiment, Waiting], Allocation] | None = None  # once, at first; raises EnvironmentLacks, Interrupted
    by_hand: Callable[[Experiment, Sequence[str]], str] | None = None  # assay's words -> what a user may submit to the engine instead


def worker_environment(outer: Mapping[str, str], settings: Settings, extra: Mapping[str, str]) -> dict[str, str]:
    """The engine's environment: the user's, minus an outer engine's variables, plus the variables of every launch."""
    inner = {name: value for name, value in outer.items() if name not in ENGINE_VARIABLES}
    inner["OMP_NUM_THREADS"] = str(settings.threads_per_worker)
    # Without it a restarted gloo group dials the dead workers' addresses and does not recover (PyTorch 2.13, torchrun).
    inner["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1"
    return {**inner, **_kept_here(inner, settings), **extra}


def _kept_here(outer: Mapping[str, str], settings: Settings) -> dict[str, str]:
    """Restrict listeners to loopback where all workers run on this machine (`instruments/loopback.py`)."""
    interface = loopback()
    if settings.nodes > 1 or any(host.address != "127.0.0.1" for host in settings.hosts) or not interface:
        return {}
    return {"FIREASSAY_LOOPBACK": "1", **{name: interface for name in INTERFACES if name not in outer}}


@cache
def loopback() -> str:
    """Name of this machine's loopback interface; "" if it has none."""
    import psutil

    addresses = psutil.net_if_addrs()
    return next((name for name, assigned in addresses.items() if any(address.address == "127.0.0.1" for address in assigned)), "")


ANSWER_S = 10.0  # how long a supervisor may take beyond the grace period before it is considered dead


SUPERVISOR = (sys.executable, "-I", "-S", supervisor.__file__)


def start(request: Request, command: Sequence[str], *, after: Callable[[], object] = lambda: None) -> SupervisedHandle:
    """Start the engine's command under a supervisor. `after`: called once nothing of the launch is left."""
    # Only what Python itself needs: the user's variables reach the engine through the job, not through the supervisor.
    variables = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
    return start_supervised(request, job_of(request, command), SUPERVISOR, variables, after)


def start_supervised(
    request: Request, job: Mapping[str, Any], words: Sequence[str], variables: Mapping[str, str], after: Callable[[], object] = lambda: None
) -> SupervisedHandle:
    """Start a supervisor by its words, and send it its job."""
    request.log.parent.mkdir(parents=True, exist_ok=True)
    with launch_log.appending(request.log) as log:
        process = subprocess.Popen(
            list(words),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            env={**variables, supervisor.MARK: request.mark},
        )
    handle = SupervisedHandle(process, request, after)
    handle.send(dict(job))
    return handle


def job_of(request: Request, command: Sequence[str]) -> dict[str, Any]:
    """The job description for the supervisor of a launch."""
    return {
        "command": [*request.prefix, *command],
        "cwd": str(request.cwd),
        "log": str(request.log),
        "log_bytes": request.log_bytes,
        "environment": {**request.environment, supervisor.MARK: request.mark},
        "secrets": list(request.secrets),
        "grace_s": request.grace_s,
        "mark": request.mark,
    }


def ready(pipe: IO[bytes] | int, event: int, limit_s: float) -> bool:
    """Whether a pipe can be read or written in time. Not by select(), which knows no descriptor above 1023: each node takes three."""
    waiting = select.poll()
    waiting.register(pipe, event)
    return bool(waiting.poll(1e3 * limit_s))


class Process(Protocol):
    """What a handle uses of a supervisor's process: a Popen, or a fork of another process."""

    pid: int
    returncode: int | None
    stdin: IO[bytes] | None
    stdout: IO[bytes] | None

    def poll(self) -> int | None: ...
    def wait(self, timeout: float | None = None) -> int: ...
    def kill(self) -> None: ...


class SupervisedHandle:
    """A launch under a supervisor."""

    def __init__(self, process: Process, request: Request, after: Callable[[], object]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._request, self._after = process, request, after
        self._control, self._answers = process.stdin, process.stdout
        self._heard = b""
        self._trouble = ""
        self.started_ns: int | None = None  # just before the engine was started, reported by the supervisor; None: not yet reported
        self._ending: Ending | None = None
        self._clock: tuple[int, int] | None = None  # the latest answer: when it was asked for here, and the supervisor's time
        self.report: Mapping[str, Any] | None = None  # the latest content of the watched file
        self.heard_ns = time.monotonic_ns()  # its last sign of life
        os.set_blocking(self._answers.fileno(), False)

    def send(self, message: dict[str, Any]) -> None:
        """Send one order; `poll` detects a dead supervisor."""
        try:
            self._control.write(json.dumps(message).encode() + b"\n")
            self._control.flush()
        except (BrokenPipeError, ValueError):
            return

    def poll(self) -> Ending | None:
        """How it ended; None while any process is alive."""
        if self._ending is None and not self._answers.closed:
            exited = self._process.poll() is not None  # check first, so that its last messages are read below
            self._listen()
            if exited and self._ending is None:
                self._ending = self._without_supervisor()
        return self._ending

    def stop(self) -> None:
        """Terminate gracefully; kill what is left after the grace period."""
        self.send({"do": "stop"})

    def kill(self) -> None:
        """Kill everything now."""
        self.send({"do": "kill"})

    def put(self, path: Path, text: str) -> None:
        """Let the supervisor write a file where it runs."""
        self.send({"do": "put", "path": str(path), "text": text})

    def read_clock(self, limit_s: float) -> tuple[int, int, int] | None:
        """(sent, its time, received): a reading of the supervisor's clock between two of this one, ns; None without an answer in time."""
        sent = time.monotonic_ns()
        self.send({"do": "clock", "sent": sent})
        deadline = time.monotonic() + limit_s
        while not self._answers.closed and self._process.poll() is None and (left := deadline - time.monotonic()) > 0.0:
            ready(self._answers, select.POLLIN, left)
            self._listen()
            received = time.monotonic_ns()  # not before: an answer may come while a report before it is read
            if self._clock is not None and self._clock[0] == sent:
                return (*self._clock, received)
        return None

    def pids(self) -> tuple[int, ...]:
        """Every live process of the launch, the supervisor included; called about once a second during a measurement."""
        alive = [self._process.pid] if self._process.poll() is None else []
        return (*alive, *supervisor.family(self._process.pid))

    def close(self) -> None:
        """Ensure that nothing is left."""
        if self.poll() is None:
            self.kill()
        deadline = time.monotonic() + ANSWER_S
        while self.poll() is None and time.monotonic() < deadline:
            time.sleep(supervisor.POLL_S)
        if self._process.poll() is None:
            try:
                self._process.wait(ANSWER_S if self._ending is not None else 0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self.poll()
        supervisor.end_marked(self._request.mark)
        self._after()
        for pipe in (self._control, self._answers):
            try:
                pipe.close()
            except OSError:  # an order that nobody will read
                continue

    def _listen(self) -> None:
        try:
            while data := self._answers.read():
                self._heard += data
                self.heard_ns = time.monotonic_ns()
        except BlockingIOError:
            pass
        *lines, self._heard = self._heard.split(b"\n")
        for line in lines:
            with suppress(ValueError):  # a login banner
                self._hear(json.loads(line))

    def _hear(self, message: dict[str, Any]) -> None:
        if "clock" in message:
            self._clock = message["clock"], message["now"]
        self.report = message.get("report", self.report)
        self._trouble = message.get("cannot_start", self._trouble)
        self.started_ns = message.get("started_ns", self.started_ns)
        if (ended := message.get("ended")) is not None:
            self._ending = Ending(
                exit_code=ended["exit_code"],
                signal=ended["signal"],
                end_ns=ended["end_ns"],
                left_running=ended["left_running"],
                left=tuple(ended["left"]),
                trouble=f"the engine could not be started: {self._trouble}" if self._trouble else "",
            )

    def _without_supervisor(self) -> Ending:
        """The supervisor was killed: the coordinator does its work."""
        survivors = supervisor.end_marked(self._request.mark)
        with suppress(OSError):  # on failure the log's parts stay beside it
            launch_log.join(self._request.log, self._request.log_bytes // 2)
        code = self._process.returncode
        cause = signal.Signals(-code).name if code is not None and code < 0 else f"exit code {code}"
        return Ending(exit_code=None, left=tuple(survivors), trouble=f"the launch's supervisor was ended from outside ({cause})")
