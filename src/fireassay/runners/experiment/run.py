"""How is an experiment run from its first line to the sealed record?

`run` and `resume` cover the record's life cycle: create or reopen, environment before, the runner, environment after, finish.

How are several experiments measured so that they can be compared?  Interleaved block by block in one session.

Block b of every side precedes block b+1 of any, so that machine drift affects all sides alike; the order of the sides is drawn
from a recorded seed and reversed in every second block (two sides: ABBA), which cancels a linear drift (simulated, 10 launches
per side, 2 % drift: bias +1.05 % sequentially, +0.1 % with ABAB, 0 with ABBA).
Every side has its own record; the manifests hold the session's id, and only blocks of one session may be paired.
Fault launches come last.  A side that fails stops; the others are completed.
"""

from __future__ import annotations

import random
import secrets
import shlex
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fireassay import catalog
from fireassay.clock import Clock, SystemClock
from fireassay.errors import Interrupted, Problem, RecordError, WorkloadError, refuse, refuse_any
from fireassay.launchers.support import interpreter
from fireassay.printable import shell_word
from fireassay.record import environment
from fireassay.record import folder as record_folder
from fireassay.record.environment import capture
from fireassay.record.reader import open_record
from fireassay.record.seal import plan_signature
from fireassay.record.secrets.redact import secret_values
from fireassay.runners.experiment import allocations, data_digest, launch_loop, progress
from fireassay.runners.experiment.context import Advice, Outcome, RunContext, Runner, listening
from fireassay.runners.experiment.launch_loop import LaunchLoop
from fireassay.runners.experiment.progress import Look, RunProgress
from fireassay.runners.experiment.script import ON_THE_PATH, refuse_bytes, refuse_changes, refuse_secrets, script_identity, with_secrets
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan
from fireassay.spec.rules.evaluation import uncomputable
from fireassay.spec.rules.experiment import missing_data


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
        folder: base of the workload's relative paths; default: the working directory.
        root: where the record folder is created.
        on_progress: called several times a second with the progress.
        clock: default: the system's.
        advice: judgements between launches; required by `launches.precision` and `noise.repeat`.

    Raises:
        SpecError, EnvironmentLacks: it cannot be started; no record was created.
        WorkloadError: no launch succeeded; the record gives the reasons.
        Interrupted: stopped by a signal; `resume` continues.
        RecordError: writing the record failed; the rows already written stay readable.
    """
    clock = clock or SystemClock()
    folder = (folder or Path.cwd()).resolve()
    runner = runner_for(experiment, folder, advice)
    with listening() as stop:
        context = new_context(experiment, folder, root, clock=clock, stop=stop, on_progress=on_progress, advice=advice)
        return _carry_out(runner, context, _captured(context))


def runner_for(experiment: Experiment, folder: Path, advice: Advice | None) -> Runner:
    """The experiment's runner, after all checks that are possible beforehand. Raises SpecError, EnvironmentLacks: a check failed."""
    if experiment.tune is not None:
        raise refuse("tune", "knobs to tune", "no [tune] here", "Run it with `assay tune FILE`.")
    refuse_any((*uncomputable(experiment), *missing_data(experiment, folder)))
    runner: Runner = catalog.load("runners", experiment.workload.runner)
    runner.check(experiment, folder)
    refuse_bytes(experiment)
    refuse_secrets(experiment)
    if runner.maker is not None and advice is None:
        _refuse_without_advice(experiment)
    return runner


def _refuse_without_advice(experiment: Experiment) -> None:
    """Refuse settings that need judgements: measuring alone decides neither precision nor disturbance."""
    requested = {
        "launches.precision": experiment.launches.precision,
        "launches.budget_s": experiment.launches.budget_s,
        "noise.repeat": experiment.noise.repeat or None,
    }
    problems = tuple(
        Problem(
            where,
            f"{value:g}, without judgements between the launches",
            "only in a run with judgements between the launches",
            "Run it with `assay run` or fireassay.run, or pass fireassay.api.interim_analysis.advice() to "
            "fireassay.runners.experiment.run.run.",
        )
        for where, value in requested.items()
        if value is not None
    )
    refuse_any(problems)


