"""Two sessions differ by themselves: one rule for compare, check and reproduce, and what was made alternately may speak.

Records of `tests.verdict.checking`: 5 launches whose logarithms scatter by sqrt(0.001/4) = 0.0158 round the given seconds.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from fireassay.verdict.checking.check import check
from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.groups import Group
from fireassay.verdict.comparison.sessions import Days, Found, days_of, found_between, judged
from fireassay.verdict.comparison.types import Change, Comparison, Side
from fireassay.verdict.reproduction import reproduction
from tests.verdict.comparing import with_manifest, with_tables
from tests.verdict.sides import RIPPLE, made, side

pytestmark = pytest.mark.slow


T_4 = 2.7764451  # t(.975) with 4 degrees of freedom
SPREAD = 0.001 / 4.0 / 5.0  # s^2/k of every record


def two(first: float, second: float, **how: Any) -> tuple[Side, Side]:
    return side("first", made(first, day=1, **how)), side("second", made(second, day=2, **how))


def wall(a: Side, b: Side, days: Days | None = None) -> Found:
    groups = (Group(label=one.label, side=one, configuration="workers=1") for one in (a, b))
    found = found_between(*groups, "wall_time", confidence=0.95, smallest_effect=0.01, days=days or Days())
    assert found is not None
    return found


def only(made_: Comparison) -> Change:
    (change,) = made_.decisive()
    return change


def past(*seconds: float) -> list[Side]:
    return [side(f"past-{place}", made(one, day=10 + place)) for place, one in enumerate(seconds)]


# ---- the false alarm that the rule is for ------------------------------------------------------------------------------


@pytest.mark.deep
def test_equal_code_on_two_days_is_not_called_faster_or_slower_by_compare_nor_by_check() -> None:
    """Sessions that differ by 5 %, launches by 1.6 %: Welch alone calls two of three such pairs changed."""
    rng = np.random.default_rng(20261123)
    alone = 0
    for _ in range(8):
        first, second = two(*(10.0 * math.exp(x) for x in rng.normal(0.0, 0.05, 2)))
        found = only(compare([first, second]))
        assert (found.outcome, check(compare([first, second], varying=("code",)), first, second).state) == ("inconclusive", "inconclusive")
        launches = wall(first, second).launches
        alone += not launches.low <= 1.0 <= launches.high
    assert alone >= 4  # the case is one


def test_compare_and_check_give_one_interval() -> None:
    first, second = two(10.0, 12.0)
    row = next(one for one in check(compare([first, second], varying=("code",)), first, second).rows if one.primary)
    found = only(compare([first, second]))
    assert row.difference is not None
    assert (found.low, found.high) == pytest.approx((row.difference.low, row.difference.high))


def test_without_a_history_the_assumed_deviation_is_in_the_interval() -> None:
    """log(1.2) -+ t sqrt(2 x 0.15^2 + 2 s^2/k), with so many degrees of freedom that t is 1.96."""
    found = wall(*two(10.0, 12.0))
    half = 1.959964 * math.sqrt(2 * 0.15**2 + 2 * SPREAD)
    assert (found.evidence, found.assumed, found.apart) == ("assumed", 0.15, True)
    assert math.log(found.difference.high) == pytest.approx(math.log(1.2) + half, rel=1e-3)
    narrow = wall(*two(10.0, 12.0), Days(assumed=0.02))
    assert narrow.difference.low > 1.0 > found.difference.low


def test_with_five_sessions_their_own_variation_decides() -> None:
    """Logarithms of five sessions 0, 1, -1, 2, -2 %: S^2 = 0.00025; of two records V = 2 S^2, t with 4 degrees of freedom."""
    known = past(*(10.0 * math.exp(0.01 * x) for x in (0, 1, -1, 2, -2)))
    first, second = two(10.0, 12.0)
    found = wall(first, second, days_of([*known, first], (first, second)))
    assert (found.evidence, found.days.records if found.days else 0) == ("history", 5)
    assert math.log(found.difference.high) == pytest.approx(math.log(1.2) + T_4 * math.sqrt(2 * 0.00025), rel=1e-6)
    made_ = compare([first, second], days=days_of(known, (first, second)))
    assert (only(made_).word, "between these two sessions" in made_.sentence) == ("slower", True)
    assert "with the 1.5 % variation between 5 other sessions" in made_.sentence


def test_the_sides_own_luck_does_not_speak_about_days() -> None:
    first, second = two(10.0, 12.0)
    assert [one.label for one in days_of([first, second, *past(10.0)], (first, second)).past] == ["past-0"]


def test_one_session_and_one_record_need_no_allowance() -> None:
    together = two(10.0, 10.5, session="s")
    found = wall(*together)
    assert (found.evidence, found.apart) == ("in turn", False)
    assert found.difference is found.launches
    made_ = compare(together)
    assert only(made_).word == "slower"
    assert "session" not in made_.sentence


# ---- what is said ------------------------------------------------------------------------------------------------------


def test_the_sentence_says_between_which_sessions_what_was_allowed_for_and_what_would_decide() -> None:
    first, second = two(10.0, 10.5)
    sentence = compare([first, second]).sentence
    assert sentence.startswith("At workers=1: second against first, between these two sessions: inconclusive: ")
    assert "with 15 % assumed between sessions (launches alone: +5.0 % [" in sentence
    assert "interleave both (assay check second --against first --confirm always)" in sentence
    assert "provide 5 or more comparable sessions (--history)" in sentence


def test_what_only_the_launches_carry_is_suspected_in_either_direction() -> None:
    for seconds, verdict in ((10.5, "higher"), (9.5, "lower")):
        found = judged(wall(*two(10.0, seconds)), better="lower", margin=0.03, smallest_effect=0.01, floor=0.0, p_adjusted=None)
        assert found.decision.verdict == "inconclusive"
        assert (found.suspected, found.alone.verdict, found.decision.launches_needed) == (True, verdict, None)


def test_a_doubled_time_is_found_between_two_sessions_and_says_so() -> None:
    made_ = compare(list(two(10.0, 20.0)))
    assert only(made_).word == "slower"
    assert "second against first, between these two sessions: slower" in made_.sentence
    assert "to decide" not in made_.sentence


# ---- what does not vary, and what has no logarithm -----------------------------------------------------------------------


def test_a_time_that_did_not_vary_may_vary_with_the_day_and_a_count_does_not() -> None:
    first, second = (side(name, made([seconds] * 5, day=day)) for name, seconds, day in (("a", 10.0, 1), ("b", 10.5, 2)))
    assert wall(first, second).evidence == "assumed"
    sizes = [in_bytes(one) for one in (first, second)]
    assert wall(*sizes).evidence == "constant"


def in_bytes(one: Side) -> Side:
    """The record with wall times that are sizes."""
    values = {"workers=1": replace(one.judgement.results["wall_time"]["workers=1"], unit="B")}  # type: ignore[arg-type]
    results = {**one.judgement.results, "wall_time": values}
    return replace(one, judgement=replace(one.judgement, results=results))


def test_without_logarithms_the_deviation_is_taken_of_each_sides_own_mean() -> None:
    """Means 21 and 31, a deviation of 15 %: V = 0.15^2 (21^2 + 31^2) + 1/3 + 1/3."""
    from fireassay.stats.comparing.between_records import assumed, level
    from fireassay.stats.comparing.comparison import compare_welch

    ours, theirs = [20.0, 21.0, 22.0], [30.0, 31.0, 32.0]
    raw = compare_welch(ours, theirs, scale="difference")
    found = assumed(raw, level(ours, "difference"), level(theirs, "difference"), 0.15)
    assert found.standard_error == pytest.approx(math.sqrt(0.15**2 * (21**2 + 31**2) + 2 / 3))


# ---- made alternately ----------------------------------------------------------------------------------------------------


def at_hours(one: Side, label: str, hours: list[float]) -> Side:
    """The record with launches that began at these hours, on one host."""
    start = datetime(2026, 1, 1, tzinfo=UTC)
    times = [(start + timedelta(hours=hour)).isoformat() for hour in hours]
    launches = one.measured.tables["launches"].with_columns(pl.Series("begin_utc", times))
    moved = with_tables(one, label, launches=launches)
    return with_manifest(moved, label, "environment", {"before": {"host": {"name": "bench-01"}}, "after": {}})


def test_records_made_alternately_in_three_sittings_each_are_decided_by_their_sittings() -> None:
    first, second = two(10.0, 11.0)
    a, b = at_hours(first, "a", [0, 2, 4, 6, 8]), at_hours(second, "b", [1, 3, 5, 7, 9])
    found = wall(a, b)
    assert (found.evidence, found.difference.df) == ("alternating", 7.0)
    made_ = compare([a, b])
    assert only(made_).word == "slower"
    assert "in alternating sittings" in made_.sentence


def test_the_sittings_give_the_interval_of_a_regression_on_side_and_time() -> None:
    """Least squares of log seconds on a constant, the side and the hour, worked out another way."""
    import scipy.stats

    first, second = two(10.0, 11.0)
    found = wall(at_hours(first, "a", [0, 2, 4, 6, 8]), at_hours(second, "b", [1, 3, 5, 7, 9]))
    hours = np.arange(10.0)
    sides = np.tile([0.0, 1.0], 5)
    values = np.array([math.log((11.0, 10.0)[place % 2 == 0]) + RIPPLE[place // 2] for place in range(10)])
    # by Frisch and Waugh: the side's coefficient is that of its residuals from time on the values' residuals from time
    left_side, left_values = (
        one - scipy.stats.linregress(hours, one).intercept - scipy.stats.linregress(hours, one).slope * hours for one in (sides, values)
    )
    slope = float(left_side @ left_values / (left_side @ left_side))
    rest = left_values - slope * left_side
    error = math.sqrt(float(rest @ rest) / 7.0 / float(left_side @ left_side))
    half = float(scipy.stats.t.ppf(0.975, 7)) * error
    assert (math.log(found.difference.low), math.log(found.difference.high)) == pytest.approx(
        (slope - half, slope + half),
        rel=1e-4,  # a launch is at its middle here, at its begin there
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "why"),
    [
        ([0, 1, 2, 3, 4], [5, 6, 7, 8, 9], "one after the other"),
        ([0, 1, 4, 5, 6], [2, 3, 7, 8, 9], "two sittings each"),
        ([0, 2, 4, 6, 8], [0.001, 2.001, 4.001, 6.001, 8.001], "at the same time"),
    ],
)
def test_what_was_not_made_alternately_is_two_sessions(ours: list[float], theirs: list[float], why: str) -> None:
    first, second = two(10.0, 11.0)
    assert wall(at_hours(first, "a", ours), at_hours(second, "b", theirs)).evidence == "assumed", why


def test_sittings_on_two_hosts_are_two_sessions() -> None:
    first, second = two(10.0, 11.0)
    elsewhere = with_manifest(
        at_hours(second, "b", [1, 3, 5, 7, 9]), "b", "environment", {"before": {"host": {"name": "bench-02"}}, "after": {}}
    )
    assert wall(at_hours(first, "a", [0, 2, 4, 6, 8]), elsewhere).evidence == "assumed"


def test_a_drift_is_not_taken_for_a_difference_of_alternating_sides() -> None:
    """Every hour 2 % slower, equal code: by pairs b would be slower by 2 %."""
    rise = [10.0 * math.exp(0.02 * hour) for hour in range(10)]
    first, second = (side(name, made(rise[start::2], day=1 + start)) for name, start in (("a", 0), ("b", 1)))
    found = wall(at_hours(first, "a", [0, 2, 4, 6, 8]), at_hours(second, "b", [1, 3, 5, 7, 9]))
    assert found.difference.value == pytest.approx(1.0, abs=1e-9)


# ---- the same numbers again ----------------------------------------------------------------------------------------------


def test_reproduce_takes_the_variation_between_sessions_from_the_same_place() -> None:
    first, second = two(10.0, 10.5)
    for days, state in ((Days(), "undecided"), (Days(assumed=0.001), "differs")):
        comparison = compare([first, second], force=True, days=days)
        assert reproduction(comparison, first, second, days=days).state == state
