"""What is the answer of a load, on one screen?

Up to which load the objectives are met, what that load yields and costs, why not a larger one, a line per other dimension, and what to do
next: the command keeps every condition but the one that it changes.  The status is the verdict's; nothing is judged here.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale, count, given, limit_text, percent, reading, show, with_interval
from fireassay.kinds.serving import trade_off
from fireassay.kinds.serving.brief import PRICES, STREAMED, YIELDS, known, latencies, load_name, recommended, unit
from fireassay.kinds.serving.deciding import decide, open_loads
from fireassay.metrics.metric import ALL
from fireassay.metrics.serving.answers import ANSWERS_IDENTICAL, CROSS_TALK
from fireassay.metrics.serving.faults import ERROR_RATE
from fireassay.metrics.serving.objectives import CAPACITY, GOODPUT, SLO_ATTAINMENT
from fireassay.metrics.serving.throughput import ACHIEVED_RATE, OFFERED_RATE
from fireassay.reports import answering, grouping
from fireassay.reports.answering import mark, shortened
from fireassay.reports.cost_line import cost_line
from fireassay.reports.page import Answer, Line, Next, Tile
from fireassay.reports.view import Column, View
from fireassay.reports.words import DIMENSION_TITLES
from fireassay.stats.intervals.quantiles import BEYOND
from fireassay.units import SECONDS
from fireassay.verdict.types import WORST_FIRST, Status

ONE_LINE, TWO_LINES = 62, 128  # characters beside a label in a window of 80 columns
NOT_MEASURED: Final = "not measured"  # label of a line
DOUBT: Final = 80  # most characters of the doubt that is quoted
NEEDED: Final = round(BEYOND / 0.01)  # independent requests for a p99
UNCERTAINTIES: Final = ("ttft_uncertainty_p99", "e2e_uncertainty_p99")
UNFIT: Final = {"FAIL": "does not pass", "INCONCLUSIVE": "is undecided", "NOT_MEASURED": "is undecided"}
BIG: Final = {
    "correctness": ("quality", CROSS_TALK.name, ANSWERS_IDENTICAL.name),
    "performance": (GOODPUT.name, *YIELDS),
    "cost": tuple(PRICES),
    "reliability": ("outage_time", ERROR_RATE.name),
}
UNASKED: Final = {
    "cost": "No price was given: --price USD of one replica for one hour.",
    "reliability": "No fault was injected: [[faults]] in an experiment file.",
}
DO_NOT_QUOTE: Final = "The numbers are shown as they are; do not quote them."
STREAM_OBJECTIVES, WHOLE_OBJECTIVES = "ttft=0.5,tpot=0.05", "e2e=5"  # examples of limits that a user replaces


def answer(view: View) -> Answer:
    """Status, advice, evidence, tiles, lines and next."""
    return Answer(
        mark=mark(view.status),
        headline=shortened(_headline(view), TWO_LINES),
        evidence=shortened(_evidence(view), TWO_LINES),
        tiles=tuple(_tile(view, dimension) for dimension in DIMENSION_TITLES if dimension in view.dimensions),
        lines=(doubts(view),) if view.status == "INVALID" else lines(view),
        next=steps(view, streamed=STREAMED[0] in latencies(view)),
        record=record_line(view),
        about=_about(view),
    )


def record_line(view: View) -> str:
    """The record, and how many launches each load has."""
    return answering.record_line(view, answering.launches_words(view, "load"))


# ---- what to do ------------------------------------------------------------------------------------------------------


def objectives_words(view: View) -> str:
    """ "TTFT ≤ 500 ms and TPOT ≤ 20 ms"; "every gate" without objectives."""
    limits = [f"{name} ≤ {limit_text(limit, SECONDS)}" for name, limit in view.load.limits.items()]
    return " and ".join(limits) or "every gate"


def _headline(view: View) -> str:
    if view.status == "INVALID":
        return _first(view, "invalid") or view.meaning
    if wrong := _first(view, "fail"):
        return f"wrong: {wrong}"
    if lost := next((gate for gate in view.gates if gate.gate in ("quality", "recovery") and gate.status == "FAIL"), None):
        return lost.sentence
    if trade := trade_off.headline(view):
        return trade
    picked = next((column for column in view.columns if column.key == view.recommended), None)
    if picked is not None:
        where = f"{picked.group} up to {picked.brief}" if picked.group else f"up to {picked.label}"
        return f"{where} within {objectives_words(view)}"
    if view.status == "MEASURED":
        return f"{_most(view)}; no objective was asked for"
    if view.status == "FAIL":
        return _none_passes(view)
    open_ = [gate for gate in view.gates if gate.status in ("INCONCLUSIVE", "NOT_MEASURED")]
    if open_ and view.load.attainment is not None:
        keys = list(dict.fromkeys(gate.configuration for gate in open_))
        return f"{grouping.places(view, keys)} may or may not be within {objectives_words(view)}"
    return view.sentence.partition("INCONCLUSIVE: ")[2].partition(". ")[0].rstrip(".") or view.meaning


def _none_passes(view: View) -> str:
    return f"no load is within {objectives_words(view)}"


def _most(view: View) -> str:
    """The largest yield, and its load."""
    for metric, words in YIELDS.items():
        values = {column: value for column in view.columns if (value := view.estimate(metric, column.key))}
        if values:
            column = max(values, key=lambda key: values[key].value)
            shown = answering.cell(view, metric, column.key)
            assert shown is not None
            text = f"{shown.shown.text.removesuffix('/s')} {shown.shown.interval if shown.shown.interval.startswith('[') else ''}".strip()
            return f"{text} {words} at {column.label}"
    return "measured"


def _evidence(view: View) -> str:
    if view.status == "INVALID":
        return DO_NOT_QUOTE
    if _first(view, "fail"):
        return "A wrong answer has no speed."
    imported = f"Imported from {view.foreign[0].text.partition(':')[0]}, not measured by assay." if view.foreign else ""
    reasons = _reasons(view) if view.load.attainment is not None else ()
    together = trade_off.evidence(view)
    return " ".join(text for text in (*reasons, together, imported) if text)


def _reasons(view: View) -> Iterator[str]:
    """The knee, and why not the next larger load; of several engines the loads of the others."""
    picked = next((column for column in view.columns if column.key == view.recommended), None)
    if picked is None:
        yield from _share_words(view, view.columns[0], "At the smallest load, ")
        return
    if len(view.groups) > 1:
        yield f"{'; '.join(_of_groups(view, picked))}."
        return
    value = view.value(CAPACITY.name, ALL)
    if isinstance(value, Estimate):
        yield f"Knee at {show(value, Scale(factor=1.0)).full} {unit(view)}."
    larger = view.columns[view.columns.index(picked) + 1 :]
    if larger:
        yield from _share_words(view, larger[0], "At ")
    elif len(view.columns) > 1:
        yield "No larger load was tried."


def _share_words(view: View, column: Column, before: str) -> Iterator[str]:
    value, least = view.estimate(SLO_ATTAINMENT.name, column.key), view.load.attainment
    if value is not None and least is not None:
        which = "them" if len(view.load.limits) > 1 else "it"
        yield f"{before}{load_name(column)}, {show(value, beside=(least,)).full} met {which}; {percent(least, 6)} required."


def _of_groups(view: View, picked: Column) -> Iterator[str]:
    """The load that each other engine and scenario carries."""
    best = recommended(view)
    for group in view.groups:
        if group != picked.group:
            column = next((column for column in view.columns if column.group == group and column.key in best), None)
            yield f"{group}: {f'up to {column.brief}' if column else 'none'}"


def _first(view: View, severity: str) -> str:
    row = next((row for row in view.findings if row.severity == severity), None)
    return "" if row is None else f"{row.where}: {row.evidence}" if row.configuration else row.evidence


# ---- lines -----------------------------------------------------------------------------------------------------------


def lines(view: View) -> tuple[Line, ...]:
    """Correctness, reliability where faults were asked for, doubts, and what was not measured."""
    of = view.recommended if view.recommended is not None else view.columns[-1].key
    made = (
        *trade_off.lines(view),
        _correctness(view),
        cost_line(view, of, of="launch", shown=True),
        _reliability(view),
        doubts(view),
        _not_measured(view),
    )
    return tuple(line for line in made if line is not None)


def _correctness(view: View) -> Line | None:
    line = answering.dimension_line(view, "correctness")
    if line is None:
        return None
    if line.mark is not None and line.mark.tone == "absent":
        hint = "" if view.foreign else "; --canaries 0.02 finds crossed ones"
        return replace(line, text=f"answers were not checked{hint}")
    checks = list(_checks(view)) if line.mark is not None and line.mark.tone == "good" else []
    return replace(line, text="; ".join(checks) or shortened(line.text, TWO_LINES))


def _checks(view: View) -> Iterator[str]:
    """What the checks of the answers found, over all loads."""
    row = view.metric(CROSS_TALK.name)
    crossed = [shown.value for shown in row.cells.values() if isinstance(shown.value, Estimate)] if row else []
    if crossed:
        wrong, answers = sum(value.value for value in crossed), sum(value.n_trials for value in crossed)
        yield f"{wrong:,.0f} of {answers:,} answers reached the wrong asker"
    if view.quality_metric is not None:
        yield f"{view.quality_metric} held at every load"
    identical = [value for column in view.columns if (value := view.estimate(ANSWERS_IDENTICAL.name, column.key))]
    if identical:
        yield f"{percent(min(value.value for value in identical), 4, way='down')} of the repeated prompts had one answer"


def _reliability(view: View) -> Line | None:
    line = answering.dimension_line(view, "reliability")
    if line is None:
        return None
    struck = [gate for gate in view.gates if gate.gate == "recovery"]
    worst = next((gate for status in ("FAIL", "INCONCLUSIVE", "PASS") for gate in struck if gate.status == status), None)
    if worst is None:
        return replace(line, text=shortened(line.text, ONE_LINE))
    return replace(line, text=shortened(f"{worst.label}: {worst.sentence}", ONE_LINE), mark=mark(worst.status))


def doubts(view: View) -> Line:
    """What weakens the numbers; if nothing does, how well the client did."""
    line = answering.doubts(view, DOUBT)
    client = "" if line.mark is not None or view.foreign else ", ".join(_client(view))
    return replace(line, text=f"none: {client}" if client else shortened(line.text, TWO_LINES))


def _client(view: View) -> Iterator[str]:
    """The least share of the load that was sent, and the largest p99 of the uncertainty of a time stamp."""
    pairs = [(view.estimate(ACHIEVED_RATE.name, column.key), view.estimate(OFFERED_RATE.name, column.key)) for column in view.columns]
    kept = [min(1.0, sent.value / due.value) for sent, due in pairs if sent and due and due.value]
    if kept and view.load_word == "rate":
        yield f"client kept {percent(min(kept), 4, way='down')} of the load"
    unsure = [value.value for name in UNCERTAINTIES for column in view.columns if (value := view.estimate(name, column.key))]
    if any(unsure):
        yield f"99 % of its times are known to {reading(max(unsure), SECONDS, way='up')}"


def _not_measured(view: View) -> Line | None:
    """Objectives that cannot be judged, the tail that some loads cannot carry, or the yield that is unknown, with what it takes."""
    text = _no_attainment(view) or _few_requests(view) or _no_yield(view)
    return Line(label=NOT_MEASURED, text=text) if text else None


def _no_attainment(view: View) -> str:
    if view.load.attainment is None:
        return ""
    absent = [value for column in view.columns if isinstance(value := view.value(SLO_ATTAINMENT.name, column.key), Absent)]
    return shortened(absent[0].detail if absent else view.load.open, TWO_LINES)


def _few_requests(view: View) -> str:
    stem = next(iter(latencies(view)), "")
    absent = [column for column in view.columns if isinstance(view.value(f"{stem}_p99", column.key), Absent)] if stem else []
    requests = [value.n_trials for column in absent if (value := view.estimate(f"{stem}_p50", column.key))]
    if not requests:
        return ""
    where = "" if len(absent) == len(view.columns) else f" at {_loads(absent)}"
    several = f"{min(requests):,} to {max(requests):,}" if min(requests) < max(requests) else f"{requests[0]:,}"
    needed = f"over {NEEDED:,} are needed" if max(requests) < NEEDED else "too few that are independent"
    return f"p99{where}: {several} requests{' a load' if len(absent) > 1 else ''}, {needed}"


def _loads(columns: Sequence[Column]) -> str:
    """ "load 1", "4 loads"."""
    return f"load {load_name(columns[0])}" if len(columns) == 1 else count(len(columns), "loads")


def _no_yield(view: View) -> str:
    names = [] if any(known(view, metric) for metric in YIELDS) else [next(iter(YIELDS))]
    names += [] if "cost" in view.unasked or any(known(view, metric) for metric in PRICES) else [next(iter(PRICES))]
    rows = [row for name in names if (row := view.metric(name)) is not None]
    notes = [f"{row.title.lower()}: {shown.note}" for row in rows for shown in list(row.cells.values())[:1] if not shown.measured]
    return shortened("; ".join(notes), TWO_LINES)


# ---- tiles -----------------------------------------------------------------------------------------------------------


def _tile(view: View, dimension: str) -> Tile:
    title, target = DIMENSION_TITLES[dimension], f"metrics-{dimension}"
    line = answering.dimension_line(view, dimension)
    if line is None or line.mark is None:
        return Tile(
            title=title, mark=mark("NOT_MEASURED", "not asked"), text=UNASKED.get(dimension, "It was not asked for."), target=target
        )
    cells = {row.column.key: row.cells[dimension] for row in view.vector}
    short = _without_common([column.label for column in view.columns])
    marks = tuple(
        answering.counted(view, cells[column.key].status, word, cells[column.key].sentence)
        for column, word in zip(view.columns, short, strict=True)
    )
    key = _told(view, dimension, {key: cell.status for key, cell in cells.items()})
    big, small = _big(view, dimension, key)
    text = shortened(cells[key].sentence if key == view.recommended else cells[key].sentence.partition(";")[0])
    return Tile(title=title, mark=answering.counted(view, cells[key].status), text=text, big=big, small=small, marks=marks, target=target)


def _told(view: View, dimension: str, statuses: Mapping[str, Status]) -> str:
    """The load that a tile is about: the recommended one, beyond which others may fail; else of the worst the largest that has a number.

    While a load is undecided, the performance is undecided, as the headline says.
    """
    if view.recommended is not None and view.recommended in statuses:
        return view.recommended
    found = set(statuses.values())
    first = ("INVALID", "INCONCLUSIVE") if dimension == "performance" else ()
    worst = next(status for status in (*first, *WORST_FIRST) if status in found)
    keys = [key for key, status in reversed([*statuses.items()]) if status == worst]
    return next((key for key in keys if _big(view, dimension, key)[0]), keys[0])


def _without_common(labels: Sequence[str]) -> list[str]:
    """Labels without the words that all of them have: "a 4" of "a, 4 in flight"."""
    words = [label.replace(",", "").split() for label in labels]
    common = set.intersection(*map(set, words)) if len(words) > 1 else set()
    return [" ".join(word for word in several if word not in common) or label for several, label in zip(words, labels, strict=True)]


def _big(view: View, dimension: str, key: str) -> tuple[str, str]:
    """The number of a load."""
    for name in BIG[dimension]:
        row = view.metric(name)
        shown = row.cells.get(key) if row else None
        if row is not None and shown is not None and shown.measured:
            return shown.text, with_interval(f"{row.title.lower()}, {view.label(key)}", shown.interval)
    return "", ""


def _about(view: View) -> str:
    facts = {fact.name: fact.text for fact in view.conditions}
    return ", ".join(
        text
        for text in ("Serving", facts.get("Model", "").partition(";")[0], facts.get("Scenarios", ""), count(len(view.launches), "launches"))
        if text
    )


# ---- what to do next -------------------------------------------------------------------------------------------------


def steps(view: View, *, streamed: bool) -> tuple[Next, ...]:
    """The one step that helps most; none if nothing is to be done."""
    if view.status == "INVALID":
        return _repeated(view)
    if view.status == "FAIL" and any(row.severity == "fail" for row in view.findings):
        return answering.remedies(view, ("fail",))
    if view.foreign:
        return ()  # another program sent this load
    if not view.launches:
        return answering.remedies(view, ("warning",))
    if longer := _uncounted(view):
        return longer
    if view.load.attainment is None:
        limits = STREAM_OBJECTIVES if streamed else WHOLE_OBJECTIVES
        return (_again(view, "say what a good request is, to learn the largest good load", f"--slo {limits}"),)
    return _unseen(view) or _undecided(view) or _limit(view)


def _uncounted(view: View) -> tuple[Next, ...]:
    """A launch that holds ten requests, where none held one after its warm-up."""
    longest = view.load.requests["e2e_s"].max()
    if view.load.requests["counted"].any() or not isinstance(longest, float):
        return ()
    reason = f"let a launch hold ten requests: one took {reading(longest, SECONDS)}"
    return (_again(view, reason, f"--duration {math.ceil(10.0 * longest)}s"),)


def _repeated(view: View) -> tuple[Next, ...]:
    """The remedy of the gravest finding, and the same load again where assay sent it and the record is sound."""
    (step, *_) = answering.remedies(view, ("invalid",)) or (Next(reason="measure again"),)
    broken = any(row.severity == "invalid" and row.rule.startswith(("record_", "simulated")) for row in view.findings)
    return (step,) if view.foreign or broken else (_again(view, f"{shortened(step.reason, TWO_LINES)}; then", ""),)


def _again(view: View, reason: str, flags: str) -> Next:
    return Next(reason=reason, command=f"assay load {answering.named(view)} {flags}".strip())


def _unseen(view: View) -> tuple[Next, ...]:
    """A longer load where no request was due in the measured part."""
    absent = [column for column in view.columns if isinstance(view.value(SLO_ATTAINMENT.name, column.key), Absent)]
    if not absent or view.load.open or view.recommended is not None:
        return ()
    rates = [column.load for column in absent if column.load] if view.load_word == "rate" else []
    if not rates:
        return (Next(reason="let each load last longer than its requests take (--duration)"),)
    seconds = math.ceil(NEEDED / min(rates))
    return (_again(view, f"let {NEEDED:,} requests fall due at the smallest rate", f"--duration {seconds}s"),)


def _undecided(view: View) -> tuple[Next, ...]:
    """More launches for the loads that the intervals leave open, or the counts that are missing."""
    if view.load.open and view.recommended is None and view.status != "FAIL":  # however many launches, as many are unknown
        return (Next(reason='make every time per token known first: see "not measured" above'),)
    columns = open_loads(view)
    return (decide(view, columns),) if columns and view.recommended is None else ()


def _limit(view: View) -> tuple[Next, ...]:
    """Loads around the largest that is good enough."""
    last = next((column for column in view.columns if column.key == view.recommended), None)
    group = last.group if last else view.columns[0].group
    members = [column for column in view.columns if column.group == group and column.load is not None]
    if not members:
        return ()
    if last is None:
        lower = _below(view, members[0])
        reason = "find a load that is good enough below the smallest"
        return (
            (_again(view, reason, _flag(view, lower)),)
            if lower
            else (Next(reason="no smaller load exists: more replicas, or other limits"),)
        )
    index = members.index(last) if last in members else -1
    if index < 0:
        return ()
    if index + 1 == len(members):
        above = [_whole(view, (last.load or 0.0) * factor) for factor in (2, 4)]
        return (_again(view, f"find the limit above {given(last.load or 0.0)}", _flag(view, above)),)
    between = _between(view, last.load or 0.0, members[index + 1].load or 0.0)
    reason = f"find the limit between {given(last.load or 0.0)} and {given(members[index + 1].load or 0.0)}"
    return (_again(view, reason, _flag(view, between)),) if between else ()


def _between(view: View, low: float, high: float) -> list[float]:
    """Three loads between two, or as many as there are."""
    inside = {_whole(view, low + share * (high - low)) for share in (0.25, 0.5, 0.75)}
    return sorted(load for load in inside if low < load < high)


def _below(view: View, smallest: Column) -> list[float]:
    load = smallest.load or 0.0
    return sorted({lower for factor in (0.25, 0.5) if 0.0 < (lower := _whole(view, load * factor)) < load})


def _whole(view: View, load: float) -> float:
    return float(round(load)) if view.load_word == "concurrency" else float(f"{load:.3g}")


def _flag(view: View, loads: Sequence[float]) -> str:
    name = "--concurrency" if view.load_word == "concurrency" else "--rate"
    return f"{name} {','.join(given(load) for load in loads)} " if loads else ""
