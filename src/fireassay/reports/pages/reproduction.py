"""What does the page of a reproduction show?

Every metric with its agreement, and every condition that differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.reports.page import Bullets, Case, Cell, Mark, Number, Outcome, Page, Section, Table, Tone, heads, notes, number
from fireassay.reports.pages.check import difference_number
from fireassay.verdict.comparison.types import Mismatch
from fireassay.verdict.reproduction import Reproduction, Row

CLASSES: Final = ("identity", "hardware", "condition", "context")
TONES: Final[dict[str, Tone]] = {"reproduced": "good", "agrees": "good", "identical": "good", "differs": "bad", "another_experiment": "bad"}
OUTCOMES: Final[dict[Tone, Outcome]] = {"good": "passed", "bad": "failure"}


def page(reproduction: Reproduction) -> Page:
    """The page of a reproduction."""
    return Page(
        title=f"{reproduction.first} again as {reproduction.second}",
        mark=Mark(word=reproduction.state.replace("_", " "), tone=TONES.get(reproduction.state, "open")),
        lead=reproduction.sentence,
        sections=tuple(_sections(reproduction)),
        properties={"verb": "reproduce", "state": reproduction.state, "first": reproduction.first, "second": reproduction.second},
        cases=tuple(_case(row) for row in reproduction.rows),
    )


def _sections(reproduction: Reproduction) -> Iterator[Section]:
    if reproduction.rows:
        columns = heads("Metric", "Agreement", "At", "Difference", "First", "Second")
        table = Table(name="metrics", heads=columns, rows=tuple(map(_row, reproduction.rows)), notes=("*: listed, decides nothing",))
        yield Section(key="metrics", title="Metrics", content=(table,))
    tables = tuple(_class(kind, rows) for kind in CLASSES if (rows := [m for m in reproduction.mismatches if m.kind == kind]))
    yield Section(key="differs", title="Differences", content=tables or (Bullets(items=(), empty="No recorded condition differs."),))
    if reproduction.notes:
        yield Section(key="notes", title="Notes", content=(notes(reproduction.notes),))


def _row(row: Row) -> tuple[Cell, ...]:
    word = row.agreement.replace("_", " ") + ("" if row.decides else " *")
    mark = Mark(word=word, tone=TONES.get(row.agreement, "open"), why=row.sentence)
    ends: list[Number | None] = [None if value is None else number(value) for value in (row.first, row.second)]
    return (row.metric, mark, row.configuration, difference_number(row.difference), *ends)


def _class(kind: str, rows: list[Mismatch]) -> Table:
    wide = max(len(row.values) for row in rows)
    return Table(
        name=kind,
        title=kind,
        heads=heads("Condition", *("First", "Second", *(f"value {n}" for n in range(3, wide + 1)))[:wide]),
        rows=tuple((row.field, *row.values, *[""] * (wide - len(row.values))) for row in rows),
    )


def _case(row: Row) -> Case:
    outcome = OUTCOMES.get(TONES.get(row.agreement, "open"), "skipped") if row.decides else "skipped"
    return Case(
        name=f"{row.metric} at {row.configuration}", group=row.configuration, outcome=outcome, kind=row.agreement, text=row.sentence
    )
