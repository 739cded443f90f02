"""Where does the time of a step go, and which part does not shrink with more workers?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, reading, show
from fireassay.metrics.training.communication import COMM_EXPOSED
from fireassay.metrics.training.phases import BACKWARD_TIME, DATA_TIME, FORWARD_TIME, OPTIMIZER_TIME, UNKNOWN_TIME
from fireassay.metrics.training.time import STEP_TIME
from fireassay.reports.charts.chart import (
    Drawing,
    Key,
    Missing,
    absence,
    common_scale,
    estimates,
    in_words,
    interval_key,
    level_point,
    linear,
    rows_axis,
    stacked,
    top_of,
)
from fireassay.reports.charts.marks import Bar, Look, Mark, Panel, Role
from fireassay.reports.view import MetricRow, View

NAME = "phases"
TITLE = "Phases of a step"
PHASES: Final[tuple[tuple[str, str, Role, Look], ...]] = (  # metric, name, colour, pattern; from the left
    (DATA_TIME.name, "data wait", "plum", ""),
    (FORWARD_TIME.name, "forward", "sky", ""),
    (BACKWARD_TIME.name, "backward", "blue", ""),
    (COMM_EXPOSED.name, "exposed communication", "orange", "wait"),
    (OPTIMIZER_TIME.name, "optimizer", "teal", ""),
    (UNKNOWN_TIME.name, "not attributed", "grey", "rest"),
)
# Phases that contain communication, which is subtracted in this order.
HOLD_COMMUNICATION = (BACKWARD_TIME.name, FORWARD_TIME.name, UNKNOWN_TIME.name)


def draw(view: View) -> Drawing | Missing:
    """A bar of phases per worker count, with the whole step and its interval."""
    rows = {name: view.metric(name) for name, *_ in PHASES}
    seen = recorded(view)
    step = view.metric(STEP_TIME.name)
    if not seen.keys() - {COMM_EXPOSED.name}:  # a record of profiled launches only
        return Missing(title=TITLE, reason=absence(view, rows[UNKNOWN_TIME.name] or step, "The phases of a step"))
    scale = common_scale(step if step is not None else next(iter(seen.values())))
    steps = estimates(view, step)
    marks: list[Mark] = []
    of_phases = parts(view, seen)
    for index, column in enumerate(view.columns):
        shares = [
            (
                role,
                pattern,
                f"{name}, {column.label}",
                reading(of_phases[metric][column.key], "s", scale),
                of_phases[metric][column.key] * scale.factor,
            )
            for metric, name, role, pattern in PHASES
            if column.key in of_phases.get(metric, {})
        ]
        marks += stacked(index, shares, series=False)
        if column.key in steps:
            marks.append(level_point(f"{column.label}, whole step", index, steps[column.key], scale, role="ink"))
    longest = max((mark.right for mark in marks if isinstance(mark, Bar)), default=0.0)
    top = max(top_of(steps.values(), scale.factor) if steps else 0.0, 1.05 * longest)
    names = [_name(column.label, steps, column.key, scale) for column in view.columns]
    keys = [Key(mark="bar", role=role, look=pattern, text=name) for metric, name, role, pattern in PHASES if metric in seen]
    return Drawing(
        title=TITLE,
        panels=(Panel(x=linear(0, top, f"time per step, {scale.label}"), y=rows_axis(names), marks=tuple(marks)),),
        caption=_caption(rows, seen),
        key=(*keys, *interval_key(steps.values(), view, "whole step", "ink")),
        description=" ".join(in_words(view, row) for row in (step, *seen.values()) if row is not None),
        quantity=f"time per step, {scale.label}",
    )


def _name(label: str, steps: Mapping[str, Estimate], key: str, scale: Scale) -> str:
    value = steps.get(key)
    return f"{label}: {show(value, scale).full}" if value is not None else label


def recorded(view: View) -> dict[str, MetricRow]:
    """The phases that have a number."""
    rows = ((name, view.metric(name)) for name, *_ in PHASES)
    return {name: row for name, row in rows if row is not None and estimates(view, row)}


def parts(view: View, seen: dict[str, MetricRow]) -> dict[str, dict[str, float]]:
    """Metric -> configuration -> seconds in the bar.

    Exposed communication lies inside of phases, and is subtracted from them so that it is drawn once.
    """
    shares = {name: {key: max(value.value, 0.0) for key, value in estimates(view, row).items()} for name, row in seen.items()}
    between = dict(view.series.between)
    for key, exposed in shares.get(COMM_EXPOSED.name, {}).items():
        left = exposed
        # first the part recorded between phases, which is in none of them but in the unnamed rest
        for name, most in ((UNKNOWN_TIME.name, between.get(key, 0.0)), *((name, left) for name in HOLD_COMMUNICATION)):
            seconds = shares.get(name, {}).get(key, 0.0)
            taken = min(seconds, left, most)
            if taken:
                shares[name][key] = seconds - taken
                left -= taken
        shares[COMM_EXPOSED.name][key] = exposed - left
    return shares


def _caption(rows: dict[str, MetricRow | None], seen: dict[str, MetricRow]) -> str:
    absent = [name for metric, name, *_ in PHASES if metric not in seen and (rows[metric] is not None or metric != COMM_EXPOSED.name)]
    text = "Medians of the slowest worker; time outside every phase is “not attributed”."
    if COMM_EXPOSED.name in seen:
        text += " Exposed communication is part of the phases that contain it, and is subtracted from them here."
    return f"{text} Not marked by the script: {', '.join(absent)}." if absent else text
