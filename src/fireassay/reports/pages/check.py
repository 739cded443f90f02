"""What does the page of a check show?

The sentence, refusals, a line per metric, and the limits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from fireassay.estimates.estimate import Estimate, Value
from fireassay.estimates.format import show
from fireassay.reports.answers import check as answers
from fireassay.reports.page import Bullet, Bullets, Case, Cell, Mark, Number, Outcome, Page, Section, Table, heads, notes
from fireassay.reports.rows.comparison import change_estimate, effect
from fireassay.stats.comparing.comparison import Difference
from fireassay.verdict.checking.types import Check, Row
from fireassay.verdict.comparison.phrases import EXPLORATORY, difference_parts

OUTCOMES: Final[dict[str, Outcome]] = {
    "regression": "failure",
    "nothing_measured": "error",
    "not_comparable": "error",
    "inconclusive": "skipped",
    "listed": "skipped",
}


def page(check: Check, records: Sequence[str] = ()) -> Page:
    """The page of a check; `records` name the baseline and the record in a command."""
    summary = {"state": check.state, "record": check.record, "baseline": check.baseline, "sentence": check.sentence}
    return Page(
        title=f"{check.record} against {check.baseline}" if check.baseline else check.record,
        mark=Mark(word=f"{mark_of(check)}{check.state.replace('_', ' ')}", tone=answers.TONES.get(check.state, "open")),
        lead=check.sentence,
        sections=(*answers.brief(check), *_sections(check)),
        answer=answers.answer(check, records),
        properties={"verb": "check", **summary},
        cases=tuple(_cases(check)),
    )


def mark_of(check: Check) -> str:
    """The prefix of every verdict forced despite differing conditions."""
    return f"{EXPLORATORY} " if check.exploratory else ""


def _sections(check: Check) -> Iterator[Section]:
    if check.refused:
        yield Section(key="differs", title="Differences", content=(Bullets(items=tuple(_refused(check))),))
    if check.rows:
        table = Table(
            name="changes",
            heads=heads("Metric", "State", "At", "Change", "Baseline", "Record"),
            rows=tuple(_row(row, check) for row in check.rows),
        )
        yield Section(key="changes", title="Changes", content=(table,))
    if remarks := (*_legend(check), *check.gaps, *check.notes):
        yield Section(key="notes", title="Notes", content=(notes(remarks),))


def _refused(check: Check) -> Iterator[Bullet]:
    for mismatch in check.refused:
        values = " against ".join(mismatch.values)
        text = f"{values}; it matters because {mismatch.why}; allowed by: {mismatch.override or 'nothing'}"
        yield Bullet(mark=Mark(word="differs", tone="bad"), title=mismatch.field, text=text)


def _legend(check: Check) -> list[str]:
    starred = any(not row.decides and row.state != "listed" for row in check.rows)
    return ["*: decides nothing; only the primary metric and quality do, unless --all is given"] if starred else []


def _row(row: Row, check: Check) -> tuple[Cell, ...]:
    ends = (_number(value, row) for value in (row.baseline, row.value))
    return (row.metric, _state(row, check), row.configuration, difference_number(row.difference), *ends)


def _state(row: Row, check: Check) -> Mark:
    if row.state == "listed":
        return Mark(word="listed")
    word = f"{row.state.replace('_', ' ')}{' (suspected)' if row.suspected else ''}{'' if row.decides else ' *'}"
    return Mark(word=f"{mark_of(check)}{word}", tone=answers.TONES.get(row.state, "open"), why=row.sentence)


def difference_number(difference: Difference | None, *, unit: str = "") -> Number | None:
    """A ratio or difference as text; its value stays a number."""
    if difference is None:
        return None
    estimate = change_estimate(
        difference.value,
        difference.low,
        difference.high,
        unit="ratio" if difference.scale == "ratio" else unit,
        confidence=difference.confidence,
        method=difference.method,
    )
    return Number(shown=effect(difference_parts(difference, unit), estimate))


def _number(value: Value | None, row: Row) -> Number | None:
    """A value with enough digits that two values reported as different do not print alike."""
    if value is None:
        return None
    pair = (row.baseline, row.value) if row.state in ("regression", "improvement") else ()
    return Number(shown=show(value, beside=[other.value for other in pair if isinstance(other, Estimate) and other is not value]))


def _cases(check: Check) -> Iterator[Case]:
    """One case per metric and configuration, so that the file alone matches the exit code, except for accepted states."""
    for row in check.rows:
        state = row.state if row.decides else "listed"
        yield _case(f"{row.metric} at {row.configuration}", row.configuration, state, _case_text(row, check))
    if not check.rows or (check.gaps and check.state == "inconclusive"):
        yield _case("comparison", "assay", check.state, check.sentence)


def _case(name: str, group: str, state: str, text: str) -> Case:
    return Case(name=name, group=group, outcome=OUTCOMES.get(state, "passed"), kind=state, text=text)


def _case_text(row: Row, check: Check) -> str:
    """The sentence of a case, which says if its metric cannot fail the build."""
    listed = "" if row.decides else f"{row.state.replace('_', ' ')}, which decides nothing: "
    return f"{mark_of(check)}{listed}{row.sentence}"
