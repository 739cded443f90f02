"""Was the throughput reached while the service objective was broken?

Throughput can always be bought with latency.  Only throughput under the objective (goodput) can be delivered.  Claims: an objective that
was said not to be met, or that one of the published numbers breaks.  Records of training have one objective, the deadline,
and the gate `deadline` holds every configuration against it;
a load has those of [serving.objectives], and the gate `objectives`.  Source: methodology 1c; MLPerf Inference, server scenario.
"""

from __future__ import annotations

from assay.metrics.base import WORKLOADS, Results
from assay.metrics.estimate import Estimate
from assay.metrics.format import given, show
from assay.metrics.measured import Measured
from assay.spec.claim import Claim, Number, Objective
from assay.verdict.audits.base import Audit
from assay.verdict.audits.claimed import found, is_rate, is_wait, unsaid
from assay.verdict.gates import objectives
from assay.verdict.types import Finding


def examine(measured: Measured, results: Results) -> tuple[Finding, ...]:
    """Of training nothing of its own; of a load, which throughput was reached while its objectives were broken."""
    found_here = []
    for result in objectives.GATE.check(measured, results):
        name = result.configuration
        rate = results.get("output_throughput", {}).get(name)
        if result.status == "FAIL" and isinstance(rate, Estimate):
            good = results.get("goodput", {}).get(name)
            left = f", of which goodput is {show(good, work='requests').full}" if isinstance(good, Estimate) else ""
            found_here.append(Finding(
                rule="objectives_broken", severity="note", configuration=name,
                evidence=f"{show(rate, work='tokens').full} were reached while the objectives were broken: {result.sentence}{left}",
                remedy="quote the goodput, or the throughput at the largest load that meets the objectives",
            ))  # fmt: skip
    return tuple(found_here)


def blind(measured: Measured, _: Results) -> str | None:
    """Without an objective none can be broken."""
    if measured.experiment.serving is not None:
        return None if measured.experiment.serving.objectives.any else "no objective was asked for (serving.objectives)"
    return None if measured.experiment.gates.deadline_s is not None else "no objective was asked for (gates.deadline_s)"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Rates beside an objective that is broken, or unsaid."""
    rates = [number for number in said.number if is_rate(number)]
    served = any(is_wait(number) for number in said.number) or said.slo is not None
    if not rates or not served:
        return ()
    if said.slo is None:
        return unsaid(
            "objective_unsaid", rates, "under which service objective", "add [slo] with objective and met", "goodput"
        )
    broken = _broken(said.slo, said.number)
    if broken:
        return tuple(
            found(
                "objective_not_met", "invalid", rate, f"the objective ({said.slo.objective}) was not met: {broken}",
                "report the throughput at which the objective is met (goodput)", "goodput",
            )
            for rate in rates
        )  # fmt: skip
    if said.slo.met is None and not _within(said.slo, said.number):
        return unsaid("objective_met_unsaid", rates, "whether the objective was met", "say slo.met", "goodput")
    return ()


def _limited(slo: Objective, numbers: tuple[Number, ...]) -> list[Number]:
    return [number for number in numbers if slo.metric is not None and number.metric == slo.metric]


def _broken(slo: Objective, numbers: tuple[Number, ...]) -> str:
    for number in _limited(slo, numbers):
        if slo.limit is not None and number.value > slo.limit:
            return (
                f"{number.label} is {given(number.value)} {number.unit or ''}".rstrip()
                + f", the limit is {given(slo.limit)} {number.unit or ''}".rstrip()
            )
    return "the claim says so" if slo.met is False else ""


def _within(slo: Objective, numbers: tuple[Number, ...]) -> bool:
    return slo.limit is not None and any(number.value <= slo.limit for number in _limited(slo, numbers))


AUDIT = Audit(
    name="silent_slo", title="silent violation of the objective",
    question="Was the throughput reached while the service objective was broken?", examine=examine, claim=claim, blind=blind, about=WORKLOADS,
)  # fmt: skip
