"""What did a fault do to a serving load?

The timeline of every fault launch, shared by the reliability metrics:

    begin ---- before ----> fault ---- during ----> back ---- after ----> end of the window

* back: the struck replica answered again (`replica_up`), else the fault was undone (`fault_end`), else the end of the window;
* before: requests due in the window that had ended when the fault struck;
* during: requests due or under way between fault and back; after: those due later;
* due: in a closed loop, which has no due times, the time of sending;
* delay: a replica killed by assay is to be restarted faults[].for_s later; until its process exists assay closes the old
  supervisor and starts another. That time is not the engine's: outage_time and recovery_time_serving exclude it;
* good: every objective met; without objectives, answered;
* recovered: the attainment is back within its interval of before (Clopper-Pearson at the experiment's confidence). It is
  evaluated in windows of m requests by due time, m being the arrivals per second before, at least 10; a window is outside if its
  number of misses has a probability below 1/1000 at the lower end of that interval. Recovery is when the first request was due
  after the last miss of the last window outside. Without a window outside, the attainment never left: 0 s.

Do the requests have objectives, and can they be judged?

What share of the requests met their objectives, per load and launch?
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import percent, reading
from fireassay.estimates.over_launches import average, exact, of_interval, positive
from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.client_clocks import APART
from fireassay.frames.serving.shown_tokens import unknown
from fireassay.frames.training.recovery import struck_launches
from fireassay.spec.plan import Configuration
from fireassay.stats.groups.clocks import too_short
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.intervals.means import clopper_pearson, quotient, share
from fireassay.stats.models.capacity import Point
from fireassay.units import FRACTION, NS_PER_S, SECONDS

NO_OBJECTIVES = Absent(
    "not_measured", "the experiment has no objectives for its requests; add serving.objectives, for example ttft_s = 0.5 and tpot_s = 0.05"
)
NEED_CHUNKS = Absent(
    "not_applicable", "serving.objectives needs times of single tokens, but answers were not streamed (serving.stream = false)"
)


def no_objectives(measured: RecordData) -> Absent | None:
    """Why there are no objectives; None if there are."""
    serving = measured.experiment.serving
    if serving is None or not serving.objectives.any:
        return NO_OBJECTIVES
    objectives = serving.objectives
    chunked = (objectives.ttft_s, objectives.ttft_visible_s, objectives.tpot_s, objectives.itl_s)
    if not serving.stream and any(value is not None for value in chunked):
        return NEED_CHUNKS
    return None


def uncounted(measured: RecordData) -> Absent | None:
    """Why a required time per token is unknown for some answer; None if it is known, or not required.

    An answer of one chunk has no time between tokens, however many it contains; one of several chunks could have any.
    """
    serving = measured.experiment.serving
    if serving is None or (serving.objectives.tpot_s is None and serving.objectives.itl_s is None):
        return None
    why = unknown(measured.served.requests.filter(pl.col("counted") & pl.col("ok")))
    return None if why is None else Absent(why.reason, f"serving.objectives needs a time per token, but {why.detail}")


def still_open(due: pl.DataFrame) -> str:
    """How many of these requests may or may not have met the objectives, and why; empty: all are known."""
    waiting = due.filter("open")
    why = unknown(waiting)
    return "" if why is None else f"{percent(waiting.height / due.height)} of the requests are unknown ({why.detail})"


def load_points(measured: RecordData, configurations: Sequence[Configuration]) -> list[Point]:
    """A point per launch: its load, and how many of its counted requests met every objective."""
    loads = {configuration.name: float(configuration.load) for configuration in configurations if configuration.load is not None}
    rows = measured.counted_requests.filter(pl.col("configuration").is_in(list(loads)))
    per_launch = rows.group_by("launch", "configuration", "block").agg(pl.col("met").sum(), pl.len().alias("total")).sort("launch")
    return [
        Point(load=loads[row["configuration"]], hits=float(row["met"]), total=float(row["total"]), block=row["block"])
        for row in per_launch.to_dicts()
    ]


NO_FAULT: Final = Absent("not_measured", "no fault struck under this load; add [[faults]] for it")
MIN_REQUESTS: Final = 10  # requests in a window
RARE: Final = 1e-3  # share of undisturbed windows that may lie outside


@dataclass(frozen=True, kw_only=True)
class Outage:
    """One fault launch; times in monotonic ns, None if the event did not occur."""

    launch: int
    configuration: str
    kind: str
    replica: int | None
    begin_ns: int
    fault_ns: int
    down_ns: int | None  # the probe found that the struck replica stopped answering
    up_ns: int | None  # and answered again
    known_ns: int | None  # the prober confirmed the failure
    back_ns: int
    restart_ns: int | None  # assay was to restart it
    started_ns: int | None  # its new process began
    unsure_ns: float = 0.0  # error of a request's time against the fault's, where clients have other clocks
    requests: pl.DataFrame = field(repr=False)  # counted, with due, end (ns), ok, good, status, replica

    @property
    def delay_s(self) -> float:
        """By how much assay was late to restart the replica; 0 if it did not restart it, or nothing was recorded."""
        if self.restart_ns is None or self.started_ns is None:
            return 0.0
        return max(0, self.started_ns - self.restart_ns) / NS_PER_S

    def waited(self, after_s: float) -> bool:
        """True if an event that ended this long after the fault had to wait for the replica's restart."""
        return self.started_ns is not None and self.fault_ns + after_s * NS_PER_S >= self.started_ns

    @cached_property
    def before(self) -> pl.DataFrame:
        """Requests that had ended when the fault struck."""
        return self.requests.filter((pl.col("due") < self.fault_ns) & (pl.col("end") < self.fault_ns))

    @cached_property
    def during(self) -> pl.DataFrame:
        """Requests due or under way between fault and back."""
        affected = (pl.col("due") >= self.fault_ns) | (pl.col("end") >= self.fault_ns) | pl.col("end").is_null()
        return self.requests.filter(affected & (pl.col("due") < self.back_ns))

    @cached_property
    def after(self) -> pl.DataFrame:
        """Requests due later."""
        return self.requests.filter(pl.col("due") >= self.back_ns)

    @cached_property
    def lost(self) -> pl.DataFrame:
        """Requests that failed after the fault struck."""
        struck = (pl.col("end") >= self.fault_ns) | pl.col("end").is_null()
        return self.requests.filter(~pl.col("ok") & struck)


