"""What nothing dominates is not hollow, by both numbers; the frontier joins it, and intervals are drawn in both directions."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.build_view import build as view_of
from fireassay.reports.charts.model import Point
from fireassay.reports.charts.trade_offs import Offer, dominated, frontier, inverse, operations, pareto, pareto_of_sides, quality_price
from fireassay.reports.page import Chart
from fireassay.reports.pages.comparison import page
from fireassay.reports.pages.comparison_view import ComparisonView, build
from fireassay.reports.view import MetricRow, View
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.sessions import Days
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.judge import judge
from tests.answered import rows, scored
from tests.reports.conftest import judged
from tests.rivals_made import rivals
from tests.serving_made import ServingMade


def below(place: tuple[float, float], places: list[tuple[float, float]]) -> bool:
    """By the definition: another is at least as good in both, and better in one."""
    return any(x >= place[0] and y >= place[1] and (x, y) != place for x, y in places)


def test_the_frontier_is_what_no_other_place_dominates() -> None:
    rng = random.Random(5)
    for _ in range(200):
        places = [(float(rng.randrange(6)), float(rng.randrange(6))) for _ in range(8)]
        assert set(frontier(places)) == {place for place in places if not below(place, places)}


def test_it_runs_from_left_to_right_and_falls() -> None:
    assert frontier([(1.0, 3.0), (2.0, 2.0), (1.5, 1.0), (3.0, 2.0), (3.0, 2.0)]) == ((1.0, 3.0), (3.0, 2.0))
    assert frontier([]) == ()


def test_the_inverse_of_an_interval_holds_the_inverses_of_all_its_values() -> None:
    one = Estimate(value=0.02, low=0.01, high=0.04, unit="s", confidence=0.95, n_launches=3, n_trials=9, method="m", signature="s")
    speed = inverse(one)
    assert (speed.low, speed.value, speed.high) == (25.0, 50.0, 100.0)
    unbounded = inverse(Estimate(**{**vars(one), "low": -math.inf, "high": math.inf}))
    assert (unbounded.low, unbounded.high) == (-math.inf, math.inf)


@pytest.mark.deep
@pytest.mark.slow
def test_every_load_is_a_point_with_both_intervals_and_hollow_if_dominated() -> None:
    view = judged(rivals({"a": {4: 0.01, 8: 0.012, 16: 0.03}, "b": {4: 0.013, 8: 0.0125, 16: 0.02}}))
    (drawing,) = pareto(view)
    assert not drawing.missing
    points = [mark for mark in drawing.panels[0].marks if isinstance(mark, Point)]
    found = operations(view, view.columns)
    places = [one.gains for one in found.values()]
    assert sorted((point.x, point.y) for point in points) == sorted(places)
    assert [point.hollow for point in points] == [below((point.x, point.y), places) for point in points]
    assert any(point.hollow for point in points)
    assert not all(point.hollow for point in points)
    for point in points:
        assert point.left is not None
        assert point.right is not None
        assert point.low is not None
        assert point.high is not None
        assert point.left <= point.x <= point.right
        assert point.low <= point.y <= point.high


def test_without_tokens_it_says_why_there_is_no_chart() -> None:
    (missing,) = pareto(judged(ServingMade(rate=(1.0,), blocks=1)))
    assert missing.missing


# ---- of records ------------------------------------------------------------------------------------------------------

GAPS = ({4: 0.01, 8: 0.012, 16: 0.03}, {4: 0.013, 8: 0.0125, 16: 0.02})


@pytest.fixture(scope="module")
def two() -> ComparisonView:
    """Two records of one server under the same loads, before and after a change."""
    measured = [rivals({"server": gaps}, blocks=3).measured() for gaps in GAPS]
    sides = [Side(label=label, measured=one, judgement=judge(one)) for label, one in zip(("old", "new"), measured, strict=True)]
    return build(compare(sides, varying=("code",), days=Days(assumed=1e-6)), sides[0].judgement.metrics)


@pytest.mark.deep
@pytest.mark.slow
def test_two_records_of_loads_have_a_series_each_over_their_common_loads(two: ComparisonView) -> None:
    (drawing,) = pareto_of_sides(two)
    assert not drawing.missing
    points = [mark for mark in drawing.panels[0].marks if isinstance(mark, Point)]
    assert [point.series for point in points] == ["old"] * 3 + ["new"] * 3
    assert [point.x for point in points] == pytest.approx([1 / gap for gaps in GAPS for gap in gaps.values()], rel=0.05)
    places = [(point.x, point.y) for point in points]
    assert [point.hollow for point in points] == [below(place, places) for place in places]
    assert [point.label for point in points if point.label][:2] == ["4", "8"]


@pytest.mark.slow
@pytest.mark.deep
def test_its_page_shows_them_first_and_the_differences_at_equal_loads(two: ComparisonView) -> None:
    found = page(two)
    first = [block.name for section in found.of_role("exhibit") for block in section.blocks if isinstance(block, Chart)]
    assert first == ["pareto", "changes"]
    (plot,) = [block for section in found.sections if section.key == "equal" for block in section.blocks if isinstance(block, Chart)]
    assert [row.name for row in plot.rows] == ["concurrency=4", "concurrency=8", "concurrency=16"]


@pytest.mark.slow
def test_records_without_tokens_have_none(two: ComparisonView) -> None:
    rows = tuple(row for row in two.rows if row.metric != "output_throughput" and row.metric != "tokens_per_dollar")
    bare = ComparisonView(**{**vars(two), "rows": rows})
    assert pareto_of_sides(bare)[0].missing
    assert page(bare).of_role("exhibit") == ()


# ---- quality against price -------------------------------------------------------------------------------------------


def of(value: float) -> Estimate:
    return Estimate(
        value=value, low=value, high=value, unit="score", confidence=0.95, n_launches=3, n_trials=3, method="given", signature="given"
    )


def engine(price: float, score: float, higher: bool = True) -> Offer:
    return Offer(label=f"{price} {score}", across=of(price), up=of(score), gains=(score if higher else -score, -price))


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
    assert quality_price(view_of(measured, judge(measured)))[0].missing


def priced(view: View, name: str, unit: str, *values: float) -> MetricRow:
    """A number of each side, of which more is not better."""
    known = {column.key: replace(of(value), unit=unit) for column, value in zip(view.columns, values, strict=True)}
    return MetricRow(
        name=name, title=name, dimension="performance", unit=unit, better="lower", formula="", primary=True, values=lambda: known
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
    view = view_of(measured, judge(measured))
    kept = tuple(row for row in view.metrics if row.name == "exact_match")
    (drawn,) = quality_price(replace(view, metrics=(*kept, *(priced(view, name, "s", 1.0, 2.0) for name in names))))
    assert not drawn.missing
    assert tuple(panel.x.title.partition(",")[0] for panel in drawn.panels) == titles
