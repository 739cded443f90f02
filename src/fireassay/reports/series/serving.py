"""Which data series do the charts of a load show?

Aggregates of requests and events, small enough to draw. Percentile curves pool the counted requests of a configuration's timed launches
to show the shape; the metrics hold the intervals of single percentiles. A timeline holds one launch in bins of equal length, with the
measured window, injected faults, and replica outages. Raw seconds; `fireassay.reports.view` makes the text.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.spec.plan import targets_of
from fireassay.units import NS_PER_S
from fireassay.verdict.evidence.answer_agreement import Agreement, agreements

if TYPE_CHECKING:
    from fireassay.verdict.comparison.a_or_b import AOrB

# Percentiles at which a curve is drawn, if at least ten requests lie beyond.
PERCENTS: Final = (
    1,
    2,
    5,
    10,
    20,
    30,
    40,
    50,
    60,
    70,
    80,
    85,
    90,
    93,
    95,
    96,
    97,
    98,
    98.5,
    99,
    99.3,
    99.5,
    99.7,
    99.8,
    99.9,
    99.95,
    99.99,
)
BEYOND: Final = 10  # requests that must lie beyond a drawn percentile
LATENCIES: Final = (("ttft_s", "TTFT"), ("tpot_s", "TPOT"), ("e2e_s", "end to end"))
MOST_BINS: Final = 150
BIN_REQUESTS: Final = 8  # per bin on average, so that bins show more than chance
WIDTHS_S: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
MOST_TIMELINES: Final = 6
READINGS: Final = ("kv_cache_used", "requests_running", "requests_waiting")  # of an engine, per replica


@dataclass(frozen=True, kw_only=True)
class PercentileCurve:
    """Distribution of a latency in one configuration: (percent, seconds), ascending."""

    configuration: str
    latency: str  # ttft_s, tpot_s or e2e_s
    points: tuple[tuple[float, float], ...]
    requests: int


@dataclass(frozen=True, kw_only=True)
class Bin:
    """A time bin of a load: the requests due in it, by outcome."""

    begin_s: float  # after the load began
    end_s: float
    due: int
    ok: int
    met: int  # requests that met every objective
    failed: int
    ttft_s: float | None  # median of those answered


@dataclass(frozen=True, kw_only=True)
class Span:
    """A period in seconds after the load began; `end_s` is None if its end was not recorded."""

    kind: str  # fault or down
    what: str
    begin_s: float
    end_s: float | None


@dataclass(frozen=True, kw_only=True)
class LoadTimeline:
    """One launch, second by second."""

    launch: int
    configuration: str
    role: str
    block: int
    window_s: tuple[float, float] | None  # the measured window
    bins: tuple[Bin, ...]
    spans: tuple[Span, ...]


@dataclass(frozen=True, kw_only=True)
class Replica:
    """Requests and readings of one replica in the measured windows of the timed launches."""

    engine: str
    replica: int
    sent: int
    answered: int
    ttft_s: float | None  # median of those answered
    readings: Mapping[str, float]  # engine counters: the mean of each of READINGS that was recorded


@dataclass(frozen=True, kw_only=True)
class Tally:
    """Requests of one launch, except cold ones: number due, by outcome."""

    due: int
    answered: int


@dataclass(frozen=True, kw_only=True)
class ServingSeries:
    """All data that charts and tables of a load need besides the metrics."""

    curves: tuple[PercentileCurve, ...]
    timelines: tuple[LoadTimeline, ...]
    errors: Mapping[str, Mapping[str, int]]  # configuration -> status -> requests of timed launches
    tallies: Mapping[int, Tally]  # launch -> its requests
    replicas: tuple[Replica, ...]
    routed: tuple[str, ...]  # engines behind a router: the answering replica is unknown
    agreement: Mapping[str, Agreement]  # configuration -> agreement of answers to repeated prompts
    requests: pl.DataFrame = field(repr=False)  # one row per request, `Served.requests`
    limits: Mapping[str, float] = field(default_factory=dict)  # objectives of a good request: "TTFT" -> seconds
    attainment: float | None = None  # share of the requests that must meet them; None: there are none
    rivals: AOrB | None = None  # of a record with two engines: which of them


def build(measured: RecordData) -> ServingSeries:
    """The series of a serving record."""
    assert measured.experiment.serving is not None
    requests = measured.served.requests
    timed = requests.join(measured.timed.select("launch"), on="launch", how="semi")
    return ServingSeries(
        curves=tuple(_curves(measured, timed)),
        timelines=_timelines(measured, requests),
        errors=_errors(measured, timed),
        tallies=_tallies(requests),
        replicas=_replicas(measured, timed),
        routed=tuple(target.name for target in targets_of(measured.experiment.serving) if target.router),
        agreement=agreements(measured),
        requests=requests,
        limits=measured.experiment.serving.objectives.limits,
        attainment=measured.experiment.serving.objectives.attainment if measured.experiment.serving.objectives.any else None,
    )


def _curves(measured: RecordData, timed: pl.DataFrame) -> list[PercentileCurve]:
    curves = []
    for name in measured.configurations:
        requests = timed.filter((pl.col("configuration") == name) & pl.col("counted") & pl.col("ok"))
        for latency, _ in LATENCIES:
            values = requests[latency].drop_nulls()
            if len(values) >= BEYOND:
                drawn = [p for p in PERCENTS if len(values) * (100 - p) >= 100 * BEYOND or p <= 50]
                points = tuple((p, float(values.quantile(p / 100.0, "lower") or 0.0)) for p in drawn)
                curves.append(PercentileCurve(configuration=name, latency=latency, points=points, requests=len(values)))
    return curves


def _errors(measured: RecordData, timed: pl.DataFrame) -> dict[str, dict[str, int]]:
    counted = timed.filter(pl.col("counted") & ~pl.col("ok")).group_by("configuration", "status").len()
    rows = {(row["configuration"], row["status"]): int(row["len"]) for row in counted.iter_rows(named=True)}
    return {
        name: {status: number for (configuration, status), number in sorted(rows.items()) if configuration == name}
        for name in measured.configurations
    }


def _tallies(requests: pl.DataFrame) -> dict[int, Tally]:
    load = requests.filter(pl.col("phase") != "cold").group_by("launch").agg(pl.len().alias("due"), pl.col("ok").sum())
    return {row["launch"]: Tally(due=row["due"], answered=row["ok"]) for row in load.iter_rows(named=True)}


def _replicas(measured: RecordData, timed: pl.DataFrame) -> tuple[Replica, ...]:
    """Replicas by engine in the requested order, then by number."""
    engines = {configuration.name: configuration.target for configuration in measured.varied}
    sent = timed.filter(pl.col("counted") & pl.col("replica").is_not_null()).with_columns(
        engine=pl.col("configuration").replace_strict(engines, default="", return_dtype=pl.String)
    )
    rows = sent.group_by("engine", "replica").agg(pl.len().alias("sent"), pl.col("ok").sum(), pl.col("ttft_s").filter("ok").median())
    readings = _readings(measured, engines)
    order = list(dict.fromkeys(engines.values()))
    ordered = sorted(rows.iter_rows(named=True), key=lambda row: (order.index(row["engine"]), row["replica"]))
    return tuple(
        Replica(
            engine=row["engine"],
            replica=row["replica"],
            sent=row["sent"],
            answered=row["ok"],
            ttft_s=row["ttft_s"],
            readings=readings.get((row["engine"], f"replica-{row['replica']}"), {}),
        )
        for row in ordered
    )


def _readings(measured: RecordData, engines: Mapping[str, str]) -> dict[tuple[str, str], dict[str, float]]:
    """(engine, device) -> counter -> mean reading within the measured windows of the timed launches."""
    windows = measured.served.windows.join(measured.timed.select("launch"), on="launch", how="semi")
    read = measured.table("telemetry").filter(pl.col("counter").is_in(READINGS))
    inside = read.join(windows.select("launch", "configuration", "begin_ns", "end_ns"), on="launch").filter(
        pl.col("ns").is_between(pl.col("begin_ns"), pl.col("end_ns"))
    )
    readings: dict[tuple[str, str], dict[str, float]] = {}
    named = inside.with_columns(engine=pl.col("configuration").replace_strict(engines, default="", return_dtype=pl.String))
    for row in named.group_by("engine", "device", "counter").agg(pl.col("value").mean()).iter_rows(named=True):
        readings.setdefault((row["engine"], row["device"]), {})[row["counter"]] = row["value"]
    return readings


def _timelines(measured: RecordData, requests: pl.DataFrame) -> tuple[LoadTimeline, ...]:
    """Timelines of every launch with a fault, and of the first timed launch at the largest load per engine and scenario."""
    launches = measured.table("launches").filter(pl.col("status") == "ok").sort("launch")
    faults = launches.filter(pl.col("role") == "fault")
    largest = {
        (configuration.target, configuration.scenario): configuration.name for configuration in measured.varied
    }  # ascending by load: the last one wins
    first = launches.filter((pl.col("role") == "timed") & pl.col("configuration").is_in(list(largest.values())))
    kept = first.unique("configuration", keep="first", maintain_order=True)
    chosen = [*faults.iter_rows(named=True), *kept.iter_rows(named=True)][:MOST_TIMELINES]
    return tuple(line for row in chosen if (line := _timeline(measured, requests, row)) is not None)


def _timeline(measured: RecordData, requests: pl.DataFrame, launch: Mapping[str, Any]) -> LoadTimeline | None:
    window = measured.served.windows.filter(pl.col("launch") == launch["launch"]).row(0, named=True)
    rows = requests.filter((pl.col("launch") == launch["launch"]) & (pl.col("phase") != "cold"))
    t0 = window["t0_ns"]
    if t0 is None or rows.height == 0:
        return None
    inside = None
    if window["seconds"] is not None:
        inside = ((window["begin_ns"] - t0) / NS_PER_S, (window["end_ns"] - t0) / NS_PER_S)
    return LoadTimeline(
        launch=launch["launch"],
        configuration=launch["configuration"],
        role=launch["role"],
        block=launch["block"],
        window_s=inside,
        bins=_bins(rows, t0),
        spans=tuple(_spans(measured, launch["launch"], t0)),
    )


def _bins(requests: pl.DataFrame, t0: int) -> tuple[Bin, ...]:
    since = requests.with_columns(at=(pl.col("scheduled_ns") - t0) / NS_PER_S)
    last = max(float(since["at"].max() or 0.0), 1e-9)  # type: ignore[arg-type]
    widest = max(last / MOST_BINS, BIN_REQUESTS * last / max(requests.height, 1))
    width = next((step for step in WIDTHS_S if step >= min(widest, last / 10)), last)
    grouped = (
        since.group_by((pl.col("at") / width).floor().cast(pl.Int64).alias("bin"))
        .agg(pl.len().alias("due"), pl.col("ok").sum(), pl.col("met").sum(), pl.col("ttft_s").filter("ok").median().alias("ttft_s"))
        .sort("bin")
    )
    every = pl.DataFrame({"bin": range(int(grouped["bin"].min() or 0), int(grouped["bin"].max() or 0) + 1)})  # type: ignore[arg-type]
    filled = every.join(grouped, on="bin", how="left").with_columns(pl.col("due", "ok", "met").fill_null(0)).sort("bin")
    return tuple(
        Bin(
            begin_s=row["bin"] * width,
            end_s=(row["bin"] + 1) * width,
            due=row["due"],
            ok=row["ok"],
            met=row["met"],
            failed=row["due"] - row["ok"],
            ttft_s=row["ttft_s"],
        )
        for row in filled.iter_rows(named=True)
    )


def _spans(measured: RecordData, launch: int, t0: int) -> list[Span]:
    """Faults and outages; each begin is matched with the next end of the same replica."""
    kinds = {"fault": ("fault", "fault_end"), "down": ("replica_down", "replica_up")}
    events = measured.table("events").filter(pl.col("launch") == launch).sort("ns")
    spans = []
    for kind, (begin, end) in kinds.items():
        for row in events.filter(pl.col("kind") == begin).iter_rows(named=True):
            later = events.filter((pl.col("kind") == end) & (pl.col("ns") >= row["ns"]) & pl.col("value").eq_missing(row["value"]))
            spans.append(
                Span(
                    kind=kind,
                    what=_what(kind, row),
                    begin_s=(row["ns"] - t0) / NS_PER_S,
                    end_s=(int(later["ns"][0]) - t0) / NS_PER_S if later.height else None,
                )
            )
    return spans


def _what(kind: str, row: Mapping[str, Any]) -> str:
    who = "" if row["value"] is None else f" replica {int(row['value'])}"
    if kind == "down":
        return f"{who.strip() or 'a replica'} down"
    detail = json.loads(row["detail"] or "{}")
    return f"{detail.get('kind') or detail.get('fault') or 'fault'}{who}"