def outages(measured: RecordData) -> tuple[Outage, ...]:
    """All fault launches with a fault that struck and a measured window."""
    launches = (
        struck_launches(measured)
        .sort("launch")
        .join(measured.served.windows.select("launch", "begin_ns", pl.col("end_ns").alias("over_ns"), "seconds"), on="launch")
    )
    events = measured.table("events")
    every = (_one(measured, row, events.filter(pl.col("launch") == row["launch"])) for row in launches.to_dicts())
    return tuple(outage for outage in every if outage is not None)


def _one(measured: RecordData, launch: Mapping[str, Any], events: pl.DataFrame) -> Outage | None:
    fault = _struck(events)
    if fault is None or launch["seconds"] is None:
        return None
    detail = json.loads(fault["detail"] or "{}")
    replica = None if fault["value"] is None else int(fault["value"])
    replica_events = events.filter((pl.col("value") == replica) | (pl.lit(replica is None)))
    down = _first(replica_events, "replica_down", 0)
    up = _first(replica_events, "replica_up", max(fault["ns"], (down or {"ns": 0})["ns"]))
    undone = _first(events, "fault_end", fault["ns"])
    back = up or undone
    ready = _first(replica_events, "server_ready", fault["ns"])
    for_s, started = detail.get("for_s"), json.loads(ready["detail"] or "{}").get("started_ns") if ready else None
    spec = measured.experiment.serving
    good = "met" if spec is not None and spec.objectives.any else "ok"
    rows = measured.served.requests.filter(pl.col("counted") & (pl.col("launch") == launch["launch"]))
    return Outage(
        launch=launch["launch"],
        configuration=launch["configuration"],
        kind=str(detail.get("fault") or detail.get("kind") or ""),
        replica=replica,
        begin_ns=launch["begin_ns"],
        fault_ns=fault["ns"],
        down_ns=None if down is None else down["ns"],
        up_ns=None if up is None else up["ns"],
        known_ns=None if down is None else _known(down),
        back_ns=launch["over_ns"] if back is None else min(back["ns"], launch["over_ns"]),
        requests=rows.select(
            pl.col("start_ns").alias("due"),
            pl.coalesce("done_ns", "last_token_ns").alias("end"),
            "ok",
            pl.col(good).alias("good"),
            "status",
            "replica",
        ),
        restart_ns=fault["ns"] + round(for_s * NS_PER_S) if isinstance(for_s, int | float) else None,
        started_ns=started if isinstance(started, int) else None,
        unsure_ns=measured.unsure_ns.get(launch["launch"], 0.0),
    )


