"""What does speed for one user cost in throughput?  Tokens per second of a replica, or per dollar, against those that one user sees.

Upper right is better.  A point is dominated if another measured load of any engine gives at least as much of both and more of one; the
frontier joins the others in steps, since between two of them nothing was measured.  Intervals in both directions are those of the
metrics: dominance is by the values alone.  A user's speed is the inverse of the median time per output token.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, given, show
from fireassay.metrics.serving.cost import TOKENS_PER_DOLLAR
from fireassay.metrics.serving.latency import TPOT_P50
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT
from fireassay.reports.charts.chart import Drawing, Key, Missing, has_interval, linear, point, top_of
from fireassay.reports.charts.marks import Line as Path
from fireassay.reports.charts.marks import Mark, Panel, Point
from fireassay.reports.charts.serving.lines import Line, engines_of, line_keys, lines, path, scenarios, styled
from fireassay.reports.pages.comparison_view import ComparisonView
from fireassay.reports.view import Column, View

NAME = "pareto"
TITLE: Final = "Throughput against the speed for one user"
BARE: Final = Scale(factor=1.0)
CLOSE: Final = 0.05  # of both axes: labels of points closer than that would touch
UNIT: Final = {"concurrency": "requests in flight", "rate": "requests offered per second", "": "loads"}


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One load of one engine or record: tokens per second for one user, and what the load yields: of a replica, or per dollar."""

    label: str
    load: float | None
    user: Estimate
    whole: Estimate

    @property
    def place(self) -> tuple[float, float]:
        """Where it is drawn."""
        return self.user.value, self.whole.value


Series = Sequence[tuple[Line, Sequence[Operation]]]


@dataclass(frozen=True, kw_only=True)
class Yield:
    """What is drawn upwards: its metric, its name with the unit, and its unit."""

    metric: str
    title: str
    unit: str


REPLICA: Final = Yield(metric=OUTPUT_THROUGHPUT.name, title="Output tokens per second of a replica", unit="tokens/s of a replica")
PER_SIDE: Final = (  # of records, the first that is measured
    Yield(metric=TOKENS_PER_DOLLAR.name, title="Output tokens per dollar", unit="tokens/$"),
    Yield(metric=OUTPUT_THROUGHPUT.name, title="Output tokens per second", unit="tokens/s"),
)


def draw(view: View) -> list[Drawing | Missing]:
    """A panel per scenario."""
    panels = list(_panels(view))
    if not panels:
        return [Missing(title=TITLE, reason="Output tokens per second and the time per token were not both measured at any load.")]
    every = operations(view, view.columns)
    named = lines(view, lambda column: column.engine)
    return [_drawing(panels, [(line, ()) for line in named], every.values(), view.confidence, REPLICA, UNIT[view.load_word], _price(view))]


def of_sides(view: ComparisonView) -> Drawing | Missing:
    """A series for each record of a comparison, over the loads that they have in common."""
    for up in PER_SIDE:
        if series := _sides(view, up):
            every = [one for _, some in series for one in some]
            return _drawing([_panel(series, up.title, up)], series, every, view.confidence, up, "loads")
    return Missing(title=TITLE, reason="Yield and the time per token were not both measured at any common load.")


def _sides(view: ComparisonView, up: Yield) -> Series:
    """Every side's common loads, ascending; none unless each side has one."""
    changes = {(row.metric, row.configuration, row.side): row.change for row in view.rows}
    found: dict[str, dict[str, Operation]] = {side: {} for side in view.sides}
    for (metric, where, side), gap in changes.items():
        whole = changes.get((up.metric, where, side))
        if metric == TPOT_P50.name and whole is not None:
            for label, a, b in ((view.sides[0], gap.baseline, whole.baseline), (side, gap.value, whole.value)):
                if isinstance(a, Estimate) and isinstance(b, Estimate) and a.value > 0.0:
                    found[label][where] = Operation(label=f"{label}, {where}", load=_load(where), user=inverse(a), whole=b)
    if not all(found.values()):
        return ()
    ordered = (sorted(some.values(), key=lambda one: one.load or 0.0) for some in found.values())
    return tuple((Line(name=side, columns=(), place=index), some) for index, (side, some) in enumerate(zip(found, ordered, strict=True)))


