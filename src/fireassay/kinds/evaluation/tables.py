"""Which tables, plots and sheets show an evaluation?

Scores, decisions, calibration, the items that changed, outcomes; the workbook has a row for every answer with its texts and scores.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, show
from fireassay.kinds.evaluation import step_tables
from fireassay.kinds.evaluation.gates import POINTS
from fireassay.kinds.evaluation.groups import family
from fireassay.reports import answering
from fireassay.reports.answering import TONES
from fireassay.reports.cell import Number, ends
from fireassay.reports.charts.evaluation import reliability, sure
from fireassay.reports.charts.model import Edge, Interval, intervals
from fireassay.reports.evaluation_view import CalibrationBin, DivergenceRow, EvaluationRows, HeldRow, ScoreRow
from fireassay.reports.page import Block, Blocks, Cell, Chart, Figure, Mark, Prose, Raw, Section, Table, Words, heads, number
from fireassay.reports.pages import questions
from fireassay.reports.pages.comparison_view import flips_table as of_flips
from fireassay.reports.pages.record_sheets import sheet
from fireassay.reports.view import View
from fireassay.reports.words import STATUS_WORDS
from fireassay.verdict.evidence.step_curve import ChoiceRow
from fireassay.verdict.types import HOLDS

WORSE: Final = {"PASS": "worse within the margin", "INCONCLUSIVE": "worse"}
MAX_LABELS: Final = 20  # of a group in a plot
SAID: Final = {"PASS": "held", "FAIL": "degraded", "INCONCLUSIVE": "undecided", "MEASURED": "no margin given"}
NO_CONFIDENCE: Final = "Not measured: no task was answered by log probabilities of choices, so no confidence is known."
MAX_TOLD: Final = 2  # sides in the answer to the question; more are a list
MAX_STEPS: Final = 12  # of a scale whose ratings are counted one by one
MAX_ROWS: Final = 100_000  # of the sheet of items; the record has all


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


def group_decisions(view: View) -> Blocks:
    """The change of each subgroup at each other side, and how many were looked at."""
    every = [(row, decision) for row in of(view).groups for decision in row.held]
    if not every:
        return ()
    points, asked = all(decision.share for _, decision in every), of(view).margin is not None
    body = tuple(_group_cells(view, row, decision, asked=asked, points=points) for row, decision in every)
    change = "Change, points" if points else "Change"
    head = heads("Side", "Subgroup", *(("Decision",) if asked else ()), change, "Items", "Worse", "Better")
    note = f"{family(of(view).groups)}. They decide nothing: the verdict is that over all items."
    return (Table(name="group-held", heads=head, rows=body, stub=2, opens=True, notes=(f"{note[:1].upper()}{note[1:]}",)),)


def _group_cells(view: View, row: ScoreRow, decision: HeldRow, *, asked: bool, points: bool) -> tuple[Cell, ...]:
    said: tuple[Cell, ...] = (mark(view, decision),) if asked else ()
    named: tuple[Cell, ...] = (Words(text=decision.column), Words(text=f"{row.group}: {row.label}"))
    return (*named, *said, _change(decision, points), decision.items, decision.worse, decision.better)


def choices(view: View) -> Blocks:
    """What another score says of the best of k, a row for each k."""
    rows = of(view).choices
    if not rows:
        return ()
    body = tuple(_choice_cells(row) for row in rows)
    head = heads("Side", "Score", "Best of", "Of the chosen", "Of a random one", "Its own best", "Gain", "Optimism")
    by = ", ".join(dict.fromkeys(row.by for row in rows))
    notes = [f"Chosen by {by}. Optimism: its own gain less that of the other score, of two with one declared scale."]
    notes += [f"{count(row.left, 'items')} have no candidate with both scores." for row in rows[:1] if row.left]
    return (Table(name="choices", heads=head, rows=body, stub=2, opens=True, notes=tuple(notes)),)


def _choice_cells(row: ChoiceRow) -> tuple[Cell, ...]:
    values = (row.value, row.random, row.own_best, row.gain, row.optimism)
    return (Words(text=row.column), Words(text=row.other), row.k, *(number(value, bare=True) for value in values))


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
        notes=standing(view),
    )


def standing(view: View) -> tuple[str, ...]:
    """What the numbers of a record that decides nothing are worth."""
    worth, why = answering.worth(view)
    if worth == "invalid":
        return (f"all values invalid: {why}",)
    return ("all values provisional: the decision is open",) if worth else ()


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
        if 1 < len(rows) <= MAX_LABELS:
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
    if shown:
        several, points = len({row.task for row in shown}) > 1, all(row.share for row in shown)
        named = "the deciding score" if len({row.metric for row in shown}) > 1 else shown[0].metric
        yield intervals(
            name="change",
            title=f"change of {named}{', points' if points else ''}",
            rows=tuple(
                Interval(name=f"{row.column}, {row.task}" if several else row.column, number=_change(row, points), mark=mark(view, row))
                for row in shown
            ),
            stub="against the reference",
            edges=(*(() if rows.margin is None else (Edge(value=-rows.margin, text="margin"),)), Edge(value=0.0, text="no change")),
        )
    if rows.held:
        yield _held(view, rows.held)


def _held(view: View, rows: Sequence[HeldRow]) -> Table:
    """The decisions, and in notes what their rule would have seen and how much changes by itself."""
    several, points = len(rows) > 1, all(row.share for row in rows)
    return Table(
        name="held",
        heads=heads("Side", "Task", "Decision", "Change, points" if points else "Change", "Items", "Worse", "Better"),
        rows=tuple((Words(text=r.column), Words(text=r.task), mark(view, r), _change(r, points), r.items, r.worse, r.better) for r in rows),
        stub=2,
        opens=True,
        notes=tuple(f"{f'{row.column}, {row.task}: ' if several else ''}{note}" for row in rows for note in _notes(row)),
    )


def _change(row: HeldRow, points: bool) -> Number:
    """In the unit that the head of its column names."""
    return number(row.change, POINTS if points else None, bare=True)


def _notes(row: HeldRow) -> Iterator[str]:
    if row.tested:
        yield f"{row.tested[:1].upper()}{row.tested[1:]}."
    if row.control:
        yield f"Negative control: {row.control}."
    if isinstance(row.flips, Estimate) and isinstance(row.itself, Estimate):  # the noise floor
        yield (
            f"Answers that score otherwise than the reference's to the same item: {show(row.flips).full}; the reference's own when asked again: "
            f"{show(row.itself).full} (one-sided bounds)."
        )


def mark(view: View, row: HeldRow) -> Mark:
    """Held, degraded or undecided; and worse, if that is shown without a loss of the margin. Of an inadmissible record nothing holds."""
    word = SAID.get(row.status, STATUS_WORDS[row.status])
    said = f"{word}, {WORSE[row.status]}" if row.worse_within else word
    return answering.counted(view, row.status, "" if view.status == "INVALID" and row.status in HOLDS else said, row.sentence)


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


def rated(view: View) -> Blocks:
    """How often each rating was given to each side: a mean takes the steps of the scale as equally wide."""
    rows = of(view).rated
    if not rows:
        return ()
    values = sorted({value for row in rows for value, _ in row.ratings})
    few = values if len(values) <= MAX_STEPS else []
    lines: list[tuple[Cell, ...]] = []
    for row in rows:
        often = dict(row.ratings)
        lines.append((Words(text=row.column), row.raters, row.items, row.missing, *(often.get(value, 0) for value in few)))
    table = Table(
        name="ratings", heads=heads("Side", "Raters", "Items", "Not rated", *(f"{value:g}" for value in few)), rows=tuple(lines), stub=1
    )
    return (table,)


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


# ---- is a model as sure as it is right -------------------------------------------------------------------------------


def calibration_sections(view: View) -> Iterator[Section]:
    """For text formats: a row for each side, and the bins for those that are read at length."""
    measured = bool(of(view).calibration)
    yield Section(
        key="calibration", title="Calibration", content=lambda: calibration_table(view) if measured else (Prose(text=NO_CONFIDENCE),)
    )
    if measured:
        yield Section(key="bins", title="Calibration by confidence", content=lambda: bins(view), depth="detail")


def calibration_question(view: View) -> Section:
    """For an HTML page."""
    rows = of(view).calibration
    reply = f"{'; '.join(row.sentence for row in rows)}." if rows else NO_CONFIDENCE
    told = reply if len(rows) <= MAX_TOLD else ""
    return questions.section(
        "calibration",
        "Calibration",
        "Is a model as sure as it is right?",
        lambda: (*(reliability(view) if rows else ()), *calibration_table(view, said=bool(told))),
        told,
    )


def calibration_table(view: View, *, said: bool = False) -> Blocks:
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


# ---- the workbook ----------------------------------------------------------------------------------------------------


def sheets(view: View) -> tuple[Section, ...]:
    """The sheets that only an evaluation has."""
    return (
        sheet("Scores", partial(_score_sheet, view)),
        *((sheet("Steps", partial(step_tables.sheet_rows, view)),) if step_tables.compared(view) else ()),
        *((sheet("Held", partial(_held_sheet, view)),) if of(view).held else ()),
        *((sheet("Calibration", partial(_calibration_sheet, view)),) if of(view).calibration else ()),
        sheet("Outcomes", partial(outcomes, view)),
        sheet("Items", partial(_item_sheet, view)),
    )


def _score_sheet(view: View) -> Blocks:
    """A row for each task, subgroup, score and side."""
    rows: list[tuple[Cell, ...]] = []
    for row in (*of(view).scores, *of(view).groups):
        for column in view.columns:
            value = row.values[column.key]
            numbers = (*ends(value), "") if isinstance(value, Estimate) else (None, None, None, value.detail)
            rows.append((row.task, row.group, row.label, row.title, column.label, row.items, *numbers))
    head = heads("Task", "Group", "Label", "Score", "Side", "Items", "Value", "Low", "High", "Reason")
    return (Table(name="sheet", heads=head, rows=tuple(rows)),)


def _held_sheet(view: View) -> Blocks:
    """A row for each decision."""
    rows: list[tuple[Cell, ...]] = []
    for row in of(view).held:
        numbers = ends(row.change) if isinstance(row.change, Estimate) else (None, None, None)
        rows.append((row.column, row.task, row.metric, mark(view, row), *numbers, row.items, row.worse, row.better, row.sentence))
    head = heads("Side", "Task", "Score", "Decision", "Change", "Low", "High", "Items", "Worse", "Better", "Sentence")
    return (Table(name="sheet", heads=head, rows=tuple(rows)),)


def _calibration_sheet(view: View) -> Blocks:
    """A row for each bin of each side, from the least confident choices."""
    rows: list[tuple[Cell, ...]] = []
    for side in of(view).calibration:
        for one in side.bins:
            rows.append((side.column, one.items, Figure(value=one.confidence, style="0.0000"), *ends(one.right)))
    head = heads("Side", "Items", "Mean confidence", "Right", "Low", "High")
    return (Table(name="sheet", heads=head, rows=tuple(rows)),)


def _item_sheet(view: View) -> Blocks:
    """Every answer, up to what a sheet should hold."""
    frame = of(view).items
    if frame is None:
        return ()
    titles = tuple(name.replace("_", " ").capitalize() for name in frame.columns)
    return (Raw(name="items", heads=titles, frame=frame.head(MAX_ROWS)),)
