"""How is a task put to engines, and how are the answers scored?  As a load of its items, each sent once, by the load client.

A launch is one pass over every item at one engine: its requests are timed, counted and metered like those of any load.  The task's items
become the load's prompts; when the launch has ended, its answers are extracted and scored.  A request that failed has no answer, and its
item is not wrong.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from fireassay import catalog
from fireassay.errors import EnvironmentLacks, Interrupted, Problem, SpecError, refuse, refuse_any
from fireassay.quality.rows import PROPER, Asked, Scores, all_scored, bounded, write_answers, write_scores
from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.items import Format, Item, Task
from fireassay.quality.scoring.likelihoods import METHOD
from fireassay.quality.scoring.perturbations import perturbed
from fireassay.quality.scoring.scoring import Score, Scored
from fireassay.quality.tasks.support.prompts import sampled
from fireassay.record.folder import check_written
from fireassay.record.images.thumbnails import Thumbnails
from fireassay.record.scratch import scratch
from fireassay.runners import serving
from fireassay.runners.evaluating import asking, forcing, images, judged, likelihood, pictures, steps
from fireassay.runners.evaluating.likelihood import digest
from fireassay.runners.evaluating.likelihood import item_digests as of_items
from fireassay.runners.evaluating.pictures import Judged
from fireassay.runners.experiment import launch_loop
from fireassay.runners.experiment.abandoned_launches import request_batches
from fireassay.runners.experiment.context import Job, Made, Outcome, RunContext, Runner
from fireassay.spec.experiment import Experiment
from fireassay.spec.explain import shown
from fireassay.spec.model import MAX_S
from fireassay.spec.plan import configuration_of, configurations, targets_of
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.judge import JUDGED
from fireassay.spec.sections.serving import Serving
from fireassay.traffic.backends.process import folder_of

OWN_TASK: Final = "file"  # the layout of an own task's TOML file
CODE: Final = "code"  # the method of tasks whose answers are programs
METHODS: Final = ("generation", METHOD, CODE, images.METHOD)
PERTURBING_SEED: Final = 0  # the same changes in every experiment, so that records compare
EMPTY: Final = "empty"  # the outcome of a request that succeeded without any text


def section(experiment: Experiment) -> tuple[Evaluation, Serving]:
    """The sections [evaluation] and [serving]. Raises SpecError: one is missing, or no task is named."""
    evaluation, load = experiment.evaluation, experiment.serving
    missing = [name for name, value in (("evaluation", evaluation), ("serving", load)) if value is None]
    if evaluation is not None and not evaluation.task:
        missing.append("evaluation.task")
    if missing or evaluation is None or load is None:
        fix = "Or use: assay evaluate --task NAME --data PATH --target URL --model M"
        raise SpecError((Problem(name, "nothing", "a value", fix) for name in missing), "the evaluation")
    return evaluation, load


def tasks_of(evaluation: Evaluation, folder: Path) -> tuple[Task, ...]:
    """The tasks, read from the user's files. Raises SpecError: a file cannot be read, or a row is invalid."""
    own = evaluation.task.endswith(".toml")
    layout: Format = catalog.load("quality.tasks", OWN_TASK if own else evaluation.task)
    path = folder / Path(evaluation.task if own else evaluation.data).expanduser()
    tasks = [_limited(task, evaluation) for task in layout.read(path, {**layout.options, **evaluation.task_options})]
    if evaluation.perturb:
        tasks = [perturbed(task, evaluation.perturb, PERTURBING_SEED) for task in tasks]
    likelihood.one_method(tasks, METHODS)
    return tuple(likelihood.checked(task) for task in tasks)


def _limited(task: Task, evaluation: Evaluation) -> Task:
    changed = replace(task, metrics=evaluation.metrics or task.metrics, extractor=evaluation.extractor or task.extractor)
    return sampled(changed, evaluation.limit, first=evaluation.first)


