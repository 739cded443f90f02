"""What is on the page of a timing?  The time, its sample, and the audits' findings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.kinds.calls.answer import answer as answer
from fireassay.kinds.calls.answer import brief
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.page import Section
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import LAUNCH_VALUES, Paper, results, sentence
from fireassay.reports.view import View


def page(view: View) -> tuple[Section, ...]:
    """The sections of a timing."""
    return (
        record.numbers(view, opens=True),
        Section(key="rest", title="Sample and caveats", content=(record.facts(view.timing),)),
        record.findings(view),
        record.launches(view),
        *record.environment(view),
        record.conditions(view),
        record.methods(view),
        *brief(view),
        *sheets(view),
        *results(view, PAPER),
    )


def _scope(view: View) -> Iterator[str]:
    yield from (sentence(f"{fact.name}: {fact.text}") for fact in view.timing if fact.name != "spread")
    yield "The numbers hold for this command or function on this system."


PAPER: Final = Paper(method=lambda _: (f"{LAUNCH_VALUES}.",), performance=lambda view: (view.sentence,), dimensions=(), scope=_scope)


def charts(_: View) -> tuple[Draw, ...]:
    """None: a timing has one number."""
    return ()
