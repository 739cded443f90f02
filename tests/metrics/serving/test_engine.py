"""The engine's own counts inside of the window, and how unevenly replicas were used."""

from __future__ import annotations

import pytest

from fireassay.metrics.serving.engine import REPLICA_IMBALANCE
from fireassay.spec.sections.serving import Target
from tests.metrics.serving.values import absent, estimate, every_second
from tests.serving_made import ServingMade

GAUGES = {
    "server_kv_cache": ("kv_cache_used", 0.4),
    "server_running": ("requests_running", 0.8),
    "server_waiting": ("requests_waiting", 0.8),
}


@pytest.mark.parametrize("name", GAUGES)
def test_replicas_are_taken_together_and_the_ramp_left_out(name: str) -> None:
    """Window [2, 9]: replica 0 reads 0.2 and 0.4 there, replica 1 0.5; before and after it 9."""
    counter, expected = GAUGES[name]
    made = ServingMade(rate=(1.0,), blocks=1, warm_up_s=2.0)
    number = made.launch()
    for second in range(10):
        made.request(number, float(second), phase="warm_up" if second < 2 else "main")
    for device, at_s, value in (("a", 1.0, 9.0), ("a", 3.0, 0.2), ("a", 5.0, 0.4), ("b", 4.0, 0.5), ("b", 9.5, 9.0)):
        made.reading(number, device, counter, value, at_s=at_s)
    assert estimate(name, made).value == pytest.approx(expected)


@pytest.mark.parametrize("name", GAUGES)
def test_an_engine_that_was_not_scraped_has_none(name: str) -> None:
    assert "serving.targets" in absent(name, every_second()).detail


def shared_out(received: list[int], **how: object) -> ServingMade:
    made = ServingMade(rate=(1.0,), blocks=1, **how)  # type: ignore[arg-type]
    number = made.launch()
    for second, replica in enumerate(received):
        made.request(number, float(second), replica=replica)
    return made


def test_three_of_four_to_one_of_two_replicas() -> None:
    assert estimate(REPLICA_IMBALANCE, shared_out([0, 0, 1, 0])).value == pytest.approx(3 / 2)


def test_a_replica_that_got_nothing_counts() -> None:
    assert estimate(REPLICA_IMBALANCE, shared_out([0, 0, 1, 1], replicas=4)).value == pytest.approx(2.0)


def test_one_replica_and_a_router_have_no_imbalance() -> None:
    absent(REPLICA_IMBALANCE, shared_out([0, 0], replicas=1))
    routed = (Target(command=("serve",), replicas=2, router=("nginx",)),)
    made = shared_out([0, 0])
    assert made.experiment.serving is not None
    serving = made.experiment.serving.model_copy(update={"targets": routed})
    made.experiment = made.experiment.model_copy(update={"serving": serving})
    absent(REPLICA_IMBALANCE, made)
