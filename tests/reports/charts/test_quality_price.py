"""Is an engine hollow only if another is at least as good in both directions?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from fireassay.reports.build_view import build
from fireassay.reports.charts.chart import Missing
from fireassay.reports.charts.quality_price import Engine, dominated, draw
from fireassay.reports.view import MetricRow, View
from fireassay.verdict.judge import judge
from tests.answered import rows, scored


def of(value: float) -> Estimate:
    return Estimate(
        value=value, low=value, high=value, unit="score", confidence=0.95, n_launches=3, n_trials=3, method="given", signature="given"
    )


def engine(price: float, score: float, higher: bool = True) -> Engine:
    return Engine(label=f"{price} {score}", price=of(price), score=of(score), gains=(score if higher else -score, -price))


@pytest.mark.parametrize(
    ("price", "score", "higher", "expected"),
    [
        (2.0, 0.7, True, True),  # dearer and worse than (1, .8)
        (1.0, 0.8, True, False),
        (3.0, 0.9, True, False),  # dearer, but the best
        (1.0, 0.8, False, False),  # lower is better, and it is the cheapest
        (3.0, 0.9, False, True),
    ],
)
def test_dominance_is_by_both_numbers(price: float, score: float, higher: bool, expected: bool) -> None:
    others = [engine(*place, higher) for place in ((1.0, 0.8), (2.0, 0.7), (3.0, 0.9))]
    assert dominated(engine(price, score, higher), others) is expected


def test_equal_engines_do_not_dominate_each_other() -> None:
    assert not dominated(engine(1.0, 0.5), [engine(1.0, 0.5), engine(1.0, 0.5)])


def test_files_of_answers_took_no_time(tmp_path: Path) -> None:
    measured = scored(tmp_path, {"a": rows(["yes", "no"]), "b": rows(["yes", "yes"])})
    assert isinstance(draw(build(measured, judge(measured))), Missing)


def priced(view: View, name: str, unit: str, *values: float) -> MetricRow:
    """A number of each side, of which more is not better."""
    cells = {column.key: show(replace(of(value), unit=unit)) for column, value in zip(view.columns, values, strict=True)}
    return MetricRow(
        name=name, title=name, dimension="performance", unit=unit, shown_unit=unit, better="lower", formula="", primary=True, cells=cells
    )


@pytest.mark.parametrize(
    ("names", "titles"),
    [
        (("ttft_p50", "e2e_p50", "cost"), ("e2e_p50", "cost")),  # one time and one cost
        (("request_throughput", "cost_per_item", "cost"), ("request_throughput", "cost_per_item")),  # choices: no token is generated
        (("ttft_p50",), ("ttft_p50",)),
    ],
)
def test_a_time_and_a_cost_are_drawn(tmp_path: Path, names: tuple[str, ...], titles: tuple[str, ...]) -> None:
    measured = scored(tmp_path, {"a": rows(["yes"] * 9 + ["no"]), "b": rows(["yes"] * 10)})
    view = build(measured, judge(measured))
    kept = tuple(row for row in view.metrics if row.name == "exact_match")
    drawn = draw(replace(view, metrics=(*kept, *(priced(view, name, "s", 1.0, 2.0) for name in names))))
    assert not isinstance(drawn, Missing)
    assert tuple(panel.x.title.partition(",")[0] for panel in drawn.panels) == titles
