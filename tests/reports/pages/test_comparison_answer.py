"""The answer of a comparison: the metric that decides first, what explains it, and nothing at all where a condition forbids it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.reports.pages.comparison import page
from fireassay.reports.pages.comparison_view import ComparisonView, build
from fireassay.reports.writers.support import character_plot
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.sessions import Days
from fireassay.verdict.comparison.types import Side
from tests.reports.pages.screens import EVIL, flat, harmless, parsed, plots, screen
from tests.verdict.comparing import complete, relabelled, side, with_experiment

pytestmark = pytest.mark.slow

QUIET = Days(assumed=1e-6)  # sessions that do not differ
RECORDS = ("44a5ef", "my record")


@pytest.fixture(scope="module")
def plain() -> Side:
    return side("monday", complete())


@pytest.fixture(scope="module")
def better() -> Side:
    return side("tuesday", complete(efficiency={2: 0.99}))


@pytest.fixture(scope="module")
def decided(plain: Side, better: Side) -> ComparisonView:
    return build(compare([plain, better], days=QUIET), plain.judgement.metrics)


@pytest.fixture(scope="module")
def undecided(plain: Side, better: Side) -> ComparisonView:
    return build(compare([plain, better], days=Days(assumed=0.15)), plain.judgement.metrics)


@pytest.fixture(scope="module")
def refused(plain: Side, better: Side) -> ComparisonView:
    other = with_experiment(better, "tuesday", "workload.arguments", ("--lr", "1"))
    return build(compare([plain, other], days=QUIET), plain.judgement.metrics)


def test_the_first_line_says_which_is_faster_and_by_how_much(decided: ComparisonView) -> None:
    effect = next(row.effect for row in decided.rows if row.primary)
    assert effect is not None
    assert screen(page(decided, RECORDS))[0] == f"FASTER  tuesday over monday: throughput {effect.full} at workers=2"


def test_a_change_that_only_hundreds_of_per_cent_would_show_is_said_in_words(undecided: ComparisonView) -> None:
    """It was "can show 50,057 %"."""
    (row,) = [row for row in undecided.rows if row.primary]
    vague = replace(row, change=replace(row.change, minimum_detectable_effect=500.0))
    rows = tuple(vague if other is row else other for other in undecided.rows)
    assert "a side can show only a change of more than tenfold" in flat(page(replace(undecided, rows=rows)))


def test_the_plot_begins_with_the_deciding_metric_and_holds_the_changes_of_the_data(decided: ComparisonView) -> None:
    (plot,) = plots(page(decided))
    assert plot.rows[0].name == "throughput"
    assert 2 <= len(plot.rows) <= 6
    ratios = {row.title.lower(): row.change for row in decided.deciding}
    for row in plot.rows[1:]:
        change, value = ratios[row.name], row.number.value
        assert isinstance(value, Estimate)
        assert change.ratio is not None
        assert value.value == pytest.approx(change.ratio - 1.0)
        assert value.low == pytest.approx((change.low or 0.0) - 1.0)
    sizes = [abs(row.number.value.value) for row in plot.rows[1:] if isinstance(row.number.value, Estimate)]
    assert sizes[0] == max(sizes)


def test_an_interval_crosses_no_change_on_the_screen_if_and_only_if_it_does_in_the_numbers(undecided: ComparisonView) -> None:
    (plot,) = plots(page(undecided))
    lines = screen(page(undecided))
    for row in plot.rows:
        assert isinstance(row.number.value, Estimate)
        (drawn,) = [line for line in lines if line[2:].startswith(f"{row.name} ")]
        assert (character_plot.UNICODE.crossed in drawn) is (row.number.value.low < 0.0 < row.number.value.high)


def test_undecided_says_what_could_be_shown_and_how_both_are_measured_again(undecided: ComparisonView) -> None:
    shown = page(undecided, RECORDS)
    text = flat(shown)
    assert text.startswith("INCONCLUSIVE tuesday over monday: throughput ")
    assert " launches a side can show " in text
    (words,) = parsed(shown)
    assert words[:6] == ["assay", "check", "my record", "--against", "44a5ef", "--confirm"]


def test_a_refusal_names_the_condition_both_values_and_why_and_no_change(refused: ComparisonView) -> None:
    shown = page(refused, RECORDS)
    text = flat(shown)
    assert text.startswith("NOT COMPARABLE monday and tuesday: 1 condition differs")
    assert "workload.arguments monday (none); tuesday --lr 1: arguments change what the program does" in text
    assert "%" not in text
    assert parsed(shown) == [["assay", "compare", "44a5ef", "my record", "--varying", "workload.arguments"]]


def test_a_forced_comparison_says_so_first_and_advises_nothing(plain: Side, better: Side) -> None:
    other = with_experiment(better, "tuesday", "workload.arguments", ("--lr", "1"))
    shown = page(build(compare([plain, other], force=True, days=QUIET), plain.judgement.metrics))
    assert screen(shown)[0].startswith("EXPLORATORY FASTER  ")
    assert "workload.arguments differs: this comparison was forced." in flat(shown)
    assert parsed(shown) == []


def test_lost_quality_is_degraded_and_no_speed_is_claimed(plain: Side) -> None:
    lost = side("tuesday", complete(efficiency={2: 0.99}, right={2: 20}))
    shown = page(build(compare([plain, lost], days=QUIET), plain.judgement.metrics))
    assert screen(shown)[0] == "DEGRADED  tuesday over monday: throughput not judged: struck out at workers=2"
    assert "quality ✗ " in flat(shown)
    by_quality = page(build(compare([plain, side("same", complete())], days=QUIET), plain.judgement.metrics), by_quality=True)
    assert screen(by_quality)[0].startswith("HELD  ")


def test_many_sides_stand_below_one_another(plain: Side, better: Side) -> None:
    view = build(compare([plain, better, relabelled(plain, "C")], days=QUIET), plain.judgement.metrics)
    shown = page(view)
    assert screen(shown)[0].startswith("COMPARED  tuesday, C over monday: throughput tuesday ")
    (plot,) = plots(shown)
    assert [row.name for row in plot.rows] == ["tuesday", "C"]


def test_no_name_steers_the_terminal(decided: ComparisonView) -> None:
    rows = tuple(replace(row, title=EVIL) for row in decided.rows)
    harmless(page(replace(decided, sides=(EVIL, EVIL), notes=(EVIL,), rows=rows), (EVIL, EVIL)))


def test_the_tiles_are_what_decides_then_what_explains_it_then_quality(decided: ComparisonView, refused: ComparisonView) -> None:
    answer, row = page(decided).answer, next(row for row in decided.rows if row.primary)
    assert answer is not None
    assert len(answer.tiles) <= 4
    assert answer.tiles[0].title == row.title
    assert answer.tiles[0].mark.word == row.word
    assert answer.tiles[0].big.startswith(("+", "−"))
    assert [tile.title for tile in answer.tiles].count("Quality") == len([line for line in answer.lines if line.label == "quality"])
    assert page(refused).answer is not None
    assert page(refused).answer.tiles == ()  # type: ignore[union-attr]


def test_two_sessions_say_what_was_assumed_of_the_days_and_what_would_show_it(undecided: ComparisonView) -> None:
    text = " ".join(" ".join(screen(page(undecided, RECORDS))).split())
    assert "The interval is with 15 % assumed between sessions; the launches alone give" in text
    assert "Only measured in turn do both show whether it was the day." in text
