"""How was each launch disturbed, and is that more than the experiment allows?

Shares are differences of counters between a launch's first and last reading. Per launch and host; a launch is as disturbed as the worst of
its hosts:

* foreign = (busy - the launch's own processor time - assay's) / (busy + idle + steal); steal / the same;
* throttled, psi_cpu, psi_io, psi_memory: seconds / seconds between the two readings;
* switches_per_s: involuntary context switches of the launch's own threads;
* gpu_throttled: the largest share of readings in which one GPU was throttled for one reason (hardware, heat, power brake);
* clock_ratio: its median GPU clock / the median over launches, clock_lost = 1 - that; frequency_ratio: likewise for processors;
* sentinel: the slower of the readings before and after it; sentinel_ratio: that / the median of all readings of the host;
  deviations: (sentinel - median) / (1.4826 MAD), in robust standard deviations.

`disturbances` applies the experiment's `noise` limits, fixed before anything ran, and ignores the measured values. Waiting for
a processor (psi_cpu) and involuntary switches are reported without a limit: four workers on two cores wait for each other,
and that is the measurement; load from others shows as `foreign`. Cannot tell: whose load causes waits for disk and memory; a
workload that reads a lot is flagged in every launch, and its limit should be raised. Nor what happened between two
samples of a GPU. A gap in the counters is null, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from fireassay.estimates.format import given, reading
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.spec.sections.workload import Noise
from fireassay.units import FRACTION

MAD_TO_SIGMA: Final = 1.4826  # of the normal distribution
SLOW_SENTINEL: Final = "slow_sentinel"  # name of the finding
MIN_SLOWER: Final = 1.05  # a sentinel within 5 % of the median is no disturbance, however quiet the others are
_TOTALS: Final = {
    ("cpu", "busy"): "busy",
    ("cpu", "idle"): "idle",
    ("cpu", "steal"): "stolen",
    ("launch", "cpu_time"): "own",
    ("coordinator", "cpu_time"): "assay",
    ("cgroup", "throttled"): "stopped",
    ("cpu", "pressure_some"): "cpu_s",
    ("io", "pressure_some"): "io_s",
    ("memory", "pressure_some"): "memory_s",
    ("launch", "involuntary_switches"): "switches",
}
COLUMNS: Final = (
    "foreign",
    "steal",
    "throttled",
    "psi_cpu",
    "psi_io",
    "psi_memory",
    "switches_per_s",
    "gpu_throttled",
    "clock_ratio",
    "clock_lost",
    "frequency_ratio",
    "sentinel",
    "sentinel_ratio",
    "deviations",
)


@dataclass(frozen=True)
class Limit:
    """The most that one kind of disturbance may reach."""

    rule: str  # name of the finding
    column: str
    most: float
    words: str  # with {value}, the share as text
    remedy: str


def limits(noise: Noise) -> tuple[Limit, ...]:
    """The experiment's limits, the most common disturbance first. The sentinel has its own rule (`slow_sentinel`)."""
    return (
        Limit(
            "foreign_load",
            "foreign",
            noise.most_foreign,
            "other programs used {value} of the processors",
            "leave the machine to the experiment",
        ),
        Limit(
            "steal",
            "steal",
            noise.most_steal,
            "the hypervisor took {value} of the processors",
            "use a machine that is not shared, or more launches",
        ),
        Limit(
            "throttled",
            "throttled",
            noise.most_throttled,
            "the control group's quota stopped the processes for {value} of the launch",
            "raise the CPU quota",
        ),
        Limit(
            "pressure_io",
            "psi_io",
            noise.most_pressure,
            "tasks waited for input or output for {value} of the launch",
            "stop other programs' disk use; if the workload itself reads that much, raise noise.most_pressure",
        ),
        Limit(
            "pressure_memory",
            "psi_memory",
            noise.most_pressure,
            "tasks waited for memory for {value} of the launch",
            "give the launch more memory; if the workload itself needs that much, raise noise.most_pressure",
        ),
        Limit(
            "gpu_slowdown",
            "gpu_throttled",
            noise.most_gpu_throttled,
            "a GPU was throttled for heat or power in {value} of the readings",
            "cool the GPU, or set a clock that it can sustain",
        ),
        Limit(
            "gpu_clock",
            "clock_lost",
            noise.most_gpu_clock_lost,
            "a GPU's clock was {value} below that of the median launch",
            "set a clock that the GPU can sustain",
        ),
    )


KEY: Final = ("launch", "host")
LEAST: Final = ("clock_ratio", "frequency_ratio")  # of which the smallest is the worst


@once_per_record
def by_host(measured: RecordData) -> pl.DataFrame:
    """One row per launch and host with telemetry: `launch`, `host` and `COLUMNS`; null if not read."""
    rows = measured.table("telemetry")
    hosts = rows.select(KEY).unique().sort(KEY)
    for part in (_shares(rows), _gpu(rows), _sentinel(rows)):
        hosts = hosts.join(part, on=KEY, how="left")
    return hosts.select(*KEY, *(pl.col(name).cast(pl.Float64) for name in COLUMNS))


def fold(measured: RecordData) -> pl.DataFrame:
    """One row per launch with telemetry: `launch` and `COLUMNS`, each of the host where it is worst; null if not read."""
    worst = (pl.col(name).min() if name in LEAST else pl.col(name).max() for name in COLUMNS)
    return by_host(measured).group_by("launch").agg(*worst).sort("launch")


def on_hosts(measured: RecordData, disturbed: pl.DataFrame) -> str:
    """ " on b": the hosts of these rows of `by_host`, where the record has several that were read."""
    read = by_host(measured).filter(pl.any_horizontal(pl.col(name).is_not_null() for name in ("foreign", "steal", "sentinel")))
    return f" on {', '.join(disturbed['host'].unique().sort())}" if read["host"].n_unique() > 1 else ""


