"""What is the answer of an evaluation, on one screen?  Held or not, and every score with its interval."""

from __future__ import annotations

import math
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, given, show
from fireassay.kinds.evaluation import tables
from fireassay.kinds.evaluation.metrics import NO_ANSWER
from fireassay.kinds.evaluation.tables import SAID, WORSE, of
from fireassay.metrics.cost import COST
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.reports import answering
from fireassay.reports.charts.model import Interval, intervals
from fireassay.reports.page import Answer, Chart, Head, Line, Next, Section, Table, Words
from fireassay.reports.view import HeldRow, View

BESIDE: Final = (NO_ANSWER.name, OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name, COST.name)  # of the same requests
MOST: Final = 3  # scores beside them in a narrow table
MOST_NAMED: Final = 2  # other sides with the same decision


def answer(view: View) -> Answer:
    """Status, the decision, the shares without an answer."""
    lines = () if view.status == "INVALID" else (*(line for line in (_reliability(view),) if line is not None), answering.doubts(view))
    worst = _deciding(view)
    return Answer(
        mark=answering.mark(view.status),
        headline=_headline(view),
        tiles=answering.tiles(view, worst.column if worst is not None else ""),
        lines=lines,
        next=_next(view),
        record=answering.record_line(view, "over items"),
    )


def _headline(view: View) -> str:
    """The decision with its number; without a margin the scores."""
    worst = _deciding(view)
    if worst is None or worst.status != view.status or not isinstance(worst.change, Estimate):  # something else decides
        return answering.told(view)
    several = f" in {worst.task}" if len({row.task for row in of(view).held}) > 1 else ""
    told = f"{worst.metric} {signed(worst.change)}, margin {given(of(view).margin or 0.0)}"
    why = f"; {worst.why}" if worst.why else ""
    worse = f" ({WORSE[worst.status]})" if worst.worse_within else ""
    too = _too(view, worst)
    return f"{worst.column}: quality {SAID.get(worst.status, 'undecided')}{worse}{several}: {told} over {count(worst.items, 'items')}{why}{too}"


def _too(view: View, worst: HeldRow) -> str:
    """The other sides with the same decision."""
    others = dict.fromkeys(row.column for row in of(view).held if row.status == worst.status and row.column != worst.column)
    return f"; {', '.join(others) if len(others) <= MOST_NAMED else count(len(others), 'other sides')} too" if others else ""


def signed(change: Estimate) -> str:
    """A change with its sign and its one-sided bounds."""
    text = show(change).full
    return f"+{text}" if change.value > 0.0 else text


def _deciding(view: View) -> HeldRow | None:
    """The decision that decides the record: of several the one with the lowest bound."""
    rows = of(view).held
    return min([row for row in rows if row.status == view.status] or rows[:1], key=_low, default=None)


def _low(row: HeldRow) -> float:
    return row.change.low if isinstance(row.change, Estimate) else math.inf


def _next(view: View) -> tuple[Next, ...]:
    """INVALID or FAIL: what the finding asks for.  Undecided: how many items would decide.  Else the items that changed."""
    if view.status in ("INVALID", "FAIL") and (remedies := answering.remedies(view, ("invalid", "fail"))):
        return remedies
    worst, record = _deciding(view), answering.short(view)
    if worst is not None and worst.status == "INCONCLUSIVE" and worst.needed:
        return (
            Next(reason=f"evaluate about {count(worst.needed, 'items')} instead of {worst.items:,}: so many decide if nothing changed"),
        )
    if worst is not None and (worst.worse or worst.better) and not worst.why:
        flips = f"{worst.worse:,} worse and {worst.better:,} better of {count(worst.items, 'items')}"
        return (Next(reason=f"look at the items that changed, {flips}", command=f"assay report {record} --html"),)
    return answering.remedies(view, ("invalid", "fail", "warning"))


def _reliability(view: View) -> Line | None:
    return answering.dimension_line(view, "reliability")


def brief(view: View) -> tuple[Section, ...]:
    """A row for each side: its scores, and the shares of items that have none."""
    if view.status == "INVALID":
        return ()
    scores = [row.name for row in view.metrics if row.dimension == "correctness" and row.primary]
    names = [*scores[:MOST], *(name for name in BESIDE if _measured(view, name))]
    if OUTPUT_THROUGHPUT.name in names:
        names = [name for name in names if name != REQUEST_THROUGHPUT.name]  # requests count where no token is generated
    rows = tuple((Words(text=column.label), *(answering.cell(view, name, column.key) for name in names)) for column in view.columns)
    titles = {row.name: row.title for row in view.metrics}
    heads = (Head(text="answers"), *(Head(text=titles[name]) for name in names))
    table = Table(name="scores", heads=heads, rows=rows, inline=True)
    return (Section(key="brief-scores", title="", role="answer", content=(table, *_plot(view))),)


def _measured(view: View, name: str) -> bool:
    """Whether any side has a number."""
    return any(isinstance(view.value(name, column.key), Estimate) for column in view.columns)


def _plot(view: View) -> tuple[Chart, ...]:
    """The change of each task beside the margin; without one the deciding score of each side."""
    if changes := tuple(block for block in tables.forest(view) if isinstance(block, Chart)):
        return changes
    scores = [row for row in view.metrics if row.dimension == "correctness" and row.primary]
    if not scores or len(view.columns) < 2:
        return ()
    row = scores[0]
    cells = [(column, answering.cell(view, row.name, column.key)) for column in view.columns]
    rows = tuple(Interval(name=column.label, number=cell) for column, cell in cells if cell is not None)
    return (intervals(name="score", title=row.title, rows=rows, stub="answers"),) if rows else ()
