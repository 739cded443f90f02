"""Which questions does an HTML page of any record answer after its first screen, and with which evidence?

A kind of record chooses and orders these, and adds its own; text formats keep the sections of `record`.  A finding stands once: what
limits the speed beside the parts of a step, everything else where the numbers are doubted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from fireassay.estimates.format import count
from fireassay.metrics.metric import ALL
from fireassay.reports import grouping
from fireassay.reports.answering import TONES, standing
from fireassay.reports.page import Block, Blocks, Bullets, Cell, Head, Mark, Number, Prose, Section, Table, Words, heads
from fireassay.reports.pages import record
from fireassay.reports.view import LaunchRow, MetricRow, View
from fireassay.reports.words import DIMENSION_TITLES
from fireassay.verdict.types import rule_words

if TYPE_CHECKING:
    from fireassay.reports.charts.of_view import Draw

LIMITS: Final = ("bottleneck", "limited_by")  # rules that say what limits the speed
MAX_TOLD: Final = 2  # sentences of an answer


def section(key: str, title: str, question: str, content: Callable[[], Blocks], reply: str = "") -> Section:
    """A question with its answer and evidence."""
    return Section(key=key, title=title, question=question, content=content, reply=reply, role="question")


def of_dimension(view: View, dimension: str, title: str, question: str, content: Callable[[], Blocks] = lambda: ()) -> Iterator[Section]:
    """A dimension's question with its evidence; nothing where nobody asked."""
    if dimension in view.dimensions and dimension not in view.unasked:
        yield section(
            f"metrics-{dimension}",
            title,
            question,
            lambda: (*content(), *by_configuration(view, dimension)),
            dimension_words(view, dimension),
        )


def closing(view: View, columns: Sequence[tuple[str, Callable[[LaunchRow], Cell]]], *draws: Draw) -> Iterator[Section]:
    """What every page ends with: trust, everything, and how it was measured."""
    yield trust(view, columns, *draws)
    yield everything(view)
    yield made(view)


def dimension_words(view: View, dimension: str) -> str:
    """What a dimension says, if a sentence or two hold for all configurations; else `by_configuration` has it."""
    sentences = _sentences(view, dimension)
    if len(sentences) > MAX_TOLD:
        return ""
    parts = (text if len(sentences) == 1 else f"{grouping.places(view, keys)}: {text}" for text, keys in sentences.items() if text)
    words = "; ".join(parts)
    first, name = words.partition(" ")[0].rstrip(":,"), tuple(f"{column.label}{end}" for column in view.columns for end in ":,")
    written = words.startswith(name) or not first.replace("-", "").isalpha()  # a name stays as it is
    return f"{words if written else f'{words[:1].upper()}{words[1:]}'}." if words else ""


def by_configuration(view: View, dimension: str) -> Blocks:
    """A row per configuration with its status and why, if `told` says nothing."""
    if len(_sentences(view, dimension)) <= MAX_TOLD:
        return ()
    rows = tuple(
        (row.column.label, Mark(word=cell.word, tone=TONES[cell.status]), cell.sentence)
        for row in view.vector
        if (cell := row.cells[dimension])
    )
    heads_ = heads("Configuration", "Status", "Why")
    return (
        Table(name=f"by-{dimension}", title="", heads=heads_, rows=rows, folded=f"{DIMENSION_TITLES[dimension]} of each configuration"),
    )


def _sentences(view: View, dimension: str) -> dict[str, list[str]]:
    """Sentence -> the configurations for which it holds."""
    sentences: dict[str, list[str]] = {}
    for row in view.vector:
        sentences.setdefault(row.cells[dimension].sentence, []).append(row.column.key)
    return sentences


def charts(view: View, *draws: Draw, absent: bool = True) -> Blocks:
    """The charts; why there is none as a sentence, unless nobody asked."""
    every = [chart for draw in draws for chart in draw(view)]
    missing = (Prose(text=f"{chart.title}: {chart.missing}", weight="quiet") for chart in every if chart.missing)
    return (*(chart for chart in every if not chart.missing), *(missing if absent else ()))


def levels(view: View, stub: str) -> Table:
    """A row per configuration, a column per primary metric, each with one unit."""
    rows = [row for row in view.primary if any(key in row.cells and row.cells[key].measured for key in _keys(view))]
    top = (Head(text=""), Head(text=stub), *(Head(text=_head(row)) for row in rows))
    lines = tuple((standing(view, column.key), column.workers, *(_cell(row, column.key) for row in rows)) for column in view.columns)
    return Table(name="levels", title="", heads=top, rows=lines, stub=2, anchor="level")


def _keys(view: View) -> tuple[str, ...]:
    return tuple(column.key for column in view.columns)


