"""Which tables show quality against the number of steps, and how are they answered first?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import Scale, scale_for
from fireassay.kinds.evaluation.gates import POINTS
from fireassay.reports.cell import Cell, Mark, Words, ends, number
from fireassay.reports.charts.step_curve import step_curve
from fireassay.reports.evaluation_view import EvaluationRows
from fireassay.reports.page import Blocks, Head, Section, Table, heads
from fireassay.reports.pages import questions
from fireassay.reports.session_table import session_table
from fireassay.reports.view import View
from fireassay.verdict.evidence.step_curve import KneeRow, StepRow

CANDIDATES: Final = "candidates"
PERCENT: Final = Scale(factor=100.0)
BRIEF: Final = 4  # columns after the score in a narrow table
BRIEF_CURVES: Final = 2  # of candidates on the first screen; more sides are lines of the page
Column = tuple[str, str, str]  # head, head in a workbook, field of the row


def _rows(view: View) -> EvaluationRows:
    assert view.evaluation is not None
    return view.evaluation


def compared(view: View) -> bool:
    """True if numbers of steps were compared."""
    return view.evaluation is not None and bool(view.evaluation.knees)


def deciding(view: View) -> KneeRow | None:
    """The knee of the headline: an undecided one if there is any."""
    knees = _rows(view).knees if compared(view) else ()
    return next((row for row in knees if row.status == "INCONCLUSIVE"), knees[0] if knees else None)


def headline(view: View) -> str:
    """The knee in a sentence, with its curve if there are several."""
    row = deciding(view)
    if row is None:
        return ""
    names = _named(_rows(view), row)
    more = len(_rows(view).knees) - 1
    others = f"; {more} more {'curve' if more == 1 else 'curves'} below" if more else ""
    return f"{f'{names}: ' if names else ''}{row.sentence}{row.longer if times_count(view) else ''}{others}"


def times_count(view: View) -> bool:
    """False where an audit found that the times of the requests do not count."""
    return all(row.cells["performance"].status != "INVALID" for row in view.vector if "performance" in row.cells)


def _named(rows: EvaluationRows, row: KneeRow | StepRow) -> str:
    engines, tasks = len({one.engine for one in rows.knees}) > 1, len({one.task for one in rows.knees}) > 1
    return ", ".join(([row.engine] if engines else []) + ([row.task] if tasks else []))


COLUMNS: Final[tuple[Column, ...]] = (
    ("Time p50", "Seconds p50", "time"),
    ("Time p95", "Seconds p95", "time_p95"),
    ("At once p50", "Seconds at once p50", "at_once"),
    ("Out", "Tokens out", "tokens_out"),
    ("In", "Tokens in", "tokens_in"),
    ("Reasoning", "Tokens of reasoning", "reasoning"),
    ("In tools", "Share in tools", "tools"),
    ("Cost", "US dollars", "usd"),
)


def _of(row: StepRow, field: str) -> Value | None:
    value: Value | None = getattr(row, field)
    return value


def table(view: View, *, brief: bool = False) -> Blocks:
    """A row for each number of steps; a column without any number is named in a note."""
    rows = _rows(view)
    if not rows.knees:
        return ()
    known = [column for column in COLUMNS if any(isinstance(_of(row, column[-1]), Estimate) for row in rows.steps)]
    if of_candidates(view):  # what is paid for first
        known.sort(key=lambda column: column[-1] != "usd")
    shown = known[:BRIEF] if brief else known
    share, several = rows.knees[0].share, any(_named(rows, row) for row in rows.knees)
    measured = {field: [value for row in rows.steps if isinstance(value := _of(row, field), Estimate)] for *_, field in shown}
    scales = {field: scale_for(values[0].unit, [abs(value.value) for value in values]) for field, values in measured.items()}
    title = f"{rows.knees[0].title}, %" if share else rows.knees[0].title
    head = (
        *heads(*(("Curve",) if several else ()), rows.knees[0].what.capitalize(), title),
        *(Head(text=f"{name}, {label}" if (label := scales[field].label) else name) for name, _, field in shown),
    )
    gains = (Head(text="Against the best other, points" if share else "Against the best other"), Head(text="Enough"))
    body = tuple(_body(rows, row, shown, scales, share, several) for row in rows.steps)
    return (
        Table(
            name="step-curve-brief" if brief else "step-curve",
            heads=(*head, *(() if brief else gains)),
            rows=tuple(cells if not brief else cells[:-2] for cells in body),
            stub=2 if several else 1,
            opens=not brief,
            inline=brief,
            notes=() if brief else tuple(_notes(view, rows, known)),
        ),
    )


def _body(
    rows: EvaluationRows, row: StepRow, shown: Sequence[Column], scales: dict[str, Scale], share: bool, several: bool
) -> tuple[Cell, ...]:
    cells: list[Cell] = [Words(text=_named(rows, row))] if several else []
    knee = next(one for one in rows.knees if (one.task, one.engine) == (row.task, row.engine))
    cells += [Words(text=row.sent, strong=row.steps == knee.at), number(row.score, PERCENT if share else None, bare=True)]
    cells += [None if (value := _of(row, field)) is None else number(value, scales[field], bare=True) for *_, field in shown]
    return (*cells, number(row.gain, POINTS if share else None, bare=True), _enough(row))


def _enough(row: StepRow) -> Mark:
    if row.enough:
        return Mark(word="yes", tone="good", why="no worse than any other by more than the margin")
    return (
        Mark(word="no", tone="bad", why="worse than another by more than the margin") if row.worse else Mark(word="not shown", tone="open")
    )


def _notes(view: View, rows: EvaluationRows, known: Sequence[Column]) -> Iterator[str]:
    if not times_count(view):
        yield "The times do not count: see performance."
    yield from dict.fromkeys(note for row in rows.knees for note in row.notes)
    asked = [column for column in COLUMNS if rows.knees[0].what != CANDIDATES or column[-1] in ("time", "usd")]
    missing = [(column[0], _of(rows.steps[0], column[-1])) for column in asked if column not in known]
    reasons = [f"{head.lower()}: {value.detail}" for head, value in missing if value is not None and not isinstance(value, Estimate)]
    if reasons:
        yield f"Not measured: {'; '.join(reasons)}."


def of_candidates(view: View) -> bool:
    """True if numbers of candidates were compared."""
    return compared(view) and _rows(view).knees[0].what == CANDIDATES


def sentences(view: View) -> Iterator[str]:
    """The knee of each curve, with its name if there are several."""
    for row in _rows(view).knees:
        names = _named(_rows(view), row)
        yield f"{f'{names}: ' if names else ''}{row.sentence}"


def sections(view: View) -> Iterator[Section]:
    """For text formats."""
    if compared(view):
        title = "Best of k" if of_candidates(view) else "Quality against steps"
        yield Section(key="steps", title=title, content=lambda: table(view))
    if _rows(view).sessions:
        yield Section(key="sessions", title="Steps and sessions", content=lambda: _sessions(view))


def _sessions(view: View) -> Blocks:
    """Its section has its title."""
    return tuple(replace(table, title="") for table in _session_table(view))


def _session_table(view: View) -> tuple[Table, ...]:
    return session_table(_rows(view).sessions, {column.key: column.label for column in view.columns})


def brief(view: View) -> Iterator[Section]:
    """On the first screen."""
    if compared(view) and not (of_candidates(view) and len(_rows(view).knees) > BRIEF_CURVES):
        yield Section(key="brief-steps", title="", role="answer", content=table(view, brief=True))


def question(view: View) -> Iterator[Section]:
    """On an HTML page: the chart on its first screen, the table below."""
    if compared(view):
        what, asked = ("Candidates", "does a choice among") if of_candidates(view) else ("Steps", "do")
        enough = f"How many {what.lower()} are enough?"
        yield Section(key="step-chart", title=what, question=enough, role="exhibit", content=lambda: step_curve(view))
        sentences = f"{'; '.join(row.sentence for row in _rows(view).knees)}."
        yield questions.section(
            "steps",
            what,
            f"What {asked} more {what.lower()} give, and take?",
            lambda: table(view),
            f"{sentences[:1].upper()}{sentences[1:]}",
        )
    if _rows(view).sessions:
        yield questions.section("sessions", "Sessions", "What does each step of a session take?", lambda: _sessions(view))


def sheet_rows(view: View) -> Blocks:
    """For a workbook: a row for each number of steps, with raw numbers and their bounds."""
    named = (("Score", "score"), *(column[1:] for column in COLUMNS), ("Score against the best other", "gain"))
    head = ("Task", "Engine", "Steps", "Sent", "Enough", *(f"{name}{end}" for name, _ in named for end in ("", ", low", ", high")))
    body = tuple(
        (row.task, row.engine, row.steps, row.sent, _enough(row).word, *(cell for _, field in named for cell in _ends(_of(row, field))))
        for row in _rows(view).steps
    )
    return (Table(name="sheet", heads=heads(*head), rows=body),)


def _ends(value: Value | None) -> tuple[Cell, ...]:
    """A number and its bounds; empty cells where it was not measured."""
    return tuple(ends(value)) if isinstance(value, Estimate) else (None, None, None)
