"""What is the answer of timed calls, on one screen?  The time of a call, with its processor time, its memory and its caveats."""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import show
from fireassay.metrics.calls import TRIAL_CPU_TIME, TRIAL_MEMORY, TRIAL_TIME
from fireassay.reports import answering
from fireassay.reports.answers.changes import doubts
from fireassay.reports.answers.timing import table
from fireassay.reports.page import Answer, Line, Section
from fireassay.reports.view import View

NOTHING = Absent(reason="not_measured", detail="it was not measured")


def answer(view: View) -> Answer:
    """The time of a call."""
    invalid = view.status == "INVALID"
    return Answer(
        mark=answering.mark(view.status),
        headline=_headline(view),
        lines=() if invalid else tuple(_lines(view)),
        next=answering.remedies(view, ("invalid",)) if invalid else (),
        record=answering.record_line(view, answering.launches_words(view)),
    )


def brief(view: View) -> tuple[Section, ...]:
    """One row: time, processor time, memory."""
    if view.status == "INVALID":
        return ()
    rows = [(view.name, _value(view, TRIAL_TIME.name), _value(view, TRIAL_CPU_TIME.name), _value(view, TRIAL_MEMORY.name))]
    return (Section(key="brief-times", title="", role="answer", content=(table(rows),)),)


def _value(view: View, name: str) -> Value:
    return view.value(name, view.base) or NOTHING


def _headline(view: View) -> str:
    time = _value(view, TRIAL_TIME.name)
    if view.status == "INVALID":
        return f"no number counts: {answering.told(view)}"
    return answering.told(view) if view.status == "INCONCLUSIVE" else f"{show(time).full} a call"


def _lines(view: View) -> Iterator[Line]:
    yield from (Line(label=fact.name, text=answering.shortened(fact.text)) for fact in view.timing if fact.name in ("spread", "floor"))
    notes = [f"{fact.text}." for fact in view.timing if fact.name == "note"]
    audits = answering.doubts(view)
    yield doubts([*notes, *([audits.text] if audits.mark else [])])
