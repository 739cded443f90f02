"""Does the word of a change say what a person would say, in the unit that the change has?"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from fireassay import catalog
from fireassay.estimates.estimate import Estimate
from fireassay.metrics.metric import Metric
from fireassay.stats.comparing.comparison import compare_paired
from fireassay.verdict.comparison.phrases import (
    apart_text,
    change_column,
    change_text,
    detectable_text,
    direction_word,
    needed_text,
    probability_text,
    shortened,
    values_apart,
)
from fireassay.verdict.comparison.types import Change
from tests.verdict.comparing import complete, side

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def change() -> Change:
    made = side("A", complete())
    value = made.judgement.results["throughput"]["workers=2"]
    return Change(
        metric="throughput",
        configuration="workers=2",
        side="B",
        outcome="improved",
        word="faster",
        baseline=value,
        value=value,
        ratio=1.1,
        low=1.05,
        high=1.15,
        p_value=0.01,
        p_adjusted=0.01,
        minimum_detectable_effect=0.03,
        launches_needed=None,
        primary=True,
        method="",
        sentence="",
    )


@pytest.mark.parametrize(
    ("metric", "up", "down"),
    [
        ("throughput", "faster", "slower"),
        ("step_time", "slower", "faster"),
        ("cost", "dearer", "cheaper"),
        ("items_per_dollar", "cheaper", "dearer"),
        ("energy", "more energy", "less energy"),
        ("efficiency", "higher", "lower"),
        ("cost_per_item", "dearer", "cheaper"),
        ("energy_per_item", "more energy", "less energy"),
    ],
)
def test_the_word_follows_the_unit(metric: str, up: str, down: str) -> None:
    known: Metric = catalog.load("metrics", metric)
    assert (direction_word(known, "higher"), direction_word(known, "lower")) == (up, down)


def test_memory_is_more_or_less() -> None:
    memory = replace(catalog.load("metrics", "step_time"), unit="B")
    assert (direction_word(memory, "higher"), direction_word(memory, "lower")) == ("more memory", "less memory")


@pytest.mark.parametrize(
    ("ratio", "low", "high", "text"),
    [
        (1.1, 1.05, 1.15, "+10.0 % [5.0, 15.0]"),
        (0.909, 0.889, 0.929, "−9.1 % [−11.1, −7.1]"),
        (3.6, 3.5, 3.7, "3.60 times [3.50, 3.70]"),
        (0.943, 0.64, 1.38, "−5.7 % [−36, 38]"),
        (1.0123, 1.00004, 1.025, "+1.2 % [0.0040, 2.5]"),
        (2.4, 1.004, 5.9, "2.4 times [1.004, 5.9]"),
        (0.25, 0.24, 0.26, "0.250 times [0.240, 0.260]"),
        (1.0, 0.98, 1.02, "0.0 % [−2.0, 2.0]"),
        (1.1, 0.0, math.inf, "+10.0 % (no interval: the data bound neither side)"),
        (3.1, 0.0, math.inf, "3.10 times (no interval: the data bound neither side)"),
        (1.0 + 1e-15, 1.0 - 1e-12, 1.0 + 1e-12, "0 % [0, 0]"),
    ],
)
def test_a_change_is_said_in_per_cent_and_beyond_double_in_times(change: Change, ratio: float, low: float, high: float, text: str) -> None:
    assert change_text(replace(change, ratio=ratio, low=low, high=high)).startswith(text)


def test_without_a_ratio_the_difference_is_said_in_the_metrics_unit(change: Change) -> None:
    different = replace(change, ratio=None, difference=-0.5, low=-0.7, high=-0.3)
    assert change_text(different) == "difference −0.50/s [−0.70, −0.30]"
    assert change_text(replace(change, ratio=None, low=None, high=None)) == ""


def test_what_could_have_been_found_is_always_said(change: Change) -> None:
    assert detectable_text(change) == "detectable change 3 %"
    assert "too few launches to detect any change" in detectable_text(replace(change, minimum_detectable_effect=None))


def test_needed_launches_and_probabilities(change: Change) -> None:
    assert (needed_text(change), needed_text(replace(change, launches_needed=7))) == ("", "about 7 launches per side would decide")
    assert [probability_text(p) for p in (None, 0.0001, 0.0321)] == ["", "p < 0.001", "p = 0.0321"]


def test_a_long_value_loses_its_middle() -> None:
    assert shortened("x" * 61) == "x" * 40 + "…" + "x" * 18
    assert shortened("short") == "short"


@pytest.mark.parametrize(
    ("ratio", "low", "high", "shown"), [(3.6, 3.5, 3.7, ("+260 %", "[250, 270]")), (0.25, 0.24, 0.26, ("−75.0 %", "[−76.0, −74.0]"))]
)
def test_a_column_of_changes_has_one_unit(change: Change, ratio: float, low: float, high: float, shown: tuple[str, str]) -> None:
    assert change_column(replace(change, ratio=ratio, low=low, high=high)) == shown


def test_two_estimators_that_point_opposite_ways_are_named(change: Change) -> None:
    """120 and 119 over all launches together, +2.0 % from launch to launch: one page may not say both and keep quiet."""
    assert isinstance(change.value, Estimate)
    a, b = (replace(change.value, value=value, low=100.0, high=140.0) for value in (120.0, 119.0))
    up = replace(change, baseline=a, value=b, ratio=1.02, low=0.98, high=1.06)
    assert apart_text(up).startswith("two estimators disagree on the sign, so it is not known: 120")
    assert apart_text(up).endswith("launch by launch")
    assert apart_text(replace(up, ratio=0.98)) == ""
    assert apart_text(replace(up, value=a)) == ""
    assert apart_text(replace(up, value=replace(a, value=120.0 * (1.0 - 1e-12)))) == ""  # a residue of rounding is no change


@pytest.mark.parametrize(
    ("b", "ratio", "named"), [(119.0, 1.02, True), (121.0, 0.98, True), (121.0, 1.02, False), (119.0, math.nan, False)]
)
def test_estimators_of_a_difference_are_held_against_each_other_as_those_of_a_change(
    change: Change, b: float, ratio: float, named: bool
) -> None:
    assert isinstance(change.value, Estimate)
    first, second = (replace(change.value, value=value, low=100.0, high=140.0) for value in (120.0, b))
    found = replace(compare_paired([1.0] * 3, [1.0, 1.01, 0.99], 0.95), value=ratio)
    assert values_apart(first, second, found).startswith("two estimators disagree on the sign") is named
    assert values_apart(first, second, None) == values_apart(None, second, found) == ""