def new_context(experiment: Experiment, folder: Path, root: Path, **rest: Any) -> RunContext:
    """A new record with the context for its runner. Raises RecordError: the record could not be created."""
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
    """Continue an interrupted record without repeating finished launches.

    Args:
        path: the record folder.
        force: continue even if the script or the experiment has changed.
        on_progress: as for `run`.
        clock: default: the system's.
        advice: as for `run`.

    Raises:
        RecordError: not a record, a live process is writing it, or nothing remains to be done.
        SpecError: the script or the experiment has changed.
        Others: as for `run`.
    """
    from fireassay.launchers.support import supervisor
    from fireassay.runners.experiment import abandoned_launches

    clock = clock or SystemClock()
    record_before = open_record(path)
    if record_before.sealed:
        again = "" if "foreign" in record_before.manifest else f" Measure again: assay reproduce {shell_word(path)}."
        raise RecordError(f"{path} is {record_before.state}; no launch is left to run. Show it: assay report {shell_word(path)}.{again}")
    before = dict((record_before.manifest["environment"] or {}).get("before") or {})
    folder = Path((before.get("script") or {}).get("folder") or Path.cwd())
    experiment = with_secrets(record_before.experiment)
    runner = runner_for(experiment, folder, advice)
    if not force:
        refuse_changes(record_before.experiment, record_before.manifest, before, folder)
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
            looks=[Look(**look) for look in record.manifest.get("looks", ())],
            next_number=1 + max((row["launch"] for row in rows), default=-1),
        )
        _note_alone(context)
        now = _captured(context)
        return _carry_out(runner, context, {**before, "resumed": [*before.get("resumed", []), now]} if before else now)


def _note_alone(context: RunContext) -> None:
    """Note the blocks made after a session without the other sides: they cannot be paired."""
    session = context.record.manifest.get("session")
    if session is not None:
        waiting = {planned.block for planned in progress.remaining(context.plan, context.rows) if planned.role == "timed"}
        context.record.note(session={**session, "alone": sorted(waiting | set(session.get("alone", ())))})


def _carry_out(runner: Runner, context: RunContext, before: Mapping[str, Any]) -> Path:
    """Run from the environment before to the seal; finish the record on any error."""
    try:
        context.show()  # the record's name, before the first launch
        begin(context, before)
        outcome = _on_nodes(runner, context)
        settle(context, outcome)
    except BaseException as error:
        give_up(context, error)
        if isinstance(error, KeyboardInterrupt | Interrupted):
            raise Interrupted(resume_lines([context.record.path], context.stop.reason or "a keyboard interrupt")) from error
        raise
    if outcome.state == "interrupted":
        raise Interrupted(resume_lines([context.record.path], outcome.reason))
    if outcome.state == "failed":
        raise WorkloadError(why_failed(context, outcome.reason))
    return context.record.path


def _on_nodes(runner: Runner, context: RunContext) -> Outcome:
    """Make the launches; on other nodes again if the cluster takes them away, as often as the experiment allows."""
    for left in reversed(range(1 + (context.experiment.launcher.resume_on_preemption or 0))):
        with allocations.shared([context]) as [placed]:
            if runner.run is not None:
                outcome = runner.run(placed)
            else:
                assert runner.maker is not None
                outcome = launch_loop.run(placed, runner.maker(placed))
        if outcome.state != "interrupted" or not left or not context.stop.renew():
            break
        context = replace(context, next_number=1 + max((row["launch"] for row in context.rows), default=-1))
    return outcome


def begin(context: RunContext, before: Mapping[str, Any] | None = None) -> None:
    """Record the environment before the first launch."""
    seen = _captured(context) if before is None else before
    script = _script(context)
    machine = {"doctor": environment.carried_fitness(context.clock.utc())}
    context.record.set_environment("before", {**script, **machine, **seen})
    if context.experiment.data is not None and context.experiment.data.paths:
        context.note_inputs(data=data_digest.digests(context.experiment.data.paths, context.folder, context.record.path.parent))


def _script(context: RunContext) -> dict[str, Any]:
    return {"script": script_identity(context.experiment, context.folder)}


def _captured(context: RunContext) -> dict[str, Any]:
    return capture(_secrets(context), folder=context.folder, python=interpreter.other(context.experiment.launcher))