def check(experiment: Experiment, folder: Path) -> None:
    """Check everything that can be checked before the first request.

    Raises:
        SpecError, EnvironmentLacks: the data, a score, or an engine.
    """
    evaluation, _ = section(experiment)
    folders_exist(experiment, folder)
    tasks = tasks_of(evaluation, folder)
    for task in tasks:
        scores = _scores(task, evaluation)
        _signatures(task, scores)
        if images.makes_images([task]):
            images.check(experiment, scores)
        scoring.extractor(task.extractor)
        deciding = scores[0].metric if scores else catalog.load("quality.scoring.metrics", likelihood.CODE_METRIC)
        if evaluation.judge is None:
            likelihood.check_margin(experiment, deciding)
    steps.check(experiment, tasks)
    _check_judge(experiment, tasks, folder)
    experiment = _as_requests(experiment, tasks)
    serving.check(experiment, folder)
    if _likelihoods(tasks):
        likelihood.probed(experiment)
    else:
        likelihood.check_answering(experiment)
    if evaluation.divergence:
        forcing.check(experiment)


def _check_judge(experiment: Experiment, tasks: Sequence[Task], folder: Path) -> None:
    """Check that a judge can read these answers, and that its files can be read. Raises SpecError: they cannot."""
    judging = _judging(experiment, folder)
    if judging is None:
        return
    if wrong := next((task for task in tasks if task.method != "generation"), None):
        found = f"{wrong.name}, a task of the method {wrong.method}"
        raise refuse("evaluation.judge", found, "a task whose answers are texts", "Leave --judge out.", source="the judge")
    asking.check_key(judging.judge)
    judging.read_gold(item.id for task in tasks for item in task.items)
    likelihood.check_margin(experiment, judging.metric)


def _judging(experiment: Experiment, folder: Path) -> judged.Judging | None:
    evaluation, load = section(experiment)
    return judged.judging_of(evaluation, folder, [target.name for target in targets_of(load)])


def folders_exist(experiment: Experiment, folder: Path) -> None:
    """Check that every target that runs in this process is a folder with a model; it may have been meant as an address.

    Raises:
        SpecError: it is none.
    """
    serving_ = experiment.serving
    assert serving_ is not None
    problems = []
    for index, target in enumerate(targets_of(serving_)):
        if target.backend != forcing.IN_PROCESS:
            continue
        place = folder_of(target, serving_.model)
        path = folder / Path(place).expanduser()
        if (path / "config.json").is_file():
            continue
        state = "a folder without config.json" if path.is_dir() else "a file" if path.exists() else "which does not exist"
        address = re.fullmatch(r"[\w.-]+:\d+(/.*)?", place)
        fix = f"Did you mean http://{place}?" if address else f"The full path is {path.resolve()}."
        allowed = "an address as http://HOST:PORT, or a folder with a model that transformers can load"
        problems.append(Problem(f"serving.targets[{index}]", f"{shown(place)}, {state}", allowed, fix))
    refuse_any(problems, "the engines")


def _likelihoods(tasks: Sequence[Task]) -> bool:
    return any(task.method == METHOD for task in tasks)


def _as_requests(experiment: Experiment, tasks: Sequence[Task]) -> Experiment:
    """The experiment with requests of the kind that its tasks need."""
    load = experiment.serving
    if load is not None and images.makes_images(tasks):
        return experiment.model_copy(update={"serving": images.as_requests(load, tasks)})
    if load is None or not _likelihoods(tasks):
        return experiment
    return experiment.model_copy(update={"serving": load.model_copy(update={"task": likelihood.REQUEST})})


def _scores(task: Task, evaluation: Evaluation) -> tuple[Score, ...]:
    """The scores of texts; programs are judged by their tests alone."""
    likelihood.fitting(task.metrics, task.method, f"{task.name}, a task of the method {task.method}")
    if task.method == CODE:
        return ()
    own = {name: value for name, value in {**task.options, **evaluation.options}.items() if name.partition(".")[0] in task.metrics}
    return pictures.prepared(task.metrics, own)


def _signatures(task: Task, scores: Sequence[Score]) -> dict[str, str]:
    """Everything that moves each score."""
    return (
        {likelihood.CODE_METRIC: likelihood.code_signature()}
        if task.method == CODE
        else {one.metric.name: one.prepared.signature for one in scores}
    )


@dataclass(frozen=True, kw_only=True)
class Ready:
    """A task with its scores loaded."""

    task: Task
    items: Mapping[str, Item]
    scores: tuple[Score, ...]


