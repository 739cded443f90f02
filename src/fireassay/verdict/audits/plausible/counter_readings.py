"""Can the counters have been read as recorded?

The meter reads while a launch runs, totals that it accumulates itself never fall, and no device exceeds its power limit:

    energy between two readings  <=  2000 W x (seconds + 1)        the accumulator's own limit (`instruments/machine/energy.py`)
    mean power of a GPU          <=  2 x its enforced power limit, if recorded and the readings span 5 s

A violation cannot have been read: INVALID. The kernel's totals (idle time, interfaces) may fall and are not checked. Cannot tell: a counter
scaled by a plausible factor.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import EVERYTHING, Results
from fireassay.units import NS_PER_S
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.evidence.impossible_rows import FOREIGN, ended, impossible, snapshots
from fireassay.verdict.types import Finding

SERIES: Final = ["launch", "host", "device", "counter"]
# Per-launch totals that assay itself keeps monotonic (`host.py`, `energy.py`, `meter.py`).
KEPT: Final = ("cpu_time", "involuntary_switches", "major_faults", "minor_faults", "energy", "energy_doubts", "energy_errors")
MOST_WATTS, LATENCY_S = 2000.0, 1.0
MOST_LIMITS, LONG_S = 2.0, 5.0
LATE_S: Final = 60.0  # allowance for the last reading after the last launch's end
METERED: Final = ("cpu", "launch", "coordinator", "meter", "cgroup", "memory", "io", "tcp", "workers")


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """At most one finding per rule."""
    if measured.foreign is not None:
        return ()
    kept = measured.table("telemetry").filter(pl.col("counter").is_in(KEPT)).sort([*SERIES, "ns"])
    steps = kept.with_columns(
        _before=pl.col("value").shift(1).over(SERIES), _since=pl.col("ns").diff().over(SERIES) / NS_PER_S
    ).with_columns(_rise=pl.col("value") - pl.col("_before"))
    energy = steps.filter((pl.col("counter") == "energy") & (pl.col("method") == "counter"))
    much = energy.filter(pl.col("_rise") > MOST_WATTS * (pl.col("_since") + LATENCY_S) * 1.01)
    return (
        *impossible(
            "counter_falls",
            "telemetry",
            steps.filter(pl.col("_rise") < -1e-9 * pl.col("_before").abs()),
            "the total fell from {_before:.9g} to {value:.9g}",
        ),
        *impossible("power_too_high", "telemetry", much, "{_rise:.6g} J in {_since:.6g} s, more than any device draws"),
        *_above_limit(measured, energy),
        *_outside(measured),
    )


def _above_limit(measured: RecordData, energy: pl.DataFrame) -> Iterator[Finding]:
    limits = _limits(measured)
    whole = (
        energy.group_by(SERIES)
        .agg(pl.col("value").last() - pl.col("value").first(), (pl.col("ns").last() - pl.col("ns").first()).alias("_ns"))
        .with_columns(_s=pl.col("_ns") / NS_PER_S)
        .filter(pl.col("_s") >= LONG_S)
    )
    for device, watts in limits.items():
        bad = whole.filter((pl.col("device") == device) & (pl.col("value") / pl.col("_s") > MOST_LIMITS * watts))
        yield from impossible("power_too_high", "telemetry", bad, f"{{value:.6g}} J in {{_s:.6g}} s with a power limit of {watts:g} W")


def _limits(measured: RecordData) -> dict[str, float]:
    """Enforced power limit by GPU, the highest in a snapshot."""
    power_limits: dict[str, float] = {}
    for snapshot in snapshots(measured):
        gpu = snapshot.get("gpu")
        listed = gpu.get("nvidia") if isinstance(gpu, Mapping) else None
        for device in listed if isinstance(listed, list) else ():
            watts, name = (device.get("power_limit_w"), device.get("uuid")) if isinstance(device, Mapping) else (None, None)
            if isinstance(watts, int | float) and watts > 0 and isinstance(name, str):
                power_limits[name] = max(power_limits.get(name, 0.0), float(watts))
    return power_limits


def _outside(measured: RecordData) -> tuple[Finding, ...]:
    """Readings start after their launch begins, and stop before the next one begins."""
    rows = measured.table("telemetry").filter(pl.col("device").is_in(METERED))
    most, following = pl.col("end_ns") + round(LATE_S * NS_PER_S), measured.table("launches").sort("launch")
    spans = following.with_columns(_next=pl.col("begin_ns").shift(-1)).join(ended(measured), on="launch", how="semi")
    known = pl.when(pl.col("_next") >= pl.col("end_ns")).then(pl.min_horizontal(most, "_next")).otherwise(most)
    spans = spans.select("launch", "begin_ns", _until=known)
    inside = rows.join(spans, on="launch")
    early, late = inside.filter(pl.col("ns") < pl.col("begin_ns")), inside.filter(pl.col("ns") > pl.col("_until"))
    return (
        *impossible("reading_outside_launch", "telemetry", early, "read at {ns}, before the launch began at {begin_ns}"),
        *impossible("reading_outside_launch", "telemetry", late, "read at {ns}; the launch was over by {_until}"),
    )


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind without counters."""
    if measured.foreign is not None:
        return FOREIGN
    return None if measured.table("telemetry").height else "no counter was read"


AUDIT = Audit(
    name="counter_readings",
    title="impossible counter readings",
    question="Can the counters have been read as recorded?",
    examine=examine,
    about=EVERYTHING,
    blind=blind,
)