def _load(configuration: str) -> float | None:
    """The load that a configuration's name ends with: "concurrency=8" is 8."""
    text = configuration.rpartition("=")[2]
    return float(text) if text.replace(".", "", 1).isdigit() else None


def _drawing(
    panels: Sequence[Panel], series: Series, every: Iterable[Operation], confidence: str, up: Yield, loads: str, more: str = ""
) -> Drawing:
    found = list(every)
    keys = line_keys(confidence, [line for line, _ in series], [one.whole for one in found])
    keys += [Key(mark="hollow", role="soft", text="dominated: another load gives more"), Key(mark="dash", role="ink", text="frontier")]
    words = "; ".join(f"{one.label}: {show(one.whole, BARE).text} {up.unit} at {show(one.user, BARE).text} for one user" for one in found)
    return Drawing(
        title=TITLE,
        panels=tuple(panels),
        across=2 if len(panels) > 1 else 1,
        key=tuple(keys),
        description=f"Tokens per second for one user. {words}.",
        caption=f"Numbers at points are loads{f' ({loads})' if loads != 'loads' else ''}; only measured loads count. Upper right is better. "
        f"Across: 1 / median time per output token. {more}".strip(),
        quantity=up.title,
    )


def operations(view: View, columns: Sequence[Column]) -> dict[str, Operation]:
    """Configuration -> its point, where both numbers are known."""
    found = {}
    for column in columns:
        gap, whole = view.estimate(TPOT_P50.name, column.key), view.estimate(OUTPUT_THROUGHPUT.name, column.key)
        if gap is not None and whole is not None and gap.value > 0.0:
            user, replica = inverse(gap), divided(whole, column.workers)
            found[column.key] = Operation(label=column.label, load=column.load, user=user, whole=replica)
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


def _panels(view: View) -> Iterator[Panel]:
    """One for each scenario with a point."""
    names = scenarios(view)
    for name in names:
        found = operations(view, [column for column in view.columns if column.scenario == name])
        series = [(line, [found[column.key] for column in line.columns if column.key in found]) for line in engines_of(view, name)]
        if found:
            yield _panel(series, f"{name}: tokens per second of a replica" if len(names) > 1 else REPLICA.title, REPLICA)


def _panel(series: Series, title: str, up: Yield) -> Panel:
    every = [one for _, some in series for one in some]
    best = frontier(one.place for one in every)
    right, top = (top_of(values, BARE.factor) for values in ([one.user for one in every], [one.whole for one in every]))
    marks: list[Mark] = [_steps(best)] if len(best) > 1 else []
    labelled: list[Point] = []
    for line, some in series:
        points = [_point(one, line, best, labelled, right, top, up) for one in some]
        marks += [*path(points, line), *points]
    return Panel(x=linear(0, right, "tokens per second for one user"), y=linear(0, top), marks=tuple(marks), height=260, title=title)


def _steps(best: Sequence[tuple[float, float]]) -> Path:
    """The frontier: between two of its points only the lower throughput is known to be reached."""
    corners = [corner for (x, y), (further, lower) in pairwise(best) for corner in ((x, y), (x, lower), (further, lower))]
    return Path(points=tuple(corners), role="ink", dashed=True, thin=True)


def _point(
    one: Operation, line: Line, best: Sequence[tuple[float, float]], labelled: list[Point], right: float, top: float, up: Yield
) -> Point:
    """A load's point with intervals in both directions, labelled with its load unless a label is close."""
    mark = styled(point(one.label, one.user.value, one.whole, BARE), line)
    assert mark.reading is not None
    ends = (one.user.low, one.user.high) if has_interval(one.user) else (None, None)
    more = f"{up.unit}, at {show(one.user, BARE).full} tokens/s for one user"
    free = all(abs(mark.x - other.x) > CLOSE * right or abs(mark.y - other.y) > CLOSE * top for other in labelled)
    label = given(one.load) if free and one.load is not None else ""
    told = replace(mark.reading, more=more)
    mark = replace(mark, left=ends[0], right=ends[1], hollow=one.place not in best, reading=told, label=label)
    labelled.append(mark)
    return mark


def _price(view: View) -> str:
    """What a replica costs: the same for every engine, so the order by price is that by throughput."""
    price = next((fact.text for fact in view.conditions if fact.name == "Prices" and fact.text.startswith("$")), "")
    return f"Each replica costs {price.removesuffix('.')}: more tokens per second are as many more per dollar." if price else ""
