"""Was the machine quiet, and can its energy be trusted?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import expm1
from typing import Final

import polars as pl

from fireassay.estimates.format import count, given, limit_text, number, reading
from fireassay.frames.noise import Limit, by_host, fold, limits, on_hosts, sentinel_words, slow
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.work import seconds_per_work, time_basis, wall_per_work
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.stats.series.trend import Trend, trend
from fireassay.units import FRACTION, NS_PER_S, SECONDS
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.evidence.sent_requests import main, seconds
from fireassay.verdict.types import Finding

AUDITS = Audits(about=EVERYTHING)


# ---- contention ----

CONTENTION_SURE: Final = 0.01  # p-value below which a trend is named
OF_ANSWERS: Final = ("serving",)  # kinds of record whose drift is that of answers
WARMER: Final = 5.0  # degrees: a smaller change is no evidence of heat
CONTENTION_SEEN: Final = {  # source a reader expects to be monitored -> key under which the meter reports why it is not
    "foreign": "processor_time",
    "steal": "processor_time",
    "throttled": "throttled",
    "psi_io": "pressure_io",
    "psi_memory": "pressure_memory",
}


@AUDITS.add("contention", "Did anything disturb the machine during the measurement?", title="disturbed machine")
def examine_contention(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One warning per kind of disturbance, with its launches; drift; repeated launches; unmonitored sources.

    Each timed launch is compared with the experiment's limits (`noise`, `fireassay.frames.noise`): other programs, hypervisor steal,
    quotas, waiting for disk and memory, GPU throttling, a slow speed probe. The launch's own load is excluded: four workers on two cores are
    expected to be slow. Randomised blocks spread a disturbance over all configurations; it widens intervals rather than biasing them, hence
    a warning. Launches repeated because of a disturbance are counted and stay in the record.

    Drift: a trend of launch times, or of the speed probe, over the experiment. Mann-Kendall test on means of rounds, each launch relative to the
    mean of its configuration; at p < 0.01, which needs six blocks, and a change above `comparison.smallest_effect`. Cannot tell: heat from
    another cause unless a temperature was recorded.
    """
    if measured.timed.height == 0:
        return tuple(_made_again(measured))
    noise = fold(measured).join(measured.timed.select("launch"), on="launch")
    if noise.select(pl.any_horizontal(pl.col(name).is_not_null() for name in ("foreign", "steal")).any()).item() is not True:
        return (
            Finding(
                "contention_not_measured",
                "note",
                None,
                "no host counters were recorded, so a disturbance by other programs would go unnoticed",
                _how_to_count(measured),
            ),
            *_made_again(measured),
        )
    exceeded = [finding for limit in limits(measured.experiment.noise) if (finding := _contention_over(measured, noise, limit)) is not None]
    return (*exceeded, *_slow_sentinel(measured, noise), *_drifts(measured, noise), *_made_again(measured), *_unseen(measured, noise))


def _how_to_count(measured: RecordData) -> str:
    """What would make the counters readable there: other systems lack them, and a launch may be too short for two readings."""
    if str(measured.before.get("os", "Linux")).startswith("Linux"):
        return "let a launch last some seconds, so that the counters are read twice, and let /proc be readable"
    return "run on Linux, whose counters are read"


def _contention_over(measured: RecordData, noise: pl.DataFrame, limit: Limit) -> Finding | None:
    disturbed = noise.filter(pl.col(limit.column) > limit.most)
    if disturbed.height == 0:
        return None
    most = reading(float(disturbed[limit.column].max()), FRACTION, beside=(limit.most,))  # type: ignore[arg-type]
    hosts = by_host(measured).filter(pl.col(limit.column) > limit.most).join(noise.select("launch"), on="launch", how="semi")
    words = f"{limit.words.format(value=f'up to {most}')}{on_hosts(measured, hosts)}"
    allowed = f"at most {limit_text(limit.most, FRACTION)} are allowed"
    return Finding(limit.rule, "warning", None, f"{words}; {allowed}; {_contention_which(disturbed, noise)}", limit.remedy)


