"""What is known of a load, worked out by hand: failures, tallies, replicas."""

from __future__ import annotations

import pytest

from fireassay.reports.load import Load, build
from fireassay.reports.view import View
from tests.serving_made import ServingMade


def known(made: ServingMade) -> Load:
    return build(made.measured())


def made(**more: object) -> ServingMade:
    return ServingMade(rate=(2.0,), blocks=1, seconds=10.0, **more)  # type: ignore[arg-type]


def test_training_has_none(view: View) -> None:
    assert view.serving is None


def test_failures_and_tallies_are_counts() -> None:
    record = made()
    number = record.launch()
    record.request(number, -1.0, phase="cold")
    for place, status in enumerate(("ok", "5xx", "timeout", "5xx", "ok")):
        record.request(number, place * 2.0, status=status)
    found = known(record)
    assert found.errors == {record.names[0]: {"5xx": 2, "timeout": 1}}
    assert (found.tallies[number].due, found.tallies[number].answered) == (5, 2)


def test_a_replica_is_told_with_its_readings() -> None:
    record = made()
    number = record.launch()
    for place in range(6):
        record.request(number, place * 1.5, replica=place % 2, status="5xx" if place == 1 else "ok", ttft_s=0.2)
    record.reading(number, "replica-1", "kv_cache_used", 0.2, at_s=1.0)
    record.reading(number, "replica-1", "kv_cache_used", 0.4, at_s=2.0)
    record.reading(number, "replica-1", "kv_cache_used", 0.9, at_s=60.0)  # after the window
    first, second = known(record).replicas
    assert (first.sent, first.answered, first.readings) == (3, 3, {})
    assert (second.sent, second.answered) == (3, 2)
    assert second.readings == {"kv_cache_used": pytest.approx(0.3)}
