"""What must a runner do, and how is an experiment run from its first line to the sealed record?

`run` and `resume` hold the record's life: create or reopen, environment before, the runner, environment after, finish.
A runner is one file with one `RUNNER`; it makes the launches that are still to be made and says how it ended.  Most runners
only say how one launch is made (`Maker`); `assay.runners.experiment.launch_loop` then makes them in order, and
`assay.runners.experiment.session` those of several experiments in turn.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

from assay import catalog
from assay.clock import Clock, SystemClock
from assay.errors import EnvironmentLacks, Interrupted, Problem, RecordError, SpecError, WorkloadError
from assay.record import folder as record_folder
from assay.record import machine_fitness
from assay.record.environment import capture
from assay.record.folder import RecordFolder
from assay.record.reader import open_record
from assay.record.sealing.plan_signature import plan_signature as plan_signature
from assay.record.secrets.redact import REDACTED, secret_values
from assay.runners.experiment import policy
from assay.runners.experiment.argument_check import refuse_bytes, refuse_secrets
from assay.runners.experiment.signals import StopRequest, listening
from assay.spec.experiment import Experiment
from assay.spec.plan import PlannedLaunch, plan
from assay.spec.rules.quality import uncomputable
from assay.spec.sections.collectives import asked_of

FINAL = policy.FINAL
STARTING_S = 5.0  # of a launch of the collectives' worker: torch is imported, the ranks meet
LaunchRow = Mapping[str, Any]  # a row of the table `launches`


# ---- what is told while it runs ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class LoadProgress:
    """A load under way. Percentiles are of the last seconds, for the display only."""

    state: str  # loading, cold, load, ended
    into_s: float  # since the load began
    left_s: float  # until nothing becomes due any more
    due: int
    sent: int
    done: int
    ok: int
    failed: Mapping[str, int]  # status -> requests
    in_flight: int
    tokens: int
    offered: float | None  # requests per second asked for; None in a closed loop
    ttft_ms: Mapping[str, float]  # "p50", "p95", "p99"
    tpot_ms: Mapping[str, float]
    e2e_ms: Mapping[str, float]
    lag_p99_ms: float | None


@dataclass(frozen=True, kw_only=True)
class LaunchProgress:
    """The launch under way."""

    number: int
    planned: PlannedLaunch
    elapsed_s: float
    steps: int  # finished by every rank that was seen
    steps_per_s: float | None  # over the last seconds; None before there are enough
    ranks: int  # workers that were seen
    incarnation: int
    load: LoadProgress | None = None


@dataclass(frozen=True, kw_only=True)
class RunProgress:
    """The whole experiment at one moment."""

    record: Path
    plan: tuple[PlannedLaunch, ...]
    rows: tuple[LaunchRow, ...]  # launches that have ended, in order
    running: LaunchProgress | None
    seconds_left: float | None  # None while no launch has finished; with looks: until the next one
    label: str = ""  # of the arm, where several experiments are run in turn
    looks: tuple[Look, ...] = ()  # at the intervals, so far
    adaptive: bool = False  # whether the plan only says how many launches there may be at most


def seconds_left(
    launches: Sequence[PlannedLaunch], rows: Sequence[LaunchRow], running: LaunchProgress | None = None, planned_s: float | None = None
) -> float | None:
    """Seconds until the plan is through, from the launches that finished; None if none did.

    A configuration without a finished launch counts like the mean of all finished ones; `planned_s` says how long a launch
    was asked to take, where that is known before any has finished.
    """
    walls: dict[str, list[float]] = {}
    for row in rows:
        if row["status"] == "ok":
            walls.setdefault(row["configuration"], []).append((row["end_ns"] - row["begin_ns"]) / 1e9)
    everything = [wall for several in walls.values() for wall in several] or [planned_s or 0.0]
    if not any(everything):
        return None
    mean = sum(everything) / len(everything)
    ended = {row["slot"] for row in rows if row["status"] in FINAL}
    total = 0.0
    for planned in launches:
        if planned.slot not in ended:
            own = walls.get(planned.configuration)
            expected = sum(own) / len(own) if own else mean
            under_way = running is not None and running.planned.slot == planned.slot
            total += max(0.0, expected - running.elapsed_s) if running is not None and under_way else expected
    return total


def planned_seconds(experiment: Experiment) -> float | None:
    """How long a launch was asked to take; None where its work decides."""
    if experiment.workload.runner == "collectives":
        asked = asked_of(experiment)
        each = sum(len(asked.places(op)) for op in asked.operations) * len(asked.every_size)
        return STARTING_S + 2.0 * asked.seconds * each  # as long again for writing and checking the data
    if experiment.serving is None:
        return None
    return experiment.serving.arrivals.warm_up_s + experiment.serving.arrivals.duration_s


# ---- what judging tells measuring ----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a look at the intervals gave, after some blocks."""

    blocks: int
    confidence: float  # of the intervals that were looked at
    enough: bool
    widths: Mapping[str, float]  # "metric at configuration" -> the larger relative half-width; absent ones are left out
    sentence: str  # for the progress display and the manifest


