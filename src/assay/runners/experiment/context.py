"""What must a runner do, and what is it given?

A runner is one file with one `RUNNER`; it makes the launches that are still to be made and says how it ended.  Most runners
only say how one launch is made (`Maker`); `assay.runners.experiment.launch_loop` then makes them in order, and
`assay.runners.experiment.session` those of several experiments in turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from assay.clock import Clock
from assay.errors import RecordError
from assay.record.folder import RecordFolder
from assay.record.sealing.plan_signature import plan_signature as plan_signature
from assay.runners.experiment.progress import LaunchProgress, LaunchRow, Look, RunProgress, planned_seconds, seconds_left
from assay.runners.experiment.signals import StopRequest
from assay.spec.experiment import Experiment
from assay.spec.plan import PlannedLaunch


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Measuring does not judge: whoever starts a run hands in these (assay.cli.support.interim_analysis), or does without.

    `looks` gives the numbers of blocks after which to look, ascending and without end.
    """

    looks: Callable[[Experiment], Iterable[int]]
    look: Callable[[Path, int], Look]  # the record's folder, blocks finished
    disturbed: Callable[[Path, int], str]  # the record's folder, a launch that has just ended -> why it is contaminated, or ""
    profiled: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None  # a rank's trace -> what it says


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """How the runner ended."""

    state: Literal["complete", "failed", "interrupted"]
    reason: str = ""
    not_metered: Mapping[str, str] = field(default_factory=dict)  # counters that this machine lacks, and why


@dataclass(frozen=True, kw_only=True)
class RunContext:
    """Everything that a runner may use. `rows` grows with every launch that ends."""

    experiment: Experiment  # with the real values of redacted variables
    folder: Path  # against which the workload's paths are resolved
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
    next_number: int = 0  # of the first launch that is still to be made

    @property
    def adaptive(self) -> bool:
        """Whether looks at the intervals decide how many blocks are made."""
        return self.experiment.launches.precision is not None and self.advice is not None

    @property
    def looked_for(self) -> int:
        """Blocks that are needed for sure: with looks those until the next one, else all."""
        if not self.adaptive or self.advice is None:
            return self.experiment.blocks
        seen = self.looks[-1].blocks if self.looks else 0
        if self.looks and self.looks[-1].enough:
            return seen
        return min(next(blocks for blocks in self.advice.looks(self.experiment) if blocks > seen), self.experiment.blocks)

    def show(self, running: LaunchProgress | None = None) -> None:
        """Tell the progress to whoever listens."""
        if self.on_progress is not None:
            blocks = self.looked_for
            needed = [planned for planned in self.plan if planned.role != "timed" or planned.block < blocks]
            self.on_progress(
                RunProgress(
                    record=self.record.path,
                    plan=self.plan,
                    rows=tuple(self.rows),
                    running=running,
                    seconds_left=seconds_left(needed, self.rows, running, planned_seconds(self.experiment)),
                    label=self.label,
                    looks=tuple(self.looks),
                    adaptive=self.adaptive,
                )
            )


@dataclass(frozen=True, kw_only=True)
class Job:
    """One launch to be made."""

    planned: PlannedLaunch
    number: int
    attempt: int


@dataclass(frozen=True, kw_only=True)
class Made:
    """A launch that has ended: its row, which the caller writes, and what makes going on impossible."""

    row: LaunchRow
    broken: RecordError | None = None


class Maker(Protocol):
    """How one launch of an experiment is made; it knows nothing of the other launches."""

    def make(self, job: Job) -> Made:
        """Start it, watch it to its end. Rows of other tables go to `context.record.writer(job.number)`."""
        ...

    def absences(self) -> Mapping[str, str]:
        """What this machine does not let be metered, and why."""
        ...


@dataclass(frozen=True, kw_only=True)
class Runner:
    """A way of driving a workload."""

    name: str
    check: Callable[[Experiment, Path], None]  # raises SpecError or EnvironmentLacks before a record is made
    run: Callable[[RunContext], Outcome]
    maker: Callable[[RunContext], Maker] | None = None  # None: its launches cannot be made in turn with another's
