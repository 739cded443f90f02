"""How is a training script driven?  One launch of the plan after the other, until the plan is through or it is pointless."""

from __future__ import annotations

import os
from pathlib import Path

from assay import catalog
from assay.errors import Problem, SpecError
from assay.instruments.meter import Meter, Row
from assay.launchers.base import Launcher
from assay.record.environment import absent
from assay.record.writer import StreamWriter
from assay.runners import policy
from assay.runners.base import Outcome, RunContext, Runner, script_path
from assay.runners.launch import Job, LaunchRun, request_for
from assay.runners.rows import launch_row, write_launch
from assay.spec.experiment import Experiment
from assay.units import NS_PER_S


def check(experiment: Experiment, folder: Path) -> None:
    """Whether it can be started at all.

    Raises:
        SpecError: the script is not there or cannot be read.
        EnvironmentLacks: the launcher lacks something.
    """
    script = script_path(experiment, folder)
    if not script.is_file():
        found = f"{experiment.workload.script!r}, {'a folder' if script.is_dir() else 'which is not there'}"
        raise SpecError((Problem(
            where="workload.script", found=found, allowed="a Python script", mend=f"It was looked for at {script}.",
        ),))  # fmt: skip
    if not os.access(script, os.R_OK):
        raise SpecError((Problem(
            where="workload.script", found=f"{script}, which may not be read", allowed="a readable Python script",
            mend=f"chmod u+r {script}",
        ),))  # fmt: skip
    launcher: Launcher = catalog.load("launchers", experiment.launcher.kind)
    launcher.check(experiment)


def run(context: RunContext) -> Outcome:
    """Make the launches that are still to be made."""
    launcher: Launcher = catalog.load("launchers", context.experiment.launcher.kind)
    writers: dict[int, StreamWriter] = {}

    def emit(row: Row) -> None:
        writers[row[0]].append("telemetry", row)

    meter = Meter(context.experiment.energy, emit, context.clock)
    _note_absences(context, meter)
    for number, planned in enumerate(policy.remaining(context.plan, context.rows), start=context.next_number):
        if context.stop.count:
            break
        context.show()
        job = Job(planned=planned, number=number, attempt=policy.attempt_of(planned.slot, context.rows))
        if reason := _skip_reason(context, job):
            _skip(context, job, reason)
            continue
        launch = LaunchRun(context, job, request_for(context, job, dict(os.environ)), launcher)
        writers[number] = launch.writer
        context.rows.append(launch.run(meter))
    context.show()
    if context.stop.count:
        return Outcome(state="interrupted", reason=context.stop.reason)
    failed = policy.hopeless(context.plan, context.rows) or policy.all_failed(context.rows)
    return Outcome(state="failed" if failed else "complete", reason=failed, not_metered=meter.absences())


def _note_absences(context: RunContext, meter: Meter) -> None:
    """What the meter cannot read stands in the record's environment, with the reason."""
    before = (context.record.manifest["environment"] or {}).get("before") or {}
    reasons = {name: absent(reason) for name, reason in meter.absences().items()}
    context.record.set_environment("before", {**before, **reasons})


def _skip_reason(context: RunContext, job: Job) -> str:
    limit = context.experiment.limits.experiment_timeout_s
    elapsed_s = (context.clock.now_ns() - context.begun_ns) / NS_PER_S
    if limit is not None and elapsed_s > limit:
        return f"limits.experiment_timeout_s = {limit:g} s was over before it could start"
    return policy.hopeless(context.plan, context.rows) or policy.skip_reason(job.planned, context.rows)


def _skip(context: RunContext, job: Job, reason: str) -> None:
    now = context.clock.now_ns()
    row = launch_row(
        job.planned, launch=job.number, attempt=job.attempt, begin_ns=now, end_ns=now, status="skipped", reason=reason,
        begin_utc=context.clock.utc().isoformat(timespec="milliseconds"), exit_code=None, restarts=0, placement="{}",
    )  # fmt: skip
    write_launch(context.record.writer(job.number), row, context.record.path)
    context.rows.append(row)


RUNNER = Runner(name="training", check=check, run=run)
