"""How does a program measure?  It runs an experiment, or puts a load on an engine, and gets the record.

The code of `assay run` and `assay load`. Nothing is printed. Ctrl-C raises `fireassay.errors.Interrupted` and keeps what was
measured; `assay resume` continues.

How does a program evaluate?  It scores answers that exist, or puts a task's items to engines, and gets the record.

The code of `assay score` and `assay evaluate`. Nothing is printed.
"""

from __future__ import annotations

import argparse
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from fireassay import catalog
from fireassay.api import experiment_run, load_fit
from fireassay.api.experiment_run import Progress
from fireassay.api.record import ROOT, Record, remarks_as_warnings
from fireassay.api.served_model import with_served_models
from fireassay.errors import Problem, refuse_any
from fireassay.quality.scoring.items import Format, Held, Item, Task
from fireassay.quality.scoring.likelihoods import METHOD
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.quality.tasks.answer_file import Source
from fireassay.runners.evaluating import images, likelihood, steps
from fireassay.runners.evaluation import folders_exist, section, tasks_of
from fireassay.runners.experiment.script import refuse_secrets
from fireassay.spec.experiment import Experiment
from fireassay.spec.explain import closest
from fireassay.spec.flags.evaluate import REFERENCE_SIDE, as_flag, held_experiment, score_experiment, side_tables
from fireassay.spec.flags.evaluate import experiment_from as evaluation_experiment
from fireassay.spec.flags.load import experiment_from
from fireassay.spec.flags.of_verb import KeyFlag, flags_of
from fireassay.spec.load import load as checked
from fireassay.spec.load import read
from fireassay.verdict.evaluation_plan import Asked, evaluation_plan, refusals, sentences

GOODPUT = "goodput"  # the flag of `assay load` that is no key


def read_experiment(path: str | os.PathLike[str]) -> Experiment:
    """The experiment of a TOML file, to look at, to change or to run.

    >>> import fireassay
    >>> fireassay.read_experiment("records/digits/experiment.toml").factor.levels
    (1, 2)

    Raises:
        SpecError: it cannot be read or is no valid experiment: all problems at once.
    """
    return read(os.fspath(path))


def run(
    experiment: Experiment | str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    root: str | os.PathLike[str] = ROOT,
    on_progress: Progress | None = None,
) -> Record:
    """Run an experiment and return its sealed record.

    >>> import fireassay
    >>> CLUSTER = ("step_s=0.2", "steps=12", "serial=0.05", "alpha_s=2e-5", "beta_s=8e-10", "gradient=1e8")
    >>> experiment = fireassay.Experiment(
    ...     name="simulated",
    ...     workload={"runner": "simulated", "script": "cluster", "arguments": CLUSTER, "attach": False},
    ...     factor={"levels": (1, 2)},
    ...     noise={"sentinel_s": 0.0},
    ... )
    >>> record = fireassay.run(experiment)
    >>> record.state, record.metric("step_time", workers=1).unit
    ('complete', 's')

    Args:
        experiment: what to run, or the path of its TOML file.
        folder: what the script is relative to; default: the working directory, or the file's folder.
        root: where the record is made.
        on_progress: called several times a second.

    Raises:
        SpecError, EnvironmentLacks: it cannot be started; no record was made.
        WorkloadError: no launch succeeded; the record says why.
        Interrupted: stopped by a signal; what was measured is kept.
        RecordError: the record can no longer be written; its content so far stays readable.
    """
    if not isinstance(experiment, Experiment):
        folder = Path(experiment).parent if folder is None else folder
        experiment = checked(os.fspath(experiment))
    return measured(experiment, None if folder is None else Path(folder), root, on_progress)