def settle(context: RunContext, outcome: Outcome) -> None:
    """Finish the record according to the runner's outcome.

    Raises:
        RecordError: it cannot be sealed now; it stays unsealed, and `resume` seals it.
    """
    if outcome.state != "interrupted":
        after = {**_script(context), **_captured(context)}
        context.record.set_environment("after", {**after, "not_metered": dict(outcome.not_metered)})
    context.record.finish(outcome.state, outcome.reason)


def give_up(context: RunContext, error: BaseException) -> None:
    """Finish an unfinished record as interrupted; no measured data are lost."""
    with suppress(RecordError):  # a full disk may refuse this too; the record still reads as interrupted
        context.record.finish("interrupted", str(error) or type(error).__name__)


def why_failed(context: RunContext, reason: str) -> str:
    """What failed, in which launch and how, and the command that tries one launch again."""
    if reason != progress.all_failed(context.rows):  # the runner's own words
        return f"{reason}\nOutput kept: {context.record.path}"
    row = next(row for row in context.rows if row["status"] in progress.FAILED)
    planned = context.plan[row["slot"]]
    script, path = context.experiment.workload.script, context.record.path
    runner = context.experiment.workload.runner
    subject = Path(script).name if script and runner not in ON_THE_PATH else context.experiment.name
    left = len(context.plan) - len({row["slot"] for row in context.rows})
    started = f"{left} {'launch' if left == 1 else 'launches'} not started, output kept" if left else "Output kept"
    workers = "" if context.experiment.serving is not None else f" --workers {planned.workers}"
    return (
        f"{subject} failed in launch {row['slot'] + 1} of {len(context.plan)} ({planned.configuration})\n"
        f"  {row['reason']}\n"
        f"{started}: {path}\nFix it, then try one launch:\n"
        f"  assay run {shlex.quote(str(path))}{workers} --launches 1"
    )


def _secrets(context: RunContext) -> tuple[str, ...]:
    return secret_values(context.experiment.workload.environment)


def resume_lines(paths: Sequence[Path], why: str) -> str:
    """The message to a user who stopped the run: why, and how to resume."""
    commands = "\n".join(f"    assay resume {shlex.quote(str(path))}" for path in paths)
    return f"stopped by {why}; measured data are kept. Continue with:\n\n{commands}"


@dataclass(frozen=True, kw_only=True)
class Member:
    """One of the interleaved experiments."""

    experiment: Experiment
    folder: Path  # base of the workload's relative paths
    label: str  # short, for people: "baseline", "candidate"


def run_together(
    members: Sequence[Member],
    *,
    root: Path = Path("records"),
    on_progress: Callable[[RunProgress], None] | None = None,
    clock: Clock | None = None,
    advice: Advice | None = None,
    seed: int | None = None,
) -> list[Path]:
    """Execute several experiments interleaved. Returns the paths of their sealed records in the order of `members`.

    Args:
        members: at least one; experiments may be equal (an A/A session).
        root: where the records are created.
        on_progress: called several times a second; the progress has the side's label and record.
        clock: default: the system's.
        advice: judgements between launches; required by `launches.precision` and `noise.repeat`.
        seed: fixes the order of the sides within the blocks; default: `launches.seed` of the first.

    Raises:
        SpecError, EnvironmentLacks: a side cannot be started; no record was created.
        WorkloadError: no launch of some side succeeded; every record is finished and gives the reasons.
        Interrupted: stopped by a signal; `resume` continues each record.
        RecordError: writing a record failed; the rows already written stay readable.
    """
    if not members:
        raise ValueError("run_together needs at least one member")
    members = [Member(experiment=member.experiment, folder=member.folder.resolve(), label=member.label) for member in members]
    runners = [_in_turn(member, advice) for member in members]
    seed = members[0].experiment.launches.seed if seed is None else seed
    contexts: list[RunContext] = []
    with listening() as stop:
        try:
            for member in members:
                rest = {"stop": stop, "on_progress": on_progress, "advice": advice, "label": member.label}
                contexts.append(new_context(member.experiment, member.folder, root, clock=clock or SystemClock(), **rest))
            _note_session(contexts, seed)
            with allocations.shared(contexts) as lent:
                courses = _carry_out_all(runners, lent, seed)
            outcomes = _settled(courses)
        except BaseException as error:
            for context in contexts:
                give_up(context, error)
            if isinstance(error, KeyboardInterrupt | Interrupted):
                raise Interrupted(resume_lines(_paths(contexts), stop.reason or "a keyboard interrupt")) from error
            raise
    _raise_if_not_complete(contexts, outcomes)
    return _paths(contexts)


