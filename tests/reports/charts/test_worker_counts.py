"""The charts of a table of worker counts: the ideal, Amdahl's ceiling, the threshold, the three corners; by hand from table 41.6.1 of a textbook."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.reports.charts import worker_counts
from fireassay.reports.charts.model import Bar, Chart, Line, Point, Rule
from fireassay.reports.charts.worker_counts import Level, Levels
from fireassay.reports.pages.rubric import levels_of
from fireassay.spec.timings import parse_timings
from fireassay.verdict.claims.rubric import rubric
from fireassay.verdict.claims.rubric_types import Limits

ROWS = ((1, 3600, 0.871), (2, 1880, 0.871), (4, 1010, 0.871), (8, 560, 0.871), (16, 340, 0.870), (32, 250, 0.871))


def levels(last_quality: float = 0.871, head: str = "quality") -> Levels:
    rows = [*ROWS[:-1], (32, 250, last_quality)]
    text = f"p,Tp(s),rate,{head},work\n" + "\n".join(f"{p},{t},{p},{q},1200000" for p, t, q in rows)
    return levels_of(rubric(parse_timings(text, "t"), Limits()))


def rules(chart: Chart) -> list[Rule]:
    return list(chart.marks(Rule))


def test_the_ceiling_is_one_over_the_serial_share() -> None:
    """s = 0.0376, so 26.6; below the ideal of 32."""
    (chart,) = worker_counts.speedup(levels())
    (rule,) = rules(chart)
    assert rule.y == pytest.approx(26.6, abs=0.05)
    assert rule.text == "Amdahl’s ceiling 26.6"
    assert [point.label for point in chart.marks(Point)] == ["1.00", "1.91", "3.56", "6.43", "10.59", "14.40"]


def test_the_ideal_is_the_number_of_workers() -> None:
    (chart,) = worker_counts.speedup(levels())
    ideal = next(line for line in chart.marks(Line) if line.series == "ideal")
    assert all(x == pytest.approx(y) for x, y in ideal.points)


def test_a_ceiling_above_the_chart_is_said_instead() -> None:
    """s = 0.001: a ceiling of 1000 over an ideal of 40."""
    (chart,) = worker_counts.speedup(replace(levels(), serial=0.001))
    assert not rules(chart)
    assert "ceiling of 1000.0 lies above the chart" in chart.caption


@pytest.mark.parametrize("serial", [None, -0.2, 1.7])
def test_a_share_outside_of_its_law_draws_no_curve(serial: float | None) -> None:
    (chart,) = worker_counts.speedup(replace(levels(), serial=serial))
    assert [line.series for line in chart.marks(Line)] == ["ideal"]
    assert not rules(chart)


def test_the_threshold_stands_in_the_efficiency() -> None:
    (chart,) = worker_counts.efficiency(levels())
    assert [rule.y for rule in rules(chart)] == [70.0]
    assert [point.label for point in chart.marks(Point)] == ["100 %", "96 %", "89 %", "80 %", "66 %", "45 %"]


def test_costs_are_in_a_unit_that_reads() -> None:
    """8.333e-07 dollars an item are 0.8333 per million."""
    (chart,) = worker_counts.cost(levels())
    assert chart.quantity == "$ per million items"
    assert [point.label for point in chart.marks(Point)] == ["0.8333", "0.8704", "0.9352", "1.037", "1.259", "1.852"]


def test_corners_are_shares_of_the_best() -> None:
    """At 32: all of the throughput, 540000 / 1200000 of the work per dollar."""
    found = worker_counts.shares(levels())
    assert not isinstance(found, str)
    assert found[-1].of == pytest.approx((1.0, 1.0, 0.45), abs=1e-3)
    assert found[0].of == pytest.approx((1.0, 250 / 3600, 1.0), abs=1e-3)
    (chart,) = worker_counts.triangle(levels())
    assert [panel.view for panel in chart.panels] == ["Triangle", "Bars"]
    assert len(chart.marks(Bar)) == 18


def test_a_row_that_lost_quality_is_struck_out_and_is_no_best() -> None:
    """At 16 the throughput is the best that is held: 340 s; that of 32 is 340 / 250 of it."""
    struck = levels(0.860)
    found = worker_counts.shares(struck)
    assert not isinstance(found, str)
    assert [one.of[1] for one in found[-2:]] == pytest.approx([1.0, 1.36])
    (speedup,), (triangle,) = worker_counts.speedup(struck), worker_counts.triangle(struck)
    assert [point.shape for point in speedup.marks(Point)] == ["circle"] * 5 + ["cross"]
    assert "Quality was not held at 32" in speedup.caption
    assert sum(line.dashed for line in triangle.marks(Line)) == 1
    assert all(spot.name != "32 workers" for chart in worker_counts.in_cells(struck) for course in chart.courses for spot in course.spots)


def test_a_loss_is_better_when_lower() -> None:
    """0.871 over 0.9."""
    found = worker_counts.shares(levels(0.873, "loss"))
    assert not isinstance(found, str)
    assert found[-1].of[0] == pytest.approx(0.870 / 0.873)


@pytest.mark.parametrize(("lacks", "said"), [("quality", "quality"), ("cost", "cost")])
def test_what_was_not_measured_is_no_corner_at_zero(lacks: str, said: str) -> None:
    whole = levels()
    (chart,) = worker_counts.triangle(replace(whole, rows=tuple(replace(row, **{lacks: None}) for row in whole.rows)))  # type: ignore[arg-type]
    assert chart.missing.endswith(f"missing: {said}.")


def test_one_row_draws_nothing() -> None:
    alone = Levels(rows=(Level(name="1 worker", workers=1, speedup=1.0, efficiency=1.0),), word="workers", base=1, threshold=0.7)
    assert all(chart.missing for draw in (worker_counts.speedup, worker_counts.efficiency, worker_counts.cost) for chart in draw(alone))
    assert worker_counts.in_cells(alone) == ()


def test_a_workbook_has_the_law_beside_the_measurements() -> None:
    """At 32 the law gives 14.77."""
    speedup, efficiency, cost, corners = worker_counts.in_cells(levels())
    assert [course.name for course in speedup.courses] == ["measured", "ideal", "Amdahl’s law", "Amdahl’s ceiling"]
    assert speedup.courses[2].spots[-1].y == pytest.approx(14.77, abs=0.005)
    assert [course.name for course in efficiency.courses] == ["measured", "threshold"]
    assert [spot.y for spot in efficiency.courses[1].spots] == [pytest.approx(70.0)] * 6
    assert cost.courses[0].quantity == "$ per million items"
    assert cost.courses[0].spots[-1].y == pytest.approx(1.852, abs=0.0005)  # $2.22 for 1.2 million
    assert [course.name for course in corners.courses] == ["quality", "throughput", "work per dollar"]


def test_thousands_of_rows_are_thinned_and_the_table_is_named() -> None:
    """The ends, the chosen one, the cheapest and rows at equal factors are drawn; 10,000 labels took minutes and hid everything."""
    made = [
        Level(name=str(p), workers=p, speedup=p**0.9, efficiency=p**-0.1, cost=abs(p - 777) + 1.0, chosen=p == 429)
        for p in range(1, 10_001)
    ]
    drawn = worker_counts.thinned(Levels(rows=tuple(made), word="workers", base=1, threshold=0.7))
    counts = [row.workers for row in drawn.rows]
    assert {1, 429, 777, 10_000} <= set(counts)
    assert counts == sorted(counts)
    assert len(counts) + drawn.left == 10_000
    assert len(counts) <= worker_counts.MAX_DRAWN + 4
    (chart,) = worker_counts.efficiency(drawn)
    labels = [mark.label for panel in chart.panels for mark in panel.marks if isinstance(mark, Point) and mark.label]
    assert len(labels) == 3
    assert f"{drawn.left:,} more rows are in the table" in chart.caption