class Evaluations(serving.Loads):
    """Puts every item to every engine, and scores the answers."""

    def __init__(self, context: RunContext, folder: Path) -> None:
        evaluation, load = section(context.experiment)
        with context.stop.at_once():
            self.ready = {
                task.name: Ready(task=task, items={item.id: item for item in task.items}, scores=_scores(task, evaluation))
                for task in tasks_of(evaluation, context.folder)
            }
            self.order = [  # of the prompts' rows: task, item, choice
                (name, item.id, choice)
                for name, ready in self.ready.items()
                for item in ready.items.values()
                for choice in range(len(item.choices) if ready.task.method == METHOD else 1)
            ]
            prompts = folder / "items.jsonl"
            prompts.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in self._rows()), encoding="utf-8")
            experiment = _as_requests(_as_load(context.experiment, load, prompts, self._tasks(), len(self.order)), self._tasks())
            experiment = likelihood.probed(experiment) if _likelihoods(self._tasks()) else experiment
            self.kept = images.kept_at(context.record.path) if images.makes_images(self._tasks()) else None
            experiment = experiment if self.kept is None else _keeping(experiment, self.kept)
            self.judging = _judging(context.experiment, context.folder)
            if self.judging is not None:
                self.judging.read_gold(item for ready in self.ready.values() for item in ready.items)
            identity = {name: _identity(ready, self.judging) for name, ready in self.ready.items()}
        stopped = _stops(context.experiment, self._tasks())
        groups = {name: list(ready.task.grouping) for name, ready in self.ready.items() if ready.task.grouping}
        context.note_inputs(evaluation={"tasks": identity, "stop_sent": stopped, **({"grouping": groups} if groups else {})})
        super().__init__(replace(context, experiment=experiment))

    def _tasks(self) -> list[Task]:
        return [ready.task for ready in self.ready.values()]

    def _rows(self) -> Iterator[dict[str, Any]]:
        for name, key, choice in self.order:
            item = self.ready[name].items[key]
            if self.ready[name].task.method == METHOD:
                yield likelihood.row(item, choice)
                continue
            yield {"prompt": [dict(message) for message in item.messages] if item.messages else item.prompt}

    def make(self, job: Job) -> Made:
        """One pass over every item at one engine."""
        made = super().make(job)
        if made.row["status"] == "ok":
            try:
                self._score(job)
            except Interrupted:
                return replace(made, row={**made.row, "status": "aborted", "reason": f"stopped by {self.context.stop.reason}"})
        return made

    def _score(self, job: Job) -> None:
        """Extract and score every answer; nothing is written before all are scored."""
        writer, path = self.context.record.writer(job.number), self.context.record.path
        writer.flush()
        with Thumbnails() as thumbnails:
            with self.context.stop.at_once():
                sent = list(_sent(path, job.number, self.order))
                answered = [
                    (ready, _asked(ready, [answer for answer in sent if (answer["task"], answer["turn"]) == (name, turn)], turn))
                    for name, ready in self.ready.items()
                    for turn in range(steps.turns_of(self.context.experiment))
                ]
                judged = [(ready.task.name, self._judged(ready, asked, thumbnails)) for ready, asked in answered]
            thumbnails.write(path, job.number)
        for name, (asked, scores, small) in judged:
            write_answers(writer, job.number, name, asked)
            write_scores(writer, job.number, name, scores)
            if small is not None:
                small.write(writer, job.number, name)
        check_written(writer, path)
        if self.kept is not None:
            engine = configuration_of(self.context.experiment, job.planned).target
            images.write_answers(self.kept, engine, [one for _, (asked, *_) in judged for one in asked])

    def _judged(self, ready: Ready, asked: list[Asked], thumbnails: Thumbnails) -> tuple[list[Asked], list[Scores], Judged | None]:
        if self.kept is None:
            return *_judged(ready, asked), None
        return images.judged(asked, ready.scores, self.kept, thumbnails)

    def judge(self) -> None:
        """Have the answers of all passes judged, unless they were before an interruption.

        Raises:
            Interrupted: a stop was requested. EnvironmentLacks: the judge cannot be asked.
        """
        judging, record = self.judging, self.context.record
        if judging is None:
            return
        passes = self._passes()
        for launch in passes.values():
            record.writer(launch).flush()
        self.context.show(waiting=f"judgements of {judging.judge.model}")
        with self.context.stop.at_once():
            judging.ask({one: list(_answered(record.path, launch, self.ready)) for one, launch in passes.items()}, record, passes)
        self.context.note_environment(judge=judging.notes)
        for one, launch in passes.items():
            writer = record.writer(launch)
            if not _has_judgements(record.path, launch):
                judging.write(writer, launch, one)
            check_written(writer, record.path)

    def _passes(self) -> dict[judged.Pass, int]:
        """The side and number of every successful pass, and its launch."""
        names = {configuration.name: configuration.target for configuration in configurations(self.context.experiment)}
        counts: dict[str, int] = {}
        found: dict[judged.Pass, int] = {}
        for row in sorted(self.context.rows, key=lambda row: int(row["launch"])):
            if row["status"] == "ok" and row["role"] == "timed":
                side = names[row["configuration"]]
                found[side, counts.get(side, 0)] = int(row["launch"])
                counts[side] = counts.get(side, 0) + 1
        return found


