"""Which questions does the HTML page of an evaluation answer?  Held or not, how good, for whom, which items, and at what cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from fireassay.kinds.evaluation import confidence, tables
from fireassay.reports.charts.evaluation import power
from fireassay.reports.charts.trade_offs import quality_price
from fireassay.reports.page import Cell, Section
from fireassay.reports.pages import questions
from fireassay.reports.view import LaunchRow, View


def sections(view: View, columns: Sequence[tuple[str, Callable[[LaunchRow], Cell]]]) -> Iterator[Section]:
    """The decision on the first screen, then a section for each question."""
    if view.evaluation is not None and view.evaluation.held:
        content = tuple(tables.forest(view))
        yield Section(key="held", title="Held or not", question="Was quality held?", depth="first", content=content)
    yield questions.section(
        "scores",
        "Scores",
        "How good are the answers?",
        lambda: (*tables.score_plots(view), *tables.scores(view)),
        questions.told(view, "correctness"),
    )
    if tables.of(view).divergence:
        asked = "Does every engine compute what the reference computes?"
        yield questions.section("divergence", "Token by token", asked, lambda: tables.divergence(view))
    if tables.of(view).power:
        yield questions.section("power", "Power", "Which margin can so many items show?", lambda: power(view))
    if tables.of(view).groups:
        shown = (*tables.group_plots(view), *tables.groups(view))
        yield questions.section("groups", "Subgroups", "Are they as good for every subgroup?", lambda: shown)
    yield confidence.question(view)
    if len(view.columns) > 1:
        yield questions.section("flips", "Flips", "Which items changed?", lambda: tables.flips(view))
    yield questions.section(
        "outcomes", "Outcomes", "Was every item answered?", lambda: tables.outcomes(view), questions.told(view, "reliability")
    )
    trade = quality_price(view)
    if not trade[0].missing:
        yield questions.section("trade", "Quality against speed", "What does quality cost?", lambda: trade)
    for dimension, title, question in (("performance", "Speed", "How fast were the answers?"), ("cost", "Cost", "What did they cost?")):
        if dimension in view.dimensions and dimension not in view.unasked:
            reply = questions.told(view, dimension)
            rows = questions.by_configuration(view, dimension)
            yield Section(key=f"metrics-{dimension}", title=title, question=question, content=rows, reply=reply, depth="page")
    yield questions.trust(view, columns)
    yield questions.everything(view)
    yield questions.made(view)
