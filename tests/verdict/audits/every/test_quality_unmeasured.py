"""quality_unmeasured: speed without quality, and quality from elsewhere."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.verdict.claims.pitfalls import of_record
from tests.verdict.claiming import NOTHING, NUMBER, QUALITY, claim, found, the_finding
from tests.verdict.making import good


def test_a_speed_beside_which_nothing_is_said_about_quality_is_named() -> None:
    finding = the_finding(claim(quality=None), "quality_not_measured")
    assert (finding.severity, finding.needs) == ("warning", ("quality",))
    assert found(claim()) == {}


def test_quality_of_other_launches_is_inadmissible() -> None:
    assert found(claim(quality={"same_launches": False})) == {"quality_of_other_runs": "invalid"}


@pytest.mark.parametrize(("candidate", "named"), [(0.89, False), (0.889, True), (0.95, False)])
def test_a_loss_beyond_the_margin_is_inadmissible(candidate: float, named: bool) -> None:
    """Baseline 0.90, margin 0.01."""
    assert found(claim(quality={"candidate": candidate})) == ({"quality_lost": "invalid"} if named else {})


def test_of_a_perplexity_the_lower_is_better() -> None:
    worse = {"metric": "perplexity", "direction": "lower", "baseline": 10.0, "candidate": 10.5, "margin": 0.1}
    assert found(claim(quality=worse)) == {"quality_lost": "invalid"}
    assert found(claim(quality=worse | {"candidate": 9.0})) == {}


@pytest.mark.parametrize(("items", "named"), [(298, True), (299, False)])
def test_so_few_items_that_no_such_margin_can_be_shown_are_named(items: int, named: bool) -> None:
    """Without a single change n items bound one by 1 - 0.05^(1/n): 299 are needed for one point (quality.md 3.2)."""
    assert found(claim(quality={"items": items})) == ({"quality_items_too_few": "warning"} if named else {})


@pytest.mark.parametrize("key", ["same_launches", "margin", "baseline", "candidate"])
def test_quality_of_which_something_is_not_said_is_left_open(key: str) -> None:
    assert found(claim(quality=QUALITY | {key: NOTHING})) == {"quality_unsaid": "note"}


def test_scores_among_the_numbers_do_not_say_where_they_are_from() -> None:
    numbers = [{"metric": "accuracy", "value": 0.9, "run": "r1"}, {"metric": "accuracy", "value": 0.9, "run": "r1"}]
    assert found(claim(numbers=numbers, quality=None)) == {}, "without a speed there is nothing to hold quality against"


@pytest.mark.slow
def test_a_record_without_scores_could_not_be_examined() -> None:
    states = {}
    for left_out in ((), ("scores",)):
        made = good(leave_out=left_out)
        pitfalls = of_record(made.measured())
        states[left_out] = next(p.state for p in pitfalls if p.name == "quality_unmeasured")
    assert states == {(): "clear", ("scores",): "not examined"}


def quality(**changes: Any) -> dict[str, str]:
    return found(claim(quality=changes))


def test_a_loss_needs_a_margin() -> None:
    assert quality(candidate=0.89, margin=NOTHING)["quality_lost_without_margin"] == "warning"
    assert "quality_lost_without_margin" not in quality(candidate=0.91, margin=NOTHING)
    assert quality(candidate=0.895) == {}


def test_the_direction_follows_from_the_score_where_it_is_not_said() -> None:
    worse = {"metric": "perplexity", "baseline": 12.1, "candidate": 13.5, "margin": 0.1}
    assert quality(**worse)["quality_lost"] == "invalid"
    assert quality(**worse, direction="higher")["direction_contradicts_metric"] == "warning"
    assert quality(**worse | {"candidate": 11.0}) == {}


def test_points_and_fractions_are_bounded_alike_by_their_items() -> None:
    """95 %: 300 items bound a change by 1 - 0.05^(1/300) = 0.994 points."""
    points = {"baseline": 90.2, "candidate": 90.2, "margin": 0.5}
    assert quality(**points, items=300)["quality_items_too_few"] == "warning"
    assert quality(**points, items=20_000) == {}
    assert quality(margin=0.005, items=300)["quality_items_too_few"] == "warning"


def test_a_score_that_is_given_as_a_number_with_its_base_is_compared() -> None:
    score = {"metric": "accuracy", "value": 0.88, "run": "r1", "baseline": {"value": 0.92}}
    assert found(claim(numbers=[NUMBER, score], quality=None))["quality_lost_without_margin"] == "warning"


def test_a_collective_has_no_score_and_a_cheaper_answer_has_one() -> None:
    busbw = {key: value for key, value in NUMBER.items() if key != "baseline"} | {
        "metric": "bus bandwidth",
        "unit": "GB/s",
        "statistic": "median",
    }
    assert found(claim(numbers=[busbw], quality=None)) == {}
    cost = NUMBER | {"metric": "cost", "unit": "USD", "baseline": {"kind": "other_system", "value": 9.0, "unit": "USD"}}
    assert found(claim(numbers=[cost], quality=None))["quality_not_measured"] == "warning"
