"""replica_imbalance: how unevenly replicas were used."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.replica_imbalance import METRIC
from assay.spec.sections.serving import Target
from tests.serving_made import ServingMade


def shared_out(got: list[int], **how: object) -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=1, **how)  # type: ignore[arg-type]
    number = made.launch()
    for second, replica in enumerate(got):
        made.request(number, float(second), replica=replica)
    return made


def test_three_of_four_to_one_of_two_replicas() -> None:
    value = METRIC.compute(shared_out([0, 0, 1, 0]).measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(3 / 2)


def test_a_replica_that_got_nothing_counts() -> None:
    value = METRIC.compute(shared_out([0, 0, 1, 1], replicas=4).measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(2.0)


def test_one_replica_and_a_router_have_none() -> None:
    assert isinstance(METRIC.compute(shared_out([0, 0], replicas=1).measured(), {})["rate=1"], Absent)
    routed = (Target(command=("serve",), replicas=2, router=("nginx",)),)
    made = shared_out([0, 0])
    assert made.experiment.serving is not None
    serving = made.experiment.serving.model_copy(update={"targets": routed})
    made.experiment = made.experiment.model_copy(update={"serving": serving})
    assert isinstance(METRIC.compute(made.measured(), {})["rate=1"], Absent)
