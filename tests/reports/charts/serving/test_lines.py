"""The charts of a load: the numbers of the metrics, labels that do not touch, names that are text."""

from __future__ import annotations

import pytest

from fireassay.reports.charts import record_charts
from fireassay.reports.charts.chart import Drawing, Missing, levels_axis
from fireassay.reports.charts.marks import Point
from fireassay.reports.charts.serving import curve, goodput, timeline
from fireassay.reports.charts.serving.lines import engines_of
from fireassay.reports.charts.serving.percentiles import place
from fireassay.reports.view import View
from tests.reports.charts.marked import marks
from tests.reports.conftest import judged, pictures_of
from tests.serving_made import ServingMade

pytestmark = pytest.mark.slow


def test_the_pictures_of_a_load_are_these(load: View) -> None:
    assert list(pictures_of(load)) == [
        "load-curve",
        "load-goodput",
        "load-percentiles",
        "load-percentiles-2",
        "load-percentiles-3",
        "load-timeline",
        "load-timeline-2",
        "load-timeline-3",
        "load-timeline-4",
        "load-panel",
    ]


def test_training_has_none_of_them(view: View) -> None:
    assert not any(name.startswith("load-") for name, _ in record_charts.drawings(view))


def test_the_curve_goes_through_the_measured_points(load: View) -> None:
    (drawing,) = curve.draw(load)
    assert isinstance(drawing, Drawing)
    row = load.metric("output_throughput")
    assert row is not None
    wanted = {cell.value.value for cell in row.cells.values()}  # type: ignore[union-attr]
    drawn = {round(point.x, 6) for point in marks(drawing, Point)}
    assert drawn <= {round(value, 6) for value in wanted}
    assert len(drawn) >= 3


def test_the_operating_point_is_the_recommended_load(load: View) -> None:
    (drawing,) = curve.draw(load)
    assert isinstance(drawing, Drawing)
    picked = any(row.configuration for row in load.recommendations if row.goal.startswith("recommended"))
    assert any("operating point" in key.text for key in drawing.key) == picked


def test_several_scenarios_are_small_multiples(scenarios: View) -> None:
    for draw in (curve.draw, goodput.draw):
        (drawing,) = draw(scenarios)
        assert isinstance(drawing, Drawing)
        assert len(drawing.panels) == drawing.across == 2


def test_an_engine_keeps_its_colour_in_every_picture(load: View) -> None:
    assert [(line.name, line.role, line.shape) for line in engines_of(load, "D(100,100)")] == [
        ("a", "blue", "circle"),
        ("b", "orange", "square"),
    ]


@pytest.mark.parametrize(
    ("loads", "kept"),
    [
        ((1, 2, 4, 8), [1, 2, 4, 8]),
        ((1, 2, 4, 8, 16, 32), [1, 2, 4, 8, 16, 32]),  # logarithmic
        ((100, 102, 160), [102, 160]),  # 100 and 102 lie closer than their labels: the larger stays
        ((5,), [5]),
    ],
)
def test_labels_of_loads_do_not_touch(loads: tuple[float, ...], kept: list[float]) -> None:
    assert {value for value, _ in levels_axis(loads, "").ticks} == set(kept)


def test_equal_factors_beyond_are_equally_far_apart() -> None:
    assert place(0.9) == pytest.approx(1.0)
    assert place(0.999) - place(0.99) == pytest.approx(place(0.99) - place(0.9))


def test_a_timeline_shades_the_fault_and_the_outage(load: View) -> None:
    drawing = timeline.draw(load)[0]
    assert isinstance(drawing, Drawing)
    assert drawing.title.startswith("Under a fault: a, 6 req/s")
    assert [key.text for key in drawing.key][-3:] == ["outside of the measured window", "fault", "a replica was down, by the prober"]
    assert "kill replica 1 from 6 s to 9 s; replica 1 down from 6.02 s to 9.5 s." in drawing.caption


def test_without_objectives_goodput_is_said_to_be_missing() -> None:
    made = ServingMade(rate=(5.0,), blocks=2)
    for block in range(2):
        number = made.launch(block=block)
        for turn in range(40):
            made.request(number, turn / 4)
    (missing,) = goodput.draw(judged(made))
    assert isinstance(missing, Missing)
    assert "objective" in missing.reason


def test_what_a_server_wrote_is_text_in_every_picture(hostile: View) -> None:
    for picture in pictures_of(hostile).values():
        assert "<script" not in picture.svg
        assert "\x1b" not in picture.svg
