"""How is a launch requested in which assay's worker times collectives?

For `assay comm`, and for a training's communication model: the same launcher, with the worker in the script's place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from fireassay import isolated
from fireassay.instruments import collectives
from fireassay.launchers.support.base import Request
from fireassay.runners.experiment.context import Job, RunContext
from fireassay.runners.launching.launch import request_for
from fireassay.spec.sections.collectives import Collectives

WORKER: Final = Path(collectives.__file__).with_name("worker.py")


def worker_request(context: RunContext, job: Job, asked: Collectives, environment: Mapping[str, str]) -> Request:
    """The request for a launch of the worker with these settings, without hooks."""
    experiment = context.experiment
    plain = experiment.model_copy(update={"workload": experiment.workload.model_copy(update={"attach": False})})
    request = request_for(replace(context, experiment=plain), job, isolated.environment(environment))
    return replace(request, script=WORKER, arguments=(asked.model_dump_json(),))
