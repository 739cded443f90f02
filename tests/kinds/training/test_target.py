"""What the first screen and the table say of a target, by launches made by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from fireassay.kinds.training import target
from fireassay.reports.charts.target import target as chart
from fireassay.reports.charts.target import thinned
from fireassay.reports.page import Words
from fireassay.reports.view import View
from tests.kinds.training.test_answer import viewed
from tests.metrics.training.test_quality_target import made, rising


class Given:
    """A record that is measured already."""

    def __init__(self, **more: Any) -> None:
        self._more = more

    def measured(self) -> Any:
        return made(**self._more)


def view(launches: list[tuple[int, Any]], **more: Any) -> View:
    return viewed(Given(launches=launches, **more))  # type: ignore[arg-type]


def texts(shown: View) -> list[str]:
    return [line.text for line in target.lines(shown)]


def test_one_worker_has_one_line_with_the_share_the_median_and_the_censored_launch() -> None:
    """2, 3, 4, 5 s, and one that had not reached it after 8 s."""
    (text,) = texts(view([(1, rising(at)) for at in (2, 3, 4, 5, 99)]))
    assert text.startswith("accuracy 0.8 reached in 4 of 5 launches, median 4.0 s [")
    assert text.endswith("no upper bound]; 1 never (censored at 8 s)")


def test_crashes_are_said() -> None:
    (text,) = texts(view([(1, rising(at)) for at in (2, 3, 4, 5, 99)], statuses=["ok"] * 4 + ["failed"]))
    assert text.endswith("1 never (censored at 8 s, 1 crashed)")


def test_several_counts_have_a_product_each() -> None:
    """Two workers take half the time a step and 5 steps instead of 4: 2 times as fast per sample, 1.25 times the samples, 1.6 times as fast."""
    launches = [(workers, rising(4 if workers == 1 else 5)) for _ in range(5) for workers in (1, 2)]
    first, second = texts(view(launches, pace=[1.0, 0.5] * 5))
    assert first.startswith("1 worker: accuracy 0.8 reached in 5 of 5 launches, median 4")
    assert second.startswith("2 workers: 2 times as fast per sample, 1.25 times the samples: 1.6")
    assert "times as fast to it; 5 of 5, median 2.5" in second


def test_without_a_median_the_bound_is_said() -> None:
    (text,) = texts(view([(1, rising(99))] * 8))
    assert text == "accuracy 0.8 reached in 0 of 8 launches; median not reached, more than 8.00 s; 8 never (censored at 8 s)"


def test_a_target_that_nothing_evaluates_says_what_was_found() -> None:
    (text,) = texts(view([(1, rising(4))] * 5, goal="top5=0.9"))
    assert "no evaluation named 'top5' was reported or printed; found: accuracy" in text
    assert target.table(view([(1, rising(4))] * 5, goal="top5=0.9")) == ()


def test_the_table_has_a_row_for_each_count_and_the_share_reached() -> None:
    launches = [(workers, rising(4 if workers == 1 else 99)) for _ in range(5) for workers in (1, 2)]
    table, _ = target.table(view(launches))
    assert [row[0] for row in table.rows] == [1, 2]
    assert [row[1].text for row in table.rows] == ["5 of 5", "0 of 5"]  # type: ignore[union-attr]
    assert "Mean: up to 8 s" in table.notes[0]


def test_a_round_has_its_times_and_their_ratio_or_a_bound_of_it() -> None:
    """Two workers need half the time a step: 4 s against 2 s; then one side, the other side, and both end without it."""
    at = [(4, 4), (4, 99), (99, 4), (99, 99)]
    launches = [(workers, rising(own)) for pair in at for workers, own in zip((1, 2), pair, strict=True)]
    _, table = target.table(view(launches, pace=[1.0, 0.5] * 4))
    assert [[part.text if isinstance(part, Words) else part for part in row] for row in table.rows] == [
        [1, "4 s", "2 s", "2"],
        [2, "4 s", "> 4 s", "< 1"],
        [3, "> 8 s", "2 s", "> 4"],
        [4, "> 8 s", "> 4 s", "-"],
    ]


def test_a_further_target_has_a_line_and_tables_of_its_own() -> None:
    """0.8 after 4 steps, 0.5 after the first; nothing evaluates a loss."""
    launches = [(workers, rising(4)) for _ in range(5) for workers in (1, 2)]
    shown = view(launches, goal=("accuracy=0.8", "accuracy=0.5", "loss=0.1"))
    first, _, second, third = texts(shown)
    assert first.startswith("1 worker: accuracy 0.8 reached in 5 of 5 launches, median 4")
    assert second.startswith("1 worker: accuracy 0.5 reached in 5 of 5 launches, median 1")
    assert third.startswith("no evaluation named 'loss'")
    assert [(table.name, table.title) for table in target.table(shown)] == [
        ("target", "Time to accuracy 0.8"),
        ("target-rounds", "Time to accuracy 0.8 in each round"),
        ("target-2", "Time to accuracy 0.5"),
        ("target-rounds-2", "Time to accuracy 0.5 in each round"),
    ]


def test_the_chart_has_a_panel_over_time_one_over_samples_and_with_a_price_one_over_dollars() -> None:
    launches = [(1, rising(4))] * 5
    assert [panel.view for panel in chart(view(launches))[0].panels] == ["over time", "over samples"]
    assert [panel.view for panel in chart(view(launches, prices=3.6))[0].panels] == ["over time", "over samples", "over dollars"]


@pytest.mark.parametrize("score", [math.nan, math.inf, -math.inf])
def test_scores_that_are_no_finite_numbers_meet_no_target_and_leave_a_page(score: float) -> None:
    """Without `is finite` infinity would be 0.8 or more, and there is nothing to draw."""
    shown = view([(1, [score] * 6)] * 5)
    assert "reached in 0 of 5 launches" in texts(shown)[0]
    assert chart(shown)[0].panels == ()
    assert "finite number" in chart(shown)[0].missing
    mixed = view([(1, [score, 0.2, 0.4, 0.6, 0.85])] * 4 + [(1, [score] * 6)])
    assert "reached in 4 of 5 launches" in texts(mixed)[0]
    assert [panel.view for panel in chart(mixed)[0].panels] == ["over time", "over samples"]


def test_long_series_are_thinned_and_keep_their_ends() -> None:
    rows = [{"score": float(number)} for number in range(1_001)]
    kept = thinned(rows)
    assert len(kept) <= 202
    assert (kept[0], kept[-1]) == (rows[0], rows[-1])
