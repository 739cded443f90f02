"""Are there enough trials for the percentile?

A percentile p with a two-sided interval needs at least ln(alpha/2)/ln(p) independent trials: 72 for p95, 368 for p99, 3688 for p99.9 at 95
% confidence (docs/methodology.md, "Percentiles of steps and requests"). Dependent trials need more. Records omit a percentile without
enough steps, and this lists the configurations concerned; a percentile reported with too few trials is inadmissible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import WORKLOADS, Results
from fireassay.stats.intervals.quantiles import least_two_sided
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found, unsaid
from fireassay.verdict.stated.names import statistic
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number

PERCENTILES = {"p50": 0.50, "p90": 0.90, "p95": 0.95, "p99": 0.99, "p999": 0.999}
CONFIDENCE = 0.95
LATENCIES = ("ttft", "ttft_visible", "ttft_sent", "tpot", "itl", "e2e")
TAILS = {  # metrics of a record
    "step_time_p95": 0.95,
    "step_time_p99": 0.99,
    **{f"{name}_p{100 * p:g}".replace(".", ""): p for name in LATENCIES for p in (0.90, 0.95, 0.99, 0.999)},
}


def examine(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """Percentiles shown with too few trials."""
    return tuple(
        Finding(
            "too_few_trials",
            "invalid",
            name,
            f"{metric} rests on {count(value.n_trials, 'trials')}; at least {least_two_sided(p, CONFIDENCE)} are needed",
            "run more steps or requests per launch, or report a lower percentile",
        )
        for metric, p in TAILS.items()
        for name, value in results.get(metric, {}).items()
        if isinstance(value, Estimate) and value.n_trials < least_two_sided(p, CONFIDENCE)
    )


def blind(measured: RecordData, results: Results) -> str | None:
    """Blind if all tail percentiles were omitted or not requested."""
    values = [value for metric in TAILS for value in results.get(metric, {}).values()]
    if any(isinstance(value, Estimate) for value in values):
        return None
    why = next((value.detail for value in values if isinstance(value, Absent)), "no steps or requests were timed")
    return f"no tail percentile is shown: {why}"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Percentiles with too few trials, or with an unstated number."""
    named = [number for number in said.number if statistic(number) in PERCENTILES]
    few = [finding for number in named for finding in _few(number)]
    return (
        *few,
        *unsaid(
            "trials_unsaid",
            [number for number in named if number.trials is None],
            "how many trials the percentile rests on",
            "state trials",
            "percentile",
        ),
    )


def _few(number: Number) -> list[Finding]:
    p = PERCENTILES[str(statistic(number))]
    least = least_two_sided(p, CONFIDENCE)
    if number.trials is None or number.trials >= least:
        return []
    evidence = (
        f"a {statistic(number)} of {count(number.trials, 'trials')}; at least {least} independent ones are needed to bound it on both sides"
    )
    return [found("too_few_trials", "invalid", number, evidence, "measure more trials, or claim a lower percentile", "percentile")]


AUDIT = Audit(
    name="percentile_trials",
    title="too few trials for the percentile",
    question="Are there enough trials for the percentile?",
    examine=examine,
    claim=claim,
    blind=blind,
    about=WORKLOADS,
)
