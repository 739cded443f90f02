"""What does a fault cost a training: goodput, dollars, joules?"""

from __future__ import annotations

from datetime import date

import pytest

from fireassay.estimates.estimate import Absent
from fireassay.frames.training.rank_time import CATEGORIES
from fireassay.metrics.training.faults import COST_LOST, ENERGY_LOST, TRAINING_GOODPUT, TRAINING_GOODPUT_FAULT, partition
from fireassay.spec.experiment import Prices
from tests.handmade import Handmade
from tests.metrics.clocks_made import on_two_hosts, run_from_there
from tests.metrics.narrow import absence, estimated
from tests.struck import struck

# ---- training_goodput: productive rank-seconds over all rank-seconds of the timed launches.


def test_steps_less_data_and_checkpoints_are_productive() -> None:
    """2 workers x 20 s; 5 steps of 2 s on both, of each 0.5 s data and 0.5 s checkpoint: 2 x 5 x 1 of 40."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, wall_s=20.0)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[2.0] * 5, phases_s={"data": 0.5}, checkpoint_s=0.5)
    assert estimated(TRAINING_GOODPUT.compute(made.measured(), {})["workers=2"]).value == pytest.approx(0.25)


def test_the_categories_sum_to_all_rank_seconds() -> None:
    """See `struck`: begin 0, steps from 3 s, fault 10 s, noticed 10.5, started 13 and 14, first step 15 s, last until 19 s, end 20 s."""
    made = struck()
    made.event(0, "evaluation", 19.0, rank=0, incarnation=1, duration_s=0.5)
    made.event(0, "worker_end", 19.75, rank=0, incarnation=1)
    made.event(0, "worker_end", 19.0, rank=1, incarnation=1)
    parts = partition(made.measured(), "fault").row(0, named=True)
    assert sum(parts[name] for name in CATEGORIES) == pytest.approx(40.0)  # 2 workers x 20 s
    told = {name: parts[name] for name in CATEGORIES if parts[name]}
    assert told == {
        "productive": pytest.approx(16.0),  # steps 0-7 once, on two ranks
        "recompute": pytest.approx(6.0),  # steps 4-6 were done once for nothing
        "init": pytest.approx(6.0),
        "detect": pytest.approx(1.0),
        "restart": pytest.approx(2.5 + 3.5),
        "reload": pytest.approx(2.0 + 1.0),
        "evaluation": pytest.approx(0.5),
        "unknown": pytest.approx(0.25),
        "idle": pytest.approx(0.25 + 1.0),
    }


def test_without_marked_steps_it_is_absent() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(TRAINING_GOODPUT.compute(made.measured(), {})["workers=1"], Absent)


# ---- training_goodput_fault: the same with a killed worker.


def test_steps_done_again_are_productive_once() -> None:
    value = estimated(TRAINING_GOODPUT_FAULT.compute(struck().measured(), {})["workers=2"])
    assert value.value == pytest.approx(0.4)  # 8 steps x 2 ranks of 2 x 20 s


def test_timed_launches_do_not_enter() -> None:
    made = Handmade(levels=(2,), blocks=1)
    made.steps(made.launch(workers=2), seconds=[1.0] * 3)
    assert isinstance(TRAINING_GOODPUT_FAULT.compute(made.measured(), {})["workers=2"], Absent)


def test_a_fault_launch_in_which_no_fault_struck_does_not_enter() -> None:
    made = struck()
    number = made.launch(workers=2, role="fault", wall_s=10.0)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[1.0] * 10)  # a goodput of 1.0
    value = estimated(TRAINING_GOODPUT_FAULT.compute(made.measured(), {})["workers=2"])
    assert value.value == pytest.approx(0.4)
    assert value.n_launches == 1


def test_hosts_with_uncompared_clocks_have_no_goodput_of_zero() -> None:
    value = absence(TRAINING_GOODPUT_FAULT.compute(on_two_hosts(-300.0, looks=0).measured(), {})["workers=2"])
    assert "clock of there" in value.detail


# ---- cost_lost: the rank-seconds that a fault cost, at the price of a worker.


def priced(made: Handmade) -> Handmade:
    prices = Prices(usd_per_worker_hour=3600.0, as_of=date(2026, 1, 1), source="test")
    made.experiment = made.experiment.model_copy(update={"prices": prices})
    return made


def test_detection_restart_reload_and_what_was_done_again_at_a_dollar_a_second() -> None:
    """See `struck`: on two ranks detect .5 each, restart 2.5 and 3.5, reload 2 and 1, three steps of 1 s done again: 16 rank-seconds."""
    assert estimated(COST_LOST.compute(priced(struck()).measured(), {})["workers=2"]).value == pytest.approx(16.0)


def test_a_stop_costs_what_it_added_to_the_steps() -> None:
    made = priced(Handmade(levels=(2,), blocks=1))
    made.launch(workers=2, role="fault", wall_s=12.0)
    for rank in (0, 1):
        made.steps(0, rank=rank, seconds=[1.0, 1.0, 4.0, 1.0, 1.0])
    made.event(0, "fault", 2.5, rank=1, incarnation=0)
    made.event(0, "fault_end", 5.5, rank=1, incarnation=0)
    value = estimated(COST_LOST.compute(made.measured(), {})["workers=2"])
    assert value.value == pytest.approx(6.0)  # both ranks stood still for 3 s


def test_without_prices_or_without_a_fault_it_is_absent() -> None:
    assert isinstance(COST_LOST.compute(struck().measured(), {})["workers=2"], Absent)
    made = priced(Handmade(levels=(2,), blocks=1))
    made.launch(workers=2)
    assert isinstance(COST_LOST.compute(made.measured(), {})["workers=2"], Absent)


def test_unknown_work_does_not_cost_zero_dollars() -> None:
    """Hosts with uncompared clocks, and a script without recorded steps: the rank-seconds are unattributed."""
    apart = absence(COST_LOST.compute(priced(on_two_hosts(-300.0, looks=0)).measured(), {})["workers=2"])
    assert apart.reason == "refused"
    assert "clock of there" in apart.detail
    unmarked = priced(struck())
    unmarked.rows["steps"].clear()
    assert "did not mark its steps" in absence(COST_LOST.compute(unmarked.measured(), {})["workers=2"]).detail


# ---- energy_lost: the power while the job was broken, for the rank-seconds that were lost.


def test_power_of_the_broken_time_only() -> None:
    """See `struck`: broken from 10 s to 18 s, 16 rank-seconds lost. 100 W before, 10 W meanwhile: 10 x 16 / 2 joules."""
    assert estimated(ENERGY_LOST.compute(_read(struck()).measured(), {})["workers=2"]).value == pytest.approx(80.0)


def _read(made: Handmade) -> Handmade:
    for second in range(21):
        joules = 100.0 * min(second, 10) + 10.0 * max(second - 10, 0)
        made.reading(0, "package-0", "energy", joules, at_s=float(second), unit="J")
    return made


@pytest.mark.parametrize("there_s", [5.0, -300.0])
def test_counters_are_read_by_the_clock_of_the_host_that_assay_runs_on(there_s: float) -> None:
    """assay next to rank 1, whose clock is not rank 0's: the broken time was looked up in other seconds of the counter."""
    made = run_from_there(_read(on_two_hosts(there_s, looks=40)), there_s)
    assert estimated(ENERGY_LOST.compute(made.measured(), {})["workers=2"]).value == pytest.approx(80.0, rel=1e-3)


def test_clocks_that_are_not_known_give_no_joules() -> None:
    made = run_from_there(_read(on_two_hosts(0.0, looks=40)), 7.0, host="third")
    assert "third" in absence(ENERGY_LOST.compute(made.measured(), {})["workers=2"]).detail


def test_too_few_readings_while_it_was_broken_give_no_power() -> None:
    made = struck()
    for second in (0.0, 9.0, 20.0):
        made.reading(0, "package-0", "energy", second, at_s=second, unit="J")
    assert "sample_every_s" in absence(ENERGY_LOST.compute(made.measured(), {})["workers=2"]).detail


def test_without_counters_it_is_absent() -> None:
    assert isinstance(ENERGY_LOST.compute(struck().measured(), {})["workers=2"], Absent)
