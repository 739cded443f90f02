"""How a finding names the configurations and launches that it concerns."""

from __future__ import annotations

import polars as pl

from fireassay.verdict.evidence import affected, sent_requests
from tests.serving_made import simulated


def test_launches_are_named_in_order_and_not_without_end() -> None:
    assert affected.in_launches([3]) == "launch 3"
    assert affected.in_launches([2, 0, 2]) == "launches 0, 2"
    assert affected.in_launches(range(20)).endswith(", 7 and 12 more")
    assert affected.some(["a", "b", "c", "d"]) == "a, b, c and 1 more"


def test_half_of_the_launches_are_most_of_them() -> None:
    assert [affected.most(1, 3), affected.most(2, 4), affected.most(1, 1)] == [False, True, True]


def test_configurations_come_in_the_order_of_reports() -> None:
    measured = simulated(rate=(8.0, 4.0), blocks=1, seconds=2.0).measured()
    names = [name for name, own in affected.by_configuration(measured, sent_requests.main(measured))]
    assert names == ["rate=4", "rate=8"]
    empty = sent_requests.main(measured).filter(pl.lit(value=False))
    assert list(affected.by_configuration(measured, empty)) == []
