"""What does quality cost, in time and in money?  The deciding score of each engine against the times and prices of the same requests.

An engine is dominated if another one is at least as good in both, and better in one; dominance is by the values alone, the intervals in
both directions are those of the metrics.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import Scale, show
from fireassay.metrics.cost import COST, COST_PER_ITEM
from fireassay.metrics.serving.latency import E2E_P50, TTFT_P50
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT, REQUEST_THROUGHPUT
from fireassay.reports.charts.chart import Drawing, Key, Missing, common_scale, has_interval, linear, point, top_of
from fireassay.reports.charts.marks import Panel, Point
from fireassay.reports.view import MetricRow, View

NAME: Final = "quality-price"
TITLE: Final = "Quality against time and cost"
TIMES: Final = (E2E_P50.name, TTFT_P50.name, OUTPUT_THROUGHPUT.name, REQUEST_THROUGHPUT.name)
COSTS: Final = (COST_PER_ITEM.name, COST.name)
PRICES: Final = (*TIMES, *COSTS)
ROOM: Final = 0.1


@dataclass(frozen=True, kw_only=True)
class Engine:
    """One side: its name, what it takes, and how well it answers; `gains` are both as numbers of which more is better."""

    label: str
    price: Estimate
    score: Estimate
    gains: tuple[float, float]


def draw(view: View) -> Drawing | Missing:
    """A panel of a time and one of a cost, if they were measured at two sides or more."""
    scores = [row for row in view.metrics if row.dimension == "correctness" and row.primary]
    priced = [row for name in PRICES if (row := view.metric(name)) is not None]
    panels = [panel for names in (TIMES, COSTS) if scores and (panel := _first(view, scores[0], names)) is not None]
    if not panels:
        return Missing(title=TITLE, reason="A score and a time or a cost of the same requests were not both measured at two sides.")
    return Drawing(
        title=TITLE,
        panels=tuple(panels),
        across=len(panels),
        caption="Hollow: dominated, another side is at least as good in both and better in one.",
        description="; ".join(_words(view, scores[0], priced)),
        key=(Key(mark="point", role="blue", text=f"a side, with {view.confidence} intervals"),),
        quantity=scores[0].title,
    )


def _first(view: View, score: MetricRow, names: Sequence[str]) -> Panel | None:
    """The first of these that was measured at two sides."""
    rows = (row for name in names if (row := view.metric(name)) is not None)
    return next((panel for row in rows if (panel := _panel(view, score, row)) is not None), None)


def _engines(view: View, score: MetricRow, price: MetricRow) -> list[Engine]:
    found = [(column.label, view.estimate(price.name, column.key), view.estimate(score.name, column.key)) for column in view.columns]
    signs = (_sign(score), _sign(price))
    return [
        Engine(label=label, price=p, score=s, gains=(signs[0] * s.value, signs[1] * p.value))
        for label, p, s in found
        if p is not None and s is not None
    ]


def _sign(row: MetricRow) -> float:
    return 1.0 if row.better == "higher" else -1.0


def _panel(view: View, score: MetricRow, price: MetricRow) -> Panel | None:
    engines = _engines(view, score, price)
    if len(engines) < 2:
        return None
    scale = common_scale(price)
    ends = [end for one in engines for end in (one.score.value, *((one.score.low, one.score.high) if has_interval(one.score) else ()))]
    room = ROOM * (max(ends) - min(ends)) or 0.05
    return Panel(
        x=linear(0.0, top_of([one.price for one in engines], scale.factor), f"{price.title}, {scale.label}"),
        y=linear(min(ends) - room, max(ends) + room),
        marks=tuple(_point(one, engines, scale) for one in engines),
        height=260,
        title=score.title,
    )


def dominated(one: Engine, engines: Sequence[Engine]) -> bool:
    """Whether another engine is at least as good in both, and better in one."""
    return any(all(b >= a for a, b in zip(one.gains, other.gains, strict=True)) and other.gains != one.gains for other in engines)


def _point(one: Engine, engines: Sequence[Engine], scale: Scale) -> Point:
    mark = point(one.label, one.price.value * scale.factor, one.score, Scale(factor=1.0))
    left, right = (one.price.low * scale.factor, one.price.high * scale.factor) if has_interval(one.price) else (None, None)
    told = replace(mark.reading, more=f"at {show(one.price, scale).full}") if mark.reading is not None else None
    return replace(mark, left=left, right=right, hollow=dominated(one, engines), label=one.label, reading=told)


def _words(view: View, score: MetricRow, priced: Sequence[MetricRow]) -> Iterator[str]:
    for price in priced:
        for one in _engines(view, score, price):
            yield f"{one.label}: {score.title} {show(one.score).text}, {price.title} {show(one.price).text}"