def _struck(events: pl.DataFrame) -> dict[str, Any] | None:
    """The fault event; None if it is reported to have missed."""
    if events.filter(pl.col("kind") == "fault_missed").height:
        return None
    return _first(events, "fault", 0)


def _first(events: pl.DataFrame, kind: str, since_ns: int) -> dict[str, Any] | None:
    matches = events.filter((pl.col("kind") == kind) & (pl.col("ns") >= since_ns)).sort("ns")
    return matches.row(0, named=True) if matches.height else None


def _known(down: Mapping[str, Any]) -> int:
    known = json.loads(down["detail"] or "{}").get("known_ns")
    return int(known) if isinstance(known, int) else int(down["ns"])


# ---- recovery ----------------------------------------------------------------------------------------------------


def recovered_s(outage: Outage, confidence: float) -> float | Absent:
    """Seconds from the fault until the attainment recovers, as defined in the module's docstring."""
    total = outage.before.height
    later = outage.requests.filter(pl.col("due") >= outage.fault_ns).sort("due")
    if total == 0:
        return Absent("insufficient", "no request ended before the fault; let it strike later (faults[].at_s)")
    rate = total * NS_PER_S / max(1, outage.fault_ns - outage.begin_ns)
    size = max(MIN_REQUESTS, math.ceil(rate))
    least = clopper_pearson(float(outage.before["good"].sum()), float(total), confidence).low
    allowed = _allowed(size, 1.0 - least)
    if later.height < size or allowed >= size:
        return Absent("insufficient", "too few requests around the fault to see a change of attainment; use a higher rate or a longer load")
    index = recovered(~later["good"].to_numpy(), size, allowed)
    if index is None:
        return Absent("undefined", "the attainment had not recovered when the load ended; let the load run longer")
    if index == 0:
        return 0.0
    if too_short(float(later["due"][index] - outage.fault_ns), outage.unsure_ns):
        return APART
    after_s = float(later["due"][index] - outage.fault_ns) / NS_PER_S
    return after_s - outage.delay_s if outage.waited(after_s) else after_s


def recovered(missed: NDArray[np.bool_], size: int, allowed: int) -> int | None:
    """The first request after the last miss of the last window of `size` with more than `allowed` misses.

    0 if there is no such window, None if the last window of all is one, or nothing came after that miss.
    """
    sums = np.convolve(missed.astype(np.int64), np.ones(size, dtype=np.int64), mode="valid")
    outside = np.flatnonzero(sums > allowed)
    if len(outside) == 0:
        return 0
    last = int(outside[-1])
    index = last + int(np.flatnonzero(missed[last : last + size])[-1]) + 1
    return None if last == len(sums) - 1 or index >= len(missed) else index


def _allowed(size: int, share_of_misses: float) -> int:
    """The most misses in a window that are not rare where this share of requests misses."""
    from scipy.special import bdtr

    chances = bdtr(np.arange(size + 1, dtype=np.float64), size, share_of_misses)
    return int(np.argmax(chances >= 1.0 - RARE))


# ---- values ------------------------------------------------------------------------------------------------------


def seconds(
    measured: RecordData, name: str, how: str, span: Callable[[Outage], float | Absent], *, delayed: bool = False
) -> dict[str, Value]:
    """A duration per configuration over its fault launches; the first reason if no launch has one.

    `delayed`: the time that assay itself took to restart the replica was subtracted.
    """

    def one(struck: Sequence[Outage]) -> Value:
        estimate = _seconds(measured, name, how, [span(outage) for outage in struck])
        late_s = max(outage.delay_s for outage in struck) if delayed else 0.0
        if isinstance(estimate, Absent) or late_s == 0.0:
            return estimate
        less = f"less {reading(late_s, SECONDS)} by which assay was late to start it again"
        return replace(estimate, method=f"{estimate.method}; {less}{', at most' if len(struck) > 1 else ''}")

    return _each(measured, one)


