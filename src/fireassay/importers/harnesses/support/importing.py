"""How do the logs of an evaluation harness become one sealed record, with a side for each model or file?

Every path is read into runs; the runs of one model in one path are a side, and the first side is the reference.  Sides must have been
asked the same: every task in all of them, and everything that identifies a task equal, except what is named as varying.  A side is one launch.
The harness's scores are stored as they are, under their own names, beside the numbers that it made of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final

from fireassay import catalog
from fireassay.clock import Clock
from fireassay.errors import Problem, SpecError, refuse
from fireassay.importers.harnesses.support.base import Answered, Harness, Run, TaskRun
from fireassay.importers.support.base import Imported, first, new_record, record_name
from fireassay.importers.support.documents import Place, Words, refuse_links
from fireassay.quality.rows import AT_ONCE, Asked, write_answers, write_recorded_scores
from fireassay.quality.scoring.items import Extraction, Item
from fireassay.record import files
from fireassay.record.batch_writer import BatchWriter
from fireassay.record.folder import RecordFolder, check_written, launch_row, write_launch
from fireassay.spec.experiment import Experiment
from fireassay.spec.explain import did_you_mean
from fireassay.spec.plan import plan

PACKAGE: Final = "importers.harnesses"
ALONE: Final = "Import each alone, or name it with --varying if it is what you study."
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Wanted:
    """What the user asks of the record."""

    name: str = ""  # empty: from the tool and the first path
    margin: float | None = None  # None: no decision
    metric: str = ""  # the score that decides; empty: each task's first
    varying: tuple[str, ...] = ()  # facts of tasks that may differ between sides
    most_failed: float | None = None


@dataclass(frozen=True, kw_only=True)
class Side:
    """A model's answers: one configuration."""

    name: str
    path: Path
    runs: tuple[Run, ...]

    @property
    def tasks(self) -> dict[str, TaskRun]:
        return {task.name: task for run in self.runs for task in run.tasks}


def recognised(paths: Sequence[Path]) -> str:
    """The harness that wrote all of these; empty if none did."""
    for name, harness in catalog.load_all(PACKAGE).items():
        if all(harness.recognises(path) for path in paths):
            return str(name)
    return ""


def import_evaluations(
    tool: str, paths: Sequence[Path], root: Path, *, clock: Clock, wanted: Wanted = Wanted(), on_progress: Progress | None = None
) -> tuple[Imported, ...]:
    """Import results of one harness as one sealed record below `root`.

    Raises:
        SpecError: a file is invalid, or the sides were not asked the same; nothing is left behind.
        EnvironmentLacks: no such harness.
        RecordError: the record cannot be written.
    """
    harness: Harness = catalog.load(PACKAGE, tool)
    with ExitStack() as stack:
        read: list[tuple[Path, Sequence[Run]]] = []
        for number, path in enumerate(paths, start=1):
            if not path.exists():
                raise Place(str(path)).wrong(Words("no such file or folder"), f"results of {harness.title}: {harness.files}")
            refuse_links(path)
            read.append((path, harness.read(path, stack)))
            if on_progress is not None:
                on_progress(number, 2 * len(paths))
        sides = _sides(read)
        tasks = _tasks(sides, wanted)
        _same(sides, wanted.varying)
        return (_record(harness, sides, tasks, root, clock, wanted),)


# ---- sides -----------------------------------------------------------------------------------------------------------


def _sides(read: Sequence[tuple[Path, Sequence[Run]]]) -> list[Side]:
    grouped: dict[tuple[int, str], list[Run]] = {}
    for index, (_, runs) in enumerate(read):
        for run in runs:
            grouped.setdefault((index, run.model), []).append(run)
    models = [model for _, model in grouped]
    by_model = len(set(models)) == len(models)
    sides: list[Side] = []
    for (index, model), runs in grouped.items():
        path = read[index][0]
        proposed = (
            model if by_model else path.parent.name if path.stem.startswith("results_") else path.name.rpartition(".")[0] or path.name
        )
        sides.append(Side(name=_free(proposed, [side.name for side in sides]), path=path, runs=tuple(runs)))
        _each_once(sides[-1])
    return sides


def _free(proposed: str, taken: Sequence[str]) -> str:
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", proposed).strip("-._")[-36:].strip("-._") or "answers"
    return next(name for number in range(1, len(taken) + 2) if (name := plain if number == 1 else f"{plain}-{number}") not in taken)


def _each_once(side: Side) -> None:
    """Refuse two results of one task and model: which of them counts is not for us to say."""
    names = [task.name for run in side.runs for task in run.tasks]
    if twice := next((name for name in names if names.count(name) > 1), None):
        found = Words(f"{twice} of {side.runs[0].model} more than once")
        raise Place(str(side.path)).wrong(found, "each task of a model once", "Name the one results file, or two of them as two sides.")


