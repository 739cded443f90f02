"""Does the power curve mark the record's items and margin, on the curve that its flips make?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.charts.evaluation import power
from fireassay.reports.charts.model import Line, Point, Rule
from fireassay.reports.view import View
from fireassay.stats.comparing.item_power import item_power
from fireassay.verdict.judge import judge
from tests.answered import rows, scored


def made(folder: Path, margin: float | None) -> View:
    a = ["yes"] * 300 + ["no"] * 100
    measured = scored(folder, {"a": rows(a), "b": rows([*["no"] * 4, *a[4:396], *["yes"] * 4])}, margin=margin)
    return build(measured, judge(measured))


def test_the_point_is_what_the_items_of_the_record_support(tmp_path: Path) -> None:
    (drawing,) = power(made(tmp_path, 0.05))
    assert not drawing.missing
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
    assert power(made(tmp_path, None))[0].missing


@pytest.mark.deep
def test_sides_without_a_curve_are_counted(tmp_path: Path) -> None:
    a = ["yes"] * 300 + ["no"] * 100
    sides = {"a": rows(a), **{f"b{n}": rows([*["no"] * (n + 1), *a[n + 1 :]]) for n in range(8)}}
    measured = scored(tmp_path, sides, margin=0.05)
    (drawing,) = power(build(measured, judge(measured)))
    assert not drawing.missing
    assert drawing.caption.endswith("2 more sides are not drawn.")
