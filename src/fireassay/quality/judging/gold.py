"""What do people say of some of the items that a judge judged?

A file of ratings (`fireassay.quality.tasks.ratings_file`), as `assay rate` keeps it: for a scale rows of item, side, rating; for pairs rows of item,
first, second, choice; a column rater may be missing.  The label of an item at a side is the mean over those who labelled it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fireassay.errors import refuse
from fireassay.printable import some
from fireassay.quality.judging.rubric import Rubric
from fireassay.quality.tasks import ratings_file
from fireassay.quality.tasks.support import files
from fireassay.spec.sections.evaluation import Evaluation, Fields
from fireassay.spec.sections.ratings import Ratings

WHERE: Final = "evaluation.judge.gold"
SOURCE: Final = "the labels of people"
ALONE: Final = "person"  # the rater where the file names none


@dataclass(frozen=True, kw_only=True)
class Label:
    """One label: a rating, or of a pair 1 won, 0.5 tie, 0 lost."""

    item: str
    side: str
    against: str | None  # the other side of a pair
    rater: str
    value: float
    seconds: float | None


def read(path: Path, rubric: Rubric, sides: Sequence[str], items: frozenset[str]) -> tuple[tuple[Label, ...], int]:
    """The labels of these items and sides, of pairs those against the first side, and how many of other items or sides there are.

    Raises:
        SpecError: the file cannot be read, or none of its labels is of an item that was judged.
    """
    ratings = Ratings(form="pairs") if rubric.form == "pairs" else Ratings(form="long", scale=rubric.scale)
    with files.called(SOURCE):
        file = ratings_file.read(path, Evaluation(ratings=ratings, fields=Fields()), alone=ALONE)
    labels = [
        Label(item=item.id, side=side, against=against, rater=who, value=float(text), seconds=seconds)
        for side, judged in file.sides.items()
        for item, text, who, against, seconds in zip(
            judged.answers.items, judged.answers.texts, judged.raters, judged.against, judged.seconds, strict=True
        )
        if text is not None
    ]
    known = [one for one in labels if one.item in items and one.side in sides and one.against in (None, *sides)]
    kept = tuple(one for one in known if one.against in (None, sides[0]) and _meets(one, sides))
    if not kept:
        there = some([repr(name) for name in dict.fromkeys(one.item for one in labels)], 3)
        found = f"labels of the items {there or 'none'} and the sides {some(list(file.sides), 5)}"
        allowed = f"labels of items that are judged, as {some([repr(one) for one in sorted(items)], 3)}, and of the sides {some(sides, 5)}"
        raise refuse(WHERE, found, allowed, "Is --id the field that names the items?", source=path.name)
    return kept, (len(labels) - len(known)) // (2 if rubric.form == "pairs" else 1)


def _meets(label: Label, sides: Sequence[str]) -> bool:
    """Of a pair: the label of the other side, whose own half says the same."""
    return label.against is None or label.side != sides[0]