def disturbed(measured: RecordData, launch: int) -> str:
    """Why a launch counts as disturbed by the experiment's limits; "" if it does not.

    All launches recorded so far contribute to the median of the sentinel.
    """
    return "; ".join(disturbances(measured).get(launch, {}).values())


def disturbances(measured: RecordData) -> Mapping[int, Mapping[str, str]]:
    """Launch -> rule -> why, for every launch disturbed by the experiment's limits."""
    folded, noise = by_host(measured), measured.experiment.noise
    found: dict[int, dict[str, str]] = {}
    for limit in limits(noise):
        for rows in folded.filter(pl.col(limit.column) > limit.most).sort(KEY).partition_by("launch"):
            most = reading(float(rows[limit.column].max()), FRACTION)  # type: ignore[arg-type]
            why = f"{limit.words.format(value=most)}{on_hosts(measured, rows)} (at most {reading(limit.most, FRACTION)})"
            found.setdefault(rows["launch"][0], {})[limit.rule] = why
    for rows in slow(folded, noise).sort("sentinel").partition_by("launch"):
        worst = rows.tail(1)
        words = sentinel_words(float(worst["sentinel_ratio"][0]), float(worst["deviations"][0]))
        found.setdefault(rows["launch"][0], {})[SLOW_SENTINEL] = f"{words}{on_hosts(measured, worst)}"
    return dict(sorted(found.items()))


def slow(folded: pl.DataFrame, noise: Noise) -> pl.DataFrame:
    """The rows whose sentinel was slow."""
    far = pl.col("deviations") > noise.sentinel_deviations
    return folded.filter(far & (pl.col("sentinel_ratio") > MIN_SLOWER))


def sentinel_words(ratio: float, deviations: float) -> str:
    """How slow the sentinel was."""
    far = f"{given(deviations, 2)} robust standard deviations" if deviations < float("inf") else "all others were equal"
    return f"the speed probe took {given(ratio, 3)} times its median ({far})"


def _shares(rows: pl.DataFrame) -> pl.DataFrame:
    """Increases of the totals between the first and the last reading, as shares."""
    key = pl.concat_str("device", "counter", separator="/")
    names = {"/".join(pair): name for pair, name in _TOTALS.items()}
    known = rows.with_columns(key.replace_strict(names, default=None, return_dtype=pl.String).alias("what"))
    known = known.filter(pl.col("what").is_not_null())
    totals = {name: pl.col("value").filter(pl.col("what") == name) for name in names.values()}
    wide = known.group_by(KEY).agg(
        ((pl.col("ns").max() - pl.col("ns").min()) / 1e9).alias("window"),
        *((total.max() - total.min()).alias(name) for name, total in totals.items()),
    )
    total = pl.col("busy") + pl.col("idle") + pl.col("stolen").fill_null(0.0)
    foreign = (pl.col("busy") - pl.col("own") - pl.col("assay").fill_null(0.0)).clip(lower_bound=0.0)
    seconds = {"throttled": "stopped", "psi_cpu": "cpu_s", "psi_io": "io_s", "psi_memory": "memory_s", "switches_per_s": "switches"}
    return wide.select(
        *KEY,
        _over(foreign, total).alias("foreign"),
        _over(pl.col("stolen"), total).alias("steal"),
        *(_over(pl.col(source), pl.col("window")).alias(name) for name, source in seconds.items()),
    ).join(_relative(rows, "cpu", "frequency", "frequency_ratio"), on=KEY, how="left")


def _over(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """A share; null if the whole is zero."""
    return pl.when(whole > 0.0).then(part / whole)


def _gpu(rows: pl.DataFrame) -> pl.DataFrame:
    """The largest throttled share, and the clock relative to the median launch."""
    flags = rows.filter(pl.col("device").str.starts_with("gpu-") & pl.col("counter").str.starts_with("slowdown_"))
    shares = flags.group_by(*KEY, "device", "counter").agg(pl.col("value").mean())
    throttled = shares.group_by(KEY).agg(pl.col("value").max().alias("gpu_throttled"))
    clocks = _relative(rows, "gpu-", "sm_clock", "clock_ratio").with_columns(clock_lost=1.0 - pl.col("clock_ratio"))
    return throttled.join(clocks, on=KEY, how="full", coalesce=True)


def _relative(rows: pl.DataFrame, device: str, counter: str, name: str) -> pl.DataFrame:
    """A launch's median reading / the median over launches, of each host."""
    readings = rows.filter(pl.col("device").str.starts_with(device) & (pl.col("counter") == counter))
    medians = readings.group_by(KEY).agg(pl.col("value").median().alias(name))
    return medians.select(*KEY, pl.col(name) / pl.col(name).median().over("host"))


def _sentinel(rows: pl.DataFrame) -> pl.DataFrame:
    """The slower of a launch's two readings, relative to all readings of its host."""
    readings = rows.filter(pl.col("device") == "sentinel")
    median = pl.col("value").median()
    usual = readings.group_by("host").agg(median.alias("_median"), (pl.col("value") - median).abs().median().alias("_spread"))
    above, sigma = pl.col("sentinel") - pl.col("_median"), MAD_TO_SIGMA * pl.col("_spread")
    far = pl.when(sigma > 0.0).then(above / sigma).when(above > 0.0).then(float("inf")).otherwise(0.0)
    slowest = readings.group_by(KEY).agg(pl.col("value").max().alias("sentinel")).join(usual, on="host")
    return slowest.select(*KEY, "sentinel", (pl.col("sentinel") / pl.col("_median")).alias("sentinel_ratio"), far.alias("deviations"))
