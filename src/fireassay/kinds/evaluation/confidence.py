"""How does a page say whether a model is as sure as it is right?  A sentence for each side, a row of numbers, and the bins as a chart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.kinds.evaluation.tables import of
from fireassay.reports.charts.evaluation import reliability, sure
from fireassay.reports.page import Blocks, Cell, Prose, Section, Table, Words, heads, number
from fireassay.reports.pages import questions
from fireassay.reports.rows.evaluation import CalibrationBin
from fireassay.reports.view import View

NOTHING: Final = "Not measured: no task was answered by log probabilities of choices, so no confidence is known."
MOST_TOLD: Final = 2  # sides in the answer to the question; more are a list


def sections(view: View) -> Iterator[Section]:
    """For text formats: a row for each side, and the bins for those that are read at length."""
    measured = bool(of(view).calibration)
    yield Section(key="calibration", title="Calibration", content=lambda: table(view) if measured else (Prose(text=NOTHING),))
    if measured:
        yield Section(key="bins", title="Calibration by confidence", content=lambda: bins(view), depth="detail")


def question(view: View) -> Section:
    """For an HTML page."""
    rows = of(view).calibration
    reply = f"{'; '.join(row.sentence for row in rows)}." if rows else NOTHING
    told = reply if len(rows) <= MOST_TOLD else ""
    return questions.section(
        "calibration",
        "Calibration",
        "Is a model as sure as it is right?",
        lambda: (*(reliability(view) if rows else ()), *table(view, said=bool(told))),
        told,
    )


def table(view: View, *, said: bool = False) -> Blocks:
    """Over all items of each side; `said`: its sentences stand above it."""
    rows = of(view).calibration
    told = tuple((Words(text=row.column), *_cells(row.whole), number(row.error, bare=True)) for row in rows)
    head = heads("Side", "Items", "Mean confidence", "Right", "Calibration error")
    sentences = () if said else tuple(f"{row.sentence}." for row in rows)
    return (Table(name="calibration", heads=head, rows=told, notes=sentences, opens=True),) if rows else ()


def bins(view: View) -> Blocks:
    """A row for each bin of each side."""
    told = tuple((Words(text=row.column), *_cells(one)) for row in of(view).calibration for one in row.bins)
    return (Table(name="bins", heads=heads("Side", "Items", "Mean confidence", "Right"), rows=told),) if told else ()


def _cells(one: CalibrationBin | None) -> tuple[Cell, ...]:
    return (None, None, None) if one is None else (one.items, sure(one), number(one.right, bare=True))
