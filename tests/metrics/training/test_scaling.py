"""How much faster with more workers?"""

from __future__ import annotations

import math
from dataclasses import replace

import polars as pl
import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL
from fireassay.metrics.results import LazyResults
from fireassay.metrics.training.communication_model import FASTEST_WORKERS, PREDICTED_SCALED_SPEEDUP
from fireassay.metrics.training.scaling import (
    AMDAHL_CEILING,
    EFFICIENCY,
    KARP_FLATT,
    PREDICTED_SPEEDUP,
    SERIAL_FRACTION,
    SPEEDUP,
    SPEEDUP_WALL,
)
from fireassay.spec.experiment import Scaling
from fireassay.stats.groups.stragglers import slowest_of
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated
from tests.metrics.scaling_records import only, usl_record
from tests.simulated_made import TRUTH, cluster, record
from tests.verdict.making import good

# ---- speedup: time of the base over time of the configuration, per unit of work, inside each block.


def stepped(times: dict[tuple[int, int], float], **asked: object) -> Handmade:
    """A record with one launch per (workers, block) and its step time; 8 items a step in all."""
    made = Handmade(levels=tuple(sorted({w for w, _ in times})), blocks=1 + max(b for _, b in times), **asked)  # type: ignore[arg-type]
    for (workers, block), seconds in times.items():
        number = made.launch(workers=workers, block=block, wall_s=100.0)
        for rank in range(workers):
            made.steps(number, rank=rank, seconds=[seconds] * 5, items=8 / workers)
    return made


def test_a_drift_that_hits_both_sides_of_a_block_cancels() -> None:
    times = {(1, 0): 1.0, (2, 0): 0.5, (1, 1): 3.0, (2, 1): 1.5}
    value = estimated(SPEEDUP.compute(stepped(times).measured(), {})["workers=2"])
    assert (value.value, value.low, value.high) == (pytest.approx(2.0), pytest.approx(2.0), pytest.approx(2.0))


def test_the_interval_is_student_t_on_log_ratios_of_blocks() -> None:
    times = {(1, 0): 1.0, (2, 0): 1.0, (1, 1): 4.0, (2, 1): 1.0}
    value = estimated(SPEEDUP.compute(stepped(times).measured(), {})["workers=2"])
    assert value.value == pytest.approx(2.0)
    assert math.log(value.high / 2.0) == pytest.approx(12.7062047 * math.log(4.0) / 2.0, rel=1e-6)
    assert value.launch_values == (pytest.approx(1.0), pytest.approx(4.0))


def test_the_base_is_exactly_one_and_named_in_the_signature() -> None:
    values = SPEEDUP.compute(stepped({(1, 0): 1.0, (2, 0): 0.6}).measured(), {})
    base, other = estimated(values["workers=1"]), estimated(values["workers=2"])
    assert (base.value, base.low, base.high) == (1.0, 1.0, 1.0)
    assert "base:workers=1" in other.signature
    assert "basis:step" in other.signature


def test_weak_scaling_compares_time_per_unit_of_work() -> None:
    """Twice the work in 1.25 times the time is a speedup of 1.6."""
    made = Handmade(levels=(1, 2), blocks=1, scaling=Scaling(mode="weak"))
    one, two = made.launch(workers=1), made.launch(workers=2)
    made.steps(one, seconds=[1.0] * 5, items=8)
    for rank in range(2):
        made.steps(two, rank=rank, seconds=[1.25] * 5, items=8)
    assert estimated(SPEEDUP.compute(made.measured(), {})["workers=2"]).value == pytest.approx(1.6)


def test_without_steps_the_wall_time_is_compared_and_named() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=1, wall_s=9.0)
    made.launch(workers=2, wall_s=6.0)
    value = estimated(SPEEDUP.compute(made.measured(), {})["workers=2"])
    assert value.value == pytest.approx(1.5)
    assert "basis:wall" in value.signature


