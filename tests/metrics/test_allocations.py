"""What a cluster takes away is counted, priced and never taken for a queue's waiting."""

from __future__ import annotations

import pytest

from fireassay.metrics.allocations import METRICS
from fireassay.metrics.cost import COST, COST_TOTAL
from fireassay.metrics.metric import ALL
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated
from tests.metrics.test_cost_parts import parts, prices

LOST, LOST_TIME, WAIT = METRICS


def preempted(market: str = "on_demand") -> Handmade:
    """Two workers at $1 a second each: an attempt of 30 s ends with its nodes, the next takes 20 s. Waited 40 s and 100 s."""
    made = Handmade(levels=(2,), blocks=1, prices=prices(usd_per_worker_hour=3600.0, market=market))
    first = made.launch(workers=2, wall_s=30.0, status="aborted", reason="the end of Slurm job 7 (PREEMPTED)")
    made.event(first, "allocation_end", 30.0)
    number = made.launch(workers=2, wall_s=20.0)
    row = list(made.rows["launches"][number])
    row[1], row[2] = 0, 1  # slot 0, attempt 1
    made.rows["launches"][number] = tuple(row)
    made.manifest["allocations"] = [
        {"engine": "slurm", "job_id": "7", "hosts": ["n1", "n2"], "waited_s": 40.0, "end": "PREEMPTED", "lost": True},
        {"engine": "slurm", "job_id": "8", "hosts": ["n1", "n3"], "waited_s": 100.0, "end": "given back", "lost": False},
    ]
    return made


def value(made: Handmade, number: int) -> float:
    return estimated(METRICS[number].compute(made.measured(), {})[ALL]).value


def test_lost_allocations_and_their_launches_are_counted_and_waiting_is_apart() -> None:
    made = preempted()
    assert [value(made, number) for number in range(3)] == pytest.approx([1.0, 30.0, 140.0])
    assert estimated(LOST.compute(made.measured(), {})[ALL]).method == "PREEMPTED 1; of 2 allocations"


@pytest.mark.parametrize("market", ["on_demand", "spot"])
def test_the_attempt_that_was_taken_away_is_paid_for_once_on_every_market(market: str) -> None:
    """2 x 30 s for nothing and 2 x 20 s: $100, of which $60 are lost; the queue costs nothing."""
    made = preempted(market)
    assert parts(made, "workers=2") == pytest.approx({"cost": 100.0, "cost_compute": 40.0, "cost_lost_work": 60.0})
    assert estimated(COST_TOTAL.compute(made.measured(), {})[ALL]).value == pytest.approx(100.0)


def test_an_attempt_that_ctrl_c_ended_is_no_loss_of_nodes() -> None:
    made = preempted()
    made.rows["events"].clear()
    assert estimated(COST.compute(made.measured(), {})["workers=2"]).value == pytest.approx(40.0)


def test_a_record_without_an_engine_has_none_of_these_numbers() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert not any(metric.requested(made.measured()) for metric in METRICS)


def test_an_unknown_wait_is_not_zero() -> None:
    made = preempted()
    for one in made.manifest["allocations"]:
        one["waited_s"] = None
    assert "did not say" in absence(WAIT.compute(made.measured(), {})[ALL]).detail
