"""What would an experiment run, where would it send, and which files and variables of this machine would it use?"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from fireassay.printable import one_line
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import targets_of
from fireassay.spec.sections.judge import Judge
from fireassay.spec.sections.serving import Serving, Target

MAX_LINE: Final = 2000  # characters of a deed that are shown
REDACTED: Final = "[redacted]"  # as records write secrets


def deeds(experiment: Experiment, folder: Path) -> tuple[str, ...]:
    """One line per command, address, variable and file, in the order in which a reader would ask."""
    return tuple(dict.fromkeys(_shown(one_line(line)) for line in _all(experiment, folder)))


def _shown(line: str) -> str:
    return line if len(line) <= MAX_LINE else f"{line[:MAX_LINE]} ... and {len(line) - MAX_LINE} more characters"


def _all(experiment: Experiment, folder: Path) -> Iterator[str]:
    workload, serving = experiment.workload, experiment.serving
    if workload.script and (serving is None or serving.targets):
        yield f"run {shlex.join((workload.script, *workload.arguments))} ({workload.runner}), in {folder.resolve()}"
    for host in experiment.launcher.hosts:
        yield f"run it on {host.address}{f' by {shlex.join(host.prefix)}' if host.prefix else ''}"
    yield from _variables(workload.environment)
    if serving is not None:
        yield from _traffic(serving, workload.script)
    for fault in experiment.faults:
        for line in (getattr(fault, "command", ""), getattr(fault, "undo", "")):
            if line:
                yield f"run {line} (fault {fault.kind})"
    if (evaluation := experiment.evaluation) is not None:
        yield from _files((evaluation.task if "/" in evaluation.task or "." in evaluation.task else "", evaluation.data))
        yield from _files(answer.path for answer in evaluation.answers)
        if evaluation.judge is not None:
            yield from _judge(evaluation.judge)


def _traffic(serving: Serving, script: str) -> Iterator[str]:
    for target in targets_of(serving):
        for command in filter(None, (target.command, target.router)):
            yield f"run {shlex.join(command)}"
        yield from _variables(target.environment)
        for url in target.urls or (() if target.command else (script,)):
            yield f"send requests to {url}{_with(target)}"
        for url in target.metrics:
            yield f"read {url}"
    if serving.client.proxy:
        yield f"send all requests through {serving.client.proxy}"
    yield from _files((serving.prompts.source if serving.prompts.source != "synthetic" else "", serving.arrivals.trace, serving.tokenizer))


def _judge(judge: Judge) -> Iterator[str]:
    key = f", with the value of ${judge.api_key_env}" if judge.api_key_env else ""
    yield f"send the answers to {judge.url}{key}"
    yield from _files((judge.rubric, judge.gold))
    if judge.cache:
        yield f"keep replies in the folder {judge.cache}"


def _with(target: Target) -> str:
    """The variables whose values the requests carry."""
    return f", with the value of {', '.join(f'${name}' for name in target.secret_variables)}" if target.secret_variables else ""


def _variables(environment: dict[str, str]) -> Iterator[str]:
    for name, value in environment.items():
        yield f"pass on the value of ${name}" if REDACTED in value else f"set {name}={value}"


def _files(names: Iterable[str]) -> Iterator[str]:
    for name in filter(None, names):
        yield f"read the file {name}"
