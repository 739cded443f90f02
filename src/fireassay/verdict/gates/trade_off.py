"""Which load has the largest throughput under a latency cap, and which the lowest latency under a throughput floor?

A load passes if the whole interval of its latency lies below the cap, or of its throughput above the floor; among those that pass, the one with
the largest throughput, or the lowest latency, is the answer.  A winner that is picked among several loads by its own numbers looks better than it
is: of eight equal loads in five launches the picked one's 95 % interval misses its true value in 15 % of records.  So every interval here is at
1 - (1 - confidence) / loads (Bonferroni): all loads of an engine and a scenario hold together, whichever is picked, and the chance that any load
passes by luck is at most half of 1 - confidence.  The gates' intervals and the reported ones are one such family each.
Cannot tell: what a load between two measured ones would do.
Source: Bonferroni, as in Hsu, "Multiple Comparisons", 1996, section 1.3; selection of a winner: Dahiya, JASA 69, 1974.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final, Literal

from fireassay import catalog
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.results import values
from fireassay.spec.plan import Configuration
from fireassay.verdict.gates.gate import Gate, threshold
from fireassay.verdict.types import GateResult

LATENCIES: Final = {"ttft": "TTFT", "tpot": "TPOT", "itl": "gap between tokens", "e2e": "e2e"}
OF: Final = {"requests": ("request_throughput", "requests/s"), "tokens": ("output_throughput", "output tokens/s")}
KEPT: Final = ("served", "timed_requests", "counted_requests")  # frames that do not depend on the confidence
Sought = Literal["throughput", "latency"]


@dataclass(frozen=True, kw_only=True)
class Question:
    """One of the two questions: what is limited, and what is sought."""

    sought: Sought
    limited: str  # metric
    limit: float
    side: Literal["at least", "at most"]
    wanted: str  # metric
    limited_words: str  # "e2e p99"
    wanted_words: str

    @property
    def gate(self) -> str:
        """The name of its gate."""
        return "latency_cap" if self.sought == "throughput" else "throughput_floor"


@dataclass(frozen=True, kw_only=True)
class Picked:
    """The answer for one engine and scenario."""

    question: Question
    loads: int
    confidence: float  # of every interval
    configuration: str = ""  # empty: no load passes
    value: Estimate | None = None  # of what is sought
    nearest: tuple[str, Estimate] | None = None  # where none passes: the best of what is limited
    unknown: str = ""  # where loads pass, but none has the latency: why
    undecided: int = 0  # loads that may pass, or pass without what is sought: one of them may be better


def questions(measured: RecordData) -> tuple[Question, ...]:
    """The questions of the experiment: none, one or both."""
    cap, floor = measured.experiment.gates.latency_cap, measured.experiment.gates.throughput_floor
    found = []
    if cap is not None:
        metric, words = OF[floor.of if floor is not None else "tokens" if _has_tokens(measured) else "requests"]
        title = f"p{cap.percentile} {LATENCIES[cap.metric]}"
        found.append(
            Question(
                sought="throughput",
                limited=cap.name,
                limit=cap.limit_s,
                side="at most",
                wanted=metric,
                limited_words=title,
                wanted_words=words,
            )
        )
    if floor is not None:
        metric, words = OF[floor.of]
        title = f"p{floor.percentile} {LATENCIES[floor.metric]}"
        found.append(
            Question(
                sought="latency",
                limited=metric,
                limit=floor.at_least,
                side="at least",
                wanted=floor.name,
                limited_words=words,
                wanted_words=title,
            )
        )
    return tuple(found)


def _has_tokens(measured: RecordData) -> bool:
    found = values(_metric(OF["tokens"][0]), measured, {})
    return any(isinstance(value, Estimate) for value in found.values())


@once_per_record
def answers(measured: RecordData) -> tuple[Picked, ...]:
    """One per question, engine and scenario, in report order."""
    return tuple(_pick(measured, question, members) for question in questions(measured) for members in _groups(measured))


def _groups(measured: RecordData) -> list[list[Configuration]]:
    """The loads of each engine and scenario."""
    groups: dict[tuple[str, str], list[Configuration]] = {}
    for configuration in measured.varied:
        groups.setdefault((configuration.target, configuration.scenario), []).append(configuration)
    return list(groups.values())


def _pick(measured: RecordData, question: Question, members: Sequence[Configuration]) -> Picked:
    limited, wanted = (of_loads(measured, metric, len(members)) for metric in (question.limited, question.wanted))
    statuses = {member.name: _result(question, member.name, limited[member.name]).status for member in members}
    confidence = 1.0 - (1.0 - measured.confidence) / len(members)
    found = Picked(question=question, loads=len(members), confidence=confidence)
    passed = [name for name, status in statuses.items() if status == "PASS"]
    passing = {name: value for name in passed if isinstance(value := wanted[name], Estimate)}
    open_ = sum(status not in ("PASS", "FAIL") for status in statuses.values()) + len(passed) - len(passing)
    if passing:
        best = best_of({name: value.value for name, value in passing.items()}, question.sought)
        return replace(found, configuration=best, value=passing[best], undecided=open_)
    if passed and isinstance(why := wanted[passed[0]], Absent):
        return replace(found, unknown=why.detail, undecided=open_, nearest=None)
    known = {member.name: value for member in members if isinstance(value := limited[member.name], Estimate)}
    if not known:
        return found
    nearest = (max if question.side == "at least" else min)(known, key=lambda name: known[name].value)
    return replace(found, nearest=(nearest, known[nearest]))


def preferred(measured: RecordData, members: Sequence[Configuration]) -> Configuration:
    """The load to recommend among those that pass every gate: by what is sought, the floor's latency first; else the largest."""
    for question in reversed(questions(measured)):
        loads = next(len(group) for group in _groups(measured) if members[0] in group)
        known = of_loads(measured, question.wanted, loads)
        sought = {member.name: value.value for member in members if isinstance(value := known[member.name], Estimate)}
        if sought:
            best = best_of(sought, question.sought)
            return next(member for member in members if member.name == best)
    return members[-1]


