"""How much memory does one call hold at most?

trial_memory = largest resident set of a command's process (wait4(2)), or of the process that calls a function; a launch's
value is the median of its counted trials, Student t on the logs.  Linux counts the memory of the process that spawned a
command into it (exec keeps the high-water mark), so a command smaller than assay's own starter shows the starter's size: then
there is no number, only the bound.  It cannot tell memory that is shared with others from memory of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import polars as pl

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.format import reading
from assay.frames.per_launch import from_frame
from assay.frames.record_data import Measured
from assay.frames.trials import counted, per_launch, refused
from assay.metrics.base import Metric, Results
from assay.units import BYTES

NEAR_FLOOR: Final = 1.02  # memory within 2 % of the starter's own cannot be told from it


def compute(measured: Measured, _: Results) -> Mapping[str, Value]:
    """The median per launch, then over launches."""
    if (absent := refused(measured)) is not None:
        return dict.fromkeys(measured.configurations, absent)
    found = from_frame(
        measured,
        per_launch(counted(measured), "max_rss_bytes", "median"),
        unit=BYTES,
        name="trial_memory",
        trials="trials",
        missing="this system did not say how much memory the calls used",
        aggregate="median of the counted trials",
    )
    floor = starters_own(measured)
    return {name: _unless_below(value, floor) for name, value in found.items()}


def starters_own(measured: Measured) -> float | None:
    """Bytes that an empty command shows: what assay's starter holds. None for functions, which nobody spawns."""
    rows = measured.table("telemetry").filter((pl.col("device") == "spawn") & (pl.col("counter") == "start_rss"))
    middle = rows["value"].median()
    return float(middle) if isinstance(middle, int | float) else None


def _unless_below(value: Value, floor: float | None) -> Value:
    if floor is None or not isinstance(value, Estimate) or value.value > NEAR_FLOOR * floor:
        return value
    detail = f"at most {reading(floor, BYTES)}, which is what assay's starter holds itself"
    return Absent(reason="not_measured", detail=detail)


METRIC = Metric(
    name="trial_memory",
    title="Memory of a call",
    unit=BYTES,
    kind="level",
    better="lower",
    dimension="performance",
    formula="median over trials of the largest resident set",
    compute=compute,
)
