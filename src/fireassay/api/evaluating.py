"""How does a program evaluate?  It scores answers that exist, or puts a task's items to engines, and gets the record.

The code of `assay score` and `assay evaluate`. Nothing is printed.
"""

from __future__ import annotations

import argparse
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from fireassay import catalog
from fireassay.api.experiment_run import Progress
from fireassay.api.measuring import measured, texts_of
from fireassay.api.record import ROOT, Record
from fireassay.errors import Problem, refuse_any
from fireassay.quality.scoring.items import Item, Task
from fireassay.quality.scoring.likelihoods import METHOD
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.runners.evaluating import conditions
from fireassay.runners.evaluation import folders_exist, section, tasks_of
from fireassay.runners.experiment.script import refuse_secrets
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.evaluate import as_flag, experiment_from
from fireassay.spec.flags.score import experiment_from as score_experiment
from fireassay.verdict.evaluation_plan import Asked, evaluation_plan, refusals, sentences


def score(
    *files: str | os.PathLike[str], root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object
) -> Record:
    """Score files of answers and return the sealed record of every item; of several files the first is the reference side.

    >>> import fireassay, json, pathlib
    >>> for name, right in (("before", 360), ("after", 358)):
    ...     answers = [{"id": item, "answer": "yes" if item < right else "no", "reference": "yes"} for item in range(400)]
    ...     _ = pathlib.Path(f"{name}.jsonl").write_text("\\n".join(map(json.dumps, answers)))
    >>> record = fireassay.score("before.jsonl", "after.jsonl", id="id", metric="exact_match", margin=0.03)
    >>> print(record.judge())
    PASS  before: after: quality held: Exact match −0.0050 [−0.0157, 0.0025], one-sided bounds, margin 0.03; ...
    >>> print(record.metric("exact_match", configuration="answers=after"))
    0.895 [0.861, 0.922]

    Args:
        files: JSONL or CSV with an answer per line; "NAME=FILE" names a side.
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay score`: metric=["rouge_l", "f1"], reference="gold", extract="last_number", margin=0.02, own_references=True.

    Raises:
        SpecError: every wrong argument at once, or a file that cannot be scored. Others as `run`.
    """
    missing = () if files else (Problem(where="files", found="nothing", allowed="JSONL or CSV with one answer per line"),)
    given = argparse.Namespace(files=[os.fspath(file) for file in files], **texts_of("score", flags, missing))
    return measured(score_experiment(given), Path(), root, on_progress)


def evaluate(*targets: str, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Put the items of a task to engines and return the sealed record; of several targets the first is the reference.

    >>> import fireassay
    >>> fireassay.evaluate("http://localhost:8000", task="gsm8k", dta="test.jsonl", model="tiny")
    Traceback (most recent call last):
    fireassay.errors.SpecError: the arguments of fireassay.evaluate: dta: found 'test.jsonl'; allowed: a flag of `assay evaluate`. Did you mean data?

    Args:
        targets: addresses of engines, or folders with a model that is run in this process; "NAME=URL" names one.
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay evaluate`: task="gsm8k", data="test.jsonl", model="M", margin=0.02, task_option=["shots=5"].

    Raises:
        SpecError: every wrong argument at once, or too few items for the margin: nothing was sent. Others as `run`.
    """
    missing = () if targets else (Problem(where="targets", found="nothing", allowed="the address of an engine, or a folder with a model"),)
    experiment = evaluated(argparse.Namespace(targets=list(targets), **texts_of("evaluate", flags, missing)))
    planned(experiment)
    return measured(experiment, Path(), root, on_progress)


# ---- before anything is sent -----------------------------------------------------------------------------------------


def evaluated(given: argparse.Namespace) -> Experiment:
    """The experiment of the flags of `assay evaluate`.

    Raises:
        SpecError: every problem of the flags at once, or a secret.
    """
    experiment = experiment_from(given)
    refuse_secrets(experiment)  # before any of it is printed
    return experiment


def planned(experiment: Experiment, announce: Callable[[str], object] | None = None) -> None:
    """Say what will be sent and what it can show.

    Args:
        announce: called with each sentence.

    Raises:
        SpecError: the items cannot show the margin, or the data cannot be read.
    """
    evaluation, _ = section(experiment)
    folders_exist(experiment, Path())
    tasks = tasks_of(evaluation, Path())
    for task in tasks:
        conditions.check_margin(experiment, _deciding(task))
    plan = evaluation_plan(experiment, tuple(map(_asked, tasks)))
    if announce is not None:
        for sentence in sentences(plan):
            announce(sentence)
    refuse_any(map(as_flag, refusals(experiment, plan)), "the flags")


def _asked(task: Task) -> Asked:
    of_choices = task.method == METHOD
    return Asked(
        task=task.name,
        items=len(task.items),
        clusters=_units([item.cluster for item in task.items]),
        largest=_largest(task.items),
        uneven=_uneven([item.weight for item in task.items]),
        characters=sum(map(_of_choices if of_choices else _characters, task.items)),
        most_tokens=0 if of_choices else task.max_tokens,
        choices=sum(len(item.choices) for item in task.items) if of_choices else None,
        sample=task.sample,
        **_changes(task),
    )


def _changes(task: Task) -> dict[str, Any]:
    """How far an item's change moves the score that decides, and what that can lose, if it is known before anything is scored."""
    metric = _deciding(task)
    lowest, highest = metric.scale
    chance = task.chance if metric.of_choices and task.chance is not None else metric.chance
    room = highest - max(lowest, chance if chance is not None else lowest)
    if metric.corpus or metric.scores is not None:
        return {"unplanned": f"{metric.title} is no mean over items", "room": room}
    return {"scale": highest - lowest, "room": room} if math.isfinite(room) else {"unplanned": f"a change of {metric.title} has no limit"}


def _deciding(task: Task) -> TextMetric:
    metric: TextMetric = catalog.load("quality.scoring.metrics", task.metrics[0])
    return metric


def _characters(item: Item) -> int:
    return len(item.prompt) + sum(len(message["content"]) for message in item.messages)


def _of_choices(item: Item) -> int:
    """Every choice is sent with the whole prompt."""
    return sum(len(item.prompt) + len(choice) for choice in item.choices)


def _units(clusters: list[str | None]) -> int | None:
    """Clusters and items in none; None if no item has a cluster."""
    named = {label for label in clusters if label is not None}
    return len(named) + clusters.count(None) if named else None


def _largest(items: Sequence[Item]) -> float:
    """Weight of the heaviest cluster, or item on its own, in items of mean weight."""
    weights: dict[tuple[bool, str], float] = {}
    for index, item in enumerate(items):
        unit = (item.cluster is None, str(index) if item.cluster is None else item.cluster)
        weights[unit] = weights.get(unit, 0.0) + item.weight
    total = sum(weights.values())
    return max(1.0, max(weights.values(), default=0.0) * len(items) / total) if total > 0.0 else 1.0


def _uneven(weights: Sequence[float]) -> float:
    """mean(w^2) / mean(w)^2."""
    total = sum(weights)
    return max(1.0, len(weights) * sum(weight**2 for weight in weights) / total**2) if total > 0.0 else 1.0