def _seconds(measured: RecordData, name: str, how: str, spans: Sequence[float | Absent]) -> Value:
    known = [max(0.0, span) for span in spans if isinstance(span, float)]
    if not known:
        return next(span for span in spans if isinstance(span, Absent))
    n = len(known)
    if max(known) == 0.0:
        return exact(0.0, unit=SECONDS, name=name, n_launches=n, n_trials=n, how=f"{how}; at once")
    estimator = average if min(known) == 0.0 else positive
    return estimator(known, measured.confidence, unit=SECONDS, aggregate=how, name=name, n_trials=n)


def between(begin_ns: int | None, end_ns: int | None, missing: str) -> float | Absent:
    """Seconds between two instants, or why not."""
    if begin_ns is None or end_ns is None:
        return Absent("undefined", missing)
    return (end_ns - begin_ns) / NS_PER_S


def attainment(measured: RecordData, name: str, part: Callable[[Outage], pl.DataFrame], when: str) -> dict[str, Value]:
    """Share of good requests in a part of the timeline, per configuration over its fault launches."""

    def one(struck: Sequence[Outage]) -> Value:
        if (why := uncounted(measured)) is not None:
            return why
        parts = [rows["good"] for outage in struck if (rows := part(outage)).height]
        if not parts:
            return Absent("insufficient", f"no request was due {when} the fault")
        met, totals = [float(good.sum()) for good in parts], [float(len(good)) for good in parts]
        return of_interval(
            share(met, totals, measured.confidence),
            [h / t for h, t in zip(met, totals, strict=True)],
            measured.confidence,
            unit=FRACTION,
            name=name,
            n_trials=int(sum(totals)),
            tags="agg:good requests / requests|ci:t-share",
            method=f"requests {when} the fault that met every objective (without objectives: were answered) / all of them, in "
            f"{len(parts)} fault launches",
        )

    return _each(measured, one)


def rate(measured: RecordData, name: str, unit: str, how: str) -> dict[str, Value]:
    """Good requests due between fault and back, per second, per configuration over its fault launches."""

    def one(struck: Sequence[Outage]) -> Value:
        if (why := uncounted(measured)) is not None:
            return why
        lasting = [outage for outage in struck if outage.back_ns > outage.fault_ns]
        if not lasting:
            return Absent("insufficient", "the fault struck at the end of the load; let it strike sooner (faults[].at_s)")
        during_outages = [outage.during.filter(pl.col("due") >= outage.fault_ns) for outage in lasting]
        good = [float(rows["good"].sum()) for rows in during_outages]
        lengths = [(outage.back_ns - outage.fault_ns) / NS_PER_S for outage in lasting]
        interval = quotient(good, lengths, measured.confidence)
        return of_interval(
            interval if len(good) == 1 else Interval(value=interval.value, low=max(0.0, interval.low), high=interval.high),
            [g / length for g, length in zip(good, lengths, strict=True)],
            measured.confidence,
            unit=unit,
            name=name,
            n_trials=sum(rows.height for rows in during_outages),
            tags="agg:good / outage|ci:t-quotient",
            method=how,
        )

    return _each(measured, one)


def not_struck(measured: RecordData, configuration: str) -> Absent:
    """Why a configuration has no outage."""
    refused = pl.col("launch").is_in(sorted(measured.served.apart)) & (pl.col("configuration") == configuration)
    return APART if struck_launches(measured).filter(refused).height else NO_FAULT


def _each(measured: RecordData, estimate: Callable[[Sequence[Outage]], Value]) -> dict[str, Value]:
    every = outages(measured)
    values: dict[str, Value] = {}
    for configuration in measured.configurations:
        struck = [outage for outage in every if outage.configuration == configuration]
        values[configuration] = estimate(struck) if struck else not_struck(measured, configuration)
    return values