def load(*urls: str, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Put a load on a serving engine and return its sealed record; where no argument says how long a launch lasts, it fits its requests.

    >>> import fireassay
    >>> fireassay.load("http://localhost:8000", model="tiny", concurency=[1, 8])
    Traceback (most recent call last):
    fireassay.errors.SpecError: the arguments of fireassay.load: concurency: found [1, 8]; allowed: a flag ...

    Args:
        urls: where the server listens; several are replicas of one engine.
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay load`: model="M", concurrency=[1, 8], slo="ttft=0.2,tpot=0.05", duration="30s".

    Raises:
        SpecError: every wrong argument at once. Others as `run`.
    """
    given = _namespace(urls, flags)
    with remarks_as_warnings():
        experiment, notes = load_fit.fitted(with_served_models(experiment_from(given)), fixed=load_fit.says_how_long(given))
        for note in notes:
            warnings.warn(note, stacklevel=2)
    return measured(experiment, Path(), root, on_progress)


def measured(experiment: Experiment, folder: Path | None, root: str | os.PathLike[str], on_progress: Progress | None) -> Record:
    """Run it as the verbs do; a path in it is relative to `folder`."""
    with remarks_as_warnings():
        experiment = with_served_models(experiment)
        experiment = experiment_run.ranged(experiment, folder or Path(), Path(root), on_progress)
        return Record(experiment_run.run(experiment, folder=folder, root=Path(root), on_progress=on_progress))


def _namespace(urls: tuple[str, ...], flags: Mapping[str, object]) -> argparse.Namespace:
    """What the parser of `assay load` would make of the arguments."""
    missing = () if urls else (Problem("urls", "nothing", "http://HOST:PORT or https://HOST:PORT"),)
    texts = texts_of("load", flags, missing, others=(GOODPUT,))
    return argparse.Namespace(urls=list(urls), goodput=_switch(flags.get(GOODPUT)), **texts)


def _switch(value: object) -> str | None:
    """--goodput as text: without objectives if True."""
    return None if value is None or value is False else "" if value is True else str(value)


# ---- arguments of a function as the flags of its verb: text is read and checked as on the command line -----------------


def texts_of(verb: str, flags: Mapping[str, object], problems: Iterable[Problem] = (), *, others: tuple[str, ...] = ()) -> dict[str, Any]:
    """The attributes that the parser of a verb would set; `others`: flags that are no key.

    Raises:
        SpecError: every argument that is no flag, and these problems.
    """
    known = {item.name.lstrip("-").replace("-", "_"): item for item in flags_of(verb)}
    names = (*known, *others)
    every = [*(unknown(verb, name, value, names) for name, value in flags.items() if name not in names), *problems]
    refuse_any(every, f"the arguments of fireassay.{verb}")
    texts: dict[str, Any] = {item.attribute: None for item in known.values()}
    return texts | {known[name].attribute: _text(known[name], value) for name, value in flags.items() if name in known}


def unknown(verb: str, name: str, value: object, names: tuple[str, ...]) -> Problem:
    match = closest(name, names)
    fix = f"Did you mean {match}?" if match else f"There are {', '.join(names)}."
    return Problem(where=name, found=repr(value), allowed=f"a flag of `assay {verb}`", fix=fix)


def _text(item: KeyFlag, value: object) -> Any:
    """A value as the flag's text: True for a switch, commas between the items of a list."""
    if isinstance(value, bool) or value is None:
        return None if value is False else value
    if isinstance(value, list | tuple):
        return [str(part) for part in value] if item.flag.many else ",".join(map(str, value))
    return [str(value)] if item.flag.many else str(value)


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
    PASS  before-vs-after: after: quality held: Exact match −0.50 points [−1.57, 0.25], one-sided bounds, margin 3 points; ...
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
    from fireassay.quality.tasks.answer_file import named_sides

    missing = () if files else (Problem(where="files", found="nothing", allowed="JSONL or CSV with one answer per line"),)
    texts = texts_of("score", flags, missing, others=(REFERENCE_SIDE,))
    given = argparse.Namespace(files=[os.fspath(file) for file in files], reference_side=flags.get(REFERENCE_SIDE), **texts)
    return measured(score_experiment(given, named_sides(given)), Path(), root, on_progress)


def evaluate(*targets: str, root: str | os.PathLike[str] = ROOT, on_progress: Progress | None = None, **flags: object) -> Record:
    """Put the items of a task to engines and return the sealed record; of several targets the first is the reference.

    >>> import fireassay
    >>> fireassay.evaluate("http://localhost:8000", task="gsm8k", dta="test.jsonl", model="tiny")
    Traceback (most recent call last):
    fireassay.errors.SpecError: the arguments of fireassay.evaluate: dta: found 'test.jsonl'; allowed: a flag of `assay evaluate`. Did you mean data?

    Args:
        targets: addresses of engines, or folders with a model that is run in this process; "NAME=URL" names one. None: what the data holds.
        root: where the record is made.
        on_progress: called several times a second.
        flags: those of `assay evaluate`: task="gsm8k", data="test.jsonl", model="M", margin=0.02, task_option=["shots=5"].

    Raises:
        SpecError: every wrong argument at once, or too few items for the margin: nothing was sent. Others as `run`.
    """
    layout = _layout(str(flags.get("task", "")))
    alone = layout is not None and layout.held is not None
    missing = Problem(where="targets", found="nothing", allowed="the address of an engine, or a folder with a model")
    texts = texts_of("evaluate", flags, () if targets or alone else (missing,))
    experiment = evaluated(argparse.Namespace(targets=list(targets), **texts))
    planned(experiment)
    return measured(experiment, Path(), root, on_progress)


# ---- before anything is sent -----------------------------------------------------------------------------------------


def evaluated(given: argparse.Namespace) -> Experiment:
    """The experiment of the flags of `assay evaluate`. Raises SpecError: every problem of the flags at once, or a secret."""
    layout = _layout(str(given.key_task or ""))
    held = layout.held if layout is not None and not given.targets else None
    experiment = evaluation_experiment(given) if held is None or not given.key_data else held_experiment(given, _keys_of(held, given))
    refuse_secrets(experiment)  # before any of it is printed
    serving = experiment.serving
    if layout is None or not layout.request or serving is None:
        return experiment
    return experiment.model_copy(update={"serving": serving.model_copy(update={"task": layout.request})})


def _layout(task: str) -> Format | None:
    """The layout of that name; None if there is none, which is refused elsewhere."""
    layout: Format | None = catalog.load("quality.tasks", task) if task in catalog.names("quality.tasks") else None
    return layout


def _keys_of(held: Held, given: argparse.Namespace) -> dict[str, Any]:
    """The keys of [evaluation] for what a copy holds already: a side for each model. Raises SpecError: it holds nothing, or is invalid."""
    source: Source = held.source(Path(given.key_data).expanduser())
    names = dict.fromkeys(str(row.values[held.fields["side"]]) for row in source.rows)
    metrics = [name for name in str(given.key_metric or "").split(",") if name in catalog.names("quality.scoring.metrics")]
    images = any(catalog.load("quality.scoring.metrics", name).reads == "images" for name in metrics)
    return {
        "answers": side_tables(list(names), str(source.path)),
        "fields": {**held.fields, **({"image": held.image} if images else {})},
        "given": {"fields": list(held.scores), "scales": dict(held.scores)},
    }


def planned(experiment: Experiment, announce: Callable[[str], object] | None = None) -> None:
    """Say what will be sent and what it can show.

    Args:
        announce: called with each sentence.

    Raises:
        SpecError: the items cannot show the margin, or the data cannot be read.
    """
    if experiment.serving is None:  # answers that exist already
        return
    evaluation, _ = section(experiment)
    folders_exist(experiment, Path())
    tasks = tasks_of(evaluation, Path())
    steps.check(experiment, tasks)
    for task in tasks if evaluation.judge is None else ():
        likelihood.check_margin(experiment, _deciding(task))
    plan = evaluation_plan(experiment, tuple(_as_asked(task, judged=evaluation.judge is not None) for task in tasks))
    if announce is not None:
        for sentence in sentences(plan):
            announce(sentence)
    refuse_any(map(as_flag, refusals(experiment, plan)), "the flags")


def _as_asked(task: Task, *, judged: bool = False) -> Asked:
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
        images=images.makes_images((task,)),
        **({"unplanned": "a judge decides, whose error is not known beforehand"} if judged else _changes(task)),
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
