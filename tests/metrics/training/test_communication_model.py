"""What does the model that knows the links predict?"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.metric import ALL
from fireassay.metrics.training.communication_model import (
    COMMUNICATION_WALL,
    COMMUNICATION_WALL_ERROR,
    FASTEST_WORKERS,
    PREDICTED_SCALED_SPEEDUP,
    SERIAL_FRACTION_APART,
)
from fireassay.metrics.training.scaling import SERIAL_FRACTION, SPEEDUP
from fireassay.stats.groups.stragglers import slowest_of
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated
from tests.metrics.scaling_records import only
from tests.simulated_made import LEVELS, TRUTH, cluster, record

# ---- communication_wall: the model's step time at each measured count.


def test_it_is_the_truth_at_every_count() -> None:
    """m(p) (0.05 + 0.95/p) + c(p), with a bandwidth and a latency that were measured."""
    values = COMMUNICATION_WALL.compute(record(), {})
    for p in LEVELS:
        value = estimated(values[f"workers={p}"])
        truth = slowest_of(p, TRUTH["jitter"]) * cluster().compute_s(p) + cluster().transfer_s(p)
        assert value.value == pytest.approx(truth, rel=0.02)
        assert value.low < value.value < value.high


def test_the_method_names_its_basis() -> None:
    value = estimated(COMMUNICATION_WALL.compute(record(), {})["workers=16"])
    assert "alpha 2" in value.method
    assert "in a sweep of sizes" in value.method


def test_without_links_it_is_absent() -> None:
    assert isinstance(COMMUNICATION_WALL.compute(Handmade(levels=(1, 2), blocks=1).measured(), {})["workers=2"], Absent)


# ---- communication_wall_error: small where the model holds, large where something sets in at the end.


def test_a_model_that_holds_is_not_far_off() -> None:
    found = estimated(only(COMMUNICATION_WALL_ERROR, record()))
    assert abs(found.value) < 0.03
    assert "at p = 16, predicted without it" in found.method
    assert len(found.launch_values) == 4


@pytest.mark.slow
def test_a_late_effect_is_visible() -> None:
    """Steps of 16 workers that take twice as long: half of what was measured is promised."""
    whole = record()
    last = whole.timed.filter(pl.col("workers") == 16)["launch"].implode()
    longer = pl.col("begin_ns") + 2 * (pl.col("end_ns") - pl.col("begin_ns"))
    steps = whole.table("steps").with_columns(pl.when(pl.col("launch").is_in(last)).then(longer).otherwise("end_ns").alias("end_ns"))
    found = estimated(only(COMMUNICATION_WALL_ERROR, replace(whole, tables={**whole.tables, "steps": steps})))
    assert found.value == pytest.approx(-0.5, abs=0.03)
    assert found.high < -0.4


def test_two_counts_leave_nothing_to_predict_from() -> None:
    assert absence(only(COMMUNICATION_WALL_ERROR, record(levels=(1, 4)))).reason == "insufficient"


# ---- fastest_workers: where the step is shortest by the known cluster.


@pytest.mark.slow
def test_it_is_where_the_known_cluster_has_its_shortest_step() -> None:
    """Latencies of 1 ms and 4 buckets: sqrt((0.95 - 0.16) / 8e-3) = 9.9, less what the scatter of the workers costs."""
    found = only(FASTEST_WORKERS, record(alpha_s=1e-3))
    times = {p: 1.0 * cluster(alpha_s=1e-3).compute_s(p) + cluster(alpha_s=1e-3).transfer_s(p) for p in range(1, 64)}
    best = min(times, key=lambda p: times[p])
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(best, abs=1)
    assert found.low <= best + 1
    assert not found.method.startswith("FLAGGED")


def test_far_beyond_what_was_measured_it_is_flagged() -> None:
    """sqrt((0.95 - 0.16) / 1.6e-4) = 70 workers, of 16 that were measured."""
    found = estimated(only(FASTEST_WORKERS, record()))
    assert found.value == pytest.approx(70, rel=0.1)
    assert found.method.startswith("FLAGGED, for it lies 4.")


@pytest.mark.slow
def test_a_step_that_only_gets_shorter_has_none() -> None:
    assert absence(only(FASTEST_WORKERS, record(alpha_s=1e-13, gradient=1e3, jitter=0.0, noise=0.0))).reason == "undefined"


def test_weak_scaling_has_none() -> None:
    assert isinstance(only(FASTEST_WORKERS, record(weak=True)), Absent)


# ---- predicted_scaled_speedup: Gustafson's, less what the links take.


def test_the_grown_work_over_the_grown_time() -> None:
    """(0.05 + 0.95 * 32) / (m(32) + c(32)): 30.45 / (1.042 + 0.160)."""
    found = estimated(only(PREDICTED_SCALED_SPEEDUP, record()))
    by_hand = (0.05 + 0.95 * 32) / (slowest_of(32, TRUTH["jitter"]) + cluster().transfer_s(32))
    assert found.value == pytest.approx(by_hand, rel=0.03)


def test_weak_scaling_is_predicted_as_it_was_measured() -> None:
    found = estimated(only(PREDICTED_SCALED_SPEEDUP, record(weak=True)))
    by_hand = 32 / (slowest_of(32, TRUTH["jitter"]) + cluster().transfer_s(32))
    assert found.value == pytest.approx(by_hand, rel=0.03)


def test_without_links_it_is_absent_predicted_scaled_speedup() -> None:
    assert isinstance(only(PREDICTED_SCALED_SPEEDUP, Handmade(levels=(1, 2), blocks=1).measured()), Absent)


# ---- serial_fraction_apart: the serial work alone, where Amdahl's fit takes communication for it.


def test_communication_is_not_taken_for_serial_work() -> None:
    found = estimated(only(SERIAL_FRACTION_APART, record()))
    assert found.value == pytest.approx(TRUTH["serial"], rel=0.10)
    assert found.low < TRUTH["serial"] < found.high
    times = {"speedup": SPEEDUP.compute(record(), {})}
    assert estimated(SERIAL_FRACTION.compute(record(), times)[ALL]).low > 2.0 * TRUTH["serial"]


def test_weak_scaling_cannot_tell() -> None:
    assert absence(only(SERIAL_FRACTION_APART, record(weak=True))).reason == "not_applicable"


@pytest.mark.slow
def test_one_block_bounds_nothing() -> None:
    assert estimated(only(SERIAL_FRACTION_APART, record(launches=1))).high == float("inf")


@pytest.mark.slow
def test_no_serial_work_at_all_is_still_no_exact_number() -> None:
    found = estimated(only(SERIAL_FRACTION_APART, record(serial=0.0)))
    assert 0.0 <= found.low <= found.value < 0.01
    assert found.high > found.low
