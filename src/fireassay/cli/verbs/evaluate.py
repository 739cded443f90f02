"""`assay evaluate`: how good are an engine's answers to the items of a task?"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fireassay.cli.support.verb import Verb, add_root
from fireassay.cli.verbs.report import WITHOUT_NO_GAIN
from fireassay.printable import say

if TYPE_CHECKING:
    from fireassay.quality.scoring.items import Item, Task
    from fireassay.quality.scoring.text_metric import TextMetric
    from fireassay.spec.experiment import Experiment


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from fireassay.cli.verbs.run import add_display_flags
    from fireassay.spec.flags.evaluate import add_flags

    add_flags(parser)
    add_root(parser, "where the record is made (default: records)")
    parser.add_argument("--dry-run", action="store_true", help="say what would be sent and what it can show; send nothing")
    parser.add_argument("--toml", action="store_true", help="print the experiment as a file for `assay run`; send nothing")
    add_display_flags(parser)


def asked(arguments: argparse.Namespace) -> Experiment:
    """The experiment of these flags, without a secret in it.

    Raises:
        SpecError: every problem of the flags at once, or a secret.
    """
    from fireassay.cli.support.experiment_of_record import secrets_from_here
    from fireassay.runners.experiment.script import refuse_secrets
    from fireassay.spec.flags.evaluate import experiment_from

    experiment = secrets_from_here(experiment_from(arguments), of_record=False)
    refuse_secrets(experiment)  # before any of it is printed
    return experiment


def _run(arguments: argparse.Namespace) -> int:
    experiment = asked(arguments)
    if arguments.toml:
        from fireassay.spec.load import to_toml

        print(to_toml(experiment), end="")
        return 0
    planned(experiment, quiet=arguments.quiet)
    if arguments.dry_run:
        return 0
    from fireassay.cli.support.experiment_run import run
    from fireassay.cli.support.progress import display
    from fireassay.cli.verbs.report import judge_and_show
    from fireassay.record.arrow_import import without_pandas

    without_pandas()
    with display(sys.stderr, quiet=arguments.quiet) as show:
        path = run(experiment, folder=Path(), root=arguments.root, on_progress=show)
    return judge_and_show(path, arguments)


def planned(experiment: Experiment, *, quiet: bool) -> None:
    """Say what will be sent and what it can show.

    Raises:
        SpecError: the items cannot show the margin, or the data cannot be read.
    """
    from fireassay.errors import SpecError
    from fireassay.quality.scoring.likelihoods import METHOD
    from fireassay.runners.evaluating import conditions
    from fireassay.runners.evaluation import folders_exist, section, tasks_of
    from fireassay.spec.flags.evaluate import as_flag
    from fireassay.verdict.evaluation_plan import Asked, evaluation_plan, refusals, sentences

    evaluation, _ = section(experiment)
    folders_exist(experiment, Path())
    tasks = tasks_of(evaluation, Path())
    for task in tasks:
        conditions.check_margin(experiment, _deciding(task))
    asked = tuple(
        Asked(
            task=task.name,
            items=len(task.items),
            clusters=_units([item.cluster for item in task.items]),
            largest=_largest(task.items),
            uneven=_uneven([item.weight for item in task.items]),
            characters=sum(map(_characters, task.items)) if task.method != METHOD else sum(map(_of_choices, task.items)),
            most_tokens=task.max_tokens if task.method != METHOD else 0,
            choices=sum(len(item.choices) for item in task.items) if task.method == METHOD else None,
            sample=task.sample,
            **_changes(task),
        )
        for task in tasks
    )
    told = evaluation_plan(experiment, asked)
    if not quiet:
        for sentence in sentences(told):
            say(sentence, file=sys.stderr)
    if problems := refusals(experiment, told):
        raise SpecError((as_flag(problem) for problem in problems), "the flags")


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
    from fireassay import catalog

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


VERB = Verb(
    name="evaluate",
    group="measure",
    summary="put a task's items to engines, score the answers, and say whether quality was held",
    description="""Put the items of a task to an engine, seal a record of every request and answer, score and judge it.

    assay evaluate --task gsm8k --data FILE --target http://HOST:8000 --model M
    assay evaluate --task my.toml --target a=URL --target b=URL --margin 0.02
    assay evaluate --task mmlu --data DIR --target MODEL_FOLDER

Data is always yours, with its digest in the record; nothing is downloaded. The requests are timed: throughput, latency, tokens and cost
of the same answers stand in the same record. A request that failed is never a wrong answer; too many of them make the record INVALID.
Before anything is sent, the plan says how many items the margin needs for a power of 80 %; a margin that they cannot show is refused
(--explore sends them all the same). With two targets, the first is the reference: quality was held, degraded, or the items are too few to say.
--limit N asks a random sample, the same for every engine and every record. Ctrl-C ends the pass cleanly and keeps its answers in the record;
`assay resume RECORD` keeps every finished pass, and asks the items of the one that was cut once more, all of them.""",
    add_arguments=_add_arguments,
    run=_run,
    usual={"ask": ("--task", "--data", "--target", "--model"), "judge": ("--margin", "--metric", "--repetitions")},
    exits=WITHOUT_NO_GAIN,
)
