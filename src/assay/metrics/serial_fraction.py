"""Which part of the work does not become faster with more workers?

Amdahl's s by least squares through (1/S - 1/p) = s (1 - 1/p) over all measured p, fitted per block; the interval is
Student t over the blocks.  It lumps communication and imbalance together with serial work: see karp_flatt.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from assay.estimates.estimate import Absent, Estimate, Value
from assay.estimates.over_launches import of_interval
from assay.frames.per_launch import in_blocks
from assay.frames.record_data import Measured
from assay.frames.training.work_time import seconds_per_work, time_basis, wall_seconds
from assay.metrics.base import ALL, Metric, Results
from assay.stats.models.scaling import amdahl_fit, amdahl_fit_interval
from assay.units import FRACTION


def compute(measured: Measured, results: Results) -> Mapping[str, Value]:
    """One fraction for the whole experiment."""
    refusal = _refusal(measured)
    if refusal is not None:
        return {ALL: refusal}
    above = [level for level in measured.levels if level > 1]
    speedups = _speedups_per_block(measured, above)
    if not speedups:
        return {ALL: Absent(reason="insufficient", detail="no block holds a launch of every configuration")}
    fits = [amdahl_fit(above, row) for row in speedups]  # the dots of the pictures
    levels = sum(1 for value in results["speedup"].values() if isinstance(value, Estimate))
    return {
        ALL: of_interval(
            amdahl_fit_interval(above, np.array(speedups), measured.confidence),
            fits,
            measured.confidence,
            unit=FRACTION,
            name="serial_fraction",
            n_trials=len(fits) * levels,
            method=f"Student t on Amdahl fits of {len(fits)} blocks",
            tags=f"fit:least-squares|basis:{time_basis(measured)}|ci:t",
        )
    }


def _refusal(measured: Measured) -> Absent | None:
    if measured.experiment.base_level != 1:
        return Absent(reason="not_applicable", detail="Amdahl's law needs speedups over one worker")
    if measured.mode == "weak":
        return Absent(reason="not_applicable", detail="Amdahl's law describes strong scaling")
    if len(measured.levels) < 2:
        return Absent(reason="insufficient", detail="a fit needs at least one worker count besides the base")
    return None


def _speedups_per_block(measured: Measured, above: Sequence[int]) -> list[list[float]]:
    """One row per block that holds every configuration, one speedup per level above 1."""
    values = seconds_per_work(measured) if time_basis(measured) == "step" else wall_seconds(measured)
    times = {level: in_blocks(measured, values, name) for level, name in zip(measured.levels, measured.configurations, strict=True)}
    whole = set.intersection(*(set(found) for found in times.values()))
    blocks = sorted(block for block in whole if all(found[block] > 0.0 for found in times.values()))
    rows = [[times[1][block] / times[level][block] for level in above] for block in blocks]
    return [row for row in rows if all(0.0 < speedup < math.inf for speedup in row)]  # a step of almost no work has none


METRIC = Metric(
    name="serial_fraction",
    title="Amdahl serial fraction",
    unit=FRACTION,
    kind="level",
    better="lower",
    dimension="performance",
    formula="s from (1/S - 1/p) = s (1 - 1/p)",
    compute=compute,
    after=("speedup",),
    primary=True,
)
