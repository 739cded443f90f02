"""What is shown of timed calls?  The time of a call with its sample, processor time and memory, its caveats, and the findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import count, given, show
from fireassay.frames.per_launch import counted
from fireassay.frames.record_data import RecordData
from fireassay.kinds.calls import imported
from fireassay.metrics.calls import TRIAL_CPU_TIME, TRIAL_MEMORY, TRIAL_TIME, of_calls
from fireassay.reports import answering
from fireassay.reports.answering import noted_doubts
from fireassay.reports.build_view import KindView, metric_row, overhead, requested
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.cost_line import cost_line
from fireassay.reports.page import Answer, Head, Line, Mark, Next, Section, Table
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import LAUNCH_VALUES, Paper, results, sentence
from fireassay.reports.pages.timing import lines, summary, table
from fireassay.reports.raw import for_both, percentiles, shares
from fireassay.reports.view import Fact, View
from fireassay.verdict.evidence.after_return import UNFINISHED
from fireassay.verdict.gates.gate import MIN_LAUNCHES
from fireassay.verdict.judge import Judgement
from fireassay.verdict.phrases import launch_words, titled

NOTHING = Absent(reason="not_measured", detail="it was not measured")


def _conditions(measured: RecordData, base: str) -> Mapping[str, str]:
    return {**requested(measured, base), "Launches": _rounds(measured)}


def _rounds(measured: RecordData) -> str:
    """A timing has no seeds and one configuration: its requested launches."""
    if measured.foreign is not None:
        return f"{len(measured.timed)} processes of {titled(measured.foreign)}, as its files have them"
    words = launch_words(measured).replace(" per configuration in randomised rounds", "")
    timing = measured.experiment.timing
    each = f"{count(timing.trials, 'trials')} each" if timing.trials else f"of at least {given(timing.round_s)} s"
    return f"{words}, {each}, after at least {timing.warm_up} for warm-up"


def _fields(view: View, measured: RecordData, judgement: Judgement) -> Mapping[str, Any]:
    """All metrics of calls are primary: a single command has no speedup, and the wall time of a round is no result."""
    results = of_calls(judgement.results)
    metrics = tuple(
        replace(metric_row(judgement.metrics[name], partial(results.__getitem__, name), "calls"), primary=True) for name in results
    )
    labels = {column.key: column.label for column in view.columns}
    common = {"metrics": metrics, "overhead": overhead(metrics, labels)}
    if measured.foreign is not None:
        return {**common, "foreign": (*view.foreign, *imported.facts(measured))}
    return {**common, "timing": _facts(measured, judgement)}


def _facts(measured: RecordData, judgement: Judgement) -> tuple[Fact, ...]:
    """The sample behind the time and its caveats, without the numbers and findings, which are shown elsewhere."""
    evidence = {finding.evidence for finding in judgement.verdict.findings}
    rows = lines(summary(measured, judgement, measured.experiment.name))
    return tuple(
        Fact(name=name, text=words)
        for name, words in rows
        if name in ("spread", "device", "waited", "floor", "note") and words not in evidence
    )


VIEW = KindView(columns=imported.columns, conditions=_conditions, fields=_fields)


def answer(view: View) -> Answer:
    """The time of a call."""
    if view.foreign:
        return imported.answer(view)
    invalid = view.status == "INVALID"
    if _is_quick(view):
        return Answer(
            mark=answering.mark(view.status),
            headline="one launch, its calls as they were",
            lines=tuple(line for line in _lines(view) if line.label != "spread"),
            next=(for_both(f"assay run {answering.named(view)}"),) if view.measured.experiment.workload.runner == "command" else (),
            record=f"{answering.short(view)}, 1 launch; all: --full",
        )
    return Answer(
        mark=answering.mark(view.status),
        headline=_headline(view),
        lines=() if invalid else tuple(_lines(view)),
        next=answering.remedies(view, ("invalid",)) if invalid else _next(view),
        record=answering.record_line(view, answering.launches_words(view)),
    )


def _is_quick(view: View) -> bool:
    """True if one launch was asked for."""
    return view.status == "MEASURED" and view.measured.experiment.launches.quick


def _raw(view: View) -> Table:
    """The counted calls of the one launch."""
    seconds = counted(view.measured)["seconds"].sort().to_list()
    row = (f"{len(seconds):,}", *percentiles(seconds))
    return Table(name="quick", heads=(Head(text="calls"), *shares(", ms")), rows=(row,))


def _next(view: View) -> tuple[Next, ...]:
    """Enough launches; nothing of a function, which a program of the user's calls."""
    if view.status != "INCONCLUSIVE" or answering.timed(view) >= MIN_LAUNCHES or view.measured.experiment.workload.runner != "command":
        return ()
    reason = "the same with enough launches for an interval"
    return (Next(reason=reason, command=f"assay run {answering.named(view)} --launches {answering.ENOUGH}"),)


def brief(view: View) -> tuple[Section, ...]:
    """One row: time, processor time, memory."""
    if view.foreign:
        return imported.brief(view)
    if view.status == "INVALID":
        return ()
    if _is_quick(view):
        return answering.brief_sections(_raw(view))
    rows = [(view.name, _value(view, TRIAL_TIME.name), _value(view, TRIAL_CPU_TIME.name), _value(view, TRIAL_MEMORY.name))]
    return (Section(key="brief-times", title="", role="answer", content=(table(rows),)),)


def _value(view: View, name: str) -> Value:
    return view.value(name, view.base) or NOTHING


def _headline(view: View) -> str:
    time = _value(view, TRIAL_TIME.name)
    if view.status == "INVALID":
        return f"no number counts: {answering.verdict_words(view)}"
    return answering.verdict_words(view) if view.status == "INCONCLUSIVE" else f"{show(time).full} a call"


def _lines(view: View) -> Iterator[Line]:
    unfinished = [finding.evidence for finding in view.findings if finding.rule in UNFINISHED]
    yield from (Line(label="not waited", text=text, mark=Mark(word="warning", tone="open", sign="~")) for text in unfinished)
    yield from (
        Line(label=fact.name, text=answering.shortened(fact.text))
        for fact in view.timing
        if fact.name in ("spread", "device", "waited", "floor")
    )
    if (paid := cost_line(view, view.columns[-1].key)) is not None:
        yield paid
    notes = [f"{fact.text}." for fact in view.timing if fact.name == "note"]
    audits = answering.doubts(view, stated=UNFINISHED)
    yield noted_doubts([*notes, *([audits.text] if audits.mark else [])])


def page(view: View) -> tuple[Section, ...]:
    """The sections of a timing."""
    rest = imported.page_sections(view) if view.foreign else (_sample(view),)
    return (
        record.numbers(view, opens=True),
        *rest,
        record.findings(view),
        *record.how(view),
        *brief(view),
        *sheets(view),
        *results(view, PAPER),
    )


def _sample(view: View) -> Section:
    return Section(key="rest", title="Sample and caveats", content=(record.facts(view.timing),))


def _scope(view: View) -> Iterator[str]:
    yield from (sentence(f"{fact.name}: {fact.text}") for fact in view.timing if fact.name != "spread")
    yield "The numbers hold for this command or function on this system."


PAPER: Final = Paper(method=lambda _: (f"{LAUNCH_VALUES}.",), performance=lambda view: (view.sentence,), dimensions=(), scope=_scope)


def charts(_: View) -> tuple[Draw, ...]:
    """None: a timing has one number."""
    return ()
