"""How is a sandboxed process started, asked and ended, without waiting for it longer than wanted?

Nothing that it does can block the parent: all pipes are read and written only when they are ready, and what it sends is limited.

How long is a limit of wall time on a busy machine?

The clock of a run goes slower by the number of runnable threads for each processor that this process may use (`/proc/loadavg`, sampled at each
turn): with four busy threads for each processor it needs four times as long.
Cannot tell: a hypervisor's steal, nor a share of a control group; `SLOWEST` covers what no count shows.
"""

from __future__ import annotations

import contextlib
import functools
import json
import marshal
import os
import select
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from fireassay.quality.sandbox import inside
from fireassay.quality.sandbox.tiers import Limits, Tier, command, plan

MARK: Final = "FIREASSAY_SANDBOX"  # in the environment of every process, so that one left over could be found
PIECE: Final = 65536
END_S: Final = 60.0  # for the kernel to end a namespace


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How a sandbox ended; None: it did not say."""

    setup: str = ""  # why it could not be set up
    status: int | None = None  # exit code of the worker, or a signal as a negative number
    cpu_s: float | None = None  # of the worker with all its descendants

    @property
    def words(self) -> str:
        """ "ended with exit code 0"."""
        if self.status is None:
            return "ended without a report"
        return f"ended by signal {-self.status}" if self.status < 0 else f"ended with exit code {self.status}"


class OutputLimit(Exception):
    """It sent more than it may."""


MODULES: Final = ("values", "roles", "kernel", "launcher")  # of `inside`, in the order of their imports
INSIDE: Final = (3, 4, 5, 6)  # the pipes' numbers there: those here would tell a program what else is open
BOOTSTRAP: Final = f"""
import fcntl, marshal, os, sys
given = [int(word) for word in sys.argv[1:]]
apart = [fcntl.fcntl(number, fcntl.F_DUPFD, max(given) + 8) for number in given]
for number in given: os.close(number)
for number, place in zip(apart, {INSIDE}): os.dup2(number, place), os.close(number)
questions = os.fdopen({INSIDE[0]}, "rb")
for name in marshal.load(questions):
    sys.modules[name] = module = type(sys)(name)
    exec(marshal.load(questions), module.__dict__)
