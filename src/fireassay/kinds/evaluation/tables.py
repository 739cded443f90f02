"""Which tables and plots show an evaluation?"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from fireassay.reports.answering import TONES
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.page import Block, Blocks, Cell, Chart, Figure, Mark, Prose, Table, Words, heads, number
from fireassay.reports.pages.flips import table as of_flips
from fireassay.reports.rows.evaluation import DivergenceRow, EvaluationRows, HeldRow, ScoreRow
from fireassay.reports.view import View
from fireassay.reports.words import STATUS_WORDS

WORSE: Final = {"PASS": "worse within the margin", "INCONCLUSIVE": "worse"}
MOST_LABELS: Final = 20  # of a group in a plot
SAID: Final = {"PASS": "held", "FAIL": "degraded", "INCONCLUSIVE": "undecided"}


def of(view: View) -> EvaluationRows:
    """The rows of an evaluation."""
    assert view.evaluation is not None
    return view.evaluation


def scores(view: View) -> Blocks:
    """A row for each task and score, a column for each side."""
    return (_scores(view, "scores", of(view).scores, ("Task", "Score")),) if of(view).scores else ()


def groups(view: View) -> Blocks:
    """The same for each label of each group."""
    return (_scores(view, "groups", of(view).groups, ("Task", "Subgroup")),) if of(view).groups else ()


def _scores(view: View, name: str, rows: Sequence[ScoreRow], stub: tuple[str, str]) -> Table:
    named = [(row, Words(text=f"{row.group}: {row.label}" if row.group else row.title)) for row in rows]
    return Table(
        name=name,
        heads=heads(*stub, "Items", *(column.label for column in view.columns)),
        rows=tuple(
            (Words(text=row.task), second, row.items, *(number(row.values[column.key], bare=True) for column in view.columns))
            for row, second in named
        ),
        stub=2,
        opens=True,
    )


def score_plots(view: View) -> Iterator[Chart]:
    """The deciding score of each task at each side, with its chance level."""
    first = {row.task: row for row in reversed(of(view).scores)}
    for task, row in sorted(first.items()):
        yield from _plot(view, f"score-{task}", row.title if len(first) == 1 else f"{task}: {row.title}", task, [row], "side")


def group_plots(view: View) -> Iterator[Chart]:
    """The same for the labels of each group."""
    kinds = dict.fromkeys((row.task, row.group) for row in of(view).groups)
    for task, group in kinds:
        rows = [row for row in of(view).groups if (row.task, row.group) == (task, group)]
        if 1 < len(rows) <= MOST_LABELS:
            title = f"{rows[0].title} by {group}" if len({task for task, _ in kinds}) == 1 else f"{task}: {rows[0].title} by {group}"
            yield from _plot(view, f"group-{task}-{group}", title, task, rows, group)


def _plot(view: View, name: str, title: str, task: str, rows: Sequence[ScoreRow], stub: str) -> Iterator[Chart]:
    """Intervals of rows by sides; one without a number is left out."""
    shown = tuple(
        Interval(name=_interval_name(row, column.label, len(view.columns)), number=number(value, bare=True))
        for row in rows
        for column in view.columns
        if isinstance(value := row.values[column.key], Estimate)
    )
    chance = of(view).chances.get(task)
    edges = () if chance is None else (Edge(value=chance, text="chance"),)
    if len(shown) > 1 or (shown and edges):
        yield intervals(name=name, title=title, rows=shown, stub=stub, edges=edges)


def _interval_name(row: ScoreRow, side: str, sides: int) -> str:
    return side if not row.label else row.label if sides == 1 else f"{row.label}, {side}"


def forest(view: View) -> Iterator[Block]:
    """The change of each task beside the margin, then the decisions in numbers."""
    rows = of(view)
    shown = [row for row in rows.held if isinstance(row.change, Estimate)]
    if shown and rows.margin is not None:
        several = len({row.task for row in shown}) > 1
        yield intervals(
            name="change",
            title=f"change of {'the deciding score' if len({row.metric for row in shown}) > 1 else shown[0].metric}",
            rows=tuple(
                Interval(name=f"{row.column}, {row.task}" if several else row.column, number=number(row.change, bare=True), mark=mark(row))
                for row in shown
            ),
            stub="against the reference",
            edges=(Edge(value=-rows.margin, text="margin"), Edge(value=0.0, text="no change")),
        )
    if rows.held:
        yield _held(rows.held)


def _held(rows: Sequence[HeldRow]) -> Table:
    """The decisions, and in notes what their rule would have seen and how much changes by itself."""
    several = len(rows) > 1
    return Table(
        name="held",
        heads=heads("Side", "Task", "Decision", "Change", "Items", "Worse", "Better"),
        rows=tuple(
            (Words(text=r.column), Words(text=r.task), mark(r), number(r.change, bare=True), r.items, r.worse, r.better) for r in rows
        ),
        stub=2,
        opens=True,
        notes=tuple(f"{f'{row.column}, {row.task}: ' if several else ''}{note}" for row in rows for note in _notes(row)),
    )


def _notes(row: HeldRow) -> Iterator[str]:
    if row.control:
        yield f"Negative control: {row.control}."
    if isinstance(row.flips, Estimate) and isinstance(row.itself, Estimate):  # the noise floor
        yield (
            f"Answers that score otherwise than the reference's to the same item: {show(row.flips).full}; the reference's own when asked again: "
            f"{show(row.itself).full} (one-sided bounds)."
        )


def mark(row: HeldRow) -> Mark:
    """Held, degraded or undecided; and worse, if that is shown without a loss of the margin."""
    word = SAID.get(row.status, STATUS_WORDS[row.status])
    return Mark(word=f"{word}, {WORSE[row.status]}" if row.worse_within else word, tone=TONES[row.status], why=row.sentence)


def flips(view: View) -> Blocks:
    """The items that changed, side by side."""
    if found := of(view).flips:
        return (of_flips(found),)
    return (Prose(text="No item scores otherwise than at the reference."),) if len(view.columns) > 1 else ()


def outcomes(view: View) -> Blocks:
    """How the items ended: failures and NO_ANSWER beside the answered ones."""
    rows = of(view).outcomes
    table = Table(
        name="outcomes",
        heads=heads("Side", "Task", "Outcome", "Items"),
        rows=tuple((Words(text=row.column), Words(text=row.task), Words(text=row.outcome), row.items) for row in rows),
        stub=2,
    )
    return (table,) if rows else ()


def divergence(view: View) -> Blocks:
    """How far each engine is from the reference, token by token, and what that looks like."""
    rows = of(view).divergence
    if not rows:
        return ()
    bound = ("KLs are lower bounds: engines report their most probable tokens only.",) if any(row.bound for row in rows) else ()
    table = Table(
        name="divergence",
        heads=heads("Side", "Finding", "Tokens", "KL, mean", "KL, p99.9", "p99.9 / median", "Same top token", "Change of log loss"),
        rows=tuple(_diverging(row) for row in rows),
        stub=1,
        notes=("Every side scored the same texts, the reference's; nats per token.", *bound),
    )
    return (table,)


def _diverging(row: DivergenceRow) -> tuple[Cell, ...]:
    figures = (row.mean, row.p999, row.local, row.agreement, row.nll_change)
    shown = (
        Words(text="-") if math.isnan(value) else Words(text="∞") if math.isinf(value) else Figure(value=value, text=f"{value:.3g}")
        for value in figures
    )
    return (Words(text=row.column), Mark(word=row.words, tone=TONES[row.status], why=row.words), row.tokens, *shown)
