"""What is shown of a gate?  Whether the change is slower, by how many pairs that was decided, and which slowdown they would have missed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import count, duration, limit_text, percent, with_interval
from fireassay.reports.answering import in_percent, shortened
from fireassay.reports.cell import DIGEST
from fireassay.reports.page import Answer, Line, Mark, Next, Page
from fireassay.reports.pages import check as check_page
from fireassay.stats.comparing.comparison import Difference, detectable_effect
from fireassay.units import FRACTION
from fireassay.verdict.checking.types import Check, CheckRow, State
from fireassay.verdict.comparison.phrases import difference_text

WORDS: Final[dict[State, str]] = {"regression": "FAIL"}  # of states that a gate calls otherwise than a check
CONFIRMED: Final = {
    "confirmed": ", remeasured once",
    "refuted": ", remeasured once, which did not confirm the slowdown",
    "undecided": ", remeasured once, which decides nothing",
}
MAX_DISTURBANCES: Final = 2
WIDEST: Final = 0.5  # a margin that is worth proposing
DOUBLED: Final = 1.0  # relative; the size of a larger change has no digit that means anything
LONG_S: Final = 1800.0  # of pairs, beyond which another way is named first
SHARPER: Final = 0.75  # of the change that wall time shows: a bit more than half the pairs
COMPUTES: Final = 0.5  # of the wall time
CONTENDED: Final = 0.2  # the same where the machine was disturbed: a command that only computes waits for its processor
FEW: Final = 6  # pairs: a scatter of fewer says too little about how many would decide
MUCH: Final = 20  # times the pairs made: so many more help nobody


@dataclass(frozen=True, kw_only=True)
class Measured:
    """The measurements of a gate, for its page."""

    base: str  # as the user named it
    check: Check
    pairs: Sequence[int]  # of each series
    seconds: float
    margin: float
    accepted: bool = False
    trees: str = ""  # what of the two trees is worth knowing
    warnings: Sequence[str] = ()
    records: Sequence[str] = ()  # of the series that decided: base, change
    seals: Sequence[str] = ()  # theirs, SHA-256
    compare: str = ""  # the command that shows every number of the records
    more: str = ""  # the command of the same gate, up to its budget
    command: str = ""  # the words that end it


def page(gate: Measured) -> Page:
    """The page of a gate: that of its check, with an answer of its own."""
    found = check_page.page(gate.check)
    row = primary(gate.check)
    missed = percent(smallest(row.difference), way="up") if row is not None and row.difference is not None else ""
    answer = Answer(
        mark=replace(_mark(gate), tone=check_page.TONES.get(gate.check.state, "open")),
        headline=_headline(gate, row),
        evidence="; ".join(filter(None, (_evidence(gate, row), check_page.apart(gate.check)))),
        lines=tuple(_lines(gate, row)),
        next=tuple(_next(gate, row)),
        record=f"{_records(gate)}; --full shows every metric" if gate.records else "",
        about=gate.command.removeprefix(" -- "),
    )
    properties = {**found.properties, "verb": "gate", "smallest_change": missed}
    properties |= dict(zip(("base_digest", "digest"), gate.seals, strict=False))
    return replace(found, title="", answer=answer, sections=check_page.without_answer(found.sections), properties=properties)


def _records(gate: Measured) -> str:
    seals = f" (sha256 {', '.join(seal[:DIGEST] for seal in gate.seals)})" if gate.seals else ""
    return f"{', '.join(gate.records)}{seals}"


def primary(check: Check) -> CheckRow | None:
    """The row of the metric that decides."""
    return next((row for row in check.rows if row.primary), None)


def smallest(difference: Difference) -> float:
    """The smallest true change that these pairs show with 80 % power, relative; infinite if none."""
    if difference.scale != "ratio" or not math.isfinite(difference.standard_error):
        return math.inf
    return math.expm1(min(detectable_effect(difference.standard_error, difference.df, difference.confidence), 700.0))


def _mark(gate: Measured) -> Mark:
    word = WORDS.get(gate.check.state, gate.check.state.replace("_", " ").upper())
    return Mark(word=f"{word}, ACCEPTED" if gate.accepted and gate.check.state != "pass" else word)


def _headline(gate: Measured, row: CheckRow | None) -> str:
    others = [other for other in gate.check.rows if other.decides and other.state == gate.check.state and not other.primary]
    if row is None or row.difference is None or (row.state != gate.check.state and others):
        told = others[0].sentence if others else row.sentence if row is not None and row.difference is None else gate.check.sentence
        return shortened(told.removeprefix(f"{gate.check.state.replace('_', ' ').upper()}: ").rstrip("."), check_page.MAX_SENTENCE_LENGTH)
    margin = limit_text(gate.margin, FRACTION)
    if gate.check.state != "inconclusive":
        return f"{_compared(row, gate.base)}, margin {margin}"
    if not gate.accepted:
        return f"{_compared(row, gate.base)}: the margin of {margin} lies inside"
    return f"{_compared(row, gate.base)}; {_passed(row)} would have passed"


def _compared(row: CheckRow, base: str) -> str:
    """ "7.7 % slower than main [7.5, 8.0]" where the interval excludes no change, else "+0.4 % [-0.9, 1.7] against main"."""
    difference = row.difference
    assert difference is not None
    if difference.scale != "ratio" or not math.isfinite(difference.value):
        return f"{difference_text(difference)} against {base}"
    shown = in_percent(
        difference.value, difference.low, difference.high, confidence=difference.confidence, margins=(row.margin or 0.0,)
    ).shown
    text, interval = shown.text, shown.interval
    if difference.low <= 1.0 <= difference.high:
        return f"{with_interval(text, interval)} against {base}"
    rate = row.metric.endswith(("time", "throughput"))
    worse, better = ("slower", "faster") if rate else ("worse", "better")
    word = worse if (difference.value > 1.0) == (row.better == "lower") else better
    size = with_interval(text.lstrip("+"), interval) if difference.value > 1.0 else with_interval(text.lstrip("-−"), _turned(interval))
    return f"{size} {word} than {base}"


def _turned(interval: str) -> str:
    """ "[-9.1, -7.2]" as "[7.2, 9.1]"."""
    low, high = interval.strip("[]").split(", ")
    return f"[{high.lstrip('-−')}, {low.lstrip('-−')}]"


def _passed(row: CheckRow) -> str:
    """The regression that an accepted gate does not exclude."""
    end = _worst(row)
    word = "a slowdown" if row.metric.endswith("time") else "a loss"
    return f"{word} of up to {percent(end, way='up')}" if math.isfinite(end) else f"{word} of any size"


def _evidence(gate: Measured, row: CheckRow | None) -> str:
    pairs = count(gate.pairs[-1], "pairs")
    metric = f"{row.title.lower()}, " if row is not None and row.metric != "trial_time" else ""
    made = f"{metric}in turn, {pairs}{CONFIRMED.get(gate.check.confirmation, '')}, {duration(gate.seconds)}"
    if row is None or row.difference is None or not math.isfinite(found := smallest(row.difference)):
        return f"{made}; too few pairs to show any change"
    if found > DOUBLED:
        return f"{made}; too few pairs to show even a doubling"
    return f"{made}; smallest change these pairs could show: {percent(found, way='up')}"


def _lines(gate: Measured, row: CheckRow | None) -> Iterator[Line]:
    if gate.trees:
        yield Line(label="trees", text=gate.trees)
    if gate.check.state != "inconclusive":
        return
    for gap in gate.check.gaps[:2]:
        yield Line(label="gap", text=shortened(gap), mark=Mark(word="gap", tone="open"))
    cpu = _processor(gate.check)
    if cpu is not None and row is not None and row.metric == "trial_time" and cpu.difference is not None:
        yield Line(label="processor", text=f"{_compared(cpu, gate.base)} in processor time, which decides nothing here")
    if gate.warnings:
        yield Line(label="warnings", text="; ".join(gate.warnings[:MAX_DISTURBANCES]), mark=Mark(word="warning", tone="open", sign="~"))


def _processor(check: Check) -> CheckRow | None:
    return next((row for row in check.rows if row.metric == "trial_cpu_time" and row.difference is not None), None)


def _next(gate: Measured, row: CheckRow | None) -> Iterator[Next]:
    """What would decide; what explains a slowdown."""
    if gate.check.state == "regression" and gate.compare:
        yield Next(reason="see every number", command=gate.compare)
    if gate.check.state != "inconclusive" or row is None or row.difference is None or not gate.more:
        return
    made, needed = gate.pairs[-1], row.launches_needed
    left_s = math.inf if needed is None or needed > MUCH * made else needed / made * gate.seconds / len(gate.pairs)
    wider = max(smallest(row.difference), _worst(row))
    margin = f"take a margin above {percent(wider, way='up')}" if wider < WIDEST else ""
    if _processor_decides(gate, row):
        reason = "this machine is too noisy for wall time; of a command that computes, processor time decides"
        yield Next(reason=reason, command=f"{gate.more} --primary trial_cpu_time{gate.command}")
    elif left_s <= (LONG_S if margin else math.inf) and math.isfinite(left_s):
        reason = f"{needed} pairs would decide in 4 of 5 cases, about {duration(left_s)}"
        yield Next(reason=reason, command=f"{gate.more} --pairs {needed}{gate.command}")
    elif math.isfinite(left_s):
        yield Next(reason=f"quiet this machine, or {margin}: as it is, {needed} pairs would decide, about {duration(left_s)}")
    elif made < FEW:
        yield Next(reason=f"{count(made, 'pairs')} are too few to say how many would decide", command=f"{gate.more}{gate.command}")
    else:
        yield Next(reason=f"more pairs do not help on this machine as it is: quiet it{f', or {margin}' if margin else ''}")


def _processor_decides(gate: Measured, row: CheckRow) -> bool:
    """True if the processor time of the same pairs is to decide: the command computes most of the time, and it is decided or much sharper."""
    cpu = _processor(gate.check)
    if cpu is None or cpu.difference is None or row.difference is None or row.metric != "trial_time":
        return False
    sides = ((cpu.baseline, row.baseline), (cpu.value, row.value))
    least = CONTENDED if gate.warnings else COMPUTES
    computes = all(isinstance(used, Estimate) and isinstance(wall, Estimate) and used.value >= least * wall.value for used, wall in sides)
    limit = 1.0 + gate.margin
    decided = cpu.difference.high < limit or cpu.difference.low > limit
    return computes and (decided or smallest(cpu.difference) < SHARPER * smallest(row.difference))


def _worst(row: CheckRow) -> float:
    """The largest worsening that the interval still holds, relative."""
    difference = row.difference
    assert difference is not None
    return difference.high - 1.0 if row.better == "lower" else 1.0 - difference.low