module.main(questions)
"""


@functools.cache
def program() -> bytes:
    """What runs inside, compiled."""
    home = Path(inside.__file__).parent
    codes = [compile((home / f"{name}.py").read_text(), f"<{name}>", "exec") for name in MODULES]
    return marshal.dumps([f"{inside.__name__}.{name}" for name in MODULES]) + b"".join(map(marshal.dumps, codes))


class Sandbox:
    """One sandboxed process: messages out and in."""

    def __init__(self, tier: Tier, limits: Limits, role: str, errors: int = subprocess.DEVNULL) -> None:
        self._out, self._in = bytearray(), bytearray()
        self._most = limits.output_mib * 2**20
        self._report = bytearray()
        self._ended: Ended | None = None
        pairs = [os.pipe() for _ in range(4)]  # questions, answers, status, life
        (theirs_0, self._questions), (self._answers, theirs_1), (self._status, theirs_2), (theirs_3, self._life) = pairs
        theirs = [theirs_0, theirs_1, theirs_2, theirs_3]
        whole = {
            **plan(tier),
            "role": role,
            "pipes": INSIDE,
            "cpu_s": limits.test_cpu_s if role == "check" else limits.cpu_s,
            "memory_mib": limits.memory_mib,
            "processes": limits.processes,
            "file_mib": limits.file_mib,
        }
        try:
            self._process = subprocess.Popen(
                command(tier, ["-c", BOOTSTRAP, *map(str, theirs)], limits),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                cwd="/",
                env={
                    "PATH": "/usr/local/bin:/usr/bin:/bin",
                    "LC_ALL": "C.UTF-8",
                    "PYTHONHASHSEED": "0",
                    "HOME": "/tmp",
                    "OPENBLAS_NUM_THREADS": "1",  # each thread reserves memory, and counts as a process
                    MARK: str(os.getpid()),
                },
                pass_fds=theirs,
                start_new_session=True,
            )
        except BaseException:
            for number in (self._questions, self._answers, self._status, self._life):
                os.close(number)
            raise
        finally:
            for number in theirs:
                os.close(number)
        os.set_blocking(self._questions, False)
        self.open = True  # may still answer
        self._out += program()
        self.send(whole)

    def send(self, message: Any) -> None:
        """Queue a message."""
        self._out += marshal.dumps(message)

    def line(self) -> bytes | None:
        """The next message that is here, as sent."""
        text, end, rest = self._in.partition(b"\n")
        if not end:
            return None
        self._in = rest
        return bytes(text)

    @property
    def reads(self) -> list[int]:
        """What `turn` waits for."""
        return [self._answers] if self.open else []

    @property
    def writes(self) -> list[int]:
        """What `turn` waits for."""
        return [self._questions] if self._out and self.open else []

    def move(self, readable: list[int], writable: list[int]) -> None:
        """Move what can be moved. Raises OutputLimit: it sent more than it may."""
        if self._questions in writable:
            try:
                del self._out[: os.write(self._questions, self._out[:PIECE])]
            except BlockingIOError:
                pass
            except BrokenPipeError:
                self._out.clear()
        if self._answers in readable:
            piece = os.read(self._answers, PIECE)
            self.open = bool(piece)
            self._in += piece
            if len(self._in) > self._most:
                raise OutputLimit

    def receive(self, wait_s: float) -> Any:
        """Wait for a message of trusted code; None if there is none."""
        until_s = time.monotonic() + wait_s
        while (text := self.line()) is None:
            if not self.open or time.monotonic() > until_s:
                return None
            turn([self], 0.25)
        return json.loads(text)

    def close(self) -> Ended:
        """End it with everything that it started; returns when nothing is left."""
        if self._ended is not None:
            return self._ended
        self.open = False
        os.close(self._life)
        os.close(self._questions)
        until_s = time.monotonic() + END_S
        while (left_s := until_s - time.monotonic()) > 0.0 and select.select([self._status], [], [], left_s)[0]:
            piece = os.read(self._status, PIECE)
            self._report += piece
            if not piece:
                break
        try:
            self._process.wait(max(0.0, until_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)  # the launcher; pid 1 follows it
            self._process.wait()
        os.close(self._answers)
        os.close(self._status)
        self._ended = _ended(bytes(self._report))
        return self._ended

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def turn(sandboxes: list[Sandbox], wait_s: float) -> None:
    """Wait until something can be moved, or so long, and move it."""
    reads = [number for one in sandboxes for number in one.reads]
    writes = [number for one in sandboxes for number in one.writes]
    readable, writable, _ = select.select(reads, writes, [], wait_s)
    for one in sandboxes:
        one.move(readable, writable)


def _ended(report: bytes) -> Ended:
    """The first report of pid 1, or of what failed before the worker began."""
    try:
        facts = json.loads(report.partition(b"\n")[0])
    except ValueError:
        return Ended()
    if "setup" in facts:
        return Ended(setup=": ".join(facts["setup"]))
    return Ended(status=facts["status"], cpu_s=facts["cpu_s"])


SLOWEST: Final = 64.0  # times


class StretchedClock:
    """Seconds since the start, as many as the machine would have needed if it were idle."""

    def __init__(self) -> None:
        self._last_s = time.monotonic()
        self._slow = slowness()
        self.seconds = 0.0
        self.wall_s = 0.0

    def read(self) -> float:
        """Add what passed since the last reading."""
        now_s, slow = time.monotonic(), slowness()
        passed_s = now_s - self._last_s
        self.seconds += passed_s / max(slow, self._slow)
        self.wall_s += passed_s
        self._last_s, self._slow = now_s, slow
        return self.seconds


def slowness(file: Path = Path("/proc/loadavg")) -> float:
    """Runnable threads for each processor, at least 1."""
    try:
        first, _, _, entities, _ = file.read_text().split()
        runnable = max(float(first), float(entities.partition("/")[0]) - 1.0)  # without the reader
    except (OSError, ValueError):
        return 1.0
    return min(SLOWEST, max(1.0, runnable / len(os.sched_getaffinity(0))))
