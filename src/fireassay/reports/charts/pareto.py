"""What does speed for one user cost in throughput?  Tokens per second of a replica against those that one user sees.

Upper right is better.  A point is dominated if another measured load of any engine gives at least as much of both and more of one; the
frontier joins the others in steps, since between two of them nothing was measured.  Intervals in both directions are those of the
metrics: dominance is by the values alone.  A user's speed is the inverse of the median time per output token.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, given, show
from fireassay.metrics.serving.latency import TPOT_P50
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT
from fireassay.reports.charts.chart import Drawing, Key, Missing, has_interval, linear, point, top_of
from fireassay.reports.charts.marks import Line as Path
from fireassay.reports.charts.marks import Mark, Panel, Point
from fireassay.reports.charts.serving.lines import Line, engines_of, line_keys, lines, path, scenarios, styled
from fireassay.reports.view import Column, View

NAME = "pareto"
TITLE: Final = "Throughput against the speed for one user"
BARE: Final = Scale(factor=1.0)
CLOSE: Final = 0.05  # of both axes: labels of points closer than that would touch
UNIT: Final = {"concurrency": "requests in flight", "rate": "requests offered per second", "": "loads"}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One load of one engine: tokens per second for one user, and of a replica."""

    column: Column
    user: Estimate
    replica: Estimate

    @property
    def place(self) -> tuple[float, float]:
        """Where it is drawn."""
        return self.user.value, self.replica.value


def draw(view: View) -> list[Drawing | Missing]:
    """A panel per scenario."""
    panels = [panel for name in scenarios(view) if (panel := _panel(view, name)) is not None]
    if not panels:
        return [Missing(title=TITLE, reason="Output tokens per second and the time per token were not both measured at any load.")]
    every = operations(view, view.columns)
    keys = line_keys(view, lines(view, lambda column: column.engine), [one.replica for one in every.values()])
    keys += [Key(mark="hollow", role="soft", text="dominated: another load gives more"), Key(mark="dash", role="ink", text="frontier")]
    return [
        Drawing(
            title=TITLE,
            panels=tuple(panels),
            across=2 if len(panels) > 1 else 1,
            key=tuple(keys),
            description=_words(view, every),
            caption=f"Numbers at points are loads ({UNIT[view.load_word]}); only measured loads count. Upper right is better. "
            f"Across: 1 / median time per output token. {_price(view)}".strip(),
            quantity="Output tokens per second of a replica",
        )
    ]


def operations(view: View, columns: Sequence[Column]) -> dict[str, Operation]:
    """Configuration -> its point, where both numbers are known."""
    found = {}
    for column in columns:
        gap, whole = view.estimate(TPOT_P50.name, column.key), view.estimate(OUTPUT_THROUGHPUT.name, column.key)
        if gap is not None and whole is not None and gap.value > 0.0:
            found[column.key] = Operation(column=column, user=inverse(gap), replica=divided(whole, column.workers))
    return found


def inverse(value: Estimate) -> Estimate:
    """Its reciprocal: the ends change places."""
    high = 1.0 / value.low if value.low > 0.0 else math.inf
    low = 1.0 / value.high if 0.0 < value.high < math.inf else -math.inf if math.isinf(value.low) else 0.0
    return replace(value, value=1.0 / value.value, low=low, high=high, unit="1/s", launch_values=())


def divided(value: Estimate, by: int) -> Estimate:
    """A share of it."""
    values = tuple(one / by for one in value.launch_values)
    return replace(value, value=value.value / by, low=value.low / by, high=value.high / by, launch_values=values)


def frontier(places: Iterable[tuple[float, float]]) -> tuple[tuple[float, float], ...]:
    """The places that no other dominates, from left to right; equal places are one."""
    kept: list[tuple[float, float]] = []
    for x, y in sorted(set(places), reverse=True):  # from the right, a place counts if it is higher than all before
        if not kept or y > kept[-1][1]:
            kept.append((x, y))
    return tuple(reversed(kept))


def _panel(view: View, scenario: str) -> Panel | None:
    found = operations(view, [column for column in view.columns if column.scenario == scenario])
    if not found:
        return None
    best = frontier(one.place for one in found.values())
    right, top = (top_of(values, BARE.factor) for values in ([one.user for one in found.values()], [one.replica for one in found.values()]))
    marks: list[Mark] = [_steps(best)] if len(best) > 1 else []
    labelled: list[Point] = []
    for line in engines_of(view, scenario):
        points = [_point(found[column.key], line, best, labelled, right, top) for column in line.columns if column.key in found]
        marks += [*path(points, line), *points]
    several = len(scenarios(view)) > 1
    return Panel(
        x=linear(0, right, "tokens per second for one user"),
        y=linear(0, top),
        marks=tuple(marks),
        height=260,
        title=f"{scenario}: tokens per second of a replica" if several else "Output tokens per second of a replica",
    )


def _steps(best: Sequence[tuple[float, float]]) -> Path:
    """The frontier: between two of its points only the lower throughput is known to be reached."""
    corners = [corner for (x, y), (further, lower) in pairwise(best) for corner in ((x, y), (x, lower), (further, lower))]
    return Path(points=tuple(corners), role="ink", dashed=True, thin=True)


def _point(one: Operation, line: Line, best: Sequence[tuple[float, float]], labelled: list[Point], right: float, top: float) -> Point:
    """A load's point with intervals in both directions, labelled with its load unless a label is close."""
    mark = styled(point(one.column.label, one.user.value, one.replica, BARE), line)
    assert mark.reading is not None
    ends = (one.user.low, one.user.high) if has_interval(one.user) else (None, None)
    more = f"tokens/s of a replica, at {show(one.user, BARE).full} tokens/s for one user"
    free = all(abs(mark.x - other.x) > CLOSE * right or abs(mark.y - other.y) > CLOSE * top for other in labelled)
    label = given(one.column.load) if free and one.column.load is not None else ""
    told = replace(mark.reading, more=more)
    mark = replace(mark, left=ends[0], right=ends[1], hollow=one.place not in best, reading=told, label=label)
    labelled.append(mark)
    return mark


def _words(view: View, every: Mapping[str, Operation]) -> str:
    parts = [
        f"{one.column.label}: {show(one.replica, BARE).text} of a replica at {show(one.user, BARE).text} for one user"
        for one in every.values()
    ]
    return f"Tokens per second. {'; '.join(parts)}."


def _price(view: View) -> str:
    """What a replica costs: the same for every engine, so the order by price is that by throughput."""
    price = next((fact.text for fact in view.conditions if fact.name == "Prices" and fact.text.startswith("$")), "")
    return f"Each replica costs {price.removesuffix('.')}: more tokens per second are as many more per dollar." if price else ""