@dataclass(frozen=True, kw_only=True)
class Advice:
    """Measuring does not judge: whoever starts a run hands in these (assay.cli.support.interim_analysis), or does without.

    `looks` gives the numbers of blocks after which to look, ascending and without end.
    """

    looks: Callable[[Experiment], Iterable[int]]
    look: Callable[[Path, int], Look]  # the record's folder, blocks finished
    disturbed: Callable[[Path, int], str]  # the record's folder, a launch that has just ended -> why it is contaminated, or ""
    profiled: Callable[[Mapping[str, Any]], dict[str, Any]] | None = None  # a rank's trace -> what it says


# ---- what a runner is given and gives back -----------------------------------------------------------------------


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


# ---- the record's life -------------------------------------------------------------------------------------------


def run(
    experiment: Experiment,
    *,
    folder: Path | None = None,
    root: Path = Path("records"),
    on_progress: Callable[[RunProgress], None] | None = None,
    clock: Clock | None = None,
    advice: Advice | None = None,
) -> Path:
    """Execute an experiment and return the path of its sealed record.

    Args:
        experiment: what to run.
        folder: where the workload's script is looked for; default: the working directory.
        root: where the record folder is made.
        on_progress: called several times a second with the state of things.
        clock: default: the system's.
        advice: what judging says between launches; needed for `launches.precision` and `noise.repeat`.

    Raises:
        SpecError, EnvironmentLacks: it cannot be started; no record was made.
        WorkloadError: no launch succeeded; the record says why.
        Interrupted: stopped by a signal; `resume` goes on.
        RecordError: the record could not be written any more; what was written stays readable.
    """
    clock = clock or SystemClock()
    folder = (folder or Path.cwd()).resolve()
    runner = checked(experiment, folder, advice)
    with listening() as stop:
        context = opened(experiment, folder, root, clock=clock, stop=stop, on_progress=on_progress, advice=advice)
        return _carry_out(runner, context, capture(_secrets(context), folder=folder))


def checked(experiment: Experiment, folder: Path, advice: Advice | None) -> Runner:
    """The experiment's runner, if everything that can be known beforehand is in order.

    Raises:
        SpecError, EnvironmentLacks: it is not.
    """
    if experiment.tune is not None:
        raise SpecError(
            (Problem(where="tune", found="knobs to be tried out", allowed="no [tune] here", mend="Run it with `assay tune FILE`."),)
        )
    if problems := tuple(uncomputable(experiment.model_dump(exclude_none=True))):
        raise SpecError(problems)
    runner: Runner = catalog.load("runners", experiment.workload.runner)
    runner.check(experiment, folder)
    refuse_bytes(experiment)
    refuse_secrets(experiment)
    if runner.maker is not None and advice is None:
        _refuse_without_advice(experiment)
    return runner