def order_of_members(members: int, block: int, seed: int) -> tuple[int, ...]:
    """The order of the sides in a block: random in even blocks, the reverse of the previous one in odd blocks.

    Uses only `random()`, whose sequence is stable across Python versions (see `fireassay.spec.plan`).
    """
    numbers = random.Random(seed + 2**65)  # a stream apart from those of the launch order and the faults
    for _ in range(block // 2 + 1):
        drawn = [numbers.random() for _ in range(members)]
    order = sorted(range(members), key=lambda index: drawn[index])
    return tuple(order if block % 2 == 0 else reversed(order))


def _in_turn(member: Member, advice: Advice | None) -> Runner:
    runner = runner_for(member.experiment, member.folder, advice)
    if runner.maker is None:
        found, allowed = f"{runner.name!r} (member {member.label})", "a runner that makes one launch at a time"
        raise refuse("workload.runner", found, allowed, "Run it alone: assay run.")
    return runner


def _note_session(contexts: Sequence[RunContext], seed: int) -> None:
    identifier = secrets.token_hex(8)
    for number, context in enumerate(contexts):
        context.record.note(session={"id": identifier, "arm": number, "arms": len(contexts), "label": context.label, "seed": seed})


def _carry_out_all(runners: Sequence[Runner], contexts: Sequence[RunContext], seed: int) -> list[LaunchLoop]:
    courses: list[LaunchLoop] = []
    rounds: dict[float, int] = {}  # the sentinels' work, the same for all sides
    for runner, context in zip(runners, contexts, strict=True):
        begin(context)
        assert runner.maker is not None  # checked beforehand
        courses.append(LaunchLoop(context, runner.maker(context), rounds))
    _make_blocks(courses, seed)
    for course in courses:
        course.make_faults()
    return courses


def _make_blocks(courses: Sequence[LaunchLoop], seed: int) -> None:
    """Make rounds of one block per side. With interim analyses, all sides continue until each has enough, or one that is needed has failed."""
    together = _together(courses)
    block, want = 0, any if together is None else all
    while want(course.wants_more for course in courses):
        for index in order_of_members(len(courses), block, seed):
            if courses[index].can_go_on:
                courses[index].make_block()
        block += 1
        if together is not None and all(course.look_due for course in courses):
            look = together(_paths([course.context for course in courses]), courses[0].blocks_done)
            for course in courses:
                course.looked(look)


def _together(courses: Sequence[LaunchLoop]) -> Callable[[Sequence[Path], int], Look] | None:
    advice = courses[0].context.advice
    return None if advice is None else advice.together


def _settled(courses: Sequence[LaunchLoop]) -> list[Outcome]:
    """Finish every record, even if one of them fails."""
    outcomes, errors = [], []
    for course in courses:
        try:
            outcome = course.outcome()
            settle(course.context, outcome)
            outcomes.append(outcome)
        except RecordError as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return outcomes


def _raise_if_not_complete(contexts: Sequence[RunContext], outcomes: Sequence[Outcome]) -> None:
    ended = list(zip(contexts, outcomes, strict=True))
    if stopped := [(context, outcome) for context, outcome in ended if outcome.state == "interrupted"]:
        paths = [context.record.path for context, _ in stopped]
        raise Interrupted(resume_lines(paths, stopped[0][1].reason))
    if failed := [f"{context.label}: {outcome.reason}" for context, outcome in ended if outcome.state == "failed"]:
        paths_text = "\n".join(f"  {path}" for path in _paths(contexts))
        raise WorkloadError("\n".join(failed) + f"\nOutput kept:\n{paths_text}")


def _paths(contexts: Sequence[RunContext]) -> list[Path]:
    return [context.record.path for context in contexts]