def test_only_blocks_that_hold_both_configurations_are_compared() -> None:
    times = {(1, 0): 1.0, (2, 0): 0.5, (1, 1): 7.0}
    assert estimated(SPEEDUP.compute(stepped(times).measured(), {})["workers=2"]).n_launches == 1
    apart = {(1, 0): 1.0, (2, 1): 0.5}
    assert isinstance(SPEEDUP.compute(stepped(apart).measured(), {})["workers=2"], Absent)


def test_steps_that_did_no_work_give_no_speedup() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    for workers in (1, 2):
        made.steps(made.launch(workers=workers), seconds=[1.0, 1.0], items=0.0)
    assert absence(SPEEDUP.compute(made.measured(), {})["workers=2"]).reason == "refused"


# ---- speedup_wall: what the user felt, start-up included.


def test_whole_runs_are_compared_even_if_steps_are_marked() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1, wall_s=12.0), seconds=[1.0] * 5)
    made.steps(made.launch(workers=2, wall_s=10.0), seconds=[0.5] * 5)
    assert estimated(SPEEDUP_WALL.compute(made.measured(), {})["workers=2"]).value == pytest.approx(1.2)


def test_weak_scaling_has_none_because_the_runs_differ_in_work() -> None:
    made = Handmade(levels=(1, 2), blocks=1, scaling=Scaling(mode="weak"))
    made.launch(workers=1)
    assert isinstance(SPEEDUP_WALL.compute(made.measured(), {})["workers=2"], Absent)


def test_epochs_of_the_same_data_are_the_same_work_although_the_batch_grows() -> None:
    """Nobody declared a mode: 8 items in each of 4 steps by one worker, 16 in each of 2 steps by two."""
    made = Handmade(levels=(1, 2), blocks=1)
    for workers, seconds, steps, items in ((1, 8.0, 4, 8.0), (2, 5.0, 2, 8.0)):
        number = made.launch(workers=workers, wall_s=seconds)
        for rank in range(workers):
            made.steps(number, rank=rank, seconds=[1.0] * steps, items=items)
    value = estimated(SPEEDUP_WALL.compute(made.measured(), {})["workers=2"])
    assert made.measured().mode == "weak"
    assert value.value == pytest.approx(8.0 / 5.0)


# ---- efficiency: speedup per worker, relative to the base.


def test_efficiency_is_speedup_over_workers_and_so_is_its_interval() -> None:
    made = Handmade(levels=(1, 4), blocks=2)
    for block, time in enumerate((0.5, 0.4)):
        made.launch(workers=1, block=block, wall_s=1.0)
        made.launch(workers=4, block=block, wall_s=time)
    measured = made.measured()
    results = {"speedup": SPEEDUP.compute(measured, {})}
    value, of = estimated(EFFICIENCY.compute(measured, results)["workers=4"]), estimated(results["speedup"]["workers=4"])
    assert (value.value, value.low, value.high) == pytest.approx((of.value / 4, of.low / 4, of.high / 4))


def test_a_base_of_two_workers_is_the_yardstick() -> None:
    made = Handmade(levels=(2, 4), blocks=1, scaling=Scaling(base=2))
    made.launch(workers=2, wall_s=1.0)
    made.launch(workers=4, wall_s=0.625)
    measured = made.measured()
    value = estimated(EFFICIENCY.compute(measured, {"speedup": SPEEDUP.compute(measured, {})})["workers=4"])
    assert value.value == pytest.approx(0.8)  # 1.6 x 2 / 4


def test_without_a_speedup_there_is_no_efficiency() -> None:
    measured = Handmade(levels=(1, 2)).measured()
    value = EFFICIENCY.compute(measured, {"speedup": SPEEDUP.compute(measured, {})})["workers=2"]
    assert isinstance(value, Absent)


def test_more_workers_that_are_slower_than_one_have_no_serial_fraction() -> None:
    """S(2) = 0.8: s = (1/0.8 - 1/2) / (1 - 1/2) = 1.5."""
    results = LazyResults(good(levels=(1, 2), efficiency={2: 0.4}).measured())
    for value in (results["serial_fraction"][ALL], results["amdahl_ceiling"][ALL], results["karp_flatt"]["workers=2"]):
        assert isinstance(value, Absent)
        assert value.detail == "slower than the base: no serial fraction explains it (s = 1.5 is above 1)"


