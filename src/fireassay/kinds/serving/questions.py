"""Which questions does the HTML page of a load answer?  What throughput costs in latency, what each load gives, then right, tails, faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from fireassay.kinds.serving import tables
from fireassay.reports.charts.load_timeline import load_timeline
from fireassay.reports.charts.loads import curve, goodput, panel
from fireassay.reports.charts.percentiles import percentiles
from fireassay.reports.charts.quality import quality
from fireassay.reports.page import Blocks, Cell, Depth, Prose, Section
from fireassay.reports.pages import questions
from fireassay.reports.view import LaunchRow, View

CURVE: Final = "How much latency does throughput cost?"
TABLES: Final = {"faults": "reliability", "cold": "tails"}  # of the details, under which question; the others say if answers are right
GOODPUT: Final = "How much of the load was good?"


def sections(view: View, columns: Sequence[tuple[str, Callable[[LaunchRow], Cell]]]) -> Iterator[Section]:
    """The first screen's evidence, then a section per question."""
    first: Depth = "first" if view.load.rivals is None else "page"  # the frontier of two engines has the first screen
    yield Section(key="curve", title="Latency", question=CURVE, depth=first, content=lambda: questions.charts(view, curve))
    yield Section(
        key="goodput", title="Goodput", question=GOODPUT, depth=first, content=lambda: questions.charts(view, goodput, absent=False)
    )
    yield questions.section("levels", "Loads", "What does each load give?", lambda: _loads(view), questions.told(view, "performance"))
    yield questions.section(
        "metrics-correctness",
        "Correctness",
        "Are the answers right?",
        lambda: (*questions.charts(view, quality, absent=False), *_details(view, ""), *questions.by_configuration(view, "correctness")),
        questions.told(view, "correctness"),
    )
    yield questions.section("tails", "Latencies", "How are latencies distributed?", lambda: _tails(view))
    for dimension, title, question in (
        ("cost", "Cost", "What does an answer cost?"),
        ("reliability", "Faults", "Does it survive a fault?"),
    ):
        if dimension in view.dimensions and dimension not in view.unasked:
            rows = (*_details(view, dimension), *questions.by_configuration(view, dimension))
            yield Section(
                key=f"metrics-{dimension}",
                title=title,
                question=question,
                content=rows,
                reply=questions.told(view, dimension),
                depth="page",
            )
    yield questions.section(
        "time", "Over time", "What happened second by second?", lambda: questions.charts(view, load_timeline, absent=False)
    )
    yield questions.trust(view, columns)
    yield questions.everything(view)
    yield questions.made(view)


def _loads(view: View) -> Blocks:
    capacity = tuple(Prose(text=text) for text in tables.capacity(view))
    return (*capacity, *tables.numbers(view), *questions.verdict(view), *questions.by_configuration(view, "performance"))


def _tails(view: View) -> Blocks:
    return (*questions.charts(view, percentiles, panel), *_details(view, "tails"))


def _details(view: View, question: str) -> Blocks:
    return tuple(table for table in tables.details(view) if TABLES.get(table.name, "") == question)
