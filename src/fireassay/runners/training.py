"""How is a training script driven?  By the plan's launches in order (`fireassay.runners.experiment.launch_loop`), each metered."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Final

from fireassay import catalog, isolated
from fireassay.errors import EnvironmentLacks, refuse
from fireassay.faults.support.base import Fault
from fireassay.instruments import collectives
from fireassay.launchers.support import interpreter
from fireassay.launchers.support.base import Launcher, Request
from fireassay.record.machine import absent
from fireassay.runners.experiment.context import Job, Made, Metered, RunContext, Runner
from fireassay.runners.experiment.script import script_path
from fireassay.runners.launching import fresh_folder, profiling
from fireassay.runners.launching.launch import LaunchRun, request_for
from fireassay.runners.launching.node_meters import NodeMeters
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.collectives import SWEEP, Collectives
from fireassay.spec.sections.faults import Fault as FaultSpec


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the experiment can start.

    Raises:
        SpecError: the script is missing or unreadable.
        EnvironmentLacks: something that the launcher needs is missing.
    """
    interpreter.has_torch(experiment.launcher)  # refuses a Python that does not start, whose modules are unknown
    script = script_path(experiment, folder)
    if not script.is_file():
        found = f"{experiment.workload.script!r}, {'a folder' if script.is_dir() else 'which does not exist'}"
        raise refuse("workload.script", found, "a Python script", f"The full path is {script}.")
    if not os.access(script, os.R_OK):
        found, fix = f"{script}, without read permission", f"chmod u+r {script}"
        raise refuse("workload.script", found, "a readable Python script", fix)
    _refuse_other_languages(experiment, script)
    launcher: Launcher = catalog.load("launchers", experiment.launcher.kind)
    launcher.check(experiment)
    profiling.check(experiment)
    fresh_folder.check(experiment, folder)
    for index, fault in enumerate(experiment.faults):
        workers = min(fault.levels) if fault.levels else max(experiment.factor.levels)
        _check_fault(index, fault, workers, on_nodes=bool(experiment.launcher.hosts) or launcher.allocate is not None)


def _refuse_other_languages(experiment: Experiment, script: Path) -> None:
    """Raises SpecError: its first line names another interpreter than Python."""
    with script.open("rb") as file:
        first = file.readline(200)
    if first.startswith(b"#!") and b"python" not in first:
        name = experiment.workload.script
        found = f"{name!r}, which {first[2:].decode(errors='replace').strip()} runs"
        fix = f"A program that spreads its work itself: --runner program -- {name} {{workers}}. To time it: assay time -- {name}"
        raise refuse("workload.script", found, "a Python script", fix)


def _check_fault(index: int, spec: FaultSpec, workers: int, *, on_nodes: bool) -> None:
    fault: Fault = catalog.load("faults", spec.kind)
    if fault.strike is None:
        kinds = [name for name in catalog.names("faults") if catalog.load("faults", name).strike is not None]
        raise refuse(f"faults[{index}].kind", repr(spec.kind), f"a kind that strikes a training: {', '.join(kinds)}")
    if spec.rank is not None and spec.rank >= workers:
        raise refuse(f"faults[{index}].rank", str(spec.rank), f"0 to {workers - 1}, for {workers} workers")
    with suppress(*((EnvironmentLacks,) if on_nodes else ())):  # what a node lacks, it says when it is to strike
        fault.check_training(spec)


class Training:
    """Makes the launches of a training script, metered here or, with several nodes, on each of them."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.meter = Metered(context).meter if context.agents is None else NodeMeters(context, context.agents)
        self.launcher: Launcher = catalog.load("launchers", context.experiment.launcher.kind)
        fresh_folder.clear(context)
        context.note_environment(**{name: absent(reason) for name, reason in self.absences().items()})

    def absences(self) -> Mapping[str, str]:
        """Counters that cannot be read, with reasons."""
        return self.meter.absences()

    def make(self, job: Job) -> Made:
        """Run one launch of the script, from its start to the end of its last process."""
        with fresh_folder.working_folder(self.context, job) as folder:
            request = self._request(job, folder)
            self.launcher.prepare(request)
            result = LaunchRun(self.context, job, request, self.launcher).run(self.meter)
        if job.planned.role == "profile":
            profiling.finish(self.context, job)
        return result

    def _request(self, job: Job, folder: Path) -> Request:
        """The request for the script or, in a launch that sweeps collectives, for assay's worker."""
        if job.planned.role == "sweep":
            return worker_request(self.context, job, SWEEP, os.environ)
        return request_for(self.context, job, dict(os.environ), folder)


RUNNER = Runner(name="training", check=check, maker=Training)


WORKER: Final = Path(collectives.__file__).with_name("worker.py")


def worker_request(context: RunContext, job: Job, asked: Collectives, environment: Mapping[str, str]) -> Request:
    """The request for a launch in which assay's worker, in the script's place, times collectives; without hooks."""
    experiment = context.experiment
    plain = experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"attach": False})})
    request = request_for(replace(context, experiment=plain), job, isolated.environment(environment))
    return replace(request, script=WORKER, arguments=(asked.model_dump_json(),))