def _has_judgements(path: Path, launch: int) -> bool:
    return any(JUDGED in batch.column("metric").to_pylist() for batch in request_batches(path, launch, "scores"))


def _answered(path: Path, launch: int, ready: Mapping[str, Ready]) -> Iterator[judged.Text]:
    """The answers of a launch as a judge sees them."""
    for batch in request_batches(path, launch, "answers"):
        for row in batch.select(["task", "item", "repetition", "outcome", "text"]).to_pylist():
            item = ready[row["task"]].items[row["item"]]
            yield judged.Text(
                task=row["task"],
                item=item.id,
                repetition=row["repetition"],
                prompt=item.prompt or "\n\n".join(f"{one['role']}: {one['content']}" for one in item.messages),
                references=item.references,
                text=row["text"] if row["outcome"] == PROPER else None,
            )


def _asked(ready: Ready, sent: Sequence[Mapping[str, Any]], turn: int) -> list[Asked]:
    """The items of a task with their outcomes after a turn; `sent`: what happened to its requests."""
    task = ready.task
    likely = task.method == METHOD
    mine = list(likelihood.folded(sent, ready.items)) if likely else list(map(_with_text, sent))
    texts = [answer["text"] if answer["status"] == PROPER else None for answer in mine]
    items = [ready.items[answer["item"]] for answer in mine]
    stops = () if task.method == CODE else task.stop
    find = scoring.extractor(task.extractor)
    found = list(map(likelihood.chosen, texts)) if likely else scoring.found(find, texts, [item.choices for item in items], stops)
    asked = [
        Asked(
            item=item,
            repetition=turn,
            outcome=scoring.outcome(answer["status"], extraction),
            text=answer["text"],
            extraction=extraction,
            request=answer["request"],
            finish_reason=answer["finish_reason"],
        )
        for item, answer, extraction in zip(items, mine, found, strict=True)
    ]
    missing = sorted(set(ready.items) - {item.id for item in items})
    return [*asked, *(Asked(item=ready.items[item], repetition=turn, outcome="unsent", text=None, extraction=None) for item in missing)]


def _judged(ready: Ready, asked: list[Asked]) -> tuple[list[Asked], list[Scores]]:
    """The items of a task with their outcomes, and every score."""
    if ready.task.method != CODE:
        asked = bounded(asked, ready.scores)
        return asked, all_scored(asked, ready.scores)
    asked, passed = likelihood.judged_programs(asked)
    return asked, [(asked, _passed(passed))]


def _passed(scores: Sequence[float | None]) -> Scored:
    """Verdicts as scores; NaN: none."""
    values = np.array([np.nan if score is None else score for score in scores])
    return Scored(name=likelihood.CODE_METRIC, rows=values.reshape(-1, 1), scores=values)


def _sent(path: Path, launch: int, order: Sequence[tuple[str, str, int]]) -> Iterator[dict[str, Any]]:
    """What happened to each request of a launch, with its task, item, choice and turn; `order`: those of the prompts' rows."""
    rows = {
        row["request"]: (int(row["example"]), row["turn"] or 0)
        for batch in request_batches(path, launch, "arrivals")
        for row in batch.select(["request", "example", "turn"]).to_pylist()
    }
    for batch in request_batches(path, launch):
        for row in batch.select(["request", "status", "text", "finish_reason", "logprobs"]).to_pylist():
            example, turn = rows[row["request"]]
            task, item, choice = order[example]
            yield {**row, "task": task, "item": item, "choice": choice, "turn": turn}


