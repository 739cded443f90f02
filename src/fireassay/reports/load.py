"""What is known of a load besides its metrics?  Failures, tallies, replicas, agreement, and every request.

Raw seconds; `fireassay.reports.view` makes the text.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.serving.outages import still_open
from fireassay.reports.sessions import SessionRow, session_rows
from fireassay.spec.plan import targets_of
from fireassay.verdict.evidence.answer_agreement import Agreement, agreements

if TYPE_CHECKING:
    from fireassay.verdict.comparison.a_or_b import AOrB

READINGS: Final = ("kv_cache_used", "requests_running", "requests_waiting")  # of an engine, per replica


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
class Load:
    """All that charts and tables of a load need besides the metrics."""

    errors: Mapping[str, Mapping[str, int]]  # configuration -> status -> requests of timed launches
    tallies: Mapping[int, Tally]  # launch -> its requests
    replicas: tuple[Replica, ...]
    routed: tuple[str, ...]  # engines behind a router: the answering replica is unknown
    agreement: Mapping[str, Agreement]  # configuration -> agreement of answers to repeated prompts
    requests: pl.DataFrame = field(repr=False)  # one row per request, `Served.requests`
    limits: Mapping[str, float] = field(default_factory=dict)  # objectives of a good request: "TTFT" -> seconds
    attainment: float | None = None  # share of the requests that must meet them; None: there are none
    open: str = ""  # which share of the requests may or may not have met them, and why
    rivals: AOrB | None = None  # of a record with two engines: which of them
    sessions: tuple[SessionRow, ...] = ()  # steps and sessions; none where no request follows another


def build(measured: RecordData) -> Load:
    """That of a serving record."""
    assert measured.experiment.serving is not None
    requests, objectives = measured.served.requests, measured.experiment.serving.objectives
    timed = requests.join(measured.timed.select("launch"), on="launch", how="semi")
    return Load(
        errors=_errors(measured, timed),
        tallies=_tallies(requests),
        replicas=_replicas(measured, timed),
        routed=tuple(target.name for target in targets_of(measured.experiment.serving) if target.router),
        agreement=agreements(measured),
        requests=requests,
        limits=objectives.limits,
        attainment=objectives.attainment if objectives.any else None,
        open=still_open(measured.counted_requests),
        sessions=session_rows(measured),
    )


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
