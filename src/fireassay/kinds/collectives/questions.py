"""Which questions does the HTML page of timed collectives answer?  How bandwidth grows with size, then every size, then trust."""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.kinds.collectives import tables
from fireassay.reports.charts.links import collective_bandwidth, topology
from fireassay.reports.page import Section
from fireassay.reports.pages import questions
from fireassay.reports.view import View


def sections(view: View) -> Iterator[Section]:
    """The first screen's evidence, then a section per question."""
    yield Section(key="bandwidth", title="Bandwidth", depth="first", content=lambda: questions.charts(view, collective_bandwidth))
    yield questions.section(
        "levels",
        "Sizes",
        "What does each size give?",
        lambda: (*tables.numbers(view), *questions.by_configuration(view, "performance")),
        questions.told(view, "performance"),
    )
    if view.pairs:
        yield questions.section("links", "Links", "Which ranks are close to each other?", lambda: questions.charts(view, topology))
    yield questions.section(
        "metrics-correctness",
        "Correctness",
        "Were the data right?",
        lambda: questions.by_configuration(view, "correctness"),
        questions.told(view, "correctness"),
    )
    yield questions.trust(view, ())
    yield questions.everything(view)
    yield questions.made(view)
