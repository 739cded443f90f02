"""Why are more workers not faster?  A step as a perfect split of the base's and what comes on top, and the rank that causes it."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import given, show
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.lost_time import METRICS as LOST
from fireassay.metrics.training.lost_time import NAMES, part_of
from fireassay.metrics.training.time import STEP_TIME, STEP_TIME_MEAN
from fireassay.reports.answering import standing
from fireassay.reports.page import Number, Part, Sum
from fireassay.reports.view import Column, FindingRow, View

PROCESSORS: Final = "bottleneck_processors"  # the audit that explains computing which cannot shrink
CAUSES: Final = (
    "straggler",
    "saving_alone",
    "evaluating_alone",
    "late_in_few_steps",
    "small_collectives",
)  # audits that name what to change
ENTANGLED: Final = "computing and communication"
BURSTS: Final = 0.05  # of the mean step: how far the median is from it where few steps cost much


def base_of(view: View) -> Column:
    """The column of the base."""
    return next(column for column in view.columns if column.key == view.base)


def why(view: View) -> tuple[Sum, ...]:
    """The decomposition of the first worker count that misses a gate, else of the last one."""
    chosen = studied(view)
    return decomposition(view, chosen) if chosen else ()


def studied(view: View) -> Column | None:
    """The worker count to explain: the first that misses a gate, else the last."""
    others = [column for column in view.columns if column.key != view.base]
    return next((column for column in others if standing(view, column.key).tone == "bad"), others[-1] if others else None)


def decomposition(view: View, column: Column) -> tuple[Sum, ...]:
    """A step of these workers as a perfect split and what comes on top; none if steps or parts were not measured."""
    whole, base, rest = (
        view.estimate(name, key)
        for name, key in ((STEP_TIME_MEAN.name, column.key), (STEP_TIME_MEAN.name, view.base), ("lost_unexplained", column.key))
    )
    row = view.metric(STEP_TIME_MEAN.name)
    if whole is None or base is None or rest is None or row is None:
        return ()
    scale = row.cells[column.key].scale
    lost = [(metric, value) for metric in LOST if (value := view.estimate(metric.name, column.key))]
    ideal = whole.value - sum(value.value for _, value in lost)
    unit = scale.label
    together = not any(part_of(metric) == "transfer" for metric, _ in lost)  # then communication is part of computing

    def text_of(metric: Metric) -> str:
        return ENTANGLED if together and part_of(metric) == "computing" else NAMES[part_of(metric)]

    parts = tuple(Part(text=text_of(metric), number=Number(shown=show(value, scale)), role=part_of(metric)) for metric, value in lost)
    split = (
        f"{show(base, scale).text.removesuffix(scale.after)} / {given(round(base.value / ideal, 6))}" if ideal > 0.0 else "a perfect split"
    )
    start = Part(text=f"a perfect split over {column.label}", number=Number(shown=show(_bare(base, ideal), scale)), role="ideal")
    total = Part(text=f"{column.label}, measured", number=Number(shown=show(whole, scale)), role="total")
    more = show(_bare(whole, whole.value - ideal), scale).text.removesuffix(scale.after)
    usual = view.estimate(STEP_TIME.name, column.key)
    bursts = usual is not None and abs(usual.value - whole.value) > BURSTS * whole.value
    average = " on average" if bursts else ""
    title = f"why not faster: {column.label} take {show(whole, scale).text} a step{average}, {more} more than {split}"
    measured = (Part(text=base_of(view).label, number=Number(shown=show(base, scale)), role="base"),)
    shared = (row.evidence for row in view.findings if row.rule == PROCESSORS and row.configuration == column.key)
    rare = usual is not None and bursts and usual.value < whole.value
    few = (f"few steps cost much: the median step, of which the speedup is, takes {show(usual).text}",) if usual and rare else ()
    found = cause_of(view, column)
    cause = (f"cause: {found.evidence.partition(' than the other ranks')[0]}",) if found else ()
    return (
        Sum(name="why", title=title, unit=unit, start=start, parts=parts, total=total, measured=measured, notes=(*cause, *few, *shared)),
    )


def cause_of(view: View, column: Column) -> FindingRow | None:
    """What in the script makes its ranks wait, if an audit found it: the first of `CAUSES`."""
    found = [row for row in view.findings if row.configuration == column.key and row.severity == "warning" and row.rule in CAUSES]
    return min(found, key=lambda row: CAUSES.index(row.rule), default=None)


def _bare(like: Estimate, value: float) -> Estimate:
    """A derived number without an interval of its own."""
    unbounded = replace(like, low=-math.inf, high=math.inf, n_launches=1, n_trials=0, launch_values=())
    return replace(unbounded, value=value, method="derived", signature="")
