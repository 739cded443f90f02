"""How long does a call take, and how much memory?"""

from __future__ import annotations

import math

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.per_launch import counted, outliers
from fireassay.metrics.calls import TRIAL_CPU_TIME, TRIAL_MEMORY, TRIAL_TIME
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated
from tests.metrics.trials_made import timing, trials

# ---- trial_time: the median of a launch's counted trials, then Student t on the logs over launches.


def time_of(made: Handmade) -> Estimate:
    return estimated(TRIAL_TIME.compute(made.measured(), {})["workers=1"])


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
    assert absence(TRIAL_TIME.compute(made.measured(), {})["workers=1"]).reason == "not_applicable"


def test_a_timing_without_a_counted_trial_is_not_measured() -> None:
    assert absence(TRIAL_TIME.compute(timing([1.0], [1.0], warm_up=1).measured(), {})["workers=1"]).reason == "not_measured"


# ---- trial_cpu_time: user and kernel time of one call, the mean of a launch, then over launches.


def test_user_and_kernel_time_are_added_and_ticks_of_zero_do_not_refuse_it() -> None:
    made = Handmade(levels=(1,), blocks=2)
    for block in range(2):
        number = made.launch(workers=1, block=block)
        trials(made, number, [1.0], user_s=0.0, system_s=0.0)
        trials(made, number, [1.0], user_s=0.5, system_s=0.25)
    assert estimated(TRIAL_CPU_TIME.compute(made.measured(), {})["workers=1"]).value == pytest.approx(0.375)  # (0 + 0.75) / 2


def test_an_unreported_time_is_not_zero() -> None:
    made = Handmade(levels=(1,), blocks=1)
    trials(made, made.launch(workers=1), [1.0], user_s=None, system_s=None)
    assert isinstance(TRIAL_CPU_TIME.compute(made.measured(), {})["workers=1"], Absent)


# ---- trial_memory: the largest resident set of a call, the median of a launch, then over launches.


def test_the_median_of_a_launch_then_the_geometric_mean() -> None:
    made = Handmade(levels=(1,), blocks=2)
    for block, size in enumerate((1_000_000, 4_000_000)):
        number = made.launch(workers=1, block=block)
        for rss in (size, size, 10 * size):
            trials(made, number, [1.0], rss=rss)
    assert estimated(TRIAL_MEMORY.compute(made.measured(), {})["workers=1"]).value == pytest.approx(2_000_000)


def test_unreported_memory_is_not_zero() -> None:
    made = Handmade(levels=(1,), blocks=1)
    trials(made, made.launch(workers=1), [1.0])
    assert isinstance(TRIAL_MEMORY.compute(made.measured(), {})["workers=1"], Absent)


@pytest.mark.parametrize(("size", "told"), [(10_000_000, False), (10_150_000, False), (20_000_000, True)])
def test_the_starters_own_memory_is_a_bound_only(size: int, told: bool) -> None:
    made = Handmade(levels=(1,), blocks=2)
    for block in range(2):
        number = made.launch(workers=1, block=block)
        trials(made, number, [1.0], rss=size)
        made.rows["telemetry"].append((number, made.begin[number], "h", "spawn", "start_rss", 1e7, "B", "self"))
    value = TRIAL_MEMORY.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate) is told
    if isinstance(value, Absent):
        assert value.detail == "at most 10 MB, the memory of assay's starter itself"
