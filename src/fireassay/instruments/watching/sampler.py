"""How is a running job sampled without slowing it?

Counters of every worker five times a second (microseconds each), and the stack of every main thread by `py-spy dump --nonblocking`, which reads
the worker's memory without stopping it. A dump takes 10 to 20 ms of a processor, so the pauses between dumps follow from their measured cost:
at most `BUDGET` of this machine's processors. The sampler runs at a low priority.
Source: py-spy, https://github.com/benfred/py-spy (README, "How can I avoid pausing the Python program?").
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fireassay.instruments.watching.processes import Reading, Worker, ends_with, read
from fireassay.instruments.watching.stacks import Frame

EVERY_S: Final = 0.2
MOST_READINGS: Final = 36_000  # of a worker: of a watch beyond two hours they are further apart
LOOK_S: Final = 1.0  # at least between two looks at all stacks
BUDGET: Final = 0.0025  # share of the processors that dumps may use
DUMP_S: Final = 5.0
MOST_FRAMES: Final = 200
NICE: Final = 10
STOPS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, kw_only=True)
class Look:
    """The stack of a worker's main thread at one moment, innermost frame first."""

    rank: int
    ns: int
    active: bool
    frames: tuple[Frame, ...]


@dataclass(kw_only=True)
class Samples:
    """What was seen."""

    workers: tuple[Worker, ...]
    readings: list[Reading] = field(default_factory=list)
    looks: list[Look] = field(default_factory=list)
    trouble: str = ""  # why there are no stacks
    ended: bool = False  # the job ended while it was watched
    cpu_s: float = 0.0  # used by the sampler


class Sampler:
    """Samples the workers of one machine."""

    def __init__(self, workers: Sequence[Worker], *, stacks: bool = True, py_spy: str | None = None) -> None:
        self.samples = Samples(workers=tuple(workers))
        self._py_spy = (py_spy or find_py_spy()) if stacks else None
        self._next_look = 0.0
        self._before_exec = ends_with(os.getpid(), signal.SIGKILL)
        if self._py_spy is None:
            self.samples.trouble = "py-spy is not installed: pip install 'fireassay[watch]'" if stacks else "not asked for"

    def run(self, seconds: float, *, tick: Callable[[Samples], None] = lambda _: None) -> Samples:
        """Sample for so long, or until a worker ends. Ctrl-C ends it early and keeps what was seen."""
        used, end = _cpu_s(), time.monotonic() + seconds
        try:
            while time.monotonic() < end and not self.samples.ended:
                self.sample()
                self.samples.cpu_s = _cpu_s() - used
                tick(self.samples)
                time.sleep(max(EVERY_S, seconds / MOST_READINGS))
        except KeyboardInterrupt:
            if not self.samples.readings:
                raise
        return self.samples

    def sample(self) -> None:
        """Read every worker once; look at the stacks if it is time."""
        readings = [read(worker, time.monotonic_ns()) for worker in self.samples.workers]
        self.samples.readings += [reading for reading in readings if reading is not None]
        self.samples.ended = any(reading is None or reading.state in "ZX" for reading in readings)
        if self._py_spy is None or self.samples.ended or time.monotonic() < self._next_look:
            return
        before = _children_s()
        for worker in self.samples.workers:
            self._look(worker)
        cost_s = _children_s() - before
        self._next_look = time.monotonic() + max(LOOK_S, cost_s / (BUDGET * (os.cpu_count() or 1)))

    def _look(self, worker: Worker) -> None:
        assert self._py_spy is not None
        command = [self._py_spy, "dump", "--nonblocking", "--json", "--pid", str(worker.pid)]
        try:
            done = subprocess.run(command, capture_output=True, timeout=DUMP_S, check=False, preexec_fn=self._before_exec)
        except subprocess.TimeoutExpired:
            return
        ns = time.monotonic_ns()
        if done.returncode:
            self._fails(done.stderr.decode("utf-8", "replace"))
            return
        try:
            threads = json.loads(done.stdout)
        except ValueError:  # a stack that changed while it was read
            return
        main = next((thread for thread in threads if thread.get("os_thread_id") == worker.pid), None)
        if main is not None:
            self.samples.looks.append(Look(rank=worker.rank, ns=ns, active=bool(main.get("active")), frames=_frames(main)))

    def _fails(self, words: str) -> None:
        if "ermission" in words:
            self._py_spy = None
            self.samples.trouble = "py-spy may not read the workers: run as their user with kernel.yama.ptrace_scope = 0, or as root"


def _frames(thread: dict[str, Any]) -> tuple[Frame, ...]:
    frames = thread.get("frames") or []
    return tuple(
        Frame(name=str(one.get("name")), file=str(one.get("filename")), line=int(one.get("line") or 0)) for one in frames[:MOST_FRAMES]
    )


@contextmanager
def undisturbed() -> Iterator[None]:
    """No stop in the middle of a message, which would cost all that follow it: it takes effect afterwards."""
    came: list[int] = []
    former = {}
    with suppress(ValueError):  # not in the main thread, which gets the signals
        for stop in filter(signal.getsignal, STOPS):
            former[stop] = signal.signal(stop, lambda number, _: came.append(number))
    try:
        yield
    finally:
        for stop, handler in former.items():
            signal.signal(stop, handler)
    for number in came[:1]:
        signal.raise_signal(number)


def find_py_spy() -> str | None:
    """The program beside this Python, or on the path."""
    beside = Path(sys.executable).with_name("py-spy")
    return str(beside) if beside.exists() else shutil.which("py-spy")


def _children_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _cpu_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime + _children_s()
