"""Does a page say of each side whether it is as sure as it is right, and show the bins behind that?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.evaluation_rows import calibration
from fireassay.reports.build_view import build
from fireassay.reports.charts.evaluation import reliability
from fireassay.reports.charts.model import Line, Point
from fireassay.reports.pages.record import page
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.answered import choices, rows, scored

LABELS = {"answers=a": "a", "answers=b": "b"}


def every(sure: float, right: int, of: int = 100) -> list[tuple[float, bool]]:
    return [(sure, index < right) for index in range(of)]


def seen(measured: RecordData) -> View:
    return build(measured, judge(measured))


def sentences(folder: Path, **sides: list[tuple[float, bool]]) -> list[str]:
    return [row.sentence for row in calibration(choices(folder, sides), LABELS)]


def test_a_model_that_is_too_sure_is_over_confident(tmp_path: Path) -> None:
    over, under = sentences(tmp_path, a=every(0.9, 60), b=every(0.6, 90))
    assert over.startswith("a is over-confident: at a mean confidence of 0.900 it is right in 0.600 [0.50")
    assert under.startswith("b is under-confident: at a mean confidence of 0.600 it is right in 0.900 [0.8")


def test_errors_that_cancel_on_average_are_said(tmp_path: Path) -> None:
    right, cancels = sentences(tmp_path, a=every(0.8, 160, of=200), b=every(0.9, 60) + every(0.6, 90))
    assert right.startswith("a is not shown to be over- or under-confident: at a mean confidence of 0.800 it is right in 0.800 [")
    assert cancels.startswith("b is as sure as it is right on average, not everywhere: ")
    assert "the calibration error is 0.3" in cancels


def test_bins_hold_as_many_items_each(tmp_path: Path) -> None:
    a = [(0.5 + index / 500.0, index % 2 == 0) for index in range(200)]
    (row,) = calibration(choices(tmp_path, {"a": a}), LABELS)
    assert [one.items for one in row.bins] == [20] * 10
    assert row.bins[0].confidence == pytest.approx(0.5 + 9.5 / 500.0)
    assert row.bins[0].right.value == 0.5
    assert row.whole is not None
    assert (row.whole.items, row.whole.right.value) == (200, 0.5)


def test_items_of_one_cluster_count_as_one(tmp_path: Path) -> None:
    side = every(0.9, 60)
    alone = calibration(choices(tmp_path / "alone", {"a": side}), LABELS)[0].whole
    together = calibration(choices(tmp_path / "together", {"a": side}, cluster=[n // 10 for n in range(100)]), LABELS)[0].whole
    assert alone is not None
    assert together is not None
    assert together.right.low < alone.right.low


def test_the_chart_holds_the_bins_the_diagonal_and_the_error_of_the_table(tmp_path: Path) -> None:
    view = seen(choices(tmp_path, {"a": every(0.9, 60), "b": every(0.7, 70)}))
    (drawing,) = reliability(view)
    assert not drawing.missing
    first = drawing.panels[0]
    (point,) = [mark for mark in first.marks if isinstance(mark, Point)]
    (line,) = [mark for mark in first.marks if isinstance(mark, Line)]
    assert (point.x, point.y) == (pytest.approx(0.9), 0.6)
    assert point.reading is not None
    assert point.reading.name == "a, 100 items at a mean confidence of 0.900"
    assert line.points == ((first.x.low, first.y.low), (1.0, 1.0))
    error = view.metric("calibration_error")
    assert error is not None
    assert isinstance(error.cells["answers=a"].value, Estimate)
    assert f"a {show(error.cells['answers=a'].value).full}" in drawing.caption


def test_many_sides_are_drawn_in_part_and_all_are_in_the_table(tmp_path: Path) -> None:
    view = seen(choices(tmp_path, {f"s{n}": every(0.9, 50 + n, of=60) for n in range(9)}))
    (drawing,) = reliability(view)
    assert not drawing.missing
    assert len(drawing.panels) == 8
    assert drawing.caption.endswith("1 more side: see the table.")
    assert "s8 is not shown to be over- or under-confident" in catalog.load("reports.writers", "html").write(page(view))


@pytest.mark.parametrize("writer", ["html", "markdown", "terminal"])
def test_without_confidences_it_is_not_measured(writer: str, tmp_path: Path) -> None:
    view = seen(scored(tmp_path, {"a": rows(["yes", "no"] * 20)}))
    assert reliability(view)[0].missing
    shown = page(view)
    text = catalog.load("reports.writers", writer).write(type(shown)(**{**vars(shown), "full": True}))
    assert "no task was answered by log probabilities of choices" in " ".join(text.split())