def _refuse_without_advice(experiment: Experiment) -> None:
    """Whoever only measures can neither say whether an interval is narrow enough nor whether a launch was disturbed."""
    wanted = {"launches.precision": experiment.launches.precision, "noise.repeat": experiment.noise.repeat or None}
    problems = tuple(
        Problem(
            where=where,
            found=f"{value:g}, and nobody who judges between the launches",
            allowed="only with judging at hand",
            mend="Run it with `assay run` or assay.run, or hand assay.cli.support.interim_analysis.advice() to assay.runners.experiment.run.run.",
        )
        for where, value in wanted.items()
        if value is not None
    )
    if problems:
        raise SpecError(problems)


def opened(experiment: Experiment, folder: Path, root: Path, **rest: Any) -> RunContext:
    """A new record and everything that a runner may use.

    Raises:
        RecordError: the record could not be made.
    """
    record = record_folder.create(root, experiment, plan_signature(experiment), clock=rest["clock"])
    return RunContext(experiment=experiment, folder=folder, record=record, plan=plan(experiment), begun_ns=rest["clock"].now_ns(), **rest)


def resume(
    path: Path,
    *,
    force: bool = False,
    on_progress: Callable[[RunProgress], None] | None = None,
    clock: Clock | None = None,
    advice: Advice | None = None,
) -> Path:
    """Go on with an interrupted record: no finished launch is repeated.

    Args:
        path: the record folder.
        force: also if the script or the experiment has changed since.
        on_progress: as for `run`.
        clock: default: the system's.
        advice: as for `run`.

    Raises:
        RecordError: it is no record, it is being written by a living process, or there is nothing to go on with.
        SpecError: the script or the experiment has changed since.
        Others as `run`.
    """
    from assay.launchers.support import supervisor
    from assay.runners.experiment import abandoned_launches

    clock = clock or SystemClock()
    found = open_record(path)
    if found.sealed:
        raise RecordError(
            f"{path} is {found.state}; there is nothing left to run. See it with: assay report {path}. Measure again with: assay run"
        )
    before = dict((found.manifest["environment"] or {}).get("before") or {})
    folder = Path(before.get("script", {}).get("folder", Path.cwd()))
    experiment = with_secrets(found.experiment)
    runner = checked(experiment, folder, advice)
    if not force:
        _refuse_changes(found.experiment, found.manifest, before, folder)
    with listening() as stop:
        record = record_folder.reopen(path)
        supervisor.end_marked(f"{path.resolve().name}.")
        launches = plan(experiment)
        rows = abandoned_launches.settle(record, launches, clock)
        context = RunContext(
            experiment=experiment,
            folder=folder,
            record=record,
            plan=launches,
            clock=clock,
            stop=stop,
            on_progress=on_progress,
            rows=rows,
            begun_ns=clock.now_ns(),
            advice=advice,
            looks=_looks_so_far(record),
            next_number=1 + max((row["launch"] for row in rows), default=-1),
        )
        _note_alone(context)
        now = capture(_secrets(context), folder=folder)
        return _carry_out(runner, context, {**before, "resumed": [*before.get("resumed", []), now]} if before else now)


def _looks_so_far(record: RecordFolder) -> list[Look]:
    return [Look(**look) for look in record.manifest.get("looks", ())]


def _note_alone(context: RunContext) -> None:
    """Blocks of a session that are made after it, without the other arms: they pair with nothing."""
    session = context.record.manifest.get("session")
    if session is not None:
        waiting = {planned.block for planned in policy.remaining(context.plan, context.rows) if planned.role == "timed"}
        context.record.note(session={**session, "alone": sorted(waiting | set(session.get("alone", ())))})


def _carry_out(runner: Runner, context: RunContext, before: Mapping[str, Any]) -> Path:
    """From the environment before to the seal, whatever happens between."""
    try:
        begin(context, before)
        outcome = runner.run(context)
        settle(context, outcome)
    except BaseException as error:
        give_up(context, error)
        if isinstance(error, KeyboardInterrupt):
            raise Interrupted(resume_lines([context.record.path], "a keyboard interrupt")) from error
        raise
    if outcome.state == "interrupted":
        raise Interrupted(resume_lines([context.record.path], outcome.reason))
    if outcome.state == "failed":
        raise WorkloadError(f"{outcome.reason}\nThe record keeps every launch and its output: {context.record.path}")
    return context.record.path


