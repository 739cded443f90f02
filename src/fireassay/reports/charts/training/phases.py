"""Where does the time of a step go, and which part does not shrink with more workers?"""

from __future__ import annotations

from fireassay.estimates.format import Scale
from fireassay.metrics.training.communication import COMM_EXPOSED
from fireassay.metrics.training.phases import BACKWARD_TIME, DATA_TIME, FORWARD_TIME, OPTIMIZER_TIME, UNKNOWN_TIME
from fireassay.metrics.training.time import STEP_TIME
from fireassay.reports.charts import vega
from fireassay.reports.charts.chart import (
    BY_ROLE,
    Drawing,
    Key,
    Missing,
    Rows,
    above,
    absence,
    colour,
    common_scale,
    estimates,
    in_words,
    interval_key,
    interval_rows,
    points,
    sized,
    top_of,
    vertical,
)
from fireassay.reports.view import MetricRow, View

NAME = "phases"
TITLE = "Phases of a step"
PHASES = (  # metric, name, colour; bottom to top
    (DATA_TIME.name, "data wait", "fourth"),
    (FORWARD_TIME.name, "forward", "main"),
    (BACKWARD_TIME.name, "backward", "second"),
    (COMM_EXPOSED.name, "exposed communication", "fifth"),
    (OPTIMIZER_TIME.name, "optimizer", "third"),
    (UNKNOWN_TIME.name, "not attributed", "rest"),
)
# Phases that contain communication, which is subtracted in this order.
HOLD_COMMUNICATION = (BACKWARD_TIME.name, FORWARD_TIME.name, UNKNOWN_TIME.name)


def draw(view: View) -> Drawing | Missing:
    """Stacked phases per worker count, with the whole step and its interval on top."""
    rows = {name: view.metric(name) for name, _, _ in PHASES}
    seen = recorded(view)
    step = view.metric(STEP_TIME.name)
    if not seen.keys() - {COMM_EXPOSED.name}:  # a record of profiled launches only
        return Missing(title=TITLE, reason=absence(view, rows[UNKNOWN_TIME.name] or step, "The phases of a step"))
    scale = common_scale(step if step is not None else next(iter(seen.values())))
    stacked = _stacked(view, seen, scale)
    steps = estimates(view, step)
    top = max(top_of(steps.values(), scale.factor) if step is not None else 0.0, 1.05 * max(row["end"] for row in stacked))
    x, y = _x(view), vertical(0, top)
    phases = vega.chart(stacked).mark("bar", stroke=colour("paper"), strokeWidth=1)
    whole = [{**row, "x": str(row["x"])} for row in interval_rows(view, steps, scale.factor, 0.0, top)]
    chart = vega.layer(phases.encode(x=x, y=y("begin"), y2="end:Q", color=BY_ROLE), *points(whole, x, y, "ink"))
    keys = [Key(mark="bar", role=role, text=name) for metric, name, role in PHASES if metric in seen]
    keys += interval_key(steps.values(), view, "whole step", "ink")
    return Drawing(
        title=TITLE,
        chart=sized(chart.properties(title=above(f"time per step, {scale.label}"))),
        caption=_caption(rows, seen),
        key=tuple(keys),
        description=" ".join(in_words(view, row) for row in (step, *seen.values()) if row is not None),
    )


def _x(view: View) -> vega.Spec:
    order = [str(column.workers) for column in view.columns]
    return vega.x(
        "x:O",
        sort=order,
        scale=vega.scale(domain=order, paddingInner=0.45, paddingOuter=0.3),
        axis=vega.axis(title="workers", labelAngle=0, grid=False),
    )


def recorded(view: View) -> dict[str, MetricRow]:
    """The phases that have a number."""
    rows = ((name, view.metric(name)) for name, _, _ in PHASES)
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


def _stacked(view: View, seen: dict[str, MetricRow], scale: Scale) -> Rows:
    """One rectangle per phase, stacked here rather than by Vega, to fix the order."""
    workers = {column.key: str(column.workers) for column in view.columns}
    at: dict[str, float] = {}
    rows: Rows = []
    shares = parts(view, seen)
    for name, _, role in PHASES:
        for key, value in shares.get(name, {}).items():
            begin = at.get(key, 0.0)
            at[key] = begin + value * scale.factor
            rows.append({"x": workers[key], "begin": begin, "end": at[key], "role": colour(role)})
    return rows


def _caption(rows: dict[str, MetricRow | None], seen: dict[str, MetricRow]) -> str:
    absent = [name for metric, name, _ in PHASES if metric not in seen and (rows[metric] is not None or metric != COMM_EXPOSED.name)]
    text = "Medians of the slowest worker; time outside every phase is “not attributed”."
    if COMM_EXPOSED.name in seen:
        text += " Exposed communication is part of the phases that contain it, and is subtracted from them here."
    return f"{text} Not marked by the script: {', '.join(absent)}." if absent else text
