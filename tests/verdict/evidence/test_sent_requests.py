"""The folds that audits of loads share: what counts as the measured part, and how launches are named."""

from __future__ import annotations

import polars as pl

from fireassay.verdict.evidence import sent_requests
from tests.serving_made import ServingMade, simulated


def test_the_measured_part_is_phase_main_of_successful_timed_launches() -> None:
    made = ServingMade(rate=(1.0,), blocks=2)
    first, second = made.launch(block=0), made.launch(block=1, status="failed", reason="made to")
    third = made.launch(block=2, role="fault")
    for launch in (first, second, third):
        made.request(launch, 0.0, phase="warm_up")
        made.request(launch, 1.0)
    measured = made.measured()
    assert sent_requests.main(measured, "status").select("launch", "request").rows() == [(0, 1)]
    assert sent_requests.rows(measured, role=None).select("launch", "request").rows() == [(0, 0), (0, 1), (2, 0), (2, 1)]


def test_a_load_lasts_its_warm_up_and_its_duration() -> None:
    made = ServingMade(rate=(1.0,), warm_up_s=2.0, seconds=10.0)
    number = made.launch()
    assert sent_requests.length_ns(made.measured()) == 12_000_000_000
    assert sent_requests.begins(made.measured()).rows() == [(number, made.t0[number])]
    assert sent_requests.lengths(made.measured()).rows() == [(number, 12_000_000_000)]


def test_launches_are_named_in_order_and_not_without_end() -> None:
    assert sent_requests.in_launches([3]) == "launch 3"
    assert sent_requests.in_launches([2, 0, 2]) == "launches 0, 2"
    assert sent_requests.in_launches(range(20)).endswith("7 ...")
    assert sent_requests.some(["a", "b", "c", "d"]) == "a, b, c and 1 more"


def test_half_of_the_launches_are_most_of_them() -> None:
    assert [sent_requests.most(1, 3), sent_requests.most(2, 4), sent_requests.most(1, 1)] == [False, True, True]


def test_configurations_come_in_the_order_of_reports() -> None:
    measured = simulated(rate=(8.0, 4.0), blocks=1, seconds=2.0).measured()
    names = [name for name, own in sent_requests.by_configuration(measured, sent_requests.main(measured))]
    assert names == ["rate=4", "rate=8"]
    empty = sent_requests.main(measured).filter(pl.lit(value=False))
    assert list(sent_requests.by_configuration(measured, empty)) == []
