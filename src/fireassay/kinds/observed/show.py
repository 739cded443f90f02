"""What is shown of a job that was watched?  What `assay watch` showed: the finding, each rank's time, the stacks."""

from __future__ import annotations

from dataclasses import replace

from fireassay.frames.observed import seen
from fireassay.kinds.observed.judging import words
from fireassay.reports import answering
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.page import Answer, Mark, Section
from fireassay.reports.pages import record, watch
from fireassay.reports.view import View


def answer(view: View) -> Answer:
    """The finding, marked as observed."""
    found = seen(view.measured)
    ended = f"{answering.short(view)}, {view.state}: observed from outside, not an experiment; all: --full"
    headline = words(view.measured)
    shown = watch.page(found, "").answer if found else None
    if shown is None:
        return Answer(mark=answering.mark(view.status, view.word), headline=headline, record=ended)
    following = () if view.status == "MEASURED" else shown.next  # a job without trouble needs nothing
    return replace(shown, mark=Mark(word=view.word, tone=shown.mark.tone), headline=headline, next=following, record=ended)


def page(view: View) -> tuple[Section, ...]:
    """The ranks and their stacks, and where the record comes from."""
    found = seen(view.measured)
    shown = watch.page(found, "").sections if found else ()
    ranks = tuple(replace(section, key="ranks", title="Ranks", role="report") for section in shown if section.role == "answer")
    return (*shown, *ranks, record.conditions(view))


def charts(_: View) -> tuple[Draw, ...]:
    """None: the table says it all."""
    return ()
