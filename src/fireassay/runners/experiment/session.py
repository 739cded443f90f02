"""How are several experiments measured so that they can be compared?  Interleaved block by block in one session.

Block b of every side precedes block b+1 of any, so that machine drift affects all sides alike; the order of the sides is drawn
from a recorded seed and reversed in every second block (two sides: ABBA), which cancels a linear drift (simulated, 10 launches
per side, 2 % drift: bias +1.05 % sequentially, +0.1 % with ABAB, 0 with ABBA).
Every side has its own record; the manifests hold the session's id, and only blocks of one session may be paired.
Fault launches come last.  A side that fails stops; the others are completed.
"""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fireassay.clock import Clock, SystemClock
from fireassay.errors import Interrupted, RecordError, WorkloadError, refuse
from fireassay.runners.experiment import run
from fireassay.runners.experiment.context import Advice, Outcome, RunContext, Runner, listening
from fireassay.runners.experiment.launch_loop import LaunchLoop
from fireassay.runners.experiment.progress import RunProgress
from fireassay.spec.experiment import Experiment


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
                contexts.append(run.new_context(member.experiment, member.folder, root, clock=clock or SystemClock(), **rest))
            _note_session(contexts, seed)
            outcomes = _carry_out(runners, contexts, seed)
        except BaseException as error:
            for context in contexts:
                run.give_up(context, error)
            if isinstance(error, KeyboardInterrupt | Interrupted):
                raise Interrupted(run.resume_lines(_paths(contexts), stop.reason or "a keyboard interrupt")) from error
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
    runner = run.runner_for(member.experiment, member.folder, advice)
    if runner.maker is None:
        found, allowed = f"{runner.name!r} (member {member.label})", "a runner that makes one launch at a time"
        raise refuse("workload.runner", found, allowed, "Run it alone: assay run.")
    return runner


def _note_session(contexts: Sequence[RunContext], seed: int) -> None:
    identifier = secrets.token_hex(8)
    for number, context in enumerate(contexts):
        context.record.note(session={"id": identifier, "arm": number, "arms": len(contexts), "label": context.label, "seed": seed})


def _carry_out(runners: Sequence[Runner], contexts: Sequence[RunContext], seed: int) -> list[Outcome]:
    courses: list[LaunchLoop] = []
    rounds: dict[float, int] = {}  # the sentinels' work, the same for all sides
    for runner, context in zip(runners, contexts, strict=True):
        run.begin(context)
        assert runner.maker is not None  # checked beforehand
        courses.append(LaunchLoop(context, runner.maker(context), rounds))
    _make_blocks(courses, seed)
    for course in courses:
        course.make_faults()
    return _settled(courses)


def _make_blocks(courses: Sequence[LaunchLoop], seed: int) -> None:
    """Make rounds of one block per side. With interim analyses, all sides continue until each has enough."""
    block = 0
    while any(course.wants_more for course in courses):
        for index in order_of_members(len(courses), block, seed):
            if courses[index].can_go_on:
                courses[index].make_block()
        block += 1


def _settled(courses: Sequence[LaunchLoop]) -> list[Outcome]:
    """Finish every record, even if one of them fails."""
    outcomes, errors = [], []
    for course in courses:
        try:
            outcome = course.outcome()
            run.settle(course.context, outcome)
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
        raise Interrupted(run.resume_lines(paths, stopped[0][1].reason))
    if failed := [f"{context.label}: {outcome.reason}" for context, outcome in ended if outcome.state == "failed"]:
        paths_text = "\n".join(f"  {path}" for path in _paths(contexts))
        raise WorkloadError("\n".join(failed) + f"\nOutput kept:\n{paths_text}")


def _paths(contexts: Sequence[RunContext]) -> list[Path]:
    return [context.record.path for context in contexts]
