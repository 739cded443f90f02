"""How long is each phase of a step?

Each phase is that of the slowest rank of a step; a launch's value is the median over its steady steps. Phases and the unknown
rest add up to the step.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import average, no_launch
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.work import MARK_STEPS
from fireassay.metrics.metric import Metric, Results
from fireassay.units import SECONDS

NO_LOADER = "no wait for a DataLoader was recorded, and the script did not mark its steps; iterate over probe.steps(loader)"
UNMARKED = 'the script did not mark this phase; use: with probe.phase("{phase}")'
NOT_ALL_OF_IT = "Under DDP and FSDP the backward pass contains communication; it is not a communication time."
PHASES = (  # phase, title, question, caveat, why there is none
    ("data", "Waiting for data", "How long does a step wait for its batch?", "A prefetching loader hides the cost of loading.", NO_LOADER),
    ("forward", "Forward pass", "How long is the forward pass?", NOT_ALL_OF_IT, UNMARKED),
    ("backward", "Backward pass", "How long is the backward pass, with the communication that overlaps it?", NOT_ALL_OF_IT, UNMARKED),
    ("optimizer", "Optimizer step", "How long does the optimizer step take?", NOT_ALL_OF_IT, UNMARKED),
    ("unknown", "Rest of the step", "How much of a step belongs to no marked phase?", "It is the step less the marked phases.", MARK_STEPS),
)


def _phase_time(measured: RecordData, _: Results, *, phase: str, missing: str) -> Mapping[str, Value]:
    medians = measured.once("phase medians", _medians)
    return {name: _estimate(measured, medians, name, phase, missing) for name in measured.configurations}


def _medians(measured: RecordData) -> dict[int, dict[str, Any]]:
    """launch -> its row (data_s, data_steps, ...): each phase's median over the steady steps, and the number of steps with it."""
    expressions = [(pl.col(f"{phase}_s").median(), pl.col(f"{phase}_s").count().alias(f"{phase}_steps")) for phase, *_ in PHASES]
    rows = measured.steady_steps.group_by("launch").agg(*chain.from_iterable(expressions))
    return {row["launch"]: row for row in rows.iter_rows(named=True)}


def _estimate(measured: RecordData, medians: Mapping[int, Mapping[str, Any]], configuration: str, phase: str, missing: str) -> Value:
    launches = measured.timed_by_block.get(configuration, ())
    if not launches:
        return no_launch(configuration)
    rows = [medians[launch] for launch, _ in launches if launch in medians]
    present = [row for row in rows if row[f"{phase}_s"] is not None]
    if not present:
        return Absent(reason="not_measured", detail=missing)
    result = average(  # phases may be 0, so no logarithm
        [row[f"{phase}_s"] for row in present],
        measured.confidence,
        unit=SECONDS,
        name=f"{phase}_time",
        aggregate=f"median over steady steps of the slowest rank's {phase} phase",
        n_trials=sum(row[f"{phase}_steps"] for row in present),
    )
    # The rest is negative if the marked phases exceed their step: that must stay visible.
    return replace(result, low=max(result.low, 0.0)) if result.value >= 0.0 and math.isfinite(result.low) else result


METRICS = tuple(
    Metric(
        name=f"{phase}_time",
        title=title,
        unit=SECONDS,
        kind="cost",
        better="lower",
        dimension="performance",
        formula=f"median over steps of the slowest rank's {phase} phase",
        compute=partial(_phase_time, phase=phase, missing=missing.format(phase=phase)),
        question=question,
        caveat=caveat,
        rank=rank,
    )
    for rank, (phase, title, question, caveat, missing) in enumerate(PHASES, 1400)
)
DATA_TIME, FORWARD_TIME, BACKWARD_TIME, OPTIMIZER_TIME, UNKNOWN_TIME = METRICS
