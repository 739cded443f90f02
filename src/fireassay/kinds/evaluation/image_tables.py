"""Which images does a page show: those that lost most, and those among which the best was chosen?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, zip_longest
from typing import Final, TypeVar

from fireassay.estimates.format import count
from fireassay.frames.evaluation import images
from fireassay.frames.evaluation.images import Answered, Candidates, ItemImage
from fireassay.frames.evaluation.steps import chooses, compares_budgets
from fireassay.frames.record_data import RecordData
from fireassay.reports.evaluation_view import EvaluationRows
from fireassay.reports.image_cell import CHOSEN, change_text, one, score_text, score_words, shot
from fireassay.reports.page import Blocks, Cell, Figure, Images, Section, Table, Words, heads
from fireassay.reports.pages import questions
from fireassay.reports.pages.comparison_view import MAX_IN_TEXT
from fireassay.reports.view import View
from fireassay.reports.words import cut

MAX_TILES: Final = 48  # of a contact sheet
MAX_ITEMS: Final = 24  # with candidates
MAX_CANDIDATES: Final = 12  # of an item
MAX_PROMPT: Final = 200  # characters
WORST: Final = "Which images are the worst?"
CHOICE: Final = "Which candidate was chosen?"
T = TypeVar("T")


def worst_images(measured: RecordData, labels: Mapping[str, str]) -> tuple[Answered, ...]:
    """Of every side but the reference in turn, the largest loss first; none where one of several was chosen."""
    if not images.have_images(measured) or chooses(measured) or compares_budgets(measured):
        return ()
    names = [name for name in measured.configurations if name != measured.base] or list(measured.configurations)
    return tuple(_in_turn([images.worst(measured, name, labels[name], MAX_TILES) for name in names])[:MAX_TILES])


def candidate_images(measured: RecordData, labels: Mapping[str, str]) -> tuple[Candidates, ...]:
    """Of every side in turn, the items whose chosen image scores worst."""
    if not chooses(measured):
        return ()
    sides = [list(images.candidates(measured, name, labels[name], MAX_ITEMS)) for name in measured.configurations]
    return tuple(_in_turn(sides)[:MAX_ITEMS])


def _in_turn(sides: Sequence[Sequence[T]]) -> list[T]:
    """Those of several sides, so that any first part of them has its share of each."""
    return [one for one in chain.from_iterable(zip_longest(*sides)) if one is not None]


# ---- shown -----------------------------------------------------------------------------------------------------------


def question_sections(view: View) -> Iterator[Section]:
    """The contact sheets of an HTML page."""
    if _of(view).worst:
        yield questions.section("worst", "Worst", WORST, lambda: worst(view))
    if _of(view).candidates:
        yield questions.section("candidates", "Candidates", CHOICE, lambda: candidates(view))


def _of(view: View) -> EvaluationRows:
    assert view.evaluation is not None
    return view.evaluation


def worst(view: View) -> Blocks:
    """A tile for each image."""
    rows = _of(view).worst
    if not rows:
        return ()
    tasks, sides = len({row.task for row in rows}) > 1, len({row.side for row in rows}) > 1
    compared, asked = any(row.change is not None for row in rows), any(row.prompt for row in rows)
    names = (*(("Side",) if sides else ()), "Image", _title(rows), *(("Change",) if compared else ()), *(("Asked",) if asked else ()))
    by = "By what they lost against the reference, then by score" if compared else "By score"
    note = f"{by}, of the items that have one; of several answers to an item the image is the first, the score their mean."
    body: tuple[tuple[Cell, ...], ...] = tuple(
        (
            _item(row.task, row.item, tasks),
            *((Words(text=row.side),) if sides else ()),
            one(row.image, *score_words(row.image.scores[1:])),
            Figure(value=row.score, text=score_text(row.score)),
            *((_change(row),) if compared else ()),
            *((Words(text=cut(row.prompt, MAX_PROMPT)),) if asked else ()),
        )
        for row in rows
    )
    return (Table(name="worst", heads=heads("Item", *names), rows=body, notes=(note,), sheet=True, most=MAX_IN_TEXT),)


def _title(rows: Sequence[Answered]) -> str:
    """The deciding score's, if all tasks have one."""
    titles = {title for row in rows for title, _ in row.image.scores[:1]}
    return titles.pop() if len(titles) == 1 else "Score"


def _change(row: Answered) -> Cell:
    return None if row.change is None else Figure(value=row.change, text=change_text(row.change))


def _item(task: str, item: str, tasks: bool) -> Words:
    return Words(text=cut(f"{task} {item}" if tasks else item))


def candidates(view: View) -> Blocks:
    """A row for each item: its candidates, the chosen one first."""
    rows = _of(view).candidates
    if not rows:
        return ()
    tasks, sides = len({row.task for row in rows}) > 1, len({row.side for row in rows}) > 1
    asked = any(row.prompt for row in rows)
    names = (*(("Side",) if sides else ()), "Candidates, best first", "Chosen", "Mean", *(("Asked",) if asked else ()))
    body: tuple[tuple[Cell, ...], ...] = tuple(
        (
            _item(row.task, row.item, tasks),
            *((Words(text=row.side),) if sides else ()),
            _strip(row.images),
            *(Figure(value=value, text=score_text(value)) for value in (row.best, row.mean)),
            *((Words(text=cut(row.prompt, MAX_PROMPT)),) if asked else ()),
        )
        for row in rows
    )
    note = f"The {count(len(rows), 'items')} whose chosen image scores worst; the score chooses, and Mean is that of a random candidate."
    return (Table(name="candidates", heads=heads("Item", *names), rows=body, notes=(note,), sheet=True, most=MAX_IN_TEXT),)


def _strip(made: Sequence[ItemImage]) -> Images:
    """The candidates, of equally good ones the first chosen; those without a score are last."""
    shown = [
        shot(image, *(score_text(value) for _, value in image.scores), mark=CHOSEN if place == 0 and image.scores else None)
        for place, image in enumerate(made[:MAX_CANDIDATES])
    ]
    return Images(shots=tuple(shown), left=max(0, len(made) - MAX_CANDIDATES))
