"""What does a person read who was sent a link?  One self-contained page: no network, no script, no external font.

The verdict as a sentence and a vector first, then the numbers, the pictures, what was found, and behind folds the method
and signature of every number.  Everything from the record is untrusted text: jinja2 escapes it, only our own SVG is
inserted as it is, and a content security policy forbids the page to run or to load anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Final

import jinja2

from assay.estimates.format import Shown, count
from assay.metrics.base import ALL
from assay.printable import printable
from assay.reports import collective_tables, grouping, load_tables
from assay.reports.base import Report
from assay.reports.rows import profile
from assay.reports.view import DIMENSION_TITLES, STATUS_MEANINGS, STATUS_WORDS, WHOLE, Column, MetricRow, View
from assay.verdict.types import DIMENSIONS

# A sign beside every status word, so that nothing is said by colour alone.
SIGNS: Final = {
    "PASS": "✓",
    "FAIL": "✕",
    "INCONCLUSIVE": "?",
    "INVALID": "!",
    "NOT_MEASURED": "–",
    "invalid": "!",
    "fail": "✕",
    "warning": "!",
    "note": "i",
    "kept": "✓",
    "in-part": "~",
    "not-kept": "✕",
    "not-applicable": "–",
}


def render(view: View) -> str:
    """The whole page as one HTML document."""
    from assay.reports.charts import record_charts

    pictures = () if view.timing else record_charts.draw(view)
    template = _template()
    drawn = tuple(one for one in pictures if one.svg or view.dimensions == DIMENSIONS)  # what was not asked for is not missed
    page = template.render(
        view=view,
        signs=SIGNS,
        dimensions=view.dimensions,
        titles=DIMENSION_TITLES,
        questions=view.questions,
        words=STATUS_WORDS,
        meanings=STATUS_MEANINGS,
        columns_of=columns_of,
        ALL=ALL,
        absent_everywhere=absent_everywhere,
        count=count,
        findings=grouping.findings,
        gates=grouping.gates,
        absences=grouping.absences,
        costs=grouping.costs,
        loads=_load_tables(view),
        details=load_tables.details(view) if view.serving else (),
        capacity=load_tables.capacity(view),
        pictures=drawn,
        profile=[(one["configuration"], list(profile.launch_lines(one))) for one in view.profiles],
    )
    return printable(page)


def _load_tables(view: View) -> tuple[load_tables.LoadTable, ...]:
    if view.of_links:
        return collective_tables.numbers(view)
    return load_tables.numbers(view) if view.serving else ()


def columns_of(view: View, rows: tuple[MetricRow, ...], group: str | None = None) -> tuple[tuple[str, str], ...]:
    """(key, head) of the columns of a table; the whole experiment is one only where a metric has both kinds of value.

    `group`: of loads only those of this engine and scenario.
    """
    chosen = [column for column in view.columns if group in (None, column.group) and _used(column, rows)]
    keys = [(column.key, column.label if group is None else column.brief) for column in chosen]
    whole = [(ALL, WHOLE)] if not keys or any(ALL in row.cells and len(row.cells) > 1 for row in rows) else []
    return (*keys, *whole)


def absent_everywhere(row: MetricRow, columns: tuple[tuple[str, str], ...] = ()) -> Shown | None:
    """The one reason of a metric that has no number in these columns, or anywhere; None where it has one or several reasons."""
    keys = [key for key, _ in columns] or list(row.cells)
    cells = [row.cells[key] for key in keys if key in row.cells]
    alone = cells[0] if len({(shown.text, shown.note) for shown in cells}) == 1 else None
    return alone if alone is not None and not alone.measured else None


@dataclass(frozen=True, kw_only=True)
class Span:
    """A head above neighbouring columns."""

    above: str
    span: int


def spans(heads: Sequence[load_tables.Head]) -> tuple[Span, ...]:
    """Neighbours with the same head above them, as one."""
    grouped = ((above, len(list(own))) for above, own in groupby(heads, key=lambda head: head.above))
    return tuple(Span(above=above, span=number) for above, number in grouped)


def _used(column: Column, rows: tuple[MetricRow, ...]) -> bool:
    return any(column.key in row.cells for row in rows)


@cache
def _template() -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("assay.reports", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["batch_by_above"] = spans
    environment.filters["capitalize_first"] = lambda text: text[:1].upper() + text[1:]
    return environment.get_template("report.html")


REPORT = Report(name="html", suffix=".html", summary="one self-contained page with pictures", render=render)
