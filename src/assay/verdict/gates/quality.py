"""Was quality held within the margin that was written down beforehand?

PASS (held): the one-sided lower bound of score(p) - score(base) is above -margin.  FAIL (degraded): the one-sided
upper bound is below -margin.  Otherwise INCONCLUSIVE, with what would be needed.  Source: quality.md section 3.
"""

from __future__ import annotations

from assay.metrics.base import WORKLOADS, Results
from assay.metrics.estimate import Absent, Estimate
from assay.metrics.format import decimals_of, number
from assay.metrics.measured import Measured
from assay.metrics.quality_difference import decide
from assay.stats.noninferiority import Decision
from assay.verdict.gates.base import FEWEST_LAUNCHES, Gate, too_few
from assay.verdict.types import GateResult, Status

NOT_COMPUTED = Absent(reason="not_measured", detail="quality was not computed")


def check(measured: Measured, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration; none where the experiment names no quality metric."""
    if measured.experiment.quality is None:
        return ()
    return tuple(_one(measured, results, name) for name in measured.configurations)


def _one(measured: Measured, results: Results, configuration: str) -> GateResult:
    if configuration == measured.base:
        return _reference(results, configuration)
    decision = decide(measured, configuration)
    value = results.get("quality_difference", {}).get(configuration, NOT_COMPUTED)
    if isinstance(decision, Absent) or isinstance(value, Absent):
        detail = decision.detail if isinstance(decision, Absent) else value.detail if isinstance(value, Absent) else ""
        return _result(configuration, "NOT_MEASURED", f"quality: {detail}")
    return _result(configuration, *_judged(measured, decision, value))


def _reference(results: Results, configuration: str) -> GateResult:
    value = results.get("quality", {}).get(configuration, NOT_COMPUTED)
    if isinstance(value, Absent):
        return _result(configuration, "NOT_MEASURED", f"quality: {value.detail}")
    if value.n_launches < FEWEST_LAUNCHES:
        return _result(configuration, "INCONCLUSIVE", f"quality of the reference: {too_few(value.n_launches)}")
    return _result(configuration, "PASS", "quality: this is the reference that the others are compared with")


def _judged(measured: Measured, decision: Decision, value: Estimate) -> tuple[Status, str]:
    quality = measured.experiment.quality
    assert quality is not None
    decimals = max(
        decimals_of(value.value, value.low, value.high), decimals_of(quality.margin, quality.margin, quality.margin)
    )
    low, mid, high = (number(x, decimals) for x in (value.low, value.value, value.high))
    margin = number(quality.margin, decimals)
    numbers = f"{quality.metric} differs by {mid} from the base, one-sided bounds [{low}, {high}], margin {margin}"
    if value.n_launches < FEWEST_LAUNCHES:
        return "INCONCLUSIVE", f"{numbers}; {too_few(value.n_launches)}"
    if decision.verdict == "HELD":
        worse = " (worse, but within the margin)" if decision.worse_within_margin else ""
        return "PASS", f"quality held{worse}: {numbers}"
    if decision.verdict == "DEGRADED":
        return "FAIL", f"quality degraded: {numbers}"
    return "INCONCLUSIVE", f"quality undecided: {numbers}; {_needed(decision, decimals)}"


def _needed(decision: Decision, decimals: int) -> str:
    ways = []
    if decision.launches_needed is not None:
        ways.append(f"{decision.launches_needed} launches per configuration")
    if decision.items_needed is not None:
        ways.append(f"{decision.items_needed} held-out examples")
    smallest = f"this data supports a margin of {number(decision.smallest_supported_margin, decimals)}"
    return (
        f"about {' or '.join(ways)} would decide; {smallest}"
        if ways
        else f"{smallest}; more of only one kind of data cannot decide"
    )


def _result(configuration: str, status: Status, sentence: str) -> GateResult:
    return GateResult(gate="quality", configuration=configuration, status=status, sentence=sentence)


GATE = Gate(name="quality", question="Was quality held within the margin?", check=check, about=WORKLOADS)
