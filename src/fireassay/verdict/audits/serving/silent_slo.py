"""Was the throughput reached while the service objective was broken?

Throughput can be bought with latency; only throughput within the objective (goodput) can be delivered. Claims: an objective stated as
missed, or broken by a published number. Records of training have one objective, the deadline, checked by the gate `deadline`; loads have
those of [serving.objectives], checked by the gate `objectives`. Source: MLPerf Inference rules, server scenario.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import given, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.metrics.serving.objectives import GOODPUT
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found, unsaid
from fireassay.verdict.evidence.sent_requests import serving_of
from fireassay.verdict.gates import objectives
from fireassay.verdict.stated.kinds import is_rate, is_wait
from fireassay.verdict.stated.names import has_word
from fireassay.verdict.stated.objective import Evidence, evidence, limit_of, limited, same_unit
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number, Objective

    Seen = list[tuple[Number, Evidence]]


def examine(measured: RecordData, results: Results) -> Iterator[Finding]:
    """Nothing for training; for a load, throughput reached while its objectives were broken."""
    for result in objectives.GATE.check(measured, results) if _served(measured) else ():
        name = result.configuration
        rate = results.get(OUTPUT_THROUGHPUT.name, {}).get(name)
        if result.status == "FAIL" and isinstance(rate, Estimate):
            good = results.get(GOODPUT.name, {}).get(name)
            left = f", of which goodput is {show(good, work='requests').full}" if isinstance(good, Estimate) else ""
            evidence = f"{show(rate, work='tokens').full} were reached while the objectives were broken: {result.sentence}{left}"
            remedy = "quote the goodput, or the throughput at the largest load that meets the objectives"
            yield Finding("objectives_broken", "note", name, evidence, remedy)


def _served(measured: RecordData) -> bool:
    """Whether the gate `objectives` applies."""
    return measured.kind.concerns(objectives.GATE.about)


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without an objective."""
    if _served(measured):
        return None if serving_of(measured).objectives.any else "no objective was set (serving.objectives)"
    return None if measured.experiment.gates.deadline_s is not None else "no objective was set (gates.deadline_s)"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Rates beside an objective that is broken, unstated, or supported by an unsuitable statistic."""
    rates = [number for number in said.number if is_rate(number)]
    if said.slo is None:
        served = any(is_wait(number) for number in said.number) or any(has_word(number.metric, ("goodput",)) for number in rates)
        return (
            unsaid("objective_unsaid", rates, "under which service objective", "add [slo] with objective and met", "goodput")
            if served
            else ()
        )
    about = rates or [number for number in limited(said) if is_wait(number)]
    seen = [(number, evidence(limit_of(said.slo), number)) for number in limited(said) if same_unit(said.slo, number)]
    broken = _broken(said.slo, seen)
    if broken and (rates or said.slo.met is not False):
        return tuple(
            found(
                "objective_not_met",
                "invalid",
                number,
                f"the objective ({said.slo.objective}) was not met: {broken}",
                "report the throughput at which the objective is met (goodput)",
                "goodput",
            )
            for number in about or said.number[:1]
        )
    return _answered(said, said.slo, about, seen)


def _broken(slo: Objective, seen: Seen) -> str:
    """The number that breaks it, or the claim's own statement; if the objective names no percentile, all must break it."""
    bad = [number for number, says in seen if says == "broken"]
    good = [number for number, says in seen if says in ("met", "undecided")]
    if bad and not (good and limit_of(slo).statistic is None):
        return f"{_said(bad[0])}, the limit is {_limit(slo, bad[0])}"
    return "the claim says so (slo.met = false)" if slo.met is False else ""


def _answered(said: Claim, slo: Objective, about: list[Number], seen: Seen) -> tuple[Finding, ...]:
    """Parts of an unbroken objective left open, or covered only by a lower percentile."""
    weaker = [number for number, says in seen if says == "weaker"]
    undecided = [number for number, says in seen if says == "undecided"]
    statistic = limit_of(slo).statistic
    if any(says == "met" for _, says in seen):
        return ()
    if undecided:
        words = f"the interval of {_said(undecided[0])} extends beyond the limit of {_limit(slo, undecided[0])}"
        remedy = "measure more requests until the interval is on one side of the limit"
        return (found("objective_undecided", "note", None, words, remedy, "goodput"),)
    if weaker:
        words = f"the objective is on the {statistic} ({slo.objective}); the claim states only that {_said(weaker[0])}"
        remedy = f"publish the {statistic} of the same launches"
        return (found("objective_answered_by_less", "note" if slo.met else "warning", weaker[0], words, remedy, "goodput", "tail"),)
    if slo.met is not None:
        return ()
    return unsaid("objective_met_unsaid", about or said.number[:1], "whether the objective was met", "state slo.met", "goodput")


def _said(number: Number) -> str:
    return f"{number.label} is {given(number.value)} {number.unit or ''}".rstrip()


def _limit(slo: Objective, number: Number) -> str:
    limit = limit_of(slo)
    return f"{given(limit.value or 0.0)} {limit.unit_name or number.unit or ''}".rstrip()


AUDIT = Audit(
    name="silent_slo",
    title="silent violation of the objective",
    question="Was the throughput reached while the service objective was broken?",
    examine=examine,
    claim=claim,
    blind=blind,
    about=WORKLOADS,
)
