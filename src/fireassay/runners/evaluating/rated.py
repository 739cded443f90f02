"""How do ratings of people become a record?  As answers with scores, and beside them who said what: the tables `ratings` and `preferences`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from fireassay.errors import refuse
from fireassay.quality.rows import AT_ONCE, batch_of
from fireassay.quality.tasks.answer_file import Answers
from fireassay.quality.tasks.ratings_file import Choice, Judged, RatingsFile, read
from fireassay.quality.tasks.support.files import called
from fireassay.record.batch_writer import BatchWriter
from fireassay.spec.sections.evaluation import Evaluation
from fireassay.spec.sections.ratings import AUTOMATIC

Columns = dict[str, list[Any]]


@dataclass(frozen=True, kw_only=True)
class RatedSides:
    """The sides of an experiment in a file of ratings."""

    file: RatingsFile
    signature: str  # form, scale and what else moves a rating

    @property
    def answers(self) -> dict[str, Answers]:
        """The ratings of each side, as answers; where nothing was said there is none: nobody is asked twice as a model is."""
        return {name: _given(judged.answers) for name, judged in self.file.sides.items()}

    def write(self, writer: BatchWriter, launch: int, task: str, side: str) -> None:
        """The ratings of one side, its automatic scores, and the choices in which it was shown first."""
        judged = self.file.sides[side]
        _append(writer, "ratings", _ratings(launch, task, judged))
        for name, values in judged.automatic.items():
            _append(writer, "scores", _automatic(launch, task, judged, name, values))
        _append(writer, "preferences", _preferences(launch, task, [one for one in self.file.choices if one.first == side], self._shown))

    @property
    def _shown(self) -> int:
        return int("unordered" not in self.signature)


def sides_of(evaluation: Evaluation, folder: Path) -> RatedSides | None:
    """The sides that the experiment names; None if it scores no ratings.

    Raises:
        SpecError: the file cannot be read, or has not the sides that the experiment names.
    """
    ratings = evaluation.ratings
    if ratings is None:
        return None
    path = evaluation.answers[0].path
    with called("the ratings"):
        file = read(folder / Path(path).expanduser(), evaluation)
    names = [answers.name for answers in evaluation.answers]
    if unknown := [name for name in names if name not in file.sides]:
        allowed = f"the sides of the file: {', '.join(file.sides)}"
        raise refuse(
            "evaluation.answers", f"the side {unknown[0]}", allowed, "Name each of them as answers with the same path.", source=path
        )
    low, high = ratings.scale
    parts = [ratings.form, *([f"scale:{low:g},{high:g}"] if ratings.form != "pairs" else [] if ratings.ordered else ["unordered"])]
    return RatedSides(file=file, signature="|".join(parts))


def _given(answers: Answers) -> Answers:
    at = [index for index, text in enumerate(answers.texts) if text is not None]
    return replace(
        answers,
        items=tuple(answers.items[index] for index in at),
        texts=tuple(answers.texts[index] for index in at),
        repetitions=tuple(answers.repetitions[index] for index in at),
        ends=(None,) * len(at),
    )


def _append(writer: BatchWriter, table: str, columns: Columns) -> None:
    rows = len(columns["item"])
    for begin in range(0, rows, AT_ONCE):
        writer.append_batch(table, batch_of(table, {name: values[begin : begin + AT_ONCE] for name, values in columns.items()}))


def _by_person(count: int) -> Columns:
    return {"kind": ["person"] * count, "gold": [1] * count, "usd": [None] * count}


def _keys(launch: int, task: str, answers: Answers) -> Columns:
    count = len(answers.items)
    return {
        "launch": [launch] * count,
        "task": [task] * count,
        "item": [item.id for item in answers.items],
        "repetition": list(answers.repetitions),
    }


def _ratings(launch: int, task: str, judged: Judged) -> Columns:
    texts = judged.answers.texts
    return {
        **_keys(launch, task, judged.answers),
        **_by_person(len(texts)),
        "rater": list(judged.raters),
        "outcome": ["NO_ANSWER" if text is None else "ok" for text in texts],
        "position": list(judged.positions),
        "seconds": list(judged.seconds),
        "rating": [None if text is None else float(text) for text in texts],
        "against": list(judged.against),
    }


def _automatic(launch: int, task: str, judged: Judged, name: str, values: tuple[float | None, ...]) -> Columns:
    return {
        **_keys(launch, task, judged.answers),
        "metric": [f"{AUTOMATIC}{name}"] * len(values),
        "score": list(values),
        "statistics": [[np.nan if value is None else value] for value in values],
    }


def _preferences(launch: int, task: str, choices: list[Choice], shown: int) -> Columns:
    repetitions = list(_repetitions(choices))
    return {
        **_by_person(len(choices)),
        "launch": [launch] * len(choices),
        "task": [task] * len(choices),
        "item": [one.item for one in choices],
        "repetition": repetitions,
        "rater": [one.rater for one in choices],
        "outcome": ["NO_ANSWER" if one.outcome is None else "ok" for one in choices],
        "position": [one.position for one in choices],
        "seconds": [one.seconds for one in choices],
        "first": [one.first for one in choices],
        "second": [one.second for one in choices],
        "shown": [shown] * len(choices),
        "choice": [one.outcome for one in choices],
    }


def _repetitions(choices: list[Choice]) -> Iterator[int]:
    counts: dict[str, int] = {}
    for one in choices:
        counts[one.item] = counts.get(one.item, -1) + 1
        yield counts[one.item]
