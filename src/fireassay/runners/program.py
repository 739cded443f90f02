"""How is a program run that distributes its work itself, over threads, processes, Ray, Dask or Spark?  It is started once per launch.

It reads its number of workers from {workers} in its arguments or variables, or from FIREASSAY_WORKERS; {seed} and {launch} likewise. {out}, or
FIREASSAY_OUT, is a new folder of each launch, which is removed when its files have been read (`fireassay.runners.launching.outcome_files`).
The launch ends with the program: processes that it leaves running are killed, which is a finding.
A Python program may call `fireassay.probe` as a training does.
Cannot tell what happens inside: a speedup is that of whole runs, their start-up included.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from fireassay.errors import SpecError, refuse
from fireassay.launchers.support import base
from fireassay.launchers.support.base import Handle, Launcher, Request, filled
from fireassay.record.declared import EXAMPLES, FINGERPRINTS
from fireassay.record.folder import table_row, write_event
from fireassay.runners.command import NOT_COUNTED, refuse_program
from fireassay.runners.experiment.context import Job, Made, Metered, RunContext, Runner
from fireassay.runners.launching import fresh_folder, outcome_files
from fireassay.runners.launching.launch import LaunchRun, request_for
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.program import RANKING, RESULT

OUT: Final = "out"  # in the launch's folder, until it is sealed


def check(experiment: Experiment, folder: Path) -> None:
    """Check that the program can be started.

    Raises:
        SpecError: the program is missing or not executable, or its relevant items cannot be read.
    """
    refuse_program(experiment, folder)
    if experiment.faults:
        found = f"{len(experiment.faults)} of them"
        raise refuse(
            "faults", found, "none with workload.runner = 'program'", "Its workers are its own: nothing can be killed from outside."
        )
    fresh_folder.check(experiment, folder)
    if experiment.left_by_program.relevant:
        outcome_files.relevant_of(folder / experiment.left_by_program.relevant, experiment.left_by_program.relevant)


def start(request: Request) -> Handle:
    return base.start(request, [str(request.script), *request.arguments])


def describe(_: Request) -> dict[str, object]:
    """Placement of the launch."""
    return {"launcher": "program", "engine": "its own", "host": platform.node(), "nodes": 1, "node_rank": 0}


PROGRAM = Launcher(name="program", check=lambda _: None, start=start, describe=describe)


class Programs(Metered):
    """Makes the launches of a program."""

    def __init__(self, context: RunContext) -> None:
        super().__init__(context)
        fresh_folder.clear(context)

    def make(self, job: Job) -> Made:
        """Run the program once, and read what it left."""
        begin_s = time.time()
        with fresh_folder.working_folder(self.context, job) as folder, _new_folder(self.context, job) as out:
            made = LaunchRun(self.context, job, self._request(job, folder, out), PROGRAM).run(self.meter)
            if made.row["status"] != "ok":
                return made
            try:
                left = outcome_files.read(
                    self.context.experiment.left_by_program, outcome_files.Place(folder=folder, out=out, begin_s=begin_s)
                )
            except SpecError as error:
                problem = error.problems[0]
                reason = f"{problem.where}: found {problem.found}; allowed: {problem.allowed}. {problem.fix}".strip()
                return replace(made, row={**made.row, "status": "failed", "reason": reason})
        self._write(job, left, made.row["end_ns"])
        return made

    def _request(self, job: Job, folder: Path, out: Path) -> Request:
        experiment = self.context.experiment
        plain = experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"attach": False})})
        request = request_for(replace(self.context, experiment=plain), job, dict(os.environ), folder)
        named, values = experiment.workload.environment, {"{out}": str(out)}
        # the program decides how many threads a worker has
        kept = {name: value for name, value in request.environment.items() if name in named or name not in NOT_COUNTED}
        own = {name: os.environ[name] for name in NOT_COUNTED if name in os.environ and name not in named}
        given = {"FIREASSAY_WORKERS": str(job.planned.workers), "FIREASSAY_OUT": str(out)}
        return replace(
            request,
            arguments=tuple(filled(argument, values) for argument in request.arguments),
            environment={**{name: filled(value, values) for name, value in kept.items()}, **own, **given},
        )

    def _write(self, job: Job, left: outcome_files.Left, end_ns: int) -> None:
        writer, quality = self.context.record.writer(job.number), self.context.experiment.quality
        worker = {"launch": job.number, "rank": 0, "incarnation": 0}

        def fingerprint(what: str, **values: Any) -> None:
            writer.append(FINGERPRINTS.name, table_row(FINGERPRINTS, **worker, step=0, what=what, **values))

        def example(**values: Any) -> None:
            writer.append(EXAMPLES.name, table_row(EXAMPLES, **worker, **values))

        if left.digest:
            fingerprint(RESULT, text=left.digest, value=float(left.size))
        for kind, value in (("useful_work", left.items), ("moved_bytes", left.moved)):
            if value is not None:
                write_event(writer, job.number, kind, end_ns, {}, value=value)
        for row in left.scores:
            metric = quality.metric if quality is not None else "score"
            example(metric=metric, example=row.id, score=row.score, cluster=row.cluster)
        for ranking in left.rankings:
            target = None if ranking.relevant is None else json.dumps(ranking.relevant)
            example(metric=RANKING, example=ranking.query, score=float(len(ranking.ids)), prediction=json.dumps(ranking.ids), target=target)


@contextmanager
def _new_folder(context: RunContext, job: Job) -> Iterator[Path]:
    folder = context.record.launch_folder(job.number).resolve() / OUT
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


RUNNER = Runner(name="program", check=check, maker=Programs)
