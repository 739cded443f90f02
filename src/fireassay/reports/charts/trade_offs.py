"""What does quality cost, and what does speed for one user cost in throughput?

A point is dominated if another one gives at least as much of both and more of one. Intervals in both directions are those of the metrics:
dominance is by the values alone. A user's speed is the inverse of the median time per output token.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, show
from fireassay.metrics.cost import COST, COST_PER_ITEM
from fireassay.metrics.serving.cost import TOKENS_PER_DOLLAR
from fireassay.metrics.serving.latency import E2E_P50, TPOT_P50, TTFT_P50
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.reports.charts.axes import linear, top_of
from fireassay.reports.charts.loads import Line, engines, line_keys, load_label, scenarios
from fireassay.reports.charts.model import Chart, Drawn, Key, Panel, Point, named
from fireassay.reports.charts.model import Line as Path
from fireassay.reports.charts.of_view import common_scale
from fireassay.reports.charts.points import PLAIN, ends, point, scaled
from fireassay.reports.view import Column, MetricRow, View

if TYPE_CHECKING:
    from fireassay.reports.pages.comparison_view import ComparisonView


@dataclass(frozen=True, kw_only=True)
class Offer:
    """One side or load: its name, what it takes and what it gives; `gains` are both as numbers of which more is better."""

    label: str
    across: Estimate
    up: Estimate
    gains: tuple[float, float]
    load: float | None = None


def dominated(one: Offer, offers: Sequence[Offer]) -> bool:
    """True if another one is at least as good in both, and better in one."""
    return any(all(b >= a for a, b in zip(one.gains, other.gains, strict=True)) and other.gains != one.gains for other in offers)


# ---- quality against time and cost -----------------------------------------------------------------------------------

TIMES: Final = (E2E_P50.name, TTFT_P50.name, OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name)
COSTS: Final = (COST_PER_ITEM.name, COST.name)
ROOM: Final = 0.1


@named("quality-price")
def quality_price(view: View) -> Chart:
    """A panel of a time and one of a cost, if they were measured at two sides or more."""
    title, scores = "Quality against time and cost", [row for row in view.metrics if row.dimension == "correctness" and row.primary]
    priced = [row for name in (*TIMES, *COSTS) if (row := view.metric(name)) is not None]
    panels = [panel for names in (TIMES, COSTS) if scores and (panel := _first(view, scores[0], names)) is not None]
    if not panels:
        return Chart(title=title, missing="A score and a time or a cost of the same requests were not both measured at two sides.")
    words = (
        f"{one.label}: {scores[0].title} {show(one.up).text}, {price.title} {show(one.across).text}"
        for price in priced
        for one in _engines(view, scores[0], price)
    )
    return Chart(
        title=title,
        panels=tuple(panels),
        across=len(panels),
        caption="Hollow: dominated, another side is at least as good in both and better in one.",
        description="; ".join(words),
        key=(Key(mark="point", role="blue", text=f"a side, with {view.confidence} intervals"),),
        quantity=scores[0].title,
    )


def _first(view: View, score: MetricRow, names: Sequence[str]) -> Panel | None:
    """The first of these that was measured at two sides."""
    rows = (row for name in names if (row := view.metric(name)) is not None)
    return next((panel for row in rows if (panel := _priced(view, score, row)) is not None), None)


def _engines(view: View, score: MetricRow, price: MetricRow) -> list[Offer]:
    found = [(column.label, view.estimate(price.name, column.key), view.estimate(score.name, column.key)) for column in view.columns]
    better, cheaper = (1.0 if row.better == "higher" else -1.0 for row in (score, price))
    return [
        Offer(label=label, across=p, up=s, gains=(better * s.value, cheaper * p.value))
        for label, p, s in found
        if p is not None and s is not None
    ]


def _priced(view: View, score: MetricRow, price: MetricRow) -> Panel | None:
    sides = _engines(view, score, price)
    if len(sides) < 2:
        return None
    scale = common_scale(price)
    reach = [end for one in sides for end in (one.up.value, *ends(one.up)) if end is not None]
    room = ROOM * (max(reach) - min(reach)) or 0.05
    return Panel(
        x=linear(0.0, top_of([one.across for one in sides], scale.factor), f"{price.title}, {scale.label}"),
        y=linear(min(reach) - room, max(reach) + room),
        marks=tuple(_of_side(one, sides, scale) for one in sides),
        height=260,
        title=score.title,
    )


def _of_side(one: Offer, sides: Sequence[Offer], scale: Scale) -> Point:
    across, more = scaled(one.across, scale.factor), f"at {show(one.across, scale).full}"
    return point(one.label, across.value, one.up, PLAIN, across=across, more=more, hollow=dominated(one, sides), label=one.label)


# ---- throughput against the speed for one user -----------------------------------------------------------------------

CLOSE: Final = 0.05  # of both axes: labels of points closer than that would touch
UNIT: Final = {"concurrency": " (requests in flight)", "rate": " (requests offered per second)", "": ""}
PARETO: Final = "Throughput against the speed for one user"


Series = Sequence[tuple[Line, Sequence[Offer]]]


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


@named("pareto")
def pareto(view: View) -> Chart:
    """A panel per scenario; the frontier joins the points that no other dominates, in steps: between two of them nothing was measured."""
    panels = list(_panels(view))
    if not panels:
        return Chart(title=PARETO, missing="Output tokens per second and the time per token were not both measured at any load.")
    price = next((fact.text for fact in view.conditions if fact.name == "Prices" and fact.text.startswith("$")), "")
    # the same for every engine, so the order by price is that by throughput
    more = f"Each replica costs {price.removesuffix('.')}: more tokens per second are as many more per dollar." if price else ""
    return _pareto(panels, engines(view), operations(view, view.columns).values(), view.confidence, REPLICA, UNIT[view.load_word], more)


@named("pareto")
def pareto_of_sides(view: ComparisonView) -> Chart:
    """A series for each record of a comparison, over the loads that they have in common."""
    for up in PER_SIDE:
        if series := _sides(view, up):
            panel, every = _panel(series, up.title, up), [one for _, some in series for one in some]
            return _pareto([panel], [line for line, _ in series], every, view.confidence, up)
    return Chart(title=PARETO, missing="Yield and the time per token were not both measured at any common load.")


def _sides(view: ComparisonView, up: Yield) -> Series:
    """Every side's common loads, ascending; none unless each side has one."""
    changes = {(row.metric, row.configuration, row.side): row.change for row in view.rows}
    found: dict[str, dict[str, Offer]] = {side: {} for side in view.sides}
    for (metric, where, side), gap in changes.items():
        whole = changes.get((up.metric, where, side))
        if metric == TPOT_P50.name and whole is not None:
            for label, a, b in ((view.sides[0], gap.baseline, whole.baseline), (side, gap.value, whole.value)):
                if isinstance(a, Estimate) and isinstance(b, Estimate) and a.value > 0.0:
                    found[label][where] = _offer(f"{label}, {where}", _load(where), inverse(a), b)
    if not all(found.values()):
        return ()
    ordered = (sorted(some.values(), key=lambda one: one.load or 0.0) for some in found.values())
    return tuple((Line(name=side, columns=(), place=index), some) for index, (side, some) in enumerate(zip(found, ordered, strict=True)))


