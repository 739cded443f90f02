"""Does the power curve mark the record's items and margin, on the curve that its flips make?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.charts import power_curve
from fireassay.reports.charts.chart import Drawing, Missing
from fireassay.reports.charts.marks import Line, Point, Rule
from fireassay.reports.view import View
from fireassay.stats.comparing.item_power import item_power
from fireassay.verdict.judge import judge
from tests.answered import rows, scored


def made(folder: Path, margin: float | None) -> View:
    a = ["yes"] * 300 + ["no"] * 100
    measured = scored(folder, {"a": rows(a), "b": rows([*["no"] * 4, *a[4:396], *["yes"] * 4])}, margin=margin)
    return build(measured, judge(measured))


def test_the_point_is_what_the_items_of_the_record_support(tmp_path: Path) -> None:
    drawing = power_curve.draw(made(tmp_path, 0.05))
    assert isinstance(drawing, Drawing)
    marks = drawing.panels[0].marks
    (point,) = [mark for mark in marks if isinstance(mark, Point)]
    (line,) = [mark for mark in marks if isinstance(mark, Line)]
    assert point.x == 400.0
    assert point.y == pytest.approx(item_power(400, 0.05, 8 / 400, 0.95).supported_margin)
    assert [mark.y for mark in marks if isinstance(mark, Rule)] == [0.05]
    heights = [y for _, y in line.points if y is not None]
    assert heights == sorted(heights, reverse=True)
    assert "enough for the margin of 0.05" in drawing.description


def test_without_a_margin_there_is_no_curve(tmp_path: Path) -> None:
    assert isinstance(power_curve.draw(made(tmp_path, None)), Missing)


def test_sides_without_a_curve_are_counted(tmp_path: Path) -> None:
    a = ["yes"] * 300 + ["no"] * 100
    sides = {"a": rows(a), **{f"b{n}": rows([*["no"] * (n + 1), *a[n + 1 :]]) for n in range(8)}}
    measured = scored(tmp_path, sides, margin=0.05)
    drawing = power_curve.draw(build(measured, judge(measured)))
    assert isinstance(drawing, Drawing)
    assert drawing.caption.endswith("2 more sides are not drawn.")
