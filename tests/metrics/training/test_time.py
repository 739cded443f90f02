"""How long are steps and runs?"""

from __future__ import annotations

import math
from itertools import accumulate

import numpy as np
import pytest

from fireassay.estimates.estimate import Absent
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.time import (
    INSTRUMENT_OVERHEAD,
    STEP_AUTOCORRELATION,
    STEP_TIME,
    STEP_TIME_P50,
    STEP_TIME_P95,
    STEP_TIME_P99,
    THROUGHPUT,
    WALL_TIME,
)
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated

# ---- step_time: the slowest rank's time, median over steps, then over launches.


def test_a_launch_is_the_median_step_of_the_slowest_rank() -> None:
    made = Handmade(levels=(2,), blocks=2)
    for block in range(2):
        number = made.launch(workers=2, block=block)
        made.steps(number, rank=0, seconds=[1.0, 2.0, 3.0])
        made.steps(number, rank=1, seconds=[1.5, 1.0, 3.5])
    value = estimated(STEP_TIME.compute(made.measured(), {})["workers=2"])
    assert value.launch_values == (2.0, 2.0)  # steps of 1.5, 2.0 and 3.5 s
    assert value.n_trials == 6


def test_a_checkpoint_inside_a_step_is_not_step_time() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[3.0, 3.0, 3.0], checkpoint_s=1.0)
    assert estimated(STEP_TIME.compute(made.measured(), {})["workers=1"]).value == 2.0


def test_a_step_done_again_after_a_restart_counts_in_its_last_version() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.steps(number, seconds=[1.0, 1.0, 9.0])
    made.steps(number, seconds=[1.0], first=2, start_s=20.0, incarnation=1)
    value = estimated(STEP_TIME.compute(made.measured(), {})["workers=1"])
    assert (value.value, value.n_trials) == (1.0, 3)


def test_a_script_without_marked_steps_has_no_step_time() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert "probe.steps" in absence(STEP_TIME.compute(made.measured(), {})["workers=1"]).detail


def test_failed_and_fault_launches_never_enter_a_timing() -> None:
    made = Handmade(levels=(1,), blocks=3)
    for role, status, seconds in (("timed", "ok", 1.0), ("timed", "failed", 50.0), ("fault", "ok", 70.0)):
        made.steps(made.launch(workers=1, role=role, status=status), seconds=[seconds] * 3)
    assert estimated(STEP_TIME.compute(made.measured(), {})["workers=1"]).launch_values == (1.0,)


# ---- percentiles: quantiles of the pooled steady steps; what all percentiles share is in test_percentiles.py.


@pytest.mark.parametrize(("metric", "p"), [(STEP_TIME_P50, 0.50), (STEP_TIME_P95, 0.95), (STEP_TIME_P99, 0.99)])
def test_it_is_the_quantile_of_all_steps_and_not_of_the_launches(metric: Metric, p: float) -> None:
    """Steps of 1 ... 2000 ms dealt out at random to 4 launches: the linear quantile is 1 + p x 1999 ms."""
    made, steps = Handmade(levels=(1,), blocks=4), np.random.default_rng(2).permutation(2000) + 1
    for block, times in enumerate(np.split(steps, 4)):
        made.steps(made.launch(workers=1, block=block), seconds=list(times / 1e3))
    value = estimated(metric.compute(made.measured(), {})["workers=1"])
    assert value.value == pytest.approx((1 + p * 1999) / 1e3)
    assert value.low < value.value < value.high
    assert value.signature.startswith(f"{metric.name}|agg:pooled|ci:cluster-woodruff|k:4|")


# ---- step_autocorrelation: the autocorrelation time of the steps of a launch, then over launches.


def recorded(coefficient: float, *, steps: int = 3000, blocks: int = 5, apart: float = 0.0) -> Handmade:
    """AR(1) steps round 10 s, launches `apart` seconds apart."""
    made, rng = Handmade(levels=(1,), blocks=blocks), np.random.default_rng(4)
    for block in range(blocks):
        noise = accumulate(rng.normal(0, 0.01, steps), lambda last, e: coefficient * last + e)
        made.steps(made.launch(workers=1, block=block), seconds=[10.0 + apart * block + x for x in noise])
    return made


@pytest.mark.slow
@pytest.mark.parametrize(("coefficient", "tau"), [(0.0, 1.0), (0.5, 3.0), (0.8, 9.0)])
def test_it_is_the_known_time_of_ar1(coefficient: float, tau: float) -> None:  # (1 + f)/(1 - f)
    value = estimated(STEP_AUTOCORRELATION.compute(recorded(coefficient).measured(), {})["workers=1"])
    assert value.value == pytest.approx(tau, rel=0.15)
    assert value.low <= value.value <= value.high
    assert (value.unit, value.n_launches, len(value.launch_values)) == ("steps", 5, 5)


