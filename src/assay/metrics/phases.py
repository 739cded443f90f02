"""How is one phase of the step folded?  Shared by the five phase metrics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from typing import Any, Final

import polars as pl

from assay.estimates.estimate import Absent, Value
from assay.estimates.over_launches import average, no_launch
from assay.frames.record_data import Measured
from assay.units import SECONDS

PHASES: Final = ("data", "forward", "backward", "optimizer", "unknown")


def phase_time(measured: Measured, phase: str, *, missing: str) -> Mapping[str, Value]:
    """One phase per configuration; Absent where no step of it was marked. Phases may be 0, so no logarithm; none is less."""
    medians = measured.once("phase medians", _medians)
    return {name: _estimate(measured, medians, name, phase, missing) for name in measured.configurations}


def _medians(measured: Measured) -> dict[int, dict[str, Any]]:
    """launch -> its row (data_s, data_steps, ...): each phase's median over the steady steps, and in how many it was seen."""
    both = [(pl.col(f"{phase}_s").median(), pl.col(f"{phase}_s").count().alias(f"{phase}_steps")) for phase in PHASES]
    rows = measured.steady_steps.group_by("launch").agg(*chain.from_iterable(both))
    return {row["launch"]: row for row in rows.iter_rows(named=True)}


def _estimate(measured: Measured, medians: Mapping[int, Mapping[str, Any]], configuration: str, phase: str, missing: str) -> Value:
    launches = measured.timed_by_block.get(configuration, ())
    if not launches:
        return no_launch(configuration)
    rows = [medians[launch] for launch, _ in launches if launch in medians]
    present = [row for row in rows if row[f"{phase}_s"] is not None]
    if not present:
        return Absent(reason="not_measured", detail=missing)
    found = average(
        [row[f"{phase}_s"] for row in present],
        measured.confidence,
        unit=SECONDS,
        name=f"{phase}_time",
        aggregate=f"median over steady steps of the slowest rank's {phase} phase",
        n_trials=sum(row[f"{phase}_steps"] for row in present),
    )
    # what is left of a step is below 0 where its phases were marked as longer than itself: that stays to be seen
    return replace(found, low=max(found.low, 0.0)) if found.value >= 0.0 and math.isfinite(found.low) else found
