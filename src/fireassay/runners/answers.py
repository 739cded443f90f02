"""How are answers scored that exist already?  A launch reads one file, extracts each answer, and writes every score with its statistics.

Nothing is sent and nothing is timed: the record holds the texts, the scores, the digest of each file, and the signature of
everything that moves a score.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from fireassay import catalog
from fireassay.errors import Interrupted, SpecError, refuse
from fireassay.printable import some
from fireassay.quality.rows import Asked, Scores, all_scored, bounded, write_answers, write_recorded_scores, write_scores
from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.elsewhere import METHOD as ELSEWHERE
from fireassay.quality.scoring.elsewhere import of_field
from fireassay.quality.scoring.items import Extraction, Format, Item
from fireassay.quality.scoring.reading import WHOLE, Reading, reading
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.quality.tasks.answer_file import SOURCE, Answers, ClustersAreSides, Source, opened, read, sides
from fireassay.quality.tasks.support.files import SOURCE as TASK_DATA
from fireassay.quality.tasks.support.files import called
from fireassay.quality.tasks.support.numbers import numbers_of
from fireassay.quality.tasks.support.unused import against
from fireassay.record.folder import check_written
from fireassay.record.images.thumbnails import Thumbnails
from fireassay.runners.evaluating import judged, likelihood, pictures, rated
from fireassay.runners.evaluating.likelihood import fitting
from fireassay.runners.evaluating.likelihood import item_digests as of_items
from fireassay.runners.experiment.context import Job, Made, RunContext, Runner
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.evaluate import score_words
from fireassay.spec.plan import configuration_of
from fireassay.spec.rules.evaluation import method_of_files
from fireassay.spec.sections.evaluation import AnswerFile, Evaluation
from fireassay.spec.sections.judge import JUDGED
from fireassay.spec.sections.ratings import SCORES

TASK = "answers"
METRICS = ("exact_match",)  # where the experiment names none
SAME = {"references": "references", "cluster": "clusters", "weight": "weights", "groups": "groups"}  # of an item at every side


def section(experiment: Experiment) -> Evaluation:
    """The section [evaluation]. Raises SpecError: there is none."""
    if experiment.evaluation is None:
        fix = "Add [evaluation] with [[evaluation.answers]], or use: assay score FILE"
        raise refuse("evaluation", "nothing", "a table [evaluation]", fix)
    return experiment.evaluation


def check(experiment: Experiment, folder: Path) -> None:
    """Read every file, and load every score.

    Raises:
        SpecError: a file cannot be read, a line is invalid, or two files have no item in common.
        EnvironmentLacks: the library of a score is missing.
    """
    evaluation = section(experiment)
    fitting(_own_metrics(evaluation), method_of_files(experiment), "files of answers")
    scores = pictures.prepared(_own_metrics(evaluation), evaluation.options)
    judging = judged.judging_of(evaluation, folder, [file.name for file in evaluation.answers])
    of_judge = [] if judging is None else [judging.metric]
    likelihood.check_margin(experiment, (*of_judge, *(score.metric for score in scores), *_given_metrics(evaluation))[0])
    if evaluation.ratings is not None:
        rated.sides_of(evaluation, folder)
        return
    try:
        first, *others = list(_answers(evaluation, folder))
    except ClustersAreSides as error:
        raise _as_sides(error, experiment, folder) from None
    for file, answers in (first, *others):
        if evaluation.fields.image:
            pictures.check_there(answers.texts, _home(file, folder), file.path)
    _have_candidates((first, *others), evaluation)
    for file, answers in others:
        _same_items(first, (file, answers), evaluation)
    if judging is not None:
        judging.read_gold(item.id for item in first[1].items)


def _have_candidates(files: Sequence[tuple[AnswerFile, Answers]], evaluation: Evaluation) -> None:
    """Check that there is something to choose from."""
    if evaluation.best_of is not None and not any(max(answers.repetitions) for _, answers in files):
        found = f"{evaluation.best_of.candidates} candidates, where every item has one line"
        fix = "Give each candidate its line, with the --id of its item."
        raise refuse("evaluation.best_of.candidates", found, "several lines for an item", fix, source=SOURCE)


def _own_metrics(evaluation: Evaluation) -> tuple[str, ...]:
    """The scores that are computed here."""
    usual = METRICS if evaluation.ratings is None else (SCORES[evaluation.ratings.form],)
    return evaluation.metrics or (usual if evaluation.given is None and evaluation.judge is None else ())


def _given_metrics(evaluation: Evaluation) -> list[TextMetric]:
    """Those of another program."""
    return [] if evaluation.given is None else [of_field(evaluation.given, name) for name in evaluation.given.fields]


def _answers(evaluation: Evaluation, folder: Path) -> Iterator[tuple[AnswerFile, Answers]]:
    """The answers of each side; a file that holds several is opened once."""
    numbers, source = numbers_of(evaluation), None
    for file in evaluation.answers:
        path = folder / Path(file.path).expanduser()
        with called(TASK_DATA if evaluation.task else SOURCE):
            if file.side and (source is None or source.path != path):
                found = _opened(evaluation, path)
                source = replace(found, rows=list(found.rows))
            answers = read(path, evaluation.fields, numbers, file.side, source if file.side else None)
        yield file, answers


def _opened(evaluation: Evaluation, path: Path) -> Source:
    """A file of answers, or what a benchmark's copy holds."""
    layout: Format | None = catalog.load("quality.tasks", evaluation.task) if evaluation.task else None
    return opened(path) if layout is None or layout.held is None else layout.held.source(path)


