"""Is the knee stated in words, on the first screen, in the table, the chart and the workbook, and never read by eye?"""

from __future__ import annotations

import pytest

from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import step_tables
from fireassay.kinds.evaluation.held import held
from fireassay.kinds.evaluation.steps import knee_rows, step_rows
from fireassay.reports.build_view import build
from fireassay.reports.cell import Number, said
from fireassay.reports.charts.model import Dot, Point
from fireassay.reports.charts.step_curve import step_curve
from fireassay.reports.pages.record import page
from fireassay.reports.view import View
from fireassay.verdict.judge import judge
from tests.steps_made import Answer, stepped

RIGHT: Answer = ("7", 1.0)
WRONG: Answer = ("8", 0.0)
TURNS = {"levels": (1, 2, 4), "what": "turns"}


def climbing(items: int, *, margin: float | None = 0.05) -> RecordData:
    """Turn 1 is right for half of the items, every later one for all: one turn lies 50 points below, two and four are equal."""
    answers = [[RIGHT if item % 2 else WRONG, RIGHT, RIGHT, RIGHT] for item in range(items)]
    return stepped(TURNS, answers, margin=margin)


def view_of(measured: RecordData) -> View:
    return build(measured, judge(measured))


def test_the_smallest_number_within_the_margin_is_the_knee() -> None:
    """200 equal items bound a loss by 1 - (.05 / 2)^(1/200) = 1.8 points: less than five, so two turns are enough."""
    (knee,) = knee_rows(climbing(200))
    assert (knee.at, knee.status, knee.items) == (2, "MEASURED", 200)
    assert knee.confidence == pytest.approx(1.0 - 0.05 / 2.0)
    assert knee.sentence.startswith("2 turns: 100.00 % [98.")
    assert "; 4 are no better by more than 5 points (0.0 [" in knee.sentence
    assert knee.longer == " and take 2.3 times as long"  # 1 + 3 x 2 s against 1 + 2 s
    assert [row.enough for row in step_rows(climbing(200))] == [False, True, True]


def test_a_curve_that_falls_ends_at_its_first_step() -> None:
    """One turn is right for all of 200 items, two for none."""
    (knee,) = knee_rows(stepped({"levels": (1, 2), "what": "turns"}, [[RIGHT, WRONG]] * 200, margin=0.05))
    assert (knee.at, knee.status) == (1, "MEASURED")
    assert knee.sentence.startswith("1 turn: 100.00 % [98.")
    assert "; 2 are worse by more than 5 points (−100" in knee.sentence


def test_too_few_items_show_no_knee_and_say_how_many_would() -> None:
    """Twenty items bound a loss by 17 points only."""
    measured = climbing(20)
    (knee,) = knee_rows(measured)
    assert (knee.at, knee.status) == (None, "INCONCLUSIVE")
    assert "no number of turns is shown to be within 5 points of the best" in knee.sentence
    assert "items would decide 2" in knee.more
    assert judge(measured).verdict.status == "INCONCLUSIVE"


def test_without_a_margin_two_points_are_taken_and_said() -> None:
    (knee,) = knee_rows(climbing(400, margin=None))
    assert (knee.margin, knee.given) == (0.02, False)
    assert any("no worse than any other number by more than 0.02 (no margin given: --margin)" in note for note in knee.notes)


def test_where_every_smaller_number_is_worse_the_largest_is_a_result() -> None:
    answers = [[WRONG, WRONG, WRONG, RIGHT]] * 100
    measured = stepped(TURNS, answers, margin=0.05)
    (knee,) = knee_rows(measured)
    assert (knee.at, knee.status) == (4, "MEASURED")
    assert "every smaller number is worse by more than 5 points" in knee.sentence


def test_more_steps_may_be_worse() -> None:
    answers = [[RIGHT, WRONG, WRONG, WRONG]] * 200
    (knee,) = knee_rows(stepped(TURNS, answers, margin=0.05))
    assert (knee.at, knee.status) == (1, "MEASURED")
    assert [row.enough for row in step_rows(stepped(TURNS, answers, margin=0.05))] == [True, False, False]


def test_budgets_are_no_sides_of_a_comparison() -> None:
    steps = {"levels": (64, 128), "what": "reasoning_tokens", "field": "x"}
    measured = stepped(steps, [[WRONG, RIGHT]] * 60, margin=0.05, reasoning=lambda item, place: 8 + 8 * place + item % 2)
    assert held(measured, measured.configurations[1]) == ()
    verdict = judge(measured).verdict
    assert (verdict.status, verdict.gates) == ("MEASURED", ())
    assert "128 reasoning tokens: 100" in verdict.sentence


def test_clusters_are_units_of_a_curve_too() -> None:
    """200 items in ten clusters say less than 200 items: their bound is wider than five points."""
    answers = [[RIGHT if item % 2 else WRONG, RIGHT, RIGHT, RIGHT] for item in range(200)]
    clustered = stepped(TURNS, answers, margin=0.05, clusters=[f"c{item // 20}" for item in range(200)])
    (knee,) = knee_rows(clustered)
    assert knee.status == "INCONCLUSIVE"


def test_the_table_the_chart_and_the_workbook_show_the_same_numbers() -> None:
    view = view_of(climbing(200))
    (table,) = step_tables.table(view)
    assert [said(row[0]).text for row in table.rows] == ["1", "2", "4"]
    assert [said(row[-1]).text for row in table.rows] == ["no", "yes", "yes"]
    assert any("these items call no tools" in note for note in table.notes)
    (chart,) = step_curve(view)
    points = [mark for mark in chart.panels[0].marks if isinstance(mark, Point)]
    assert [round(mark.y, 6) for mark in points] == [50.0, 100.0, 100.0]
    assert [round(mark.x, 6) for mark in points] == [1.0, 3.0, 7.0]  # seconds
    rings = [mark for mark in chart.panels[0].marks if isinstance(mark, Dot)]
    assert [(round(mark.x, 6), mark.y) for mark in rings] == [(3.0, 100.0)]
    (sheet,) = step_tables.sheet_rows(view)
    column = [head.text for head in sheet.heads].index("Score")
    assert [said(row[column]).text for row in sheet.rows] == ["0.5", "1", "1"] or not isinstance(sheet.rows[0][column], Number)


def test_the_first_screen_answers_with_the_knee() -> None:
    shown = page(view_of(climbing(200))).answer
    assert shown is not None
    assert shown.headline.startswith("2 turns: 100.00 %")


def test_a_record_without_steps_has_none_of_it() -> None:
    plain = stepped({"levels": (), "what": "samples"}, [[RIGHT]] * 5)
    assert knee_rows(plain) == ()
    assert not step_tables.compared(view_of(plain))
    assert step_curve(view_of(plain))[0].missing == "No numbers of steps were compared."