def test_no_serial_fraction_reaches_beyond_all_of_the_time() -> None:
    """Speedups of 1.25 and 0.9: the intervals over two rounds would end far above 1."""
    measured = stepped({(1, 0): 1.0, (2, 0): 0.8, (1, 1): 0.9, (2, 1): 1.0}).measured()
    results = LazyResults(measured)
    for value in (results["serial_fraction"][ALL], results["karp_flatt"]["workers=2"]):
        assert estimated(value).value < estimated(value).high == 1.0
    assert estimated(results["amdahl_ceiling"][ALL]).low == 1.0


# ---- serial_fraction: Amdahl's law by least squares, block by block.

REFERENCE = {1: 3600.0, 2: 1880.0, 4: 1010.0, 8: 560.0, 16: 340.0, 32: 250.0}  # docs/definitions.md


def fitted(made: Handmade) -> object:
    measured = made.measured()
    return SERIAL_FRACTION.compute(measured, {"speedup": SPEEDUP.compute(measured, {})})[ALL]


def test_the_reference_table_gives_its_documented_fraction() -> None:
    made = Handmade(levels=tuple(REFERENCE), blocks=1)
    for workers, seconds in REFERENCE.items():
        made.launch(workers=workers, wall_s=seconds)
    value = estimated(fitted(made))
    assert round(value.value, 4) == 0.0376
    assert math.isinf(value.high)  # one block has no spread


def test_perfect_amdahl_data_give_the_fraction_back_in_every_block() -> None:
    made = Handmade(levels=(1, 2, 4), blocks=3)
    for block in range(3):
        for workers in (1, 2, 4):
            made.launch(workers=workers, block=block, wall_s=(1 + block) * (0.2 + 0.8 / workers))
    value = estimated(fitted(made))
    assert (value.value, value.low, value.high) == pytest.approx((0.2, 0.2, 0.2))


@pytest.mark.parametrize(
    "made",
    [
        Handmade(levels=(2, 4), scaling=Scaling(base=2)),
        Handmade(levels=(1, 2), scaling=Scaling(mode="weak")),
        Handmade(levels=(1,)),
        Handmade(levels=(1, 2)),
    ],
)
def test_cases_outside_amdahls_law_are_absent(made: Handmade) -> None:
    assert isinstance(fitted(made), Absent)


def test_a_block_whose_speedup_is_no_number_is_left_out_of_the_fit() -> None:
    made = Handmade(levels=(1, 2), blocks=2)
    for block in range(2):
        for workers in (1, 2):
            number = made.launch(workers=workers, block=block)
            for rank in range(workers):
                almost_none = 2e-309 if (workers, block) == (2, 0) else 1.0  # a second each: beyond what a float holds
                made.steps(number, rank=rank, seconds=[1.0] * 40, items=almost_none)
    assert len(estimated(fitted(made)).launch_values) == 1


# ---- amdahl_ceiling: 1/s, and no ceiling where the data show none.


def serial(value: float, low: float, high: float) -> Estimate:
    return Estimate(value=value, low=low, high=high, unit="fraction", confidence=0.95, n_launches=5, n_trials=15, method="m", signature="s")


def ceiling(value: Estimate | Absent) -> Estimate | Absent:
    found = AMDAHL_CEILING.compute(Handmade().measured(), {"serial_fraction": {ALL: value}})[ALL]
    assert isinstance(found, Estimate | Absent)
    return found


def test_the_ceiling_is_the_inverse_with_its_ends_swapped() -> None:
    found = estimated(ceiling(serial(0.0376, 0.03, 0.05)))
    assert (round(found.value, 1), found.low, found.high) == (26.6, pytest.approx(20.0), pytest.approx(1 / 0.03))


def test_a_fraction_that_may_be_zero_bounds_the_ceiling_from_below_only() -> None:
    found = estimated(ceiling(serial(0.02, -0.01, 0.05)))
    assert (found.low, found.high) == (pytest.approx(20.0), math.inf)


