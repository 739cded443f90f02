"""What must a runner do, and what does it receive?

A runner is one file with one `RUNNER`; it makes the remaining launches and reports how it ended.  Most runners only define how
one launch is made (`Maker`); `fireassay.runners.experiment.launch_loop` makes them in order, and
`fireassay.runners.experiment.run` interleaves those of several experiments.

How do all launches of an experiment share one meter?

How is an experiment stopped without interrupting a write?  Signals are noted and handled between polls.

The first SIGINT, SIGTERM or SIGHUP requests a clean end, the second an immediate one, the third raises
KeyboardInterrupt wherever the program is.  A long computation that cannot poll, and writes nothing, is left at once (`at_once`).
A signal ignored when assay started (nohup) stays ignored.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, Literal, Protocol

from fireassay.clock import Clock
from fireassay.errors import Interrupted, Problem, RecordError, refuse_any
from fireassay.instruments.machine.meter import Meter, Row
from fireassay.launchers.support.base import Lost
from fireassay.record.folder import RecordFolder, launch_row
from fireassay.runners.experiment.progress import LaunchProgress, LaunchRow, Look, RunProgress, as_json, planned_seconds, seconds_left
from fireassay.spec.experiment import Experiment
from fireassay.spec.explain import shown
from fireassay.spec.plan import PlannedLaunch

if TYPE_CHECKING:
    from fireassay.runners.experiment.node_agents import NodeAgents

STOPPED = "assay attach --stop"
SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "a termination signal", signal.SIGHUP: "the end of the terminal"}


@dataclass
class StopRequest:
    """How often a stop was requested, and by which signal."""

    count: int = 0
    reason: str = ""
    computing: bool = False
    _again: bool = False

    def note(self, number: int, _frame: FrameType | None = None) -> None:
        """Signal handler: count the request."""
        self.count += 1
        self.reason = self.reason or SIGNALS[signal.Signals(number)]
        if self.computing:
            self.computing = False
            raise Interrupted(self.reason)
        if self.count > 2:
            raise KeyboardInterrupt

    def withdraw(self, why: str, *, again: bool = False) -> None:
        """Stop for a reason that is no signal: nothing further can be started. `again`: on other nodes it could be."""
        self.count += 1
        self.reason = self.reason or why
        self._again = again

    def renew(self) -> bool:
        """Go on after the loss of all nodes; False if anything else asked for the stop."""
        if self.count != 1 or not self._again:
            return False
        self.count, self.reason, self._again = 0, "", False
        return True

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """Leave the body at the first signal. It must write nothing: a write would be cut.

        Raises:
            Interrupted: a stop was requested, now or before.
        """
        self.computing = True
        try:
            if self.count:
                raise Interrupted(self.reason)
            yield
        finally:
            self.computing = False


@contextmanager
def listening() -> Iterator[StopRequest]:
    """Note stop signals while the body runs. Outside the main thread, no handlers are installed."""
    stop = StopRequest()
    if threading.current_thread() is not threading.main_thread():
        yield stop
        return
    handled = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    former = {number: signal.signal(number, stop.note) for number in handled}
    try:
        yield stop
    finally:
        for number, handler in former.items():
            signal.signal(number, handler)


# ---- signals ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Judgements between launches, passed in by the caller (fireassay.api.interim_analysis): measuring does not judge.

    `looks` yields the block counts at which interim analyses are due, ascending and unbounded.
    """

    looks: Callable[[Experiment], Iterable[int]]
    analyse: Callable[[Path, int], Look]  # (record folder, finished blocks)
    disturbed: Callable[[Path, int], str]  # (record folder, launch just ended) -> why it is contaminated, or ""
    futile: Callable[[Path], str] | None = None  # record folder, after a launch of the first round -> why no other is worth making, or ""
    profiled: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None  # a rank's trace -> its summary
    together: Callable[[Sequence[Path], int], Look] | None = None  # in a session, in place of `analyse`: all of its records at once


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the runner ended."""

    state: Literal["complete", "failed", "interrupted"]
    reason: str = ""
    not_metered: Mapping[str, str] = field(default_factory=dict)  # counters that this machine lacks, and why


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """Everything that a runner may use. `rows` grows as launches end."""

    experiment: Experiment  # with the real values of redacted variables
    folder: Path  # base of the workload's relative paths
    record: RecordFolder
    plan: tuple[PlannedLaunch, ...]
    clock: Clock
    stop: StopRequest
    on_progress: Callable[[RunProgress], None] | None = None
    rows: list[LaunchRow] = field(default_factory=list)
    advice: Advice | None = None
    looks: list[Look] = field(default_factory=list)
    label: str = ""
    begun_ns: int = 0
    next_number: int = 0  # number of the next launch
    agents: NodeAgents | None = None  # of the nodes, if the launcher has several
    lost: Callable[[float], Lost | None] = lambda _: None  # seconds to wait -> how all nodes were lost; None while they are there

    @property
    def adaptive(self) -> bool:
        """True if interim analyses decide the number of blocks."""
        return self.experiment.launches.adaptive and self.advice is not None

    @property
    def looked_for(self) -> int:
        """Blocks certainly needed: all, or with interim analyses those up to the next one."""
        if not self.adaptive or self.advice is None:
            return self.experiment.blocks
        seen = self.looks[-1].blocks if self.looks else 0
        if self.looks and self.looks[-1].enough:
            return seen
        return min(next(blocks for blocks in self.advice.looks(self.experiment) if blocks > seen), self.experiment.blocks)

    def begin_utc(self) -> str:
        """The wall-clock time now, as in the table `launches`."""
        return self.clock.utc().isoformat(timespec="milliseconds")

    def skipped(self, job: Job, reason: str) -> Made:
        """A launch that is not started."""
        now = self.clock.now_ns()
        return Made(row=job.row(begin_ns=now, end_ns=now, begin_utc=self.begin_utc(), status="skipped", reason=reason))

    def note_environment(self, **facts: object) -> None:
        """Add facts to the record's environment before the first launch."""
        before = (self.record.manifest["environment"] or {}).get("before") or {}
        self.record.set_environment("before", {**before, **facts})

    def note_inputs(self, **facts: Any) -> None:
        """Add what identifies the inputs to the record's environment. A record that is resumed keeps those that it began with.

        Raises:
            SpecError: they are others now; half of a record on each would be a result of neither.
        """
        before = (self.record.manifest["environment"] or {}).get("before") or {}
        refuse_any(
            [found for name, now in facts.items() if name in before for found in changed(name, before[name], now)], "the record to resume"
        )
        self.note_environment(**facts)

    def show(self, running: LaunchProgress | None = None, waiting: str = "") -> None:
        """Report the progress to the listener, if any, and in the record's folder, where a request to stop may wait."""
        blocks = self.looked_for
        needed = [planned for planned in self.plan if planned.role != "timed" or planned.block < blocks]
        progress = RunProgress(
            record=self.record.path,
            plan=self.plan,
            rows=tuple(self.rows),
            running=running,
            seconds_left=seconds_left(needed, self.rows, running, planned_seconds(self.experiment)),
            label=self.label,
            looks=tuple(self.looks),
            adaptive=self.adaptive,
            waiting=waiting,
        )
        if self.record.beat(as_json(progress)) and not self.stop.count:
            self.stop.withdraw(STOPPED)
        if self.on_progress is not None:
            self.on_progress(progress)


