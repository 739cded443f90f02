"""How is a Python function timed?  A launch is a fresh process that imports it and calls it in trials.

`workload.script` is "module:function"; `workload.arguments` are JSON: the list of positional arguments, then the object of
keyword arguments, both optional.  The module is searched in the working folder and on workload.environment's PYTHONPATH.
`instruments/calls/function_calls.py` makes the calls; everything else is as for a command (`runners/command.py`).
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from fireassay.errors import Problem, refuse_any
from fireassay.launchers.support.base import Request
from fireassay.runners import command
from fireassay.runners.experiment.context import Job, Outcome, RunContext, Runner
from fireassay.spec.experiment import Experiment
from fireassay.units import NS_PER_S

# Not `-m`: runpy frames in a traceback look like torchrun's, so the function's own error would be discarded.
_START = "import json, sys; from fireassay.instruments.calls.function_calls import main; main(json.loads(sys.argv[1]))"


def check(experiment: Experiment, folder: Path) -> None:
    """Check the syntax of the target and its arguments; only the launches import the module. Raises SpecError: either is invalid."""
    problems = command.single_level(experiment)
    module, colon, name = experiment.workload.script.partition(":")
    if not (colon and all(part.isidentifier() for part in (*module.split("."), *name.split(".")))):
        fix = "For example json:dumps, or work:step for the function step in work.py."
        found = repr(experiment.workload.script)
        problems.append(Problem("workload.script", found, "module:function", fix))
    try:
        arguments_of(experiment.workload.arguments)
    except ValueError as error:
        allowed, fix = "at most a JSON list and a JSON object", """For example arguments = ['[1, "two"]', '{"key": 3}']."""
        problems.append(Problem("workload.arguments", str(error), allowed, fix))
    refuse_any(problems, "the function")


def arguments_of(texts: tuple[str, ...]) -> tuple[list[Any], dict[str, Any]]:
    """Positional and keyword arguments from JSON. Raises ValueError with the problem."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    if len(texts) > 2:
        raise ValueError(f"{len(texts)} arguments")
    for text in texts:
        try:
            value = json.loads(text)
        except ValueError as error:
            raise ValueError(f"{text!r}, which is not JSON ({error})") from None
        if isinstance(value, list):
            args = value
        elif isinstance(value, dict):
            kwargs = value
        else:
            raise ValueError(f"{text!r}")
    return args, kwargs


def _request(context: RunContext, job: Job, lines: Path) -> tuple[Request, list[str]]:
    request = command.bare_request(context, job)
    args, kwargs = arguments_of(request.arguments)
    timing = context.experiment.timing
    spec = {
        "target": context.experiment.workload.script,
        "args": args,
        "kwargs": kwargs,
        "out": str(lines),
        "round_ns": round(timing.round_s * NS_PER_S),
        "trials": command.trials_of(context),
        "warm_up": timing.warm_up,
        "calls": command.calls_of(context),
        "device": timing.device,
    }
    python_path = context.experiment.workload.environment.get("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    searched = os.pathsep.join(part for part in (str(context.folder), python_path) if part)
    environment = {**request.environment, "PYTHONPATH": searched}
    return replace(request, environment=environment), [sys.executable, "-c", _START, json.dumps(spec)]


def maker(context: RunContext) -> command.Rounds:
    return command.Rounds(context, _request)


def run(context: RunContext) -> Outcome:
    """Make the remaining launches."""
    return command.run_rounds(context, maker(context))


RUNNER = Runner(name="function", check=check, run=run, maker=maker)