def _head(row: MetricRow) -> str:
    return f"{row.title}, {row.shown_unit}" if row.shown_unit else row.title


def _cell(row: MetricRow, key: str) -> Cell:
    shown = row.cells.get(key)
    return None if shown is None else Number(shown=shown, bare=True, extra=row.word(key))


def verdict(view: View) -> Blocks:
    """What is recommended, and every gate."""
    picks, gates = record.recommendation(view).blocks[0], record.gates(view).blocks[0]
    assert isinstance(picks, Bullets)
    assert isinstance(gates, Bullets)
    return tuple(block for block in (picks, gates) if block.items)


def findings(view: View, *, bottlenecks: bool) -> Blocks:
    """Findings about what limits the speed, or all others."""
    chosen = tuple(finding for finding in view.findings if finding.rule.startswith(LIMITS) == bottlenecks)
    return record.findings(replace(view, findings=chosen)).blocks if chosen else ()


def trust(view: View, columns: Sequence[tuple[str, Callable[[LaunchRow], Cell]]], *draws: Draw) -> Section:
    """Can these numbers be trusted?  Disturbances, the order of launches, and each of them."""
    ended = sum(launch.status == "ok" for launch in view.launches)
    doubts = {finding.rule for finding in view.findings if finding.severity in ("warning", "fail", "invalid")}
    named = f"; warnings: {', '.join(sorted(rule_words(rule) for rule in doubts))}" if doubts else "; every check passed"

    def content() -> Blocks:
        return (*findings(view, bottlenecks=False), *charts(view, *draws, absent=False), *record.launches(view, columns).blocks)

    reply = f"{ended} of {count(len(view.launches), 'launches')} ended well{named}."
    return section("trust", "Trust", "Can these numbers be trusted?", content, reply)


def everything(view: View) -> Section:
    """What else was measured?  All metrics, those of other tools, and those without a number by reason."""
    ours = [row for row in view.metrics if row.dimension in view.dimensions and not row.tool]
    known = sum(row.known for row in ours)

    def content() -> Blocks:
        return (*_all(view, ours), *_tools(view))

    reply = f"{count(known, 'metrics')} with a number, {len(ours) - known} without; a number opens its method, a name its formula."
    return section("all", "All numbers", "What else was measured?", content, reply)


def _all(view: View, rows: Sequence[MetricRow]) -> Blocks:
    known = [row for row in rows if row.known]
    blocks: list[Block] = []
    for index, group in enumerate(view.groups):
        several = len(view.groups) > 1
        table = record.metric_table(view, f"all-{index}", known if several else rows, group=group if several else None)
        blocks.append(replace(table, title=group if several else "", folded=count(len(known), "metrics, by dimension")))
    if len(view.groups) > 1 and (unknown := [row for row in rows if not row.known]):
        blocks.append(_unknown(view, unknown))
    whole = [row for row in known if list(row.cells) == [ALL]]
    return tuple(blocks) if blocks or not whole else (record.metric_table(view, "all", rows),)


def _unknown(view: View, rows: Iterable[MetricRow]) -> Table:
    lines = tuple((line.partition(", not")[0], Words(text=line)) for line in grouping.absences(view, rows))
    return Table(name="unknown", title="Without a number", heads=heads("Metrics", "Why"), rows=lines, folded=count(len(lines), "reasons"))


def _tools(view: View) -> Blocks:
    tools = [one for one in record.metrics(view) if one.key == "tools"]
    return tuple(block for one in tools for block in one.blocks)


def made(view: View) -> Section:
    """How was this measured?  Conditions, then machine and method in folds."""

    def content() -> Blocks:
        imported = (block for one in record.imported(view) for block in one.blocks)
        _, rules, artifact = record.methods(view).blocks
        return (*record.conditions(view).blocks, *imported, rules, *_machine(view), artifact)

    total, changed = sum(len(group.rows) for group in view.environment), view.changes
    same = f"{changed} of {total} facts about the machine changed meanwhile." if total else "The machine was not recorded."
    return section("made", "Method", "How was this measured?", content, same)


def _machine(view: View) -> Blocks:
    """Every fact about the machine, those that changed first."""
    facts = [(group.name, row) for group in view.environment for row in group.rows]
    rows = tuple(
        (name, row.key, row.before, row.after if row.changed else "") for name, row in sorted(facts, key=lambda fact: not fact[1].changed)
    )
    if not rows:
        return ()
    return (
        Table(
            name="facts",
            title="Machine and software",
            heads=heads("Group", "Fact", "Before", "Changed to"),
            rows=rows,
            stub=2,
            folded=count(len(rows), "facts"),
        ),
    )
