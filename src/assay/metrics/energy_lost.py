"""How many joules does one fault cost?

energy_lost = mean power while the job was broken x lost rank-seconds / workers, per fault launch.  The power is that of the energy
counters between the fault and the moment at which the lost step was reached again (or the fault's end), read off by straight lines
between readings.  Lost rank-seconds: `assay.metrics.lost_time`.  A job broken for less than `LEAST_PERIODS` readings has no power of its
own, and the number is absent.
Cannot tell: what the same machines would have used idle; counters measure whole devices.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.frames.clock_offsets import on_one_clock
from assay.frames.joules import energy_method, no_energy
from assay.frames.record_data import Measured
from assay.metrics.base import Metric, Results
from assay.metrics.lost_time import lost_seconds, per_configuration, windows
from assay.units import JOULES, NS_PER_S

LEAST_PERIODS = 3
HOW = "mean power while the job was broken x lost rank-seconds / workers"


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """Joules per fault."""
    method = energy_method(measured)
    if method is None:
        return dict.fromkeys(measured.configurations, no_energy(measured))
    lost = lost_seconds(measured)
    watts = {launch: found for launch, spans in windows(measured).items() if (found := _watts(measured, method, launch, spans))}
    known = lost.filter(pl.col("launch").is_in(list(watts)))
    values = per_configuration(
        measured,
        known,
        lambda row: watts[int(row["launch"])] * row["value"] / row["workers"],
        unit=JOULES,
        name=f"energy_lost|method:{method}",
        how=HOW,
    )
    short = Absent(
        reason="insufficient",
        detail=f"the job was broken for fewer than {LEAST_PERIODS} readings of the energy counters; lower energy.sample_every_s",
    )
    broken = set(lost["configuration"].to_list()) - set(known["configuration"].to_list())
    return {name: short if name in broken else value for name, value in values.items()}


def _watts(measured: Measured, method: str, launch: int, spans: tuple[tuple[int, int], ...]) -> float | None:
    """Mean power of all devices in spans of monotonic ns; None where they hold too few readings of one of them."""
    told = on_one_clock(measured).measured.table("telemetry")  # as the windows are
    own = told.filter((pl.col("counter") == "energy") & (pl.col("method") == method) & (pl.col("launch") == launch))
    total = 0.0
    for device in own.partition_by("host", "device"):
        rows = device.sort("ns")
        ns, joules = rows["ns"].to_numpy(), rows["value"].to_numpy()
        if sum(int(((ns >= begin) & (ns <= end)).sum()) for begin, end in spans) < LEAST_PERIODS:
            return None
        at = np.interp(np.array(spans, dtype=float), ns.astype(float), joules)
        total += float((at[:, 1] - at[:, 0]).sum())
    return total / (sum(end - begin for begin, end in spans) / NS_PER_S) if own.height else None


METRIC = Metric(
    name="energy_lost",
    title="Energy of a fault",
    unit=JOULES,
    kind="cost",
    better="lower",
    dimension="reliability",
    formula=HOW,
    compute=compute,
    about=("training",),
)
