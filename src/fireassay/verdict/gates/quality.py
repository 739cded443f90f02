"""Was quality held within the margin fixed beforehand?

Non-inferiority with one-sided bounds of score(p) - score(base). PASS (held): the lower bound is above -margin. FAIL (degraded): the upper
bound is below -margin. Otherwise INCONCLUSIVE, with the sample that would decide. The sentence states the number of clusters of examples,
or that examples are taken as independent because none were given.

The reference passes unless it is not shown to exceed quality.chance; at its floor the audit `quality_at_floor` makes the record INVALID.
Source: docs/methodology.md, "Quality"; Tango, Statistics in Medicine 17, 1998.
"""

from __future__ import annotations

import math
from dataclasses import replace

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import given, reading, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.scores import at_floor, examples_words, near_chance
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.metrics.quality import decide, paired, scores_of
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing.noninferiority import Decision
from fireassay.stats.comparing.paired_test import paired_t
from fireassay.units import SCORE
from fireassay.verdict.comparison.tested import words_of_p
from fireassay.verdict.gates.gate import MIN_LAUNCHES, Gate, too_few
from fireassay.verdict.types import GateResult, Status

NOT_COMPUTED = Absent("not_measured", "quality was not computed")


def check(measured: RecordData, results: Results) -> tuple[GateResult, ...]:
    """One result per configuration; none if the experiment names no quality metric."""
    quality = measured.experiment.quality
    if quality is None or measured.kind.judges_quality:
        return ()
    doubt = _doubt(measured, results, quality)
    return tuple(_one(measured, results, quality, name, doubt) for name in measured.configurations)


def _doubt(measured: RecordData, results: Results, quality: Quality) -> tuple[Status, str] | None:
    """Why the reference cannot show a loss; None if it can."""
    if (why := at_floor(scores_of(measured, measured.base), quality)) is not None:
        return "INVALID", f"the reference cannot show a loss of quality: {why}"
    why = near_chance(results.get("quality", {}).get(measured.base, NOT_COMPUTED), quality)
    return None if why is None else ("INCONCLUSIVE", f"the reference is {why}")


def _one(measured: RecordData, results: Results, quality: Quality, configuration: str, doubt: tuple[Status, str] | None) -> GateResult:
    if configuration == measured.base:
        return _reference(results, quality, configuration, doubt)
    decision = decide(measured, configuration)
    value = results.get("quality_difference", {}).get(configuration, NOT_COMPUTED)
    if isinstance(decision, Absent) or isinstance(value, Absent):
        detail = decision.detail if isinstance(decision, Absent) else value.detail if isinstance(value, Absent) else ""
        return _result(configuration, "NOT_MEASURED", f"quality: {detail}")
    status, sentence = _judged(quality, decision, value)
    if status == "PASS" and doubt is not None and decision.low <= 0.0:
        return _result(configuration, doubt[0], f"quality undecided: {doubt[1]}")
    result = replace(_result(configuration, status, sentence), tested=_tested(measured, quality, configuration))
    if status != "INCONCLUSIVE":
        return result
    return replace(result, launches_needed=decision.launches_needed, examples_needed=decision.items_needed)


def _tested(measured: RecordData, quality: Quality, configuration: str) -> str:
    """The paired t-test of the examples' means over launches, which decides nothing."""
    pairs = paired(measured, configuration)
    if isinstance(pairs, Absent):
        return ""
    means = (side.mean(axis=0) for side in (pairs.reference, pairs.candidate))
    return words_of_p(paired_t(*means, lower=quality.direction == "lower"), margin=True)


def _reference(results: Results, quality: Quality, configuration: str, doubt: tuple[Status, str] | None) -> GateResult:
    value = results.get("quality", {}).get(configuration, NOT_COMPUTED)
    if isinstance(value, Absent):
        return _result(configuration, "NOT_MEASURED", f"quality: {value.detail}")
    if value.n_launches < MIN_LAUNCHES:
        return _result(configuration, "INCONCLUSIVE", f"quality of the reference: {too_few(value.n_launches)}")
    if doubt is not None:
        return _result(configuration, doubt[0], f"quality: {doubt[1]}")
    sentence = f"quality: this is the reference that the others are compared with, {quality.metric} {show(value).full}"
    return _result(configuration, "PASS", sentence)


def _judged(quality: Quality, decision: Decision, value: Estimate) -> tuple[Status, str]:
    shown = show(value, beside=(-quality.margin,))
    numbers = f"{quality.metric} differs by {shown.text} from the base, one-sided bounds {shown.interval}, margin {given(quality.margin)}"
    sample = examples_words(decision.items, decision.clusters, decision.alone)
    if value.n_launches < MIN_LAUNCHES:
        return "INCONCLUSIVE", f"{numbers}; {too_few(value.n_launches)}"
    if decision.verdict == "HELD":
        worse = " (worse, but within the margin)" if decision.worse_within_margin else ""
        return "PASS", f"quality held{worse}: {numbers}; {sample}"
    if decision.verdict == "DEGRADED":
        return "FAIL", f"quality degraded: {numbers}; {sample}"
    return "INCONCLUSIVE", f"quality undecided: {numbers}; {sample}; {_needed(decision)}"


def _needed(decision: Decision) -> str:
    if math.isinf(decision.smallest_supported_margin):
        return "the changes of single examples are too heavy-tailed for a mean; give the largest possible change: quality.largest_change"
    ways = []
    if decision.launches_needed is not None:
        ways.append(f"{decision.launches_needed} launches per configuration")
    if decision.items_needed is not None:
        ways.append(f"{decision.items_needed} held-out examples")
    smallest = f"this data supports a margin of {reading(decision.smallest_supported_margin, SCORE, way='up')}"
    return f"about {' or '.join(ways)} would decide; {smallest}" if ways else f"{smallest}; more of only one kind of data cannot decide"


def _result(configuration: str, status: Status, sentence: str) -> GateResult:
    return GateResult(gate="quality", configuration=configuration, status=status, sentence=sentence)


GATE = Gate(name="quality", question="Was quality held within the margin?", check=check, about=WORKLOADS)
