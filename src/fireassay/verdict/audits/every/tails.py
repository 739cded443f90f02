"""Are tails shown, from enough trials, and was a rate reached within the objectives?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, show
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, WORKLOADS, Results
from fireassay.stats.intervals.quantiles import least_two_sided
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.sent_requests import main, seconds, serving_of
from fireassay.verdict.gates import objectives
from fireassay.verdict.types import Finding

# ---- tail blindness ----

TAIL_BLINDNESS_FAR, MAX_SHARE, MIN_STEPS = 3.0, 0.20, 100


@dataclass(frozen=True, kw_only=True)
class Trials:
    """The trials of some kinds of record."""

    about: tuple[str, ...]
    name: str
    words: str  # the finding, after "more than 20 % of"
    remedy: str
    times: Callable[[RecordData], pl.DataFrame]  # (launch, configuration, step_s)


def _answers(measured: RecordData) -> pl.DataFrame:
    answered = main(measured, "scheduled_ns", "done_ns", "status").filter(pl.col("status") == "ok")
    return answered.select("launch", "configuration", seconds("done_ns", "scheduled_ns").alias("step_s"))


TRIALS: Final = (
    Trials(
        about=("serving",),
        name="answers",
        words=f"the time of answers passes in answers longer than {TAIL_BLINDNESS_FAR:g} medians: the median says little about what users wait for",
        remedy="report e2e_p99 with the median, and find what the slow answers have in common",
        times=_answers,
    ),
    Trials(
        about=EVERYTHING,
        name="steady steps",
        words=f"the steady time passes in steps longer than {TAIL_BLINDNESS_FAR:g} medians: the median step says little about the time of a run",
        remedy="report step_time_p99 and the wall time with the median, and find what delays the slow steps",
        times=lambda measured: measured.steady_steps,
    ),
)


def examine_tail_blindness(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with a heavy tail of steps, or answers, in most launches.

    Users feel the tail: a mean may look fine while the p99 breaks its objective. Claims: a waiting time without a percentile of at least
    p90. Records: in most launches with at least 100 steady steps, steps longer than 3 medians take more than a fifth of steady time;
    medians do not show them. Source: Dean & Barroso, CACM 56(2), 2013.
    """
    shares = _tail_blindness_shares(measured)
    trials = _trials(measured)
    for name in measured.configurations:
        rows = shares.filter(pl.col("configuration") == name)
        heavy = rows.filter(pl.col("share") > MAX_SHARE)
        if heavy.height * 2 > rows.height:
            evidence = f"in {heavy.height} of {count(rows.height, 'launches')} more than {MAX_SHARE:.0%} of {trials.words}"
            yield Finding("heavy_tail", "warning", name, evidence, trials.remedy)


def _tail_blindness_shares(measured: RecordData) -> pl.DataFrame:
    """(configuration, share) per launch with enough steps (under load: answers): time share of those above 3 medians."""
    far = pl.col("step_s") > TAIL_BLINDNESS_FAR * pl.col("step_s").median()
    return (
        _trials(measured)
        .times(measured)
        .group_by("launch", "configuration")
        .agg((pl.col("step_s").filter(far).sum() / pl.col("step_s").sum()).alias("share"), pl.len().alias("steps"))
        .filter(pl.col("steps") >= MIN_STEPS)
    )


def _trials(measured: RecordData) -> Trials:
    return next(trials for trials in TRIALS if measured.kind.concerns(trials.about))


def blind_tail_blindness(measured: RecordData, _: Results) -> str | None:
    """Blind with too few steps."""
    if _tail_blindness_shares(measured).height:
        return None
    return f"no launch has {MIN_STEPS} {_trials(measured).name}; fewer show no tail"


# ---- percentile trials ----

PERCENTILE_TRIALS_CONFIDENCE = 0.95
LATENCIES = ("ttft", "ttft_visible", "ttft_sent", "tpot", "itl", "e2e")
TAILS = {  # metrics of a record
    "step_time_p95": 0.95,
    "step_time_p99": 0.99,
    **{f"{name}_p{100 * p:g}".replace(".", ""): p for name in LATENCIES for p in (0.90, 0.95, 0.99, 0.999)},
}