def _as_sides(error: ClustersAreSides, experiment: Experiment, folder: Path) -> SpecError:
    """The error with the command that compares the clusters as sides, if it is one that works."""
    evaluation, words = section(experiment), score_words(experiment, folder)
    if len(evaluation.answers) > 1 or not words or evaluation.fields.side:
        return error
    name, path = evaluation.fields.cluster, folder / Path(evaluation.answers[0].path).expanduser()
    try:
        found = opened(path)
        source = replace(found, rows=list(found.rows))
        fields = evaluation.fields.model_copy(update={"cluster": "", "side": name})
        for side in sides(path, name):
            read(path, fields, numbers_of(evaluation), side, source)
    except SpecError:
        return error
    files, *flags = words
    command = ["assay", "score", *files, *(word for flag in flags if flag[0] != "--cluster" for word in flag), "--side", name]
    fix = f"If each {name} is a side, to be compared with the others by {evaluation.fields.id}: {shlex.join(command)}"
    return SpecError([replace(problem, fix=fix) for problem in error.problems], error.source)


def _home(file: AnswerFile, folder: Path) -> Path:
    """The folder of a file of answers, from which its paths lead."""
    return (folder / Path(file.path).expanduser()).parent


def _same_items(first: tuple[AnswerFile, Answers], other: tuple[AnswerFile, Answers], evaluation: Evaluation) -> None:
    """Refuse sides that were asked different things: their scores would differ by the questions."""
    ours, theirs = ({item.id: item for item in answers.items} for _, answers in (first, other))
    both = [name for name in ours if name in theirs]
    unequal = {
        f"other {field}": [name for name in both if getattr(ours[name], one) != getattr(theirs[name], one)] for one, field in SAME.items()
    }
    if evaluation.common and both:
        theirs = ours = {name: ours[name] for name in both}
    unequal["items that the other file lacks"] = [name for name in (*ours, *theirs) if (name in ours) != (name in theirs)]
    what, which = next(((words, names) for words, names in unequal.items() if names), ("", []))
    if not which:
        return
    named = some(map(repr, which), 3)
    raise refuse(
        f"{_sided(first[0])} and {_sided(other[0])}",
        f"{what}: {len(which):,} ({named})",
        "the same items with the same references, clusters, weights and groups in every file",
        _remedy(evaluation, len(both), what),
        source=SOURCE,
    )


def _remedy(evaluation: Evaluation, common: int, what: str) -> str:
    """How files with unequal items are compared all the same."""
    if not evaluation.fields.id:
        return "Their lines are paired by number: pair them by a field of both files with --id."
    if not what.startswith("items"):
        return "Score one file alone."
    return (
        f"Add --common to compare the {common:,} items that every file has." if common else "They share no item: is --id the right field?"
    )


def _in_all(answers: Mapping[str, Answers]) -> dict[str, Answers]:
    """The answers to items that every file has."""
    kept = set[str].intersection(*({item.id for item in one.items} for one in answers.values()))
    return {name: one.only(kept) for name, one in answers.items()}


def _sided(file: AnswerFile) -> str:
    return f"{file.side} of {file.path}" if file.side else file.path


