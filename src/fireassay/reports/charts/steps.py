"""Where does the time of a step go, which part does not shrink with more workers, which share of what was paid trained the model, and
what does being faster cost?
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, count, percent, reading, scale_for, show
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.communication.watched_steps import watched
from fireassay.frames.training.profile_summary import windows_of
from fireassay.frames.training.rank_phases import BETWEEN
from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.metrics.cost import COST
from fireassay.metrics.training.communication import COMM_EXPOSED
from fireassay.metrics.training.ranks import BACKWARD_TIME, DATA_TIME, FORWARD_TIME, OPTIMIZER_TIME, UNKNOWN_TIME
from fireassay.metrics.training.time import STEP_TIME, WALL_TIME
from fireassay.reports.charts.axes import linear, rows_axis, spanned, top_of
from fireassay.reports.charts.model import REST, WHOLE, Axis, Bar, Chart, Charts, Course, Drawn, Key, Panel, Point, named
from fireassay.reports.charts.model import Line as Path
from fireassay.reports.charts.of_view import absence, common_scale, course, estimates, in_words, interval_key, workbook
from fireassay.reports.charts.points import Swatch, bar_key, has_interval, level_point, point, scaled, stacked
from fireassay.reports.view import Column, MetricRow, Spent, View
from fireassay.reports.words import NO_OPERATOR
from fireassay.units import NS_PER_S

# ---- phases of a step ------------------------------------------------------------------------------------------------

PHASES: Final = {  # from the left
    DATA_TIME.name: Swatch("data wait", "plum"),
    FORWARD_TIME.name: Swatch("forward", "sky"),
    BACKWARD_TIME.name: Swatch("backward", "blue"),
    COMM_EXPOSED.name: Swatch("exposed communication", "orange", "wait"),
    OPTIMIZER_TIME.name: Swatch("optimizer", "teal"),
    UNKNOWN_TIME.name: Swatch("not attributed", "grey", "rest"),
}
COLOURS: Final = {BACKWARD_TIME.name: 0, COMM_EXPOSED.name: 1, OPTIMIZER_TIME.name: 2, DATA_TIME.name: 3, FORWARD_TIME.name: 5}
HOLD_COMMUNICATION: Final = (BACKWARD_TIME.name, FORWARD_TIME.name, UNKNOWN_TIME.name)  # from which it is subtracted in this order


@named("phases")
def phases(view: View) -> Chart:
    """A bar of phases per worker count, with the whole step and its interval."""
    title, seen, step = "Phases of a step", recorded(view), view.metric(STEP_TIME.name)
    if not seen.keys() - {COMM_EXPOSED.name}:  # a record of profiled launches only
        return Chart(title=title, missing=absence(view.metric(UNKNOWN_TIME.name) or step, "The phases of a step"))
    scale = common_scale(step if step is not None else next(iter(seen.values())))
    steps, shares = estimates(view, step), parts(view, seen)
    marks: list[Drawn] = []
    longest, names = 0.0, []
    for index, column in enumerate(view.columns):
        known = [(PHASES[metric], shares[metric][column.key]) for metric in PHASES if column.key in shares.get(metric, {})]
        bars = stacked(index, [(s, f"{s.text}, {column.label}", reading(t, "s", scale), t * scale.factor) for s, t in known])
        marks += bars
        longest = max(longest, *(bar.right for bar in bars), 0.0)
        whole = steps.get(column.key)
        names.append(f"{column.label}: {show(whole, scale).full}" if whole is not None else column.label)
        marks += [level_point(f"{column.label}, whole step", index, whole, scale, role="ink")] if whole is not None else []
    x = linear(0, max(top_of(steps.values(), scale.factor) if steps else 0.0, 1.05 * longest), f"time per step, {scale.label}")
    return Chart(
        title=title,
        panels=(Panel(x=x, y=rows_axis(names), marks=tuple(marks)),),
        caption=_caption(view, seen),
        key=(*bar_key(PHASES[metric] for metric in PHASES if metric in seen), *interval_key(steps.values(), view, "whole step", "ink")),
        description=in_words(view, step, *seen.values()),
        quantity=x.title,
    )


def recorded(view: View) -> dict[str, MetricRow]:
    """The phases that have a number."""
    return {name: row for name in PHASES if (row := view.metric(name)) is not None and estimates(view, row)}


def parts(view: View, seen: Mapping[str, MetricRow]) -> dict[str, dict[str, float]]:
    """Metric -> configuration -> seconds in the bar.

    Exposed communication lies inside of phases, and is subtracted from them so that it is drawn once.
    """
    shares = {name: {key: max(value.value, 0.0) for key, value in estimates(view, row).items()} for name, row in seen.items()}
    waits = between(view.measured) if COMM_EXPOSED.name in shares else {}
    for key, exposed in shares.get(COMM_EXPOSED.name, {}).items():
        left = exposed
        # first the part recorded between phases, which is in none of them but in the unnamed rest
        for name, most in ((UNKNOWN_TIME.name, waits.get(key, 0.0)), *((name, left) for name in HOLD_COMMUNICATION)):
            seconds = shares.get(name, {}).get(key, 0.0)
            taken = min(seconds, left, most)
            if taken:
                shares[name][key] = seconds - taken
                left -= taken
        shares[COMM_EXPOSED.name][key] = exposed - left
    return shares


def between(measured: RecordData) -> dict[str, float]:
    """Configuration -> seconds of exposed communication between the phases of a step, where it was recorded.

    Median over launches of the median over steady steps of the mean over ranks, as for `comm_exposed`.
    """
    rows = measured.table("waits").filter(pl.col("phase").eq(BETWEEN) & pl.col("waiting_ns").is_not_null())
    if rows.height == 0:
        return {}
    steady = watched(measured.steady_steps.select("launch", "configuration", "step", "ranks"), measured.table("communication"))
    per_step = rows.group_by("launch", "step").agg(pl.col("waiting_ns").sum()).join(steady, on=["launch", "step"])
    per_launch = per_step.group_by("launch", "configuration").agg((pl.col("waiting_ns") / pl.col("ranks")).median())
    return dict(per_launch.group_by("configuration").agg(pl.col("waiting_ns").median() / NS_PER_S).iter_rows())


def _caption(view: View, seen: Mapping[str, MetricRow]) -> str:
    absent = [
        swatch.text
        for metric, swatch in PHASES.items()
        if metric not in seen and (view.metric(metric) is not None or metric != COMM_EXPOSED.name)
    ]
    text = "Medians of the slowest worker; time outside every phase is “not attributed”."
    if COMM_EXPOSED.name in seen:
        text += " Exposed communication is part of the phases that contain it, and is subtracted from them here."
    return f"{text} Not marked by the script: {', '.join(absent)}." if absent else text


def phases_in_cells(view: View) -> Charts:
    """For a workbook: the phases end to end, and the whole step with its interval."""
    step, seen = view.metric(STEP_TIME.name), recorded(view)
    if step is None or not seen:
        return ()
    whole = course(step, view.columns, view.kind.workers, name="whole step", look="marks", colour=WHOLE)
    unit, shares, stack = whole.quantity.rpartition(", ")[2], parts(view, seen), list[Course]()
    for metric, swatch in PHASES.items():
        if (of := shares.get(metric)) is not None:
            lengths = (of[column.key] * whole.factor if column.key in of else None for column in view.columns)
            spots = tuple(replace(spot, y=length) for spot, length in zip(whole.spots, lengths, strict=True))
            colour = COLOURS.get(metric, REST)
            stack.append(replace(whole, name=swatch.text, quantity=f"{swatch.text}, {unit}", spots=spots, look="stacked", colour=colour))
    note = "Medians of the slowest worker. Exposed communication is subtracted from the phases that contain it."
    x, y = Axis(title=view.kind.workers.lower()), Axis(title=f"time per step, {unit}")
    return (workbook("Parts of a step", (*stack, whole), x, y, caption=note),)


# ---- profiled steps --------------------------------------------------------------------------------------------------

PROFILED: Final = {
    "compute_ns": Swatch("computing", "blue"),
    "exposed_ns": Swatch("exposed communication", "orange", "wait"),
    "copy_ns": Swatch("copies", "teal"),
    "idle_ns": Swatch("idle", "grey", "rest"),
}
MAX_PROFILED: Final = 16  # bars


def profile(view: View) -> Charts:
    """The mean step of each rank with a trace; empty without traces."""
    return profiled((view.label(launch["configuration"]), launch) for launch in view.profiles)


def profiled(launches: Iterable[tuple[str, Mapping[str, Any]]]) -> Charts:
    """The same from (label, launch), by unions of intervals of what ran."""
    listed = list(launches)
    ranks = dict(islice(_ranks(listed), MAX_PROFILED))
    if not ranks:
        return ()
    idle = "idle" if any(rank.get("on_device") for _, launch in listed for rank in launch["ranks"]) else NO_OPERATOR
    swatches = PROFILED | {"idle_ns": PROFILED["idle_ns"]._replace(text=idle)}
    wholes = {name: sum(parts.values()) for name, parts in ranks.items()}
    scale = scale_for("s", tuple(wholes.values()))
    bars = [
        stacked(index, [(s, f"{name}, {s.text}", reading(of[k], "s", scale), of[k] * scale.factor) for k, s in swatches.items()])
        for index, (name, of) in enumerate(ranks.items())
    ]
    steps = any(rank.get("steps") for _, launch in listed for rank in launch["ranks"])
    x = linear(0, max(wholes.values()) * scale.factor * 1.04, f"{'time per step' if steps else 'time of the trace'}, {scale.label}")
    rows = rows_axis((f"{name}: {reading(whole, 's', scale)}" for name, whole in wholes.items()), 38)
    shares = {
        name: ", ".join(f"{swatches[key].text} {percent(t / wholes[name])}" for key, t in of.items() if wholes[name] and t)
        for name, of in ranks.items()
    }
    return (
        Chart(
            name="profile",
            title="Inside profiled steps" if steps else "Inside the traces",
            panels=(Panel(x=x, y=rows, marks=tuple(bar for some in bars for bar in some)),),
            caption=f"{'Means of the profiled steps.' if steps else 'From the first kernel to the last; the traces mark no step.'} Computation "
            "hides communication that overlaps with it. Profiled steps are slower than timed ones: read the shares, not the times.",
            description=" ".join(f"{name}: {reading(wholes[name], 's')}: {words}." for name, words in shares.items()),
            key=bar_key(swatch for key, swatch in swatches.items() if any(of[key] for of in ranks.values())),
            quantity=x.title,
        ),
    )


def _ranks(launches: list[tuple[str, Mapping[str, Any]]]) -> Iterator[tuple[str, dict[str, float]]]:
    """(name of a bar, seconds of each part of the mean step)."""
    for label, launch in launches:
        before = f"{label}, " if len(launches) > 1 else ""
        for rank in launch["ranks"]:
            if not rank["absent"] and (steps := windows_of(rank)):
                yield f"{before}rank {rank['rank']}", {key: sum(step[key] for step in steps) / len(steps) / 1e9 for key in PROFILED}


# ---- paid time -------------------------------------------------------------------------------------------------------

MIN_SHARE: Final = 0.1  # per cent; smaller shares are too narrow to see; text and JSON hold them
PAID: Final[Mapping[Swatch, tuple[str, ...]]] = {  # categories; left to right
    Swatch("productive", "blue"): ("productive",),
    Swatch("data stall", "plum"): ("data_stall",),
    Swatch("exposed communication", "orange"): ("exposed_communication",),
    Swatch("straggler wait", "orange", "wait"): ("straggler_wait",),
    Swatch("checkpoint, evaluation", "teal"): ("checkpoint", "evaluation"),
    Swatch("start-up, compile", "gold"): ("init", "compile"),
    Swatch("detect, restart, reload", "fail"): ("detect", "restart", "reload"),
    Swatch("recomputed", "ink"): ("recompute",),
    Swatch("idle, not explained", "grey", "rest"): ("idle", "unknown"),
}


@named("goodput")
def paid_time(view: View) -> Chart:
    """One bar per worker count, without and with a fault: shares of workers x wall time."""
    title, bars = "Where the paid time went", {_paid_by(view, spent): spent for spent in view.spent}
    if not bars:
        return Chart(title=title, missing=f"{title}: not measured (no rank marked its steps).")
    marks: list[Bar] = []
    for index, (name, spent) in enumerate(bars.items()):
        sums = ((swatch, sum(spent.shares[category] for category in of)) for swatch, of in PAID.items())
        marks += stacked(index, ((s, f"{name}, {s.text}", percent(share), 100.0 * share) for s, share in sums), MIN_SHARE)
    used = {(bar.role, bar.look) for bar in marks}
    return Chart(
        title=title,
        panels=(Panel(x=linear(0, 100, "% of workers × wall time"), y=rows_axis(bars), marks=tuple(marks)),),
        caption="Every rank-second of every launch is in one part; the launches of a bar are summed. Start-up is large where launches are short.",
        description=" ".join(_paid_words(name, spent) for name, spent in bars.items()),
        key=bar_key(swatch for swatch in PAID if (swatch.role, swatch.look) in used),
        quantity="share of the paid rank-seconds, %",
    )


def _paid_by(view: View, spent: Spent) -> str:
    return view.label(spent.configuration) + (", fault" if spent.role == "fault" else "")


def _paid_words(name: str, spent: Spent) -> str:
    parts = (f"{category.replace('_', ' ')} {100 * spent.shares[category]:.1f} %" for category in CATEGORIES if spent.shares[category] > 0)
    return f"{name}, {count(spent.launches, 'launches')}, {spent.rank_s:.4g} rank-seconds: {', '.join(parts)}."


# ---- cost against time -----------------------------------------------------------------------------------------------


@named("cost-time")
def cost_time(view: View) -> Chart:
    """Cost (USD) of a run over its wall time, one labelled point per worker count; the recommended one is highlighted."""
    title, costs, times = "Cost against time", view.metric(COST.name), view.metric(WALL_TIME.name)
    dollars, seconds = estimates(view, costs), estimates(view, times)
    both = [column for column in view.columns if column.key in dollars and column.key in seconds]
    if costs is None or times is None or not both:
        return Chart(title=title, missing=absence(costs, "Cost") if not dollars else absence(times, "Time"))
    money, clock = common_scale(costs), common_scale(times)
    points = [_of_run(view, column, seconds[column.key], dollars[column.key], clock, money) for column in both]
    bars = "one launch: no interval" if any(at.hollow for at in points) else f"bars are {view.confidence} intervals"
    picked = "none" if view.recommended is None else view.label(view.recommended)
    keys = [Key(mark="point", role="gold", text=f"recommended: {picked}")] if any(at.role == "gold" for at in points) else []
    if any(at.role == "blue" for at in points):
        others = "other configurations" if keys else "configurations; none is recommended"
        keys.append(Key(mark="point", role="blue", text=others))
    x, y = (
        spanned([value.value * scale.factor for value in of.values()], 0.0, top_of(of.values(), scale.factor, 1.12), head, grid=not head)
        for of, scale, head in ((seconds, clock, f"wall time of a run, {clock.label}"), (dollars, money, ""))
    )
    path = Path(points=tuple((at.x, at.y) for at in points), role="soft", thin=True, faint=True)
    return Chart(
        title=title,
        panels=(Panel(x=x, y=y, marks=(path, *points), title=f"cost of a run, {money.label}"),),
        caption=f"The number at a point is its worker count; {bars}. Lower left is better.",
        description=f"{in_words(view, costs, times)} Recommended: {picked}.",
        key=tuple(keys),
        quantity=f"cost of a run, {money.label}",
    )


def _of_run(view: View, column: Column, time: Estimate, cost: Estimate, clock: Scale, money: Scale) -> Point:
    return point(
        column.label,
        time.value * clock.factor,
        cost,
        money,
        across=scaled(time, clock.factor),
        more=f"in {show(time, clock).full}",
        role="gold" if column.key == view.recommended else "blue",
        hollow=not (has_interval(time) and has_interval(cost)),
        label=str(column.workers),
        target=f"level-{column.workers}",
    )