def _tasks(sides: Sequence[Side], wanted: Wanted) -> dict[str, TaskRun]:
    """The reference's tasks, with the wanted score first."""
    reference = sides[0].tasks
    for side in sides[1:]:
        only = sorted(reference.keys() ^ side.tasks.keys())
        if only:
            raise Place(f"{sides[0].name} and {side.name}").wrong(
                Words(f"tasks that only one of them has: {', '.join(only[:5])}"), "the same tasks on every side", "Import each alone."
            )
    known = {score.name for task in reference.values() for score in task.scores}
    if wanted.metric and wanted.metric not in known:
        fix = did_you_mean(wanted.metric, known)
        raise refuse("--metric", wanted.metric, ", ".join(sorted(known)), fix, source="the import")
    return reference


def _same(sides: Sequence[Side], varying: Sequence[str]) -> None:
    """Refuse sides that were asked different things, or scored otherwise. Raises SpecError: naming every fact that differs."""
    problems: list[Problem] = []
    for side in sides[1:]:
        for name, task in sides[0].tasks.items():
            ours, theirs = _facts(task), _facts(side.tasks[name])
            for key in sorted(ours.keys() | theirs.keys()):
                if ours.get(key) != theirs.get(key) and key not in varying:
                    found = f"{_shown(ours.get(key))} in {sides[0].name}, {_shown(theirs.get(key))} in {side.name}"
                    problems.append(Problem(f"{name}: {key}", found, "the same on every side", ALONE))
    if problems:
        raise SpecError(tuple(problems[:20]), "the sides")


def _facts(task: TaskRun) -> dict[str, Any]:
    return {**task.facts, **{f"score {score.name}": score.signature for score in task.scores}}


def _shown(value: object) -> str:
    words = "nothing" if value is None else str(value)
    return words if len(words) <= 60 else f"{words[:60]} ..."


# ---- the record ------------------------------------------------------------------------------------------------------


@dataclass
class _Counts:
    answers: int = 0
    failed: int = 0


def _record(harness: Harness, sides: Sequence[Side], tasks: Mapping[str, TaskRun], root: Path, clock: Clock, wanted: Wanted) -> Imported:
    named = dict.fromkeys(side.path.stem if side.path.is_file() else side.path.name for side in sides)
    name = record_name(wanted.name or f"{harness.name}-{'-vs-'.join([*named][:2])}", harness.name, 0, 1)
    experiment = _experiment(sides, tasks, name, wanted)
    digests = _digests(sides)
    with new_record(root, experiment, clock) as record:
        planned = {launch.configuration: launch for launch in plan(experiment)}
        groups = {name: list(task.grouping) for name, task in tasks.items() if task.grouping and not task.cluster}
        known = {"tasks": _identities(sides, tasks, digests, wanted), **({"grouping": groups} if groups else {})}
        record.set_environment("before", {"evaluation": known})
        counts = _Counts()
        for number, side in enumerate(sides):
            writer = record.writer(number)
            for task in side.tasks.values():
                _write(writer, number, task, counts)
            check_written(writer, record.path)
            end_ns = round(1e9 * sum(run.duration_s or 0.0 for run in side.runs))
            begin_utc = first(run.begin_utc for run in side.runs)
            row = launch_row(planned[f"answers={side.name}"], launch=number, begin_ns=0, end_ns=end_ns, begin_utc=begin_utc)
            write_launch(writer, row, record.path)
        manifest = _manifest(harness, sides, digests)
        record.note(foreign=manifest)
        record.finish("complete")
    return _imported(harness, record, sides, counts, manifest)


def _imported(harness: Harness, record: RecordFolder, sides: Sequence[Side], counts: _Counts, manifest: Mapping[str, Any]) -> Imported:
    return Imported(
        path=record.path,
        tool=harness.name,
        title=harness.title,
        configurations=tuple(f"answers={side.name}" for side in sides),
        launches=len(sides),
        requests=counts.answers,
        failed=counts.failed,
        has_requests=True,
        missing=tuple(manifest["missing"]),
        doubts=(*manifest["doubts"], *_empty(sides)),
        unit="answers",
    )


def _experiment(sides: Sequence[Side], tasks: Mapping[str, TaskRun], name: str, wanted: Wanted) -> Experiment:
    deciding = wanted.metric or next(iter(tasks.values())).scores[0].name
    answers = [{"name": side.name, "path": str(side.path)} for side in sides]
    evaluation: dict[str, Any] = {"answers": answers}
    if wanted.most_failed is not None:
        evaluation["most_failed"] = wanted.most_failed
    data: dict[str, Any] = {
        "name": name,
        "workload": {"runner": "answers", "work": "items"},
        "launches": {"per_configuration": 1},
        "gates": {"efficiency": "none"},
        "evaluation": evaluation,
    }
    if wanted.margin is not None:
        data["quality"] = {"metric": deciding, "margin": wanted.margin}
    return Experiment.model_validate(data)