def _with_text(answer: Mapping[str, Any]) -> dict[str, Any]:
    """The answer, which has failed if it has no text."""
    return {**answer, "status": EMPTY if answer["status"] == PROPER and not answer["text"] else answer["status"]}


def _as_load(experiment: Experiment, load: Serving, prompts: Path, tasks: Sequence[Task], requests: int) -> Experiment:
    """The experiment with its items as the prompts of a closed loop that ends after the last one."""
    longest = max(task.max_tokens for task in tasks) if all(task.method in ("generation", CODE) for task in tasks) else None
    turns = steps.turns_of(experiment)
    file = {"source": str(prompts), "format": "jsonl", "field": "prompt", "answer_tokens": longest}
    repeated = load.prompts.model_copy(update={**file, "turns": turns, "again": steps.again_of(experiment)})
    # Every item is waited for: the last ones too end by their own time limit (serving.client.timeout_s), not by the load's.
    arrivals = load.arrivals.model_copy(update={"requests": requests * turns, "duration_s": MAX_S / 2, "drain_s": MAX_S / 2})
    ends = _stops(experiment, tasks)
    targets = tuple(likelihood.with_stops(target, ends.get(target.name, ())) for target in load.targets)
    update = {"prompts": repeated, "arrivals": arrivals, "targets": targets}
    return experiment.model_copy(update={"serving": load.model_copy(update=update)})


def _keeping(experiment: Experiment, folder: Path) -> Experiment:
    """The experiment whose clients keep the images."""
    load = experiment.serving
    assert load is not None
    client = load.client.model_copy(update={"keep_images": str(folder)})
    return experiment.model_copy(update={"serving": load.model_copy(update={"client": client})})


def _stops(experiment: Experiment, tasks: Sequence[Task]) -> dict[str, list[str]]:
    """The stop strings that each engine gets, by its name; engines without any are left out."""
    evaluation, load = section(experiment)
    wanted = likelihood.common_stops(tasks) if evaluation.send_stop else ()
    found = {target.name: list(likelihood.sent_stops(target, load.task, wanted)) for target in load.targets}
    return {name: sent for name, sent in found.items() if sent}


def _identity(ready: Ready, judging: judged.Judging | None) -> dict[str, Any]:
    """Everything that identifies a task: its items are conditions, as are the template, the extraction and the scores."""
    task = ready.task
    return {
        **({"judge": judging.facts} if judging is not None else {}),
        "metrics": {**({JUDGED: judging.signature} if judging is not None else {}), **_signatures(task, ready.scores)},
        "extractor": scoring.extractor(task.extractor).signature,
        **of_items(task.items),
        "files": dict(task.files),
        "template": digest([task.template]),
        "shots": task.shots,
        "stop": list(task.stop),
        "max_tokens": task.max_tokens,
        "chance": task.chance,
        "cluster": task.cluster,
        "options": dict(task.options),
        "method": task.method,
        **({"sample": task.sample} if task.sample else {}),
    }


def run(context: RunContext) -> Outcome:
    """Make the remaining passes, and leave no engine running."""
    with scratch() as folder:
        passes = Evaluations(context, folder)
        try:
            outcome = launch_loop.run(context, passes)
            if outcome.state == "complete" and (lacking := _by_judge(passes)):
                return replace(outcome, state="interrupted", reason=lacking)
            if outcome.state == "complete":
                forcing.force(passes.context, [ready.task for ready in passes.ready.values()], passes.engines)
            return _ended(outcome, context)
        finally:
            passes.close()


def _by_judge(passes: Evaluations) -> str:
    """Have the answers judged; why they were not, so that the record can be resumed with the answers it has."""
    try:
        passes.judge()
    except Interrupted as stopped:
        return str(stopped)
    except EnvironmentLacks as lacking:
        return str(lacking)
    return ""


def _ended(outcome: Outcome, context: RunContext) -> Outcome:
    """Interrupted if a stop came after the last pass: the answers are kept, and what was to follow them is not there."""
    if outcome.state == "complete" and context.stop.count:
        return replace(outcome, state="interrupted", reason=context.stop.reason)
    return outcome


RUNNER = Runner(name="evaluation", check=check, run=run)