def preference(measured: RecordData) -> str:
    """ "the lowest p99 e2e among the loads that pass every gate"."""
    found = questions(measured)
    if not found:
        return "the largest load that passes every gate"
    return f"the {'lowest' if found[-1].sought == 'latency' else 'largest'} {found[-1].wanted_words} among the loads that pass every gate"


def best_of(sought: dict[str, float], what: Sought) -> str:
    """The name with the largest throughput or the lowest latency; the first of equal ones."""
    return (max if what == "throughput" else min)(sought, key=sought.__getitem__)


@once_per_record
def of_loads(measured: RecordData, metric: str, loads: int) -> dict[str, Value]:
    """A metric of every load with intervals that hold for so many loads together."""
    return dict(values(_metric(metric), together(measured, loads), {}))


def together(measured: RecordData, loads: int) -> RecordData:
    """The record with the confidence of one of so many intervals."""
    confidence = 1.0 - (1.0 - measured.confidence) / loads
    launches = measured.experiment.launches.model_copy(update={"confidence": confidence})
    manifest = {key: value for key, value in measured.manifest.items() if key != "looks"}  # their confidence is in `measured.confidence`
    wider = replace(measured, experiment=measured.experiment.model_copy(update={"launches": launches}), manifest=manifest)
    vars(wider).update({name: getattr(measured, name) for name in KEPT})  # folded once: a load may have millions of requests
    return wider


def _metric(name: str) -> Metric:
    metric: Metric = catalog.load("metrics", name)
    return metric


def _result(question: Question, configuration: str, value: Value) -> GateResult:
    return threshold(question.gate, configuration, question.limited_words.removesuffix("/s"), value, question.limit, question.side)


def _check(measured: RecordData, _: Results, *, sought: Sought) -> tuple[GateResult, ...]:
    results = []
    for question in questions(measured):
        if question.sought != sought:
            continue
        for members in _groups(measured):
            limited = of_loads(measured, question.limited, len(members))
            for member in members:
                result = _result(question, member.name, limited.get(member.name, Absent("not_measured", "no launch")))
                among = f"; {100 * (1 - (1 - measured.confidence) / len(members)):.4g} % interval, one of {len(members)} loads"
                results.append(replace(result, sentence=result.sentence + (among if len(members) > 1 else "")))
    return tuple(results)


GATES: Final = (
    Gate(name="latency_cap", question="Which loads keep the latency cap?", check=partial(_check, sought="throughput"), about=("serving",)),
    Gate(
        name="throughput_floor",
        question="Which loads reach the throughput floor?",
        check=partial(_check, sought="latency"),
        about=("serving",),
    ),
)