@pytest.mark.slow
def test_launches_at_different_levels_are_not_memory_inside_a_launch() -> None:
    value = estimated(STEP_AUTOCORRELATION.compute(recorded(0.0, apart=1.0).measured(), {})["workers=1"])
    assert value.value == pytest.approx(1.0, rel=0.15)


def test_launches_of_a_few_steps_show_none() -> None:
    value = absence(STEP_AUTOCORRELATION.compute(recorded(0.0, steps=19).measured(), {})["workers=1"])
    assert (value.reason, "a launch has 19" in value.detail) == ("insufficient", True)


def test_without_marked_steps_or_launches_it_is_not_measured() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1)
    values = STEP_AUTOCORRELATION.compute(made.measured(), {})
    assert [value.reason for value in values.values() if isinstance(value, Absent)] == ["not_measured"] * 2


# ---- throughput: items of all ranks over the time of the steps; a ratio of sums, never a mean of rates.


def test_rates_are_summarised_by_sums_and_not_by_their_mean() -> None:
    """Hoefler & Belli rule 3: 10, 100 and 40 s for 100 each is 300 / 150 = 2 per second, not 4.5."""
    made = Handmade(levels=(1,), blocks=1)
    made.steps(made.launch(workers=1), seconds=[10.0, 100.0, 40.0], items=100)
    assert estimated(THROUGHPUT.compute(made.measured(), {})["workers=1"]).value == pytest.approx(2.0)


def test_items_of_all_ranks_count() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[2.0, 2.0, 2.0], items=5)
    assert estimated(THROUGHPUT.compute(made.measured(), {})["workers=2"]).value == pytest.approx(5.0)


def test_items_of_one_rank_unknown_makes_the_step_unknown() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[2.0, 2.0], items=5)
    made.steps(number, rank=1, seconds=[2.0, 2.0])
    assert isinstance(THROUGHPUT.compute(made.measured(), {})["workers=2"], Absent)


# ---- wall_time: from the launcher's start until its last process is gone.


def test_the_interval_is_student_t_on_the_logs_of_the_launches() -> None:
    made = Handmade(levels=(1,), blocks=2)
    made.launch(workers=1, block=0, wall_s=1.0)
    made.launch(workers=1, block=1, wall_s=4.0)
    value = estimated(WALL_TIME.compute(made.measured(), {})["workers=1"])
    assert value.value == pytest.approx(2.0)  # geometric mean
    # half-width on the log scale: t(.975, 1 df) = 12.7062; sd of (ln 1, ln 4) = ln 4 / sqrt 2; / sqrt 2
    half = 12.7062047 * math.log(4.0) / 2.0
    assert math.log(value.high / value.value) == pytest.approx(half, rel=1e-6)


def test_one_launch_has_no_interval_and_no_launch_no_value() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1, wall_s=3.0)
    values = WALL_TIME.compute(made.measured(), {})
    one = estimated(values["workers=1"])
    assert (one.value, one.low, one.high) == (pytest.approx(3.0), 0.0, math.inf)
    assert isinstance(values["workers=2"], Absent)


# ---- instrument_overhead: what the probe says of itself, as a share of the step.


def test_the_dearest_rank_is_compared_with_the_median_step() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, seconds=[0.001] * 5)
    for cost in (4000.0, 5000.0):
        made.reading(number, "probe", "cost_per_step", cost, unit="ns", method="self")
    assert estimated(INSTRUMENT_OVERHEAD.compute(made.measured(), {})["workers=2"]).value == pytest.approx(0.005)


def test_what_its_own_clock_misses_is_in_the_upper_bound() -> None:
    """Pairs of runs of a step of 0.42 ms: 0.116 to 0.188 ms where the clock says 9.67 %, or 0.041 ms."""
    made = Handmade(levels=(1,), blocks=2)
    for block in range(2):
        number = made.launch(workers=1, block=block)
        made.steps(number, seconds=[0.00042] * 20)
        made.reading(number, "probe", "cost_per_step", 40_600.0, unit="ns", method="self")
    found = estimated(INSTRUMENT_OVERHEAD.compute(made.measured(), {})["workers=1"])
    assert found.value == pytest.approx(0.0967, rel=0.01)
    assert found.low <= 0.116 / 0.42 < 0.188 / 0.42 <= found.high <= 0.5


def test_a_bound_above_half_a_step_is_none() -> None:
    made = Handmade(levels=(1,), blocks=2)
    for block in range(2):
        number = made.launch(workers=1, block=block)
        made.steps(number, seconds=[0.00042] * 20)
        made.reading(number, "probe", "cost_per_step", 90_600.0, unit="ns", method="self")
    assert estimated(INSTRUMENT_OVERHEAD.compute(made.measured(), {})["workers=1"]).high == math.inf


def test_without_the_probe_it_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(INSTRUMENT_OVERHEAD.compute(made.measured(), {})["workers=1"], Absent)
