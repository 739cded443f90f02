"""The pictures of a load: valid Vega-Lite, the numbers of the metrics, labels that do not touch, names that are text."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.reports.charts import record_charts
from fireassay.reports.charts.chart import Drawing, Missing
from fireassay.reports.charts.serving import curve, goodput, percentiles, timeline
from fireassay.reports.charts.serving import panel as load_panel
from fireassay.reports.charts.serving.lines import apart, engines_of
from fireassay.reports.charts.serving.percentiles import place
from fireassay.reports.view import View
from tests.reports.conftest import judged, pictures_of
from tests.reports.schema import checked
from tests.serving_made import ServingMade

pytestmark = pytest.mark.slow


DRAW = (curve.draw, goodput.draw, percentiles.draw, timeline.draw)


def drawings(view: View) -> list[Drawing]:
    found = [drawn for draw in DRAW for drawn in draw(view)]
    panel = load_panel.draw(view)
    return [one for one in (*found, panel) if isinstance(one, Drawing)]


def rows_of(specification: Any) -> list[dict[str, Any]]:
    """Every row of data of a specification."""
    if isinstance(specification, dict):
        own = specification["data"]["values"] if "data" in specification else []
        return [*own, *(row for value in specification.values() for row in rows_of(value))]
    return [row for value in specification for row in rows_of(value)] if isinstance(specification, list) else []


def test_every_picture_is_valid_vega_lite(load: View, scenarios: View) -> None:
    for view in (load, scenarios):
        for drawing in drawings(view):
            checked(drawing.chart)


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
    drawn = {round(point["x"], 6) for point in rows_of(drawing.chart.spec) if "order" in point}
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
        assert len(drawing.chart.spec["concat"]) == 2


def test_an_engine_keeps_its_colour_in_every_picture(load: View) -> None:
    assert [(line.name, line.role, line.shape) for line in engines_of(load, "D(100,100)")] == [
        ("a", "main", "circle"),
        ("b", "second", "square"),
    ]


@pytest.mark.parametrize(
    ("loads", "wide", "width", "kept"),
    [
        ([1, 2, 4, 8], False, 340, [1, 2, 4, 8]),
        ([1, 2, 4, 8, 16, 32], True, 148, [1, 2, 4, 8, 32]),  # two digits beside two digits need 28 pixels
        ([4, 8, 160], False, 148, [8, 160]),  # 4 and 8 are 3 pixels apart: the larger stays
        ([5], False, 340, [5]),
    ],
)
def test_labels_of_loads_do_not_touch(loads: list[float], wide: bool, width: int, kept: list[float]) -> None:
    assert apart(loads, wide, width) == kept


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
