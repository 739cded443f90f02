"""What does the page of several timed commands show?

The time of each command and its sample, then each command against the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fireassay.reports.answers import timing as answers
from fireassay.reports.page import Cell, Facts, Page, Section, Table, heads, notes, number
from fireassay.reports.rows.timing import Summary, lines
from fireassay.verdict.comparison.types import Comparison


def page(summaries: Sequence[tuple[Summary, str]], comparison: Comparison | None) -> Page:
    """The page of commands with their records; `comparison` is of each against the first."""
    return Page(
        title=answers.title([summary for summary, _ in summaries]),
        sections=(*answers.brief([summary for summary, _ in summaries]), *_sections(summaries, comparison)),
        answer=answers.answer(summaries, comparison),
        footer=tuple(f"record: {record}" for _, record in summaries),
        properties={"verb": "time"},
    )


def _sections(summaries: Sequence[tuple[Summary, str]], comparison: Comparison | None) -> Iterator[Section]:
    for index, (summary, _) in enumerate(summaries, 1):
        title = summary.label if len(summaries) > 1 else "Time"
        yield Section(key=f"command-{index}", title=title, content=(Facts(rows=tuple(lines(summary))),))
    if comparison is not None:
        suffix = f" at {comparison.configuration}"  # a command has only one configuration
        sentences = [change.sentence.replace(suffix, "", 1) for change in comparison.changes if change.primary]
        yield Section(key="changes", title="Against the first", content=(notes(sentences or [comparison.sentence]),))
    yield Section(key="numbers", title="Numbers", depth="detail", content=(_table(summaries),))


def _table(summaries: Sequence[tuple[Summary, str]]) -> Table:
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (summary.label, number(summary.time), number(summary.processor), number(summary.memory)) for summary, _ in summaries
    )
    return Table(name="numbers", heads=heads("Command", "Time", "Processor time", "Memory"), rows=rows, opens=True)
