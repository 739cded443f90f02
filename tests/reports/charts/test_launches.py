"""A disturbed launch is a hollow mark in every chart, named in the key, with its reason on hover and in the table; many are counted."""

from __future__ import annotations

from dataclasses import replace

from fireassay.reports.build_view import build
from fireassay.reports.charts.launches import _points, chosen_panels, launch_order, launch_timeline, timed_launches, timelines
from fireassay.reports.charts.model import Chart, Dot, Point
from fireassay.reports.charts.of_view import block_dots
from fireassay.reports.charts.scaling import speedup
from fireassay.reports.page import Mark, Table, Words
from fireassay.reports.pages import record
from fireassay.reports.view import LaunchRow, View
from fireassay.reports.writers.support.svg import picture
from tests import builders
from tests.reports.charts.marked import marks

WHY = {"foreign_load": "other programs used 41 % of the processors (at most 10 %)"}


def disturbed(*numbers: int) -> View:
    view = build(builders.measured(), builders.judgement())
    rows = tuple(replace(row, disturbed=WHY) if row.number in numbers else row for row in view.launches)
    return replace(view, launches=rows)


def drawn(view: View) -> Chart:
    (chart,) = launch_order(view)
    return chart


def test_a_launch_of_less_than_no_time_is_a_cross() -> None:
    """Of a record whose clock went back: times of -1 and 1 s had a median of 0, by which all were divided."""
    view = build(builders.measured(), builders.judgement())
    rows = timed_launches(builders.measured())
    first = rows[0]["configuration"]
    same = [row for row in rows if row["configuration"] == first][:2]
    points = _points(view, same, {row["launch"]: seconds for row, seconds in zip(same, (-1.0, 1.0), strict=True)}, by_step=False)
    assert [(point.shape == "cross", point.y) for point in points] == [(True, 100.0), (False, 100.0)]


def test_the_launch_is_hollow_in_the_order_of_launches_and_says_why() -> None:
    number = next(row.number for row in disturbed().launches if row.status == "ok" and row.role == "timed")
    points = {point.target: point for point in marks(drawn(disturbed(number)), Point)}
    chosen = points.pop(f"launch-{number}")
    assert chosen.hollow
    assert chosen.reading is not None
    assert chosen.reading.more.endswith(WHY["foreign_load"])
    assert not any(point.hollow for point in points.values())


def test_the_key_names_hollow_marks_only_if_there_are_any() -> None:
    number = next(row.number for row in disturbed().launches if row.status == "ok" and row.role == "timed")
    told = [[key.text for key in drawn(view).key if "disturbed" in key.text] for view in (disturbed(), disturbed(number))]
    assert told == [[], ["hollow: disturbed launch"]]


def test_a_block_is_hollow_if_either_of_its_two_launches_was_disturbed() -> None:
    """Speedups pair a block's launch with the base's: a disturbed base spoils the same block of every level."""
    base = next(row for row in disturbed().launches if row.configuration == "workers=1" and row.block == 1 and row.status == "ok")
    view = disturbed(base.number)
    value = builders.estimate(1.5, 0.1, "ratio")
    value = replace(value, launch_values=(1.4, 1.5, 1.6, 1.5, 1.4)[: sum(row.configuration == "workers=2" for row in _timed(view))])
    dots = block_dots(view, "workers=2", value, 1.0)
    assert [dot.hollow for dot in dots] == [row.block == 1 for row in _timed(view) if row.configuration == "workers=2"]
    assert f"#{base.number} disturbed: other programs" in dots[1].tip
    assert dots[1].tip.startswith("2 workers, round 1: 1.5")


def _timed(view: View) -> list[LaunchRow]:
    return sorted((row for row in view.launches if row.role == "timed" and row.status == "ok"), key=lambda row: row.block)


def test_blocks_that_cannot_be_told_apart_are_not_called_disturbed() -> None:
    view = disturbed(*range(99))
    dots = block_dots(view, "workers=2", replace(builders.estimate(1.5, 0.1, "ratio"), launch_values=(1.4, 1.6)), 1.0)
    assert [dot.hollow for dot in dots] == [False, False]


def test_the_chart_of_speedups_shows_them() -> None:
    (drawing,) = speedup(disturbed(*range(99)))
    assert not drawing.missing
    hollow = [dot.hollow for dot in marks(drawing, Dot)]
    assert hollow == [True] * len(hollow)
    assert ("hollow: disturbed launch" in [key.text for key in drawing.key]) == bool(hollow)


def test_a_hollow_mark_keeps_the_shape_of_its_series() -> None:
    svg = picture(drawn(disturbed(*range(99)))).svg
    assert '<path class="d hollow"' in svg
    assert '<circle class="d hollow"' in svg


def test_the_table_of_launches_has_a_column_of_disturbances_if_there_are_any() -> None:
    def column(view: View) -> list[object]:
        table = record.launches(view).blocks[0]
        assert isinstance(table, Table)
        names = [head.text for head in table.heads]
        return [row[names.index("Disturbed")] for row in table.rows] if "Disturbed" in names else []

    view = disturbed(0)
    assert column(disturbed()) == []
    first, *others = column(view)
    assert isinstance(first, Mark)
    assert first.word == "other programs"
    assert others == [Words(text="no", tone="absent")] * (len(view.launches) - 1)


def test_many_launches_are_shown_block_by_block_and_the_rest_is_counted() -> None:
    measured = builders.measured(launches=8, steps=5)
    view = build(measured, builders.judgement())
    chosen = chosen_panels(timelines(measured), [column.key for column in view.columns])
    assert [timeline.block for timeline in chosen] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4]
    (drawing,) = launch_timeline(view)
    assert drawing.caption.endswith("15 of 24 launches are shown.")