def _slow_sentinel(measured: RecordData, noise: pl.DataFrame) -> Iterable[Finding]:
    hosts = slow(by_host(measured), measured.experiment.noise).join(noise.select("launch"), on="launch", how="semi")
    if hosts.height:
        disturbed, worst = noise.join(hosts, on="launch", how="semi"), hosts.sort("sentinel").tail(1)
        words = sentinel_words(float(worst["sentinel_ratio"][0]), float(worst["deviations"][0]))
        evidence = f"{words}{on_hosts(measured, worst)} around launch {worst['launch'][0]}; {_contention_which(disturbed, noise)}"
        remedy = "find out what else runs at that time; noise.repeat repeats such launches"
        yield Finding("slow_sentinel", "warning", None, evidence, remedy)


def _contention_which(disturbed: pl.DataFrame, noise: pl.DataFrame) -> str:
    return (
        f"it affected {disturbed.height} of {count(noise.height, 'timed launches')} ({_contention_launches(disturbed['launch'].to_list())})"
    )


def _contention_launches(numbers: Sequence[int]) -> str:
    """Launch numbers as ranges: launch 3; launches 0, 2-4."""
    parts: list[list[int]] = []
    for launch in sorted(numbers):
        if parts and launch == parts[-1][1] + 1:
            parts[-1][1] = launch
        else:
            parts.append([launch, launch])
    words = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in parts)
    return f"launch {words}" if len(numbers) == 1 else f"launches {words}"


def _drifts(measured: RecordData, noise: pl.DataFrame) -> Iterable[Finding]:
    basis, times = _contention_times(measured)
    series = {
        f"the {basis} times": (
            times,
            "randomised rounds keep comparisons within this record valid; do not compare its times with those of another day",
        ),
        "the speed probe": (
            noise.select("launch", pl.col("sentinel").alias("value")),
            "let the machine warm up first, or find out what increased its load",
        ),
    }
    for what, (values, remedy) in series.items():
        drift = _contention_trend(measured, values)
        if (
            drift is not None
            and drift.p < CONTENTION_SURE
            and abs(_contention_factor(drift)) > measured.experiment.comparison.smallest_effect
        ):
            evidence = f"{what} {_contention_direction(drift)} over the experiment's {count(drift.n, 'rounds')} (p = {given(drift.p, 2)}){_heat(measured)}"
            yield Finding("drift", "warning", None, evidence, remedy)


def _contention_times(measured: RecordData) -> tuple[str, pl.DataFrame]:
    """The time expected to be constant between blocks: of work or, under load, of an answered request."""
    if measured.kind.concerns(OF_ANSWERS):
        answered = main(measured, "scheduled_ns", "done_ns", "status").filter(pl.col("status") == "ok")
        middle = seconds("done_ns", "scheduled_ns").median().alias("value")
        return "answer", answered.group_by("launch").agg(middle)
    basis = time_basis(measured)
    return basis, seconds_per_work(measured) if basis == "step" else wall_per_work(measured)


def _contention_trend(measured: RecordData, values: pl.DataFrame) -> Trend | None:
    """Trend of block means of log times, each launch relative to its configuration's mean."""
    rows = measured.timed.select("launch", "block", "configuration").join(values, on="launch")
    rows = rows.filter(pl.col("value") > 0.0).with_columns(pl.col("value").log())
    rows = rows.with_columns(pl.col("value") - pl.col("value").mean().over("configuration"))
    blocks = rows.group_by("block").agg(pl.col("value").mean()).sort("block")
    return trend(blocks["block"].to_list(), blocks["value"].to_list())


def _contention_factor(drift: Trend) -> float:
    """Relative change of the time over the experiment."""
    return expm1(drift.change)


def _contention_direction(drift: Trend) -> str:
    change = _contention_factor(drift)
    return f"{'rose' if change > 0 else 'fell'} by {reading(abs(change), FRACTION)}"


