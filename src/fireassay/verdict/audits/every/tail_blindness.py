"""Does a mean or a median hide a heavy tail?

Users feel the tail: a mean may look fine while the p99 breaks its objective. Claims: a waiting time without a percentile of at least p90.
Records: in most launches with at least 100 steady steps, steps longer than 3 medians take more than a fifth of steady time; medians do not
show them. Source: Dean & Barroso, CACM 56(2), 2013.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import polars as pl

from fireassay.estimates.format import count
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, WORKLOADS, Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.claimed_numbers import found
from fireassay.verdict.evidence.sent_requests import main, seconds
from fireassay.verdict.stated.kinds import is_wait
from fireassay.verdict.stated.names import metric_name, statistic
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim

FAR, MOST_SHARE, FEWEST_STEPS = 3.0, 0.20, 100


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
        words=f"the time of answers passes in answers longer than {FAR:g} medians: the median says little about what users wait for",
        remedy="report e2e_p99 with the median, and find what the slow answers have in common",
        times=_answers,
    ),
    Trials(
        about=EVERYTHING,
        name="steady steps",
        words=f"the steady time passes in steps longer than {FAR:g} medians: the median step says little about the time of a run",
        remedy="report step_time_p99 and the wall time with the median, and find what delays the slow steps",
        times=lambda measured: measured.steady_steps,
    ),
)
CENTRAL = ("mean", "median", "p50", None, "single")
TAIL = ("p90", "p95", "p99", "p999", "max")


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning per configuration with a heavy tail of steps, or answers, in most launches."""
    shares = _shares(measured)
    trials = _trials(measured)
    for name in measured.configurations:
        rows = shares.filter(pl.col("configuration") == name)
        heavy = rows.filter(pl.col("share") > MOST_SHARE)
        if heavy.height * 2 > rows.height:
            evidence = f"in {heavy.height} of {count(rows.height, 'launches')} more than {MOST_SHARE:.0%} of {trials.words}"
            yield Finding("heavy_tail", "warning", name, evidence, trials.remedy)


def _shares(measured: RecordData) -> pl.DataFrame:
    """(configuration, share) per launch with enough steps (under load: answers): time share of those above 3 medians."""
    far = pl.col("step_s") > FAR * pl.col("step_s").median()
    return (
        _trials(measured)
        .times(measured)
        .group_by("launch", "configuration")
        .agg((pl.col("step_s").filter(far).sum() / pl.col("step_s").sum()).alias("share"), pl.len().alias("steps"))
        .filter(pl.col("steps") >= FEWEST_STEPS)
    )


def _trials(measured: RecordData) -> Trials:
    return next(trials for trials in TRIALS if measured.kind.concerns(trials.about))


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind with too few steps."""
    if _shares(measured).height:
        return None
    return f"no launch has {FEWEST_STEPS} {_trials(measured).name}; fewer show no tail"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Waiting times given only by their middle."""
    tailed = {(metric_name(number.metric), number.of) for number in said.number if statistic(number) in TAIL}
    return tuple(
        found(
            "tail_not_reported",
            "warning",
            number,
            f"only its {statistic(number) or 'value'} is given, without a tail percentile",
            "publish p95 or p99 of the same launches with it",
            "tail",
        )
        for number in said.number
        if is_wait(number)
        and statistic(number) in CENTRAL
        and not {(metric_name(number.metric), number.of), (metric_name(number.metric), None)} & tailed
    )


AUDIT = Audit(
    name="tail_blindness",
    title="tail-latency blindness",
    question="Does a mean or a median hide a heavy tail?",
    examine=examine,
    claim=claim,
    blind=blind,
    about=WORKLOADS,
)
