"""The folds that audits of loads share: what counts as the measured part, and how long a load lasts."""

from __future__ import annotations

from fireassay.verdict.evidence import sent_requests
from tests.serving_made import ServingMade


def test_the_measured_part_is_phase_main_of_successful_timed_launches() -> None:
    made = ServingMade(rate=(1.0,), blocks=2)
    first, second = made.launch(block=0), made.launch(block=1, status="failed", reason="made to")
    third = made.launch(block=2, role="fault")
    for launch in (first, second, third):
        made.request(launch, 0.0, phase="warm_up")
        made.request(launch, 1.0)
    measured = made.measured()
    assert sent_requests.main(measured, "status").select("launch", "request").rows() == [(0, 1)]
    assert sent_requests.requests_of(measured, role=None).select("launch", "request").rows() == [(0, 0), (0, 1), (2, 0), (2, 1)]


def test_a_load_lasts_its_warm_up_and_its_duration() -> None:
    made = ServingMade(rate=(1.0,), warm_up_s=2.0, seconds=10.0)
    number = made.launch()
    assert sent_requests.length_ns(made.measured()) == 12_000_000_000
    assert sent_requests.begins(made.measured()).rows() == [(number, made.t0[number])]
    assert sent_requests.lengths(made.measured()).rows() == [(number, 12_000_000_000)]