def _heat(measured: RecordData) -> str:
    """The change in GPU temperature over the experiment, if recorded."""
    rows = measured.table("telemetry").filter(pl.col("device").str.starts_with("gpu-") & (pl.col("counter") == "temperature"))
    each = rows.group_by("launch").agg(pl.col("value").max())
    blocks = each.join(measured.timed.select("launch", "block"), on="launch").group_by("block").agg(pl.col("value").max())
    ordered = blocks.sort("block")
    drift = trend(ordered["block"].to_list(), ordered["value"].to_list())
    if drift is None or drift.p >= CONTENTION_SURE or abs(drift.change) < WARMER:
        return "; no temperature was recorded that could explain it" if blocks.height == 0 else ""
    return f"; a GPU's temperature {'rose' if drift.change > 0 else 'fell'} by {number(abs(drift.change), 0)} degrees meanwhile"


def _made_again(measured: RecordData) -> Iterable[Finding]:
    rows = measured.table("launches").filter(pl.col("status") == "contaminated").sort("launch")
    if rows.height:
        disturbed = f"{count(rows.height, 'launches')} {'was' if rows.height == 1 else 'were'} disturbed and repeated"
        evidence = f"{disturbed} ({_contention_launches(rows['launch'].to_list())}); the first: {rows['reason'][0]}"
        remedy = "nothing, if they are few; they stay in the record and in its cost, but in no timing"
        yield Finding("contaminated", "note", None, evidence, remedy)


def _unseen(measured: RecordData, noise: pl.DataFrame) -> Iterable[Finding]:
    """Sources that the meter could not read: disturbances of that kind go unnoticed."""
    missing = {name: _contention_reason(measured, key) for name, key in CONTENTION_SEEN.items() if noise[name].null_count() == noise.height}
    unwatched = {name: reason for name, reason in missing.items() if reason}
    if unwatched:
        evidence = f"not monitored: {', '.join(unwatched)} ({'; '.join(dict.fromkeys(unwatched.values()))})"
        remedy = "a disturbance of that kind would go unnoticed; measure where the kernel reports it"
        yield Finding("noise_not_readable", "note", None, evidence, remedy)


def _contention_reason(measured: RecordData, key: str) -> str:
    value = measured.before.get(key)
    return str(value.get("absent", "")) if isinstance(value, Mapping) else ""


# ---- energy readings ----

MIN_PERIODS = 20


@AUDITS.add("energy_readings", "Are the energy readings reliable?", title="unreliable energy readings")
def examine_energy_readings(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning for lower bounds, one for launches too short for the sensor.

    A counter that was reset, or may have wrapped more than once between readings, gives a lower bound (telemetry `energy_doubts`). A launch
    shorter than 20 sensor periods is too short to resolve.
    """
    telemetry = measured.table("telemetry")
    doubtful = telemetry.filter((pl.col("counter") == "energy_doubts") & (pl.col("value") > 0))
    if doubtful.height:
        launches = doubtful["launch"].n_unique()
        yield _energy_readings_finding(
            "energy_lower_bound",
            f"in {launches} launches a counter was reset or may have wrapped unnoticed: their joules are a lower bound",
            "read the counters more often (energy.sample_every_s)",
        )
    short = _too_short(measured, telemetry)
    if short is not None:
        yield short


def _too_short(measured: RecordData, telemetry: pl.DataFrame) -> Finding | None:
    period = telemetry.filter(pl.col("counter") == "sensor_period")["value"].max()
    if not isinstance(period, float):
        return None
    wall = ((pl.col("end_ns") - pl.col("begin_ns")) / NS_PER_S).alias("wall")
    short = measured.timed.select("launch", wall).filter(pl.col("wall") < MIN_PERIODS * period)
    if short.height == 0:
        return None
    return _energy_readings_finding(
        "energy_window_short",
        f"{short.height} launches are shorter than {MIN_PERIODS} periods of {reading(period, SECONDS)} of the energy sensor",
        "run longer launches, or disregard their joules",
    )


def _energy_readings_finding(rule: str, evidence: str, remedy: str) -> Finding:
    return Finding(rule, "warning", None, evidence, remedy)