def begin(context: RunContext, before: Mapping[str, Any] | None = None) -> None:
    """Write what the machine is like before the first launch."""
    seen = capture(_secrets(context), folder=context.folder) if before is None else before
    script = {"script": script_identity(context.experiment, context.folder)}
    machine = {"doctor": machine_fitness.carried(context.clock.utc())}
    context.record.set_environment("before", {**script, **machine, **seen})


def settle(context: RunContext, outcome: Outcome) -> None:
    """Finish the record as the runner ended.

    Raises:
        RecordError: it cannot be sealed now; it stays as it is, and `resume` seals it.
    """
    if outcome.state != "interrupted":
        after = capture(_secrets(context), folder=context.folder)
        context.record.set_environment("after", {**after, "not_metered": dict(outcome.not_metered)})
    context.record.finish(outcome.state, outcome.reason)


def give_up(context: RunContext, error: BaseException) -> None:
    """Finish the record as interrupted, if it is not finished: nothing that was measured is lost."""
    with suppress(RecordError):  # a full disk may refuse this too; the record then reads as interrupted all the same
        context.record.finish("interrupted", str(error) or type(error).__name__)


def _secrets(context: RunContext) -> tuple[str, ...]:
    return secret_values(context.experiment.workload.environment)


def resume_lines(paths: Sequence[Path], why: str) -> str:
    """What a user who stopped it should know."""
    commands = "\n".join(f"    assay resume {shlex.quote(str(path))}" for path in paths)
    return f"stopped by {why}; what was measured is kept. Go on with:\n\n{commands}"


# ---- is it still the same experiment? ----------------------------------------------------------------------------


def script_path(experiment: Experiment, folder: Path) -> Path:
    """Where the script lies; `~` is the user's home. A command without a slash is looked for on the PATH."""
    if experiment.workload.runner == "command" and "/" not in experiment.workload.script:
        import shutil

        return Path(shutil.which(experiment.workload.script) or folder / experiment.workload.script).absolute()
    return (folder / Path(experiment.workload.script).expanduser()).resolve()


def script_identity(experiment: Experiment, folder: Path) -> dict[str, Any]:
    """What `resume` needs to find the script again and to see that it is the same."""
    script = script_path(experiment, folder)
    digest = hashlib.sha256(script.read_bytes()).hexdigest() if script.is_file() else None
    return {"folder": str(folder), "path": str(script), "sha256": digest}


def _refuse_changes(experiment: Experiment, manifest: Mapping[str, Any], before: Mapping[str, Any], folder: Path) -> None:
    mend = "A new experiment measures the new state: assay run. To go on all the same: assay resume --force."
    problems = []
    if plan_signature(experiment) != manifest["plan_signature"]:
        problems.append(
            Problem(where="experiment.toml", found="changed since the record was begun", allowed="the experiment as it was", mend=mend)
        )
    then = before.get("script")
    if then is not None and script_identity(experiment, folder)["sha256"] != then["sha256"]:
        problems.append(
            Problem(
                where="workload.script",
                found=f"{then['path']}, changed since the record was begun",
                allowed="the script as it was, so that all launches measure the same",
                mend=mend,
            )
        )
    if problems:
        raise SpecError(tuple(problems), "the record to resume")


def with_secrets(experiment: Experiment) -> Experiment:
    """The experiment with the variables that the record redacts, taken from this process's environment."""
    import os

    environment = dict(experiment.workload.environment)
    redacted = [name for name, value in environment.items() if REDACTED in value]
    if missing := [name for name in redacted if name not in os.environ]:
        raise EnvironmentLacks(
            f"the record does not hold the secret value of {', '.join(missing)}. Set it in the environment and resume again."
        )
    environment |= {name: os.environ[name] for name in redacted}
    return experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"environment": environment})})
