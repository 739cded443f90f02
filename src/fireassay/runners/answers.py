"""How are answers scored that exist already?  A launch reads one file, extracts each answer, and writes every score with its statistics.

Nothing is sent and nothing is timed: the record holds the texts, the scores, the digest of each file, and the signature of
everything that moves a score.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fireassay.errors import Interrupted, refuse
from fireassay.instruments import encoder
from fireassay.printable import some
from fireassay.quality.rows import Asked, Scores, all_scored, bounded, write_answers, write_scores
from fireassay.quality.scoring import scoring
from fireassay.quality.scoring.items import Item
from fireassay.quality.scoring.reading import WHOLE, Reading, reading
from fireassay.quality.tasks.answer_file import Answers, read
from fireassay.quality.tasks.support.unused import against
from fireassay.record.folder import check_written
from fireassay.runners.evaluating import likelihood
from fireassay.runners.evaluating.likelihood import fitting
from fireassay.runners.evaluating.likelihood import item_digests as of_items
from fireassay.runners.experiment.context import Job, Made, RunContext, Runner
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import configuration_of
from fireassay.spec.sections.evaluation import AnswerFile, Evaluation

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
    fitting(evaluation.metrics or METRICS, "generation", "files of answers")
    scores = scoring.prepared(evaluation.metrics or METRICS, evaluation.options, encoder.load)
    likelihood.check_margin(experiment, scores[0].metric)
    first, *others = [(file, _answers(file, evaluation, folder)) for file in evaluation.answers]
    for file, answers in others:
        _same_items(first, (file, answers), evaluation)


def _answers(file: AnswerFile, evaluation: Evaluation, folder: Path) -> Answers:
    return read(folder / Path(file.path).expanduser(), evaluation.fields)


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
        f"{first[0].path} and {other[0].path}",
        f"{what}: {len(which):,} ({named})",
        "the same items with the same references, clusters, weights and groups in every file",
        _remedy(evaluation, len(both), what),
        source="the answers",
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


class Scorings:
    """Scores the files of an experiment."""

    def __init__(self, context: RunContext) -> None:
        self.context, self.evaluation = context, section(context.experiment)
        with context.stop.at_once():
            self.scores = scoring.prepared(self.evaluation.metrics or METRICS, self.evaluation.options, encoder.load)
            self.answers = {file.name: _answers(file, self.evaluation, context.folder) for file in self.evaluation.answers}
            self.answers = _in_all(self.answers) if self.evaluation.common else self.answers
            self.reading = self._reading()
            chosen = WHOLE if self.reading is None else self.reading.likely
            self.extractor = scoring.extractor(self.evaluation.extractor or chosen)
            identity = self._identity()
        self.unused: dict[str, dict[str, dict[str, float]]] = {}
        found = next((answers.grouping for answers in self.answers.values() if answers.grouping), None)
        tried = {"reading": {TASK: dict(self.reading.shares)}} if self.reading is not None and chosen != WHOLE else {}
        context.note_inputs(evaluation={"tasks": {TASK: identity}, **({"grouping": {TASK: list(found)}} if found else {}), **tried})

    def _reading(self) -> Reading | None:
        """How many of the reference side's answers each extractor reads; None where one was named, or the score compares no whole answers."""
        if self.evaluation.extractor or self.scores[0].metric.name != METRICS[0]:
            return None
        first = next(iter(self.answers.values()))
        return reading(first.texts, [item.references for item in first.items])

    def absences(self) -> Mapping[str, str]:
        """Nothing is metered."""
        return {}

    def make(self, job: Job) -> Made:
        """Score one file; nothing is written before all of it is scored."""
        begin_utc, begin = self.context.begin_utc(), self.context.clock.now_ns()
        answers = self.answers[configuration_of(self.context.experiment, job.planned).target]
        how = {"status": "ok", "reason": ""}
        try:
            with self.context.stop.at_once():
                asked = bounded(self._items(answers), self.scores)
                scored = all_scored(asked, self.scores)
        except Interrupted:
            how = {"status": "aborted", "reason": f"stopped by {self.context.stop.reason}"}
        else:
            self._note_unused(answers, asked, scored)
            writer = self.context.record.writer(job.number)
            write_answers(writer, job.number, TASK, asked)
            write_scores(writer, job.number, TASK, scored)
            check_written(writer, self.context.record.path)
        end = self.context.clock.now_ns()
        return Made(row=job.row(begin_ns=begin, end_ns=end, begin_utc=begin_utc, placement=json.dumps({"launcher": "none"}), **how))

    def _note_unused(self, answers: Answers, asked: Sequence[Asked], scored: Sequence[Scores]) -> None:
        """Keep which fields were not used, and what the file's own grades say beside ours."""
        if not answers.unused:
            return
        items, deciding = scored[0]
        ours = {(one.item.id, one.repetition): float(score) for one, score in zip(items, deciding.scores, strict=True) if score == score}
        own = [ours.get((one.item.id, one.repetition)) for one in asked]
        side = next(name for name, one in self.answers.items() if one is answers)
        self.unused[side] = {field.name: against(field.grades, own) if field.grades else {} for field in answers.unused}
        self.context.note_environment(unused=self.unused)

    def _items(self, answers: Answers) -> list[Asked]:
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

    def _identity(self) -> dict[str, Any]:
        """Everything that moves a score, and the digest of each file."""
        return {
            "metrics": {score.metric.name: score.prepared.signature for score in self.scores},
            "extractor": self.extractor.signature,
            **of_items(_once_each(next(iter(self.answers.values())).items)),
            "cluster": self.evaluation.fields.cluster,
            "files": {name: answers.sha256 for name, answers in self.answers.items()},
        }


def _once_each(items: Sequence[Item]) -> list[Item]:
    """The items by id, without repetitions: the order of a file's lines moves no score."""
    first = {item.id: item for item in reversed(items)}
    return [first[name] for name in sorted(first)]


RUNNER = Runner(name="answers", check=check, maker=Scorings)