def examine_percentile_trials(measured: RecordData, results: Results) -> tuple[Finding, ...]:
    """Percentiles shown with too few trials.

    A percentile p with a two-sided interval needs at least ln(alpha/2)/ln(p) independent trials: 72 for p95, 368 for p99, 3688 for p99.9 at
    95 % confidence (docs/methodology.md, "Percentiles of steps and requests"). Dependent trials need more. Records omit a percentile
    without enough steps, and this lists the configurations concerned; a percentile reported with too few trials is inadmissible.
    """
    return tuple(
        Finding(
            "too_few_trials",
            "invalid",
            name,
            f"{metric} rests on {count(value.n_trials, 'trials')}; at least {least_two_sided(p, PERCENTILE_TRIALS_CONFIDENCE)} are needed",
            "run more steps or requests per launch, or report a lower percentile",
        )
        for metric, p in TAILS.items()
        for name, value in results.get(metric, {}).items()
        if isinstance(value, Estimate) and value.n_trials < least_two_sided(p, PERCENTILE_TRIALS_CONFIDENCE)
    )


def blind_percentile_trials(measured: RecordData, results: Results) -> str | None:
    """Blind if all tail percentiles were omitted or not requested."""
    values = [value for metric in TAILS for value in results.get(metric, {}).values()]
    if any(isinstance(value, Estimate) for value in values):
        return None
    why = next((value.detail for value in values if isinstance(value, Absent)), "no steps or requests were timed")
    return f"no tail percentile is shown: {why}"


# ---- silent slo ----


def examine_silent_slo(measured: RecordData, results: Results) -> Iterator[Finding]:
    """Nothing for training; for a load, throughput reached while its objectives were broken.

    Throughput can be bought with latency; only throughput within the objective (goodput) can be delivered. Claims: an objective stated as
    missed, or broken by a published number. Records of training have one objective, the deadline, checked by the gate `deadline`; loads
    have those of [serving.objectives], checked by the gate `objectives`. Source: MLPerf Inference rules, server scenario.
    """
    for result in objectives.GATE.check(measured, results) if _served(measured) else ():
        name = result.configuration
        rate = results.get("output_throughput", {}).get(name)
        if result.status == "FAIL" and isinstance(rate, Estimate):
            good = results.get("goodput", {}).get(name)
            left = f", of which goodput is {show(good, work='requests').full}" if isinstance(good, Estimate) else ""
            evidence = f"{show(rate, work='tokens').full} were reached while the objectives were broken: {result.sentence}{left}"
            remedy = "quote the goodput, or the throughput at the largest load that meets the objectives"
            yield Finding("objectives_broken", "note", name, evidence, remedy)


def _served(measured: RecordData) -> bool:
    """True if the gate `objectives` applies."""
    return measured.kind.concerns(objectives.GATE.about)


def blind_silent_slo(measured: RecordData, _: Results) -> str | None:
    """Blind without an objective."""
    if _served(measured):
        return None if serving_of(measured).objectives.any else "no objective was set (serving.objectives)"
    return None if measured.experiment.gates.deadline_s is not None else "no objective was set (gates.deadline_s)"


AUDITS = (
    Audit(
        "tail_blindness",
        "Does a mean or a median hide a heavy tail?",
        examine_tail_blindness,
        title="tail-latency blindness",
        about=WORKLOADS,
        blind=blind_tail_blindness,
    ),
    Audit(
        "percentile_trials",
        "Are there enough trials for the percentile?",
        examine_percentile_trials,
        title="too few trials for the percentile",
        about=WORKLOADS,
        blind=blind_percentile_trials,
    ),
    Audit(
        "silent_slo",
        "Was the throughput reached while the service objective was broken?",
        examine_silent_slo,
        title="silent violation of the objective",
        about=WORKLOADS,
        blind=blind_silent_slo,
    ),
)
