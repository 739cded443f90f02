"""Did the machine drift while the experiment ran, and did each launch reach a steady state, after how many steps?"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import polars as pl

from fireassay.estimates.format import Scale, count, reading, scale_for
from fireassay.frames.record_data import RecordData
from fireassay.reports.charts.axes import linear, written_tick
from fireassay.reports.charts.model import Area, Axis, Band, Chart, Drawn, Key, Line, Panel, Point, Reading, Rule, named
from fireassay.reports.charts.points import disturbed_key, look
from fireassay.reports.view import View

# ---- the order of launches -------------------------------------------------------------------------------------------

MAX_TICKS: Final = 16


@named("launch-order")
def launch_order(view: View) -> Chart:
    """Every timed launch relative to its configuration's median; a slope means machine drift."""
    title, launches = "Launches in the order they ran", timed_launches(view.measured)
    by_step = any(row["median_s"] is not None for row in launches)
    wall = {row.number: row.wall_s for row in view.launches if row.status == "ok"}
    times = {row["launch"]: row["median_s"] if by_step else wall.get(row["launch"]) for row in launches}
    points = _points(view, launches, times, by_step=by_step)
    if not any(point.shape != "cross" for point in points):
        return Chart(title=title, missing="No timed launch succeeded; the table of launches says why.")
    values = [end for point in points for end in (point.low or point.y, point.high or point.y, point.y)]
    room = max(0.15 * (max(values) - min(values)), 1.0)
    what = f"{'median step time' if by_step else 'wall time'}, % of its configuration’s median"
    every = -(-len(points) // MAX_TICKS)
    ticks = tuple((float(place), f"#{row['launch']}") for place, row in enumerate(launches, start=1) if (place - 1) % every == 0)
    panel = Panel(
        x=Axis(low=0.5, high=len(points) + 0.5, ticks=ticks, title="launch, in order of starting", grid=False),
        y=linear(min(values) - room, max(values) + room),
        marks=(Rule(y=100.0), *points),
        title=what,
    )
    disturbed = {row.number: f" ({row.disturbances})" for row in view.launches if row.disturbances}
    words = (
        f"#{row['launch']} ({view.label(row['configuration'])}): {reading(times[row['launch']], 's')}{disturbed.get(row['launch'], '')}"
        for row in launches
    )
    return Chart(
        title=title,
        panels=(panel,),
        caption="A slope is machine drift; rounds spread it evenly over all configurations."
        + (" Bars span the middle half of the launch’s steps." if by_step else ""),
        description=f"In order of starting: {'; '.join(words)}.",
        key=tuple(_order_key(view, points)),
        quantity=what,
    )


def timed_launches(measured: RecordData) -> list[dict[str, Any]]:
    """Every timed launch, including failed ones, in start order; step times in seconds are None without steady steps."""
    step = pl.col("step_s")
    quartiles = (step.quantile(0.25).alias("q25_s"), step.quantile(0.75).alias("q75_s"))
    spread = measured.steady_steps.group_by("launch").agg(step.median().alias("median_s"), *quartiles)
    launches = measured.table("launches").filter(pl.col("role") == "timed").sort("begin_ns", "launch")
    return launches.join(spread, on="launch", how="left", maintain_order="left").to_dicts()


def _points(view: View, launches: list[dict[str, Any]], times: dict[int, float | None], *, by_step: bool) -> list[Point]:
    """Positions and percentages; a launch without time is a cross at 100 %."""
    times = {number: time if time and time > 0.0 else None for number, time in times.items()}  # no step takes no time, or less
    known: dict[str, list[float]] = {}
    for row in launches:
        if time := times[row["launch"]]:
            known.setdefault(row["configuration"], []).append(time)
    usual = {key: 100.0 / statistics.median(seconds) for key, seconds in known.items()}
    places = {column.key: index for index, column in enumerate(view.columns)}
    disturbed = {row.number: tuple(row.disturbed.values()) for row in view.launches}
    points = []
    for place, row in enumerate(launches, start=1):
        number, key, time = row["launch"], row["configuration"], times[row["launch"]]
        name, target = f"launch #{number}, {view.label(key)}", f"launch-{number}"
        if not time or row["status"] != "ok":
            told = Reading(name=name, text=row["status"])
            points.append(Point(x=place, y=100.0, role="fail", shape="cross", target=target, reading=told))
            continue
        value, (shape, role), why = time * usual[key], look(places.get(key, 0)), disturbed[number]
        low, high = (row[end] * usual[key] if by_step else None for end in ("q25_s", "q75_s"))
        more = "\n".join((reading(time, "s"), *why))
        told = Reading(name=name, text=f"{written_tick(value)} %", value=value, low=low, high=high, more=more)
        drawn = Point(x=place, y=value, low=low, high=high, role=role, shape=shape, hollow=bool(why), reading=told)
        points.append(replace(drawn, series=key, target=target))
    return points


def _order_key(view: View, points: list[Point]) -> Iterator[Key]:
    for index, column in enumerate(view.columns):
        shape, role = look(index)
        yield Key(mark=shape, role=role, text=column.label, series=column.key)
    if any(point.shape == "cross" for point in points):
        yield Key(mark="cross", role="fail", text="failed: no time")
    yield from disturbed_key(points)


# ---- steps of each launch --------------------------------------------------------------------------------------------

MAX_POINTS: Final = 300  # per launch
MAX_PANELS: Final = 15
ACROSS: Final = 3
PANEL_HEIGHT: Final = 60
ROOM: Final = 1.25  # factor by which the panel exceeds the slowest steady steps


@dataclass(frozen=True, kw_only=True)
class Timeline:
    """Step times over one launch, in runs of consecutive steps; `warmup` counts leading steps."""

    launch: int
    configuration: str
    block: int
    warmup: int
    bins: pl.DataFrame  # first, last, median_s, low_s, high_s

    @property
    def first(self) -> int:
        """The number of its first step."""
        return int(self.bins["first"][0])


@named("launch-timeline")
def launch_timeline(view: View) -> Chart:
    """Small multiples, one panel per timed launch, with the warm-up tinted."""
    title, timed = "Step times over each launch", timelines(view.measured)
    if not timed:
        return Chart(title=title, missing="No step was recorded. Mark the steps with `for batch in probe.steps(loader)`.")
    chosen = chosen_panels(timed, [column.key for column in view.columns])
    tops = {key: _top([t for t in timed if t.configuration == key]) for key in {t.configuration for t in chosen}}
    scale = scale_for("s", tops.values())
    more = f" {len(chosen)} of {count(len(timed), 'launches')} are shown." if len(chosen) < len(timed) else ""
    warm = [(column.label, ", ".join(str(t.warmup) for t in timed if t.configuration == column.key)) for column in view.columns]
    return Chart(
        title=title,
        panels=tuple(_panel(view, timeline, scale, tops[timeline.configuration] * scale.factor) for timeline in chosen),
        across=len(view.columns) if len(view.columns) in (2, 3) else min(ACROSS, len(chosen)),
        description=f"Warm-up steps of each launch: {'; '.join(f'{label}: {steps}' for label, steps in warm if steps)}.",
        caption=f"Step time in {scale.label} over the step’s number; panels of one worker count share a scale, and steps above it are held at "
        f"its top.{more}",
        key=(
            Key(mark="line", role="blue", text="median step, with smallest and largest where steps are drawn together"),
            Key(mark="band", role="soft", text="warm-up, excluded from every number"),
        ),
    )


def chosen_panels(timed: list[Timeline], configurations: list[str]) -> list[Timeline]:
    """At most MAX_PANELS launches: the first blocks of every configuration, aligned by block."""
    order = {key: index for index, key in enumerate(configurations)}
    by_block = sorted(timed, key=lambda t: (t.block, order.get(t.configuration, len(order)), t.launch))
    return by_block[:MAX_PANELS]


def _top(timelines: list[Timeline]) -> float:
    """Top of the panels: the 98th percentile of bin maxima of steady steps, with room."""
    steady = sorted(high for t in timelines for high in t.bins.filter(pl.col("first") >= t.first + t.warmup)["high_s"])
    if not steady:
        return float(max(high for t in timelines for high in t.bins["high_s"]))
    return float(ROOM * steady[min(len(steady) - 1, math.floor(0.98 * len(steady)))])


def _panel(view: View, timeline: Timeline, scale: Scale, top: float) -> Panel:
    first, last = timeline.first, max(int(timeline.bins["last"][-1]), timeline.first + 1)
    held = [(pl.col(name) * scale.factor).clip(upper_bound=top) for name in ("low_s", "high_s", "median_s")]
    at = timeline.bins.select((pl.col("first") + pl.col("last")) / 2, *held).rows()
    marks: list[Drawn] = [Area(left=first, right=first + timeline.warmup, role="soft", strong=0.25)] if timeline.warmup else []
    marks.append(Band(points=tuple((x, low, high) for x, low, high, _ in at)))
    marks.append(Line(points=tuple((x, median) for x, _, _, median in at), thin=True))
    x = Axis(low=first, high=last, ticks=((first, str(first)), (last, str(last))), grid=False)
    title = f"{view.label(timeline.configuration)}, #{timeline.launch}"
    return Panel(x=x, y=linear(0, top, most=2), marks=tuple(marks), height=PANEL_HEIGHT, title=title)


def timelines(measured: RecordData) -> list[Timeline]:
    """Every timed launch that recorded steps."""
    steps = measured.global_steps
    if steps.height == 0:
        return []
    binned = binned_steps(steps).partition_by("launch", as_dict=True, maintain_order=True, include_key=False)
    launches = measured.table("launches").filter(pl.col("role") == "timed").sort("launch")
    return [
        Timeline(
            launch=number,
            configuration=row["configuration"],
            block=row["block"],
            warmup=measured.steady[number].warmup if number in measured.steady else 0,
            bins=binned[(number,)],
        )
        for row in launches.iter_rows(named=True)
        if ((number := row["launch"]),) in binned
    ]


def binned_steps(steps: pl.DataFrame, most: int = MAX_POINTS) -> pl.DataFrame:
    """(launch, step, step_s) -> at most `most` rows per launch: first, last, median_s, low_s, high_s."""
    index, size = pl.int_range(pl.len()).over("launch"), pl.len().over("launch")
    bins = (index * pl.min_horizontal(size, pl.lit(most)) // size).alias("_bin")
    step, seconds = pl.col("step"), pl.col("step_s")
    return (
        steps.lazy()
        .sort("launch", "step")
        .with_columns(bins)
        .group_by("launch", "_bin", maintain_order=True)
        .agg(first=step.min(), last=step.max(), median_s=seconds.median(), low_s=seconds.min(), high_s=seconds.max())
        .drop("_bin")
        .collect()
    )
