"""The charts of a load: the numbers of the metrics, labels that do not touch, names that are text."""

from __future__ import annotations

import pytest

from fireassay.reports.charts.axes import levels_axis
from fireassay.reports.charts.load_timeline import LoadTimeline, load_timeline, load_timelines
from fireassay.reports.charts.loads import curve, engines, goodput
from fireassay.reports.charts.model import Point
from fireassay.reports.charts.of_view import charts_of
from fireassay.reports.charts.percentiles import BEYOND, percentile_curves, place
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
    assert not any(chart.name.startswith("load-") for chart in charts_of(view))


def test_the_curve_goes_through_the_measured_points(load: View) -> None:
    (drawing,) = curve(load)
    assert not drawing.missing
    row = load.metric("output_throughput")
    assert row is not None
    wanted = {cell.value.value for cell in row.cells.values()}  # type: ignore[union-attr]
    drawn = {round(point.x, 6) for point in marks(drawing, Point)}
    assert drawn <= {round(value, 6) for value in wanted}
    assert len(drawn) >= 3


def test_the_operating_point_is_the_recommended_load(load: View) -> None:
    (drawing,) = curve(load)
    assert not drawing.missing
    picked = any(row.configuration for row in load.recommendations if row.goal.startswith("recommended"))
    assert any("operating point" in key.text for key in drawing.key) == picked


@pytest.mark.deep
def test_several_scenarios_are_small_multiples(scenarios: View) -> None:
    for draw in (curve, goodput):
        (drawing,) = draw(scenarios)
        assert not drawing.missing
        assert len(drawing.panels) == drawing.across == 2


def test_an_engine_keeps_its_colour_in_every_picture(load: View) -> None:
    assert [(line.name, line.role, line.shape) for line in engines(load, "D(100,100)")] == [
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
    drawing = load_timeline(load)[0]
    assert not drawing.missing
    assert drawing.title.startswith("Under a fault: a, 6 req/s")
    assert [key.text for key in drawing.key][-3:] == ["outside of the measured window", "fault", "a replica was down, by the prober"]
    assert "kill replica 1 from 6 s to 9 s; replica 1 down from 6.02 s to 9.5 s." in drawing.caption


def test_without_objectives_goodput_is_said_to_be_missing() -> None:
    made = ServingMade(rate=(5.0,), blocks=2)
    for block in range(2):
        number = made.launch(block=block)
        for turn in range(40):
            made.request(number, turn / 4)
    (missing,) = goodput(judged(made))
    assert missing.missing
    assert "objective" in missing.missing


def test_what_a_server_wrote_is_text_in_every_picture(hostile: View) -> None:
    for picture in pictures_of(hostile).values():
        assert "<script" not in picture.svg
        assert "\x1b" not in picture.svg


# ---- worked out by hand -----------------------------------------------------------------------------------------------


def timelines(made: ServingMade) -> list[LoadTimeline]:
    return list(load_timelines(made.measured()))


def short() -> ServingMade:
    return ServingMade(rate=(2.0,), blocks=1, seconds=10.0)


def test_a_bin_counts_what_was_due_in_it() -> None:
    record = short()
    number = record.launch()
    for turn in range(40):  # four per second: a bin that holds eight is 2 s wide
        record.request(number, turn / 4, status="5xx" if turn == 0 else "ok", ttft_s=0.1)
    (line,) = timelines(record)
    assert [(one.begin_s, one.end_s, one.due, one.ok, one.failed) for one in line.bins][:2] == [(0.0, 1.0, 4, 3, 1), (1.0, 2.0, 4, 4, 0)]
    assert line.bins[1].ttft_s == pytest.approx(0.1)
    assert sum(one.due for one in line.bins) == 40


def test_a_fault_that_nobody_saw_end_has_no_end() -> None:
    record = short()
    number = record.launch()
    record.request(number, 1.0)
    record.request(number, 9.0)
    record.event(number, "fault", 2.0, value=1, detail={"kind": "kill"})
    record.event(number, "replica_down", 2.5, value=1)
    record.event(number, "replica_up", 4.0, value=1)
    (line,) = timelines(record)
    assert [(span.kind, span.what, span.begin_s, span.end_s) for span in line.spans] == [
        ("fault", "kill replica 1", 2.0, None),
        ("down", "replica 1 down", 2.5, 4.0),
    ]


def test_a_curve_ends_where_fewer_than_ten_lie_beyond() -> None:
    record = short()
    number = record.launch()
    for turn in range(100):
        record.request(number, turn / 10, ttft_s=(turn + 1) / 1000)
    found = next(one for one in percentile_curves(record.measured()) if one.latency == "ttft_s")
    percents = [percent for percent, _ in found.points]
    assert found.requests == 100
    assert percents[-1] == 90  # 100 * (1 - 0.90) = 10 = BEYOND
    assert BEYOND == 10
    assert dict(found.points)[50] == pytest.approx(0.05, abs=0.0011)


def test_the_first_launch_of_the_largest_load_is_drawn_and_every_fault() -> None:
    record = ServingMade(rate=(1.0, 5.0), blocks=2)
    for block, role in ((0, "timed"), (1, "timed"), (2, "fault")):
        for name in record.names:
            record.request(record.launch(name, block=block, role=role), 1.0)
    assert [(line.role, line.launch) for line in timelines(record)] == [("fault", 4), ("fault", 5), ("timed", 1)]