def _digests(sides: Sequence[Side]) -> dict[Path, str]:
    return {path: files.digest(path) for side in sides for run in side.runs for path in run.files}


def _identities(
    sides: Sequence[Side], tasks: Mapping[str, TaskRun], digests: Mapping[Path, str], wanted: Wanted
) -> dict[str, dict[str, Any]]:
    """What identifies each task; a fact that may vary is kept for each side."""
    identities: dict[str, dict[str, Any]] = {}
    for name, task in tasks.items():
        scores = sorted(task.scores, key=lambda score: score.name != wanted.metric)
        facts = {key: value for key, value in task.facts.items() if key not in wanted.varying}
        for key in wanted.varying:
            facts |= {f"{key} of {side.name}": value for side in sides if (value := side.tasks[name].facts.get(key)) is not None}
        identities[name] = {
            "metrics": {score.name: score.signature for score in scores},
            **facts,
            **({"cluster": task.cluster} if task.cluster else {}),
            "files": {side.name: _digest_of(side, name, digests) for side in sides},
        }
    return identities


def _digest_of(side: Side, task: str, digests: Mapping[Path, str]) -> str:
    file = side.tasks[task].file
    return next(digest for path, digest in digests.items() if path.name == file and any(path in run.files for run in side.runs))


def _manifest(harness: Harness, sides: Sequence[Side], digests: Mapping[Path, str]) -> dict[str, Any]:
    """The manifest's `foreign`: the record's origin, what its numbers mean, what is not known, and what the harness reported."""
    runs = [run for side in sides for run in side.runs]
    main = runs[0].files[0]
    scores = {score.name: {"better": score.better, "form": score.form} for run in runs for task in run.tasks for score in task.scores}
    return {
        "tool": harness.name,
        "title": harness.title,
        "version": first(run.version for run in runs) or None,
        "file": main.name,
        "sha256": digests[main],
        "files": {str(Path(*path.parts[-2:])): digest for path, digest in digests.items()},
        "clock": "sent",
        "times": "none",
        "requests": True,
        "begin_utc": first(run.begin_utc for run in runs) or None,
        "meanings": dict(harness.meanings),
        "unsaid": [],
        "missing": list(dict.fromkeys((*harness.missing, *_sentences(sides, "missing")))),
        "doubts": list(dict.fromkeys(_sentences(sides, "doubts"))),
        "reported": list(_reported(sides)),
        "scores": scores,
        "settings": {f"answers={side.name}": dict(side.runs[0].settings) for side in sides},
        "empty": {f"answers={side.name}": {task.name: task.empty for task in side.tasks.values() if task.empty} for side in sides},
    }


def _sentences(sides: Sequence[Side], which: str) -> Iterator[str]:
    """The sentences of runs and tasks; with several sides those on one of them name it."""
    said = {side.name: [s for run in side.runs for part in (run, *run.tasks) for s in getattr(part, which)] for side in sides}
    for name, sentences in said.items():
        for sentence in sentences:
            everywhere = all(sentence in other for other in said.values())
            yield sentence if everywhere else f"{name}: {sentence}"


def _empty(sides: Sequence[Side]) -> Iterator[str]:
    """Of each side; the record says so in an audit of its own."""
    for side in sides:
        for task in side.tasks.values():
            if task.empty:
                yield f"{side.name}: {task.empty:,} replies of {task.name} are empty, and scored as answers; a failed request may look alike"


def _reported(sides: Sequence[Side]) -> Iterator[dict[str, Any]]:
    for number, side in enumerate(sides):
        for task in side.tasks.values():
            for total in task.totals:
                facts = asdict(total)
                yield {"launch": number, "configuration": f"answers={side.name}", "task": task.name, **facts, "group": dict(total.group)}


# ---- rows ------------------------------------------------------------------------------------------------------------


def _write(writer: BatchWriter, launch: int, task: TaskRun, counts: _Counts) -> None:
    """The answers of a task and their scores, some thousands at a time."""
    rows = task.rows()
    while part := list(islice(rows, AT_ONCE)):
        counts.answers += len(part)
        counts.failed += sum(row.outcome != "ok" for row in part)
        write_answers(writer, launch, task.name, [_as_asked(row) for row in part])
        for score in task.scores:
            recorded = [(row.item, row.repetition, row.scores[score.name]) for row in part if score.name in row.scores]
            write_recorded_scores(writer, launch, task.name, score.name, recorded, ratio=score.form == "ratio")
        writer.flush()


def _as_asked(row: Answered) -> Asked:
    found = None if row.answer is None else Extraction(answer=row.answer, rule=row.rule, begin=0, end=0)
    item = Item(id=row.item, prompt=row.prompt, references=row.references, cluster=row.cluster, groups=row.groups)
    return Asked(
        item=item, repetition=row.repetition, outcome=row.outcome, text=row.text, extraction=found, finish_reason=row.finish_reason
    )