class Scorings:
    """Scores the files of an experiment."""

    def __init__(self, context: RunContext) -> None:
        self.context, self.evaluation = context, section(context.experiment)
        with context.stop.at_once():
            self.scores = pictures.prepared(_own_metrics(self.evaluation), self.evaluation.options)
            self.rated = rated.sides_of(self.evaluation, context.folder)
            self.answers = self.rated.answers if self.rated is not None else self._files()
            self.answers = _in_all(self.answers) if self.evaluation.common else self.answers
            self.judging = judged.judging_of(self.evaluation, context.folder, list(self.answers))
            if self.judging is not None:
                self.judging.read_gold(item.id for answers in self.answers.values() for item in answers.items)
            self.reading = self._reading()
            chosen = WHOLE if self.reading is None else self.reading.likely
            self.extractor = scoring.extractor(self.evaluation.extractor or chosen)
            self.homes = {file.name: _home(file, context.folder) for file in self.evaluation.answers}
            side, first = next(iter(self.answers.items()))  # whose references are those of all
            self.references = pictures.references(first.items, self.scores, self.homes.get(side, context.folder))
            identity = self._identity()
        self.unused: dict[str, dict[str, dict[str, float]]] = {}
        found = next((answers.grouping for answers in self.answers.values() if answers.grouping), None)
        tried = {"reading": {TASK: dict(self.reading.shares)}} if self.reading is not None and chosen != WHOLE else {}
        apart = next((answers.pooled for answers in self.answers.values() if answers.pooled), None)
        noted = {"grouping": {TASK: list(found)}} if found else {}
        noted |= {"pooled": {TASK: [apart[0], list(apart[1])]}} if apart else {}
        context.note_inputs(evaluation={"tasks": {TASK: identity}, **noted, **tried})

    def _reading(self) -> Reading | None:
        """How many of the reference side's answers each extractor reads; None where one was named, or the score compares no whole answers."""
        if self.evaluation.extractor or not self.scores or self.scores[0].metric.name != METRICS[0]:
            return None
        first = next(iter(self.answers.values()))
        return reading(first.texts, [item.references for item in first.items])

    def _files(self) -> dict[str, Answers]:
        return {file.name: answers for file, answers in _answers(self.evaluation, self.context.folder)}

    def absences(self) -> Mapping[str, str]:
        """Nothing is metered."""
        return {}

    def make(self, job: Job) -> Made:
        """Score one file; nothing is written before all of it is scored."""
        begin_utc, begin = self.context.begin_utc(), self.context.clock.now_ns()
        answers = self.answers[configuration_of(self.context.experiment, job.planned).target]
        how = {"status": "ok", "reason": ""}
        if self.judging is not None and not self.judging.found:
            self.context.show(waiting=f"judgements of {self.judging.judge.model}")
        try:
            if self.evaluation.fields.image:
                self._score_images(job, answers)
            else:
                with self.context.stop.at_once():
                    asked = bounded(self._items(answers), self.scores)
                    scored = all_scored(asked, self.scores)
                    self._judge(job.number)
                self._write(job, answers, asked, scored)
        except Interrupted:
            how = {"status": "aborted", "reason": f"stopped by {self.context.stop.reason}"}
        end = self.context.clock.now_ns()
        return Made(row=job.row(begin_ns=begin, end_ns=end, begin_utc=begin_utc, placement=json.dumps({"launcher": "none"}), **how))

    def _score_images(self, job: Job, answers: Answers) -> None:
        with Thumbnails() as thumbnails:
            with self.context.stop.at_once():
                gallery = pictures.Gallery(self.homes[self._side(answers)], self.scores, self.references, thumbnails)
                seen = gallery.judged(self._items(answers))
            thumbnails.write(self.context.record.path, job.number)
            seen.write(self.context.record.writer(job.number), job.number, TASK)
        self._write(job, answers, seen.asked, seen.scores)

    def _write(self, job: Job, answers: Answers, asked: Sequence[Asked], scored: Sequence[Scores]) -> None:
        self._note_unused(answers, asked, scored)
        writer = self.context.record.writer(job.number)
        write_answers(writer, job.number, TASK, asked)
        write_scores(writer, job.number, TASK, scored)
        for name, terms in answers.numbers.items():
            rows = zip(answers.items, answers.repetitions, terms, strict=True)
            write_recorded_scores(writer, job.number, TASK, name, [(item.id, at, found) for item, at, found in rows if found is not None])
        if self.rated is not None:
            self.rated.write(writer, job.number, TASK, self._side(answers))
        if self.judging is not None:
            self.context.note_environment(judge=self.judging.notes)
            self.judging.write(writer, job.number, (self._side(answers), 0))
        check_written(writer, self.context.record.path)

    def _side(self, answers: Answers) -> str:
        return next(name for name, one in self.answers.items() if one is answers)

    def _judge(self, launch: int) -> None:
        """Have the answers of all sides judged, once; the replies go into this launch."""
        if self.judging is None or self.judging.found:
            return
        texts: dict[judged.Pass, list[judged.Text]] = {(side, 0): _texts(answers) for side, answers in self.answers.items()}
        self.judging.ask(texts, self.context.record, dict.fromkeys(texts, launch))

    def _note_unused(self, answers: Answers, asked: Sequence[Asked], scored: Sequence[Scores]) -> None:
        """Keep which fields were not used, and what the file's own grades say beside ours."""
        if not answers.unused or not scored:
            return
        items, deciding = scored[0]
        ours = {(one.item.id, one.repetition): float(score) for one, score in zip(items, deciding.scores, strict=True) if score == score}
        own = [ours.get((one.item.id, one.repetition)) for one in asked]
        self.unused[self._side(answers)] = {field.name: against(field.grades, own) if field.grades else {} for field in answers.unused}
        self.context.note_environment(unused=self.unused)

    def _items(self, answers: Answers) -> list[Asked]:
        if not self.scores:
            return list(_given_items(answers, next(iter(answers.numbers), "")))
        found: Sequence[Extraction | None] = [None] * len(answers.texts)
        if not self.evaluation.fields.image:
            found = scoring.found(self.extractor, answers.texts, [item.choices for item in answers.items])
        return [
            Asked(
                item=item,
                repetition=repetition,
                outcome=scoring.outcome("missing" if text is None else "ok", extraction),
                text=text,
                extraction=extraction,
                finish_reason=end,
            )
            for item, repetition, text, extraction, end in zip(
                answers.items, answers.repetitions, answers.texts, found, answers.ends, strict=True
            )
        ]

    def _judged(self) -> dict[str, str]:
        return {} if self.judging is None else {JUDGED: self.judging.signature}

    def _given(self) -> dict[str, str]:
        given = self.evaluation.given
        return {} if given is None else {name: given.signature(name) for name in given.fields}

    def _asked(self) -> Sequence[Answers]:
        """The sides whose items are the task's: any of files that hold the same ones, all where people rated some."""
        every = list(self.answers.values())
        return every[:1] if self.rated is None else every

    def _read(self) -> dict[str, str]:
        """What an answer is, where it is no text."""
        if not self.scores:
            return {"method": ELSEWHERE}
        return {"method": "images"} if self.evaluation.fields.image else {"extractor": self.extractor.signature}

    def _identity(self) -> dict[str, Any]:
        """Everything that moves a score, and the digest of each file."""
        return {
            **({"judge": self.judging.facts} if self.judging is not None else {}),
            "metrics": {**self._judged(), **{score.metric.name: score.prepared.signature for score in self.scores}, **self._given()},
            **self._read(),
            **of_items(_once_each([item for answers in self._asked() for item in answers.items])),
            "cluster": self.evaluation.fields.cluster,
            **({"ratings": self.rated.signature} if self.rated is not None else {}),
            "files": {name: answers.sha256 for name, answers in self.answers.items()},
            **self.references.identity,
        }


def _given_items(answers: Answers, deciding: str) -> Iterator[Asked]:
    """The lines of a file without a score of ours: one without the deciding score is missing."""
    known = answers.numbers.get(deciding, answers.texts)  # without numbers, as beside a judge, a text is what counts
    columns = zip(answers.items, answers.repetitions, answers.texts, answers.ends, known, strict=True)
    for item, repetition, text, end, score in columns:
        outcome, seen = ("missing", None) if score is None else ("ok", Extraction(answer=text or "", rule="given"))
        yield Asked(item=item, repetition=repetition, outcome=outcome, text=text, extraction=seen, finish_reason=end)


def _texts(answers: Answers) -> list[judged.Text]:
    """The answers as a judge sees them."""
    return [
        judged.Text(task=TASK, item=item.id, repetition=repetition, prompt=item.prompt, references=item.references, text=text)
        for item, repetition, text in zip(answers.items, answers.repetitions, answers.texts, strict=True)
    ]


def _once_each(items: Sequence[Item]) -> list[Item]:
    """The items by id, without repetitions: the order of a file's lines moves no score."""
    first = {item.id: item for item in reversed(items)}
    return [first[name] for name in sorted(first)]


RUNNER = Runner(name="answers", check=check, maker=Scorings)