def _load(configuration: str) -> float | None:
    """The load that a configuration's name ends with: "concurrency=8" is 8."""
    text = configuration.rpartition("=")[2]
    return float(text) if text.replace(".", "", 1).isdigit() else None


def _pareto(
    panels: Sequence[Panel], series: Sequence[Line], every: Iterable[Offer], confidence: str, up: Yield, unit: str = "", more: str = ""
) -> Chart:
    found = list(every)
    words = "; ".join(f"{one.label}: {show(one.up, PLAIN).text} {up.unit} at {show(one.across, PLAIN).text} for one user" for one in found)
    return Chart(
        title=PARETO,
        panels=tuple(panels),
        across=2 if len(panels) > 1 else 1,
        key=(
            *line_keys(confidence, series, [one.up for one in found]),
            Key(mark="hollow", role="soft", text="dominated: another load gives more"),
            Key(mark="dash", role="ink", text="frontier"),
        ),
        description=f"Tokens per second for one user. {words}.",
        caption=f"Numbers at points are loads{unit}; only measured loads count. Upper right is better. "
        f"Across: 1 / median time per output token. {more}".strip(),
        quantity=up.title,
    )


def operations(view: View, columns: Sequence[Column]) -> dict[str, Offer]:
    """Configuration -> its point, where both numbers are known."""
    found = {}
    for column in columns:
        gap, whole = view.estimate(TPOT_P50.name, column.key), view.estimate(OUTPUT_THROUGHPUT.name, column.key)
        if gap is not None and whole is not None and gap.value > 0.0:
            found[column.key] = _offer(column.label, column.load, inverse(gap), divided(whole, column.workers))
    return found


def _offer(label: str, load: float | None, user: Estimate, whole: Estimate) -> Offer:
    """One load of one engine or record: tokens per second for one user, and what the load yields: of a replica, or per dollar."""
    return Offer(label=label, across=user, up=whole, gains=(user.value, whole.value), load=load)


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
        series = [(line, [found[column.key] for column in line.columns if column.key in found]) for line in engines(view, name)]
        if found:
            yield _panel(series, f"{name}: tokens per second of a replica" if len(names) > 1 else REPLICA.title, REPLICA)


def _panel(series: Series, title: str, up: Yield) -> Panel:
    every = [one for _, some in series for one in some]
    best = frontier(one.gains for one in every)
    right, top = (top_of(values, 1.0) for values in ([one.across for one in every], [one.up for one in every]))
    # between two points of the frontier only the lower throughput is known to be reached
    corners = [corner for (x, y), (further, lower) in pairwise(best) for corner in ((x, y), (x, lower), (further, lower))]
    marks: list[Drawn] = [Path(points=tuple(corners), role="ink", dashed=True, thin=True)] if corners else []
    labelled: list[Point] = []
    for line, some in series:
        points = [_of_load(one, every, labelled, right, top, up) for one in some]
        marks += line.through(points)
    return Panel(x=linear(0, right, "tokens per second for one user"), y=linear(0, top), marks=tuple(marks), height=260, title=title)


def _of_load(one: Offer, every: Sequence[Offer], labelled: list[Point], right: float, top: float, up: Yield) -> Point:
    """A load's point with intervals in both directions, labelled with its load unless a label is close."""
    more = f"{up.unit}, at {show(one.across, PLAIN).full} tokens/s for one user"
    mark = point(one.label, one.across.value, one.up, PLAIN, across=one.across, more=more, hollow=dominated(one, every))
    mark = replace(mark, label=load_label(one.load, mark, labelled, CLOSE, right, top))
    labelled.append(mark)
    return mark