def test_no_serial_part_no_ceiling() -> None:
    assert isinstance(ceiling(serial(-0.01, -0.02, 0.0)), Absent)
    assert isinstance(ceiling(Absent(reason="insufficient", detail="d")), Absent)


# ---- karp_flatt: the serial fraction that each worker count shows on its own.


def test_the_reference_table_gives_the_fraction_of_its_last_row() -> None:
    """3600 s on 1 and 250 s on 32 workers: e = (250/3600 - 1/32) / (1 - 1/32) = 0.0394265."""
    made = Handmade(levels=(1, 32), blocks=2)
    for block in range(2):
        made.launch(workers=1, block=block, wall_s=3600.0)
        made.launch(workers=32, block=block, wall_s=250.0)
    measured = made.measured()
    values = KARP_FLATT.compute(measured, {"speedup": SPEEDUP.compute(measured, {})})
    value = estimated(values["workers=32"])
    assert value.value == pytest.approx(0.0394265, abs=1e-7)
    assert isinstance(values["workers=1"], Absent)
    assert value.low <= value.value <= value.high


# ---- predicted_speedup: by the links where they are known, by a law where they are not, refused where neither carries it.


def blind(measured: RecordData) -> RecordData:
    """The same record with no collective seen."""
    return replace(measured, tables={**measured.tables, "collectives": measured.table("collectives").clear()})


def truth(p: int) -> float:
    return 1.0 / (slowest_of(p, TRUTH["jitter"]) * cluster().compute_s(p) + cluster().transfer_s(p))


def test_twice_the_workers_are_predicted_by_the_links() -> None:
    found = estimated(only(PREDICTED_SPEEDUP, record()))
    assert found.value == pytest.approx(truth(32), rel=0.03)
    assert found.low < truth(32) < found.high
    assert "FLAGGED" not in found.method


def test_two_counts_are_enough_with_the_links_and_flagged() -> None:
    found = estimated(only(PREDICTED_SPEEDUP, record(levels=(1, 4))))
    assert found.value == pytest.approx(truth(8), rel=0.05)
    assert found.method.startswith("FLAGGED, for it rests on 2 worker counts")


def test_without_the_links_fewer_than_four_counts_are_refused() -> None:
    found = absence(only(PREDICTED_SPEEDUP, blind(record(levels=(1, 4)))))
    assert found.reason == "refused"
    assert "fewer than 4" in found.detail


def test_without_the_links_a_law_speaks_that_knows_nothing_of_them() -> None:
    """Amdahl with alpha = 0.1: S(16) = 16 / (1 + 0.1 * 15) = 6.4."""
    found = estimated(only(PREDICTED_SPEEDUP, usl_record((1, 2, 4, 8), alpha=0.1, beta=0.0)))
    assert found.value == pytest.approx(6.4, rel=0.01)
    assert "without knowing the links" in found.method


def test_hidden_communication_is_given_with_its_bound() -> None:
    assert "if nothing were hidden there" in estimated(only(PREDICTED_SPEEDUP, record(overlap=0.2))).method


@pytest.mark.slow
def test_a_model_that_misses_the_largest_count_predicts_nothing() -> None:
    """Steps of 16 workers that take twice as long: the others miss them by a half."""
    whole = record()
    last = whole.timed.filter(pl.col("workers") == 16)["launch"].implode()
    longer = pl.col("begin_ns") + 2 * (pl.col("end_ns") - pl.col("begin_ns"))
    steps = whole.table("steps").with_columns(pl.when(pl.col("launch").is_in(last)).then(longer).otherwise("end_ns").alias("end_ns"))
    missed = replace(whole, tables={**whole.tables, "steps": steps})
    for metric in (PREDICTED_SPEEDUP, FASTEST_WORKERS, PREDICTED_SCALED_SPEEDUP):
        found = absence(only(metric, missed))
        assert found.reason == "refused"
        assert "fitted without 16 workers, the model of communication misses them by" in found.detail
