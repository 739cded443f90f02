"""trial_time: the median of a launch's counted trials, then Student t on the logs over launches."""

from __future__ import annotations

import math

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.frames.trials import counted, outliers
from assay.metrics.trial_time import METRIC
from tests.handmade import Handmade
from tests.metrics.trials_made import timing


def time_of(made: Handmade) -> Estimate:
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    return value


def test_a_launch_counts_by_its_median_and_launches_by_student_t_on_logs() -> None:
    value = time_of(timing([1.0, 1.0, 9.0], [4.0, 4.0, 0.5]))
    assert value.launch_values == (1.0, 4.0)
    assert value.value == pytest.approx(2.0)  # geometric mean of the medians 1 and 4
    # half-width on the log scale: t(.975, 1 df) = 12.7062; sd of (ln 1, ln 4) = ln 4 / sqrt 2; / sqrt 2
    assert math.log(value.high / value.value) == pytest.approx(12.7062047 * math.log(4.0) / 2.0, rel=1e-6)
    assert value.n_trials == 6


def test_warm_up_is_never_counted() -> None:
    value = time_of(timing([50.0, 2.0, 2.0], [70.0, 2.0, 2.0], warm_up=1))
    assert value.value == pytest.approx(2.0)
    assert value.n_trials == 4


def test_the_time_of_one_call_is_that_of_a_trial_over_its_calls() -> None:
    assert time_of(timing([0.001, 0.001], [0.001, 0.001], calls=1000)).value == pytest.approx(0.001)


def test_a_warm_up_that_the_series_shows_is_left_out_too() -> None:
    # 10 slow trials, then 60 that differ by at most 0.2 %: the level is 1.0.
    series = [3.0] * 10 + [1.0 + 0.001 * (-1) ** i for i in range(60)]
    made = timing(series, series)
    assert counted(made.measured()).group_by("launch").len()["len"].to_list() == [60, 60]


def test_a_series_that_gets_slower_counts_as_a_whole() -> None:
    series = [1.0 + 0.0005 * (-1) ** i for i in range(30)] + [2.0 + 0.0005 * (-1) ** i for i in range(30)]
    assert counted(timing(series).measured()).height == 60


def test_outliers_are_counted_and_stay() -> None:
    # median 1.0, MAD 0.01: 10 x 1.4826 x 0.01 = 0.148 above the median is the limit
    made = timing([0.99, 1.0, 1.01, 0.99, 1.01, 1.0, 1.14, 1.16])
    rows = counted(made.measured())
    assert rows.height == 8
    assert outliers(rows) == 1


def test_a_record_of_another_kind_has_no_time_of_a_call() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Absent)
    assert value.reason == "not_applicable"


def test_a_timing_without_a_counted_trial_is_not_measured() -> None:
    value = METRIC.compute(timing([1.0], [1.0], warm_up=1).measured(), {})["workers=1"]
    assert isinstance(value, Absent)
    assert value.reason == "not_measured"
