"""What does an outage cost a load?

Shares of failures are over the requests due in the measured window; their methods name the classes: refused, 4xx, 5xx, reset,
timeout, malformed, truncated, error (reported within a 200), cancelled, unsent and lost (its client process died). Effects of a fault
come from the fault launches alone (`fireassay.frames.serving.outages`, which defines the return of a replica and the recovery of a
load). One fault launch gives no interval: run more to get one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.over_launches import average, exact
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.outages import Outage, attainment, between, not_struck, outages, rate, recovered_s, seconds, uncounted
from fireassay.metrics.metric import Metric, Results
from fireassay.metrics.serving.pooled import shares, tally
from fireassay.units import FRACTION, PER_SECOND, REQUESTS, SECONDS

RELIABILITY = partial(Metric, dimension="reliability", about=("serving",))
DURATION = partial(RELIABILITY, unit=SECONDS, kind="cost", better="lower")


# ---- failures ----------------------------------------------------------------------------------------------------


def _share(name: str, which: pl.Expr, what: str, **declared: Any) -> Metric:
    """A share of the requests due, with the classes of failures in its method."""

    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        rows = measured.counted_requests
        values = shares(measured, tally(rows, which), name=name, aggregate=f"{what} / requests due", missing="no request was due")
        return {configuration: _with_classes(value, rows, configuration) for configuration, value in values.items()}

    formula = f"{what} / requests due"
    caveat = "It shows that there was an answer, not that it was right."
    return RELIABILITY(name=name, unit=FRACTION, kind="ratio", formula=formula, caveat=caveat, compute=compute, **declared)


def _with_classes(value: Value, rows: pl.DataFrame, configuration: str) -> Value:
    if not isinstance(value, Estimate):
        return value
    return replace(value, method=f"{value.method}; {_classes(rows.filter(pl.col('configuration') == configuration))}")


def _classes(rows: pl.DataFrame) -> str:
    """ "12 5xx, 3 timeout", the most frequent first; "none failed"."""
    failed = rows.filter(pl.col("status") != "ok")["status"].value_counts().sort(["count", "status"], descending=[True, False])
    return ", ".join(f"{number:,} {status}" for status, number in failed.iter_rows()) or "none failed"


ERROR_RATE: Final = _share(
    "error_rate",
    ~pl.col("ok"),
    "failed requests",
    title="Failed requests",
    better="lower",
    question="What share of the requests failed, and how?",
    primary=True,
    rank=700,
)
AVAILABILITY: Final = _share(
    "availability",
    pl.col("ok"),
    "answered requests",
    title="Availability",
    better="higher",
    question="What share of the requests was answered?",
    rank=701,
)

# ---- cost of a fault ---------------------------------------------------------------------------------------------


def _requests_lost(measured: RecordData, _: Results) -> Mapping[str, Value]:
    every = outages(measured)
    members = {name: [outage for outage in every if outage.configuration == name] for name in measured.configurations}
    return {name: _lost(measured, struck) if struck else not_struck(measured, name) for name, struck in members.items()}


def _lost(measured: RecordData, struck: Sequence[Outage]) -> Value:
    lost = [float(outage.lost.height) for outage in struck]
    rows = pl.concat([outage.lost for outage in struck])
    due = sum(outage.requests.height for outage in struck)
    how = f"{len(struck)} fault launches, by class: {_classes(rows)}; by replica: {_replicas(rows)}"
    name = REQUESTS_LOST.name
    if len(set(lost)) == 1:
        return exact(lost[0], unit=REQUESTS, name=name, n_launches=len(struck), n_trials=due, how=f"counted in {how}")
    estimate = average(lost, measured.confidence, unit=REQUESTS, aggregate="failed requests", name=name, n_trials=due)
    return replace(estimate, low=max(0.0, estimate.low), method=f"{estimate.method}; {how}")


def _replicas(rows: pl.DataFrame) -> str:
    counts = rows["replica"].value_counts().sort("count", "replica", descending=[True, False])
    return ", ".join(f"{number} {'never sent' if replica is None else replica}" for replica, number in counts.iter_rows()) or "none"


REQUESTS_LOST: Final = RELIABILITY(
    name="requests_lost",
    title="Requests lost",
    unit=REQUESTS,
    kind="count",
    better="lower",
    formula="requests that failed after the fault had struck",
    question="How many requests did a fault cost, and how did they fail?",
    caveat="Requests of the measured window per fault launch, those under way at the fault included; the method names the classes and the "
    "replicas. Late answers are not lost: slo_during counts them. It includes failures that would have occurred without the fault.",
    compute=_requests_lost,
    rank=702,
)


def _attainment(when: str, part: Callable[[Outage], pl.DataFrame], question: str, caveat: str, index: int) -> Metric:
    def compute(measured: RecordData, _: Results) -> Mapping[str, Value]:
        return attainment(measured, f"slo_{when}", part, when)

    return RELIABILITY(
        name=f"slo_{when}",
        title=f"Attainment {when} a fault",
        unit=FRACTION,
        kind="ratio",
        better="higher",
        formula=f"requests that met every objective / requests {when} the fault",
        question=question,
        caveat=f"{caveat} Without objectives: requests that were answered.",
        compute=compute,
        rank=703 + index,
    )


SLO_BEFORE: Final = _attainment(
    "before",
    lambda outage: outage.before,
    "What share of the requests met every objective before the fault?",
    "Over the requests that were due in the window and had ended when the fault struck.",
    0,
)
SLO_DURING: Final = _attainment(
    "during",
    lambda outage: outage.during,
    "What share of the requests met every objective while the replica was away?",
    "Over the requests that were due, or under way, between the fault and the struck replica's return.",
    1,
)
SLO_AFTER: Final = _attainment(
    "after",
    lambda outage: outage.after,
    "What share of the requests met every objective once the replica was back?",
    "Over the requests that were due after the struck replica had returned.",
    2,
)


def _goodput(measured: RecordData, _: Results) -> Mapping[str, Value]:
    how = "good requests due between the fault and the replica's return / that time, in fault launches"
    return rate(measured, GOODPUT_UNDER_FAILURE.name, PER_SECOND, how)


GOODPUT_UNDER_FAILURE: Final = RELIABILITY(
    name="goodput_under_failure",
    title="Goodput under failure",
    unit=PER_SECOND,
    kind="rate",
    better="higher",
    formula="good requests due while the replica was away / that time",
    question="How many requests per second meet every objective while a replica is away?",
    caveat="Without objectives: are answered. Compare with goodput: the fraction left while a replica restarts.",
    compute=_goodput,
    rank=706,
)

# ---- durations ---------------------------------------------------------------------------------------------------


def _outage_time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    how = "the struck replica stopped answering until it answered again"
    return seconds(measured, OUTAGE_TIME.name, how, _away_s, delayed=True)


def _away_s(outage: Outage) -> float | Absent:
    away = between(outage.down_ns, outage.up_ns, "the struck replica was not observed to stop and answer again, or was not probed")
    return away if isinstance(away, Absent) else away - outage.delay_s


def _detect_time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    missing = "no request failed after the fault, and the struck replica went on answering"
    how = "fault until the first request failed or the prober was sure"
    return seconds(measured, OUTAGE_DETECT_TIME.name, how, lambda outage: between(outage.fault_ns, _first_sign(outage), missing))


def _first_sign(outage: Outage) -> int | None:
    signs = [sign for sign in (outage.lost["end"].min(), outage.known_ns) if isinstance(sign, int)]
    return min(signs, default=None)


def _recovery_time(measured: RecordData, _: Results) -> Mapping[str, Value]:
    if (why := uncounted(measured)) is not None:
        return dict.fromkeys(measured.configurations, why)
    how = "fault until the attainment is back inside its interval before the fault"
    return seconds(measured, RECOVERY_TIME.name, how, lambda outage: recovered_s(outage, measured.confidence), delayed=True)


OUTAGE_TIME: Final = DURATION(
    name="outage_time",
    title="Outage of the replica",
    formula="struck replica stopped answering until it answered again",
    question="How long was the struck replica away?",
    caveat="As probed every 50 ms apart from the load. For a replica that assay starts again after faults[].for_s it is that time and the "
    "engine's start; what assay itself took beyond for_s until the process was there is left out. It cannot tell whether users felt it: see "
    "recovery_time_serving.",
    compute=_outage_time,
    rank=707,
)
OUTAGE_DETECT_TIME: Final = DURATION(
    name="outage_detect_time",
    title="Time until an outage shows",
    formula="fault until the first request failed or the prober was sure",
    question="How long until an outage is visible?",
    caveat="What a monitor could know at the earliest: the first failed request, or the prober sure that the struck replica does not answer. "
    "It cannot tell when the router or the operator knew.",
    compute=_detect_time,
    rank=708,
)
RECOVERY_TIME: Final = DURATION(
    name="recovery_time_serving",
    title="Recovery time",
    formula="fault until the attainment is back inside its interval before the fault",
    question="How long after a fault do requests meet their objectives as before?",
    caveat="By due times; without objectives: are answered as before. The delay of assay's own restart of the replica is excluded. 0 if "
    "the attainment never left that interval. As exact as requests come: at 100 requests a second to 10 ms.",
    compute=_recovery_time,
    primary=True,
    rank=709,
)
METRICS = (
    ERROR_RATE,
    AVAILABILITY,
    REQUESTS_LOST,
    SLO_BEFORE,
    SLO_DURING,
    SLO_AFTER,
    GOODPUT_UNDER_FAILURE,
    OUTAGE_TIME,
    OUTAGE_DETECT_TIME,
    RECOVERY_TIME,
)