def changed(where: str, then: Any, now: Any) -> Iterator[Problem]:
    """The values that differ, below their names; JSON values, as the manifest keeps them."""
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for name in dict.fromkeys((*then, *now)):
            yield from changed(f"{where}.{name}", then.get(name), now.get(name))
    elif then != now:
        fix = "Put it back as it was, or measure the new state as a new experiment."
        allowed = f"{shown(then)}, with which the record began, so that all its launches ask and score the same"
        yield Problem(where, shown(now), allowed, fix)


@dataclass(frozen=True, kw_only=True)
class Job:
    """One launch to make."""

    planned: PlannedLaunch
    number: int
    attempt: int

    def row(self, **outcome: Any) -> LaunchRow:
        return launch_row(self.planned, launch=self.number, attempt=self.attempt, **outcome)


@dataclass(frozen=True, kw_only=True)
class Made:
    """A finished launch: its row, which the caller writes, and an error that prevents continuing."""

    row: LaunchRow
    broken: RecordError | None = None
    cure: str = ""  # why no launch can succeed before the user changes something


class Maker(Protocol):
    """Makes one launch of an experiment, independently of the others."""

    def make(self, job: Job) -> Made:
        """Start the launch and watch it to its end. Rows of other tables go to `context.record.writer(job.number)`."""
        ...

    def absences(self) -> Mapping[str, str]:
        """Counters that cannot be metered on this machine, with reasons."""
        ...


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A way of driving a workload."""

    name: str
    check: Callable[[Experiment, Path], None]  # raises SpecError or EnvironmentLacks before a record is created
    maker: Callable[[RunContext], Maker] | None = None  # None: its launches cannot be interleaved with others'
    run: Callable[[RunContext], Outcome] | None = None  # None: the maker's launches in order


class Metered:
    """Base of makers whose launches are metered: readings go into the launch's table `telemetry`."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.meter = Meter(context.experiment.energy, self._emit, context.clock)

    def absences(self) -> Mapping[str, str]:
        """Counters that the meter cannot read, with reasons."""
        return self.meter.absences()

    def _emit(self, row: Row) -> None:
        self.context.record.writer(row[0]).append("telemetry", row)
