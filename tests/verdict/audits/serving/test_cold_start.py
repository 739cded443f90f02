"""cold_start: what the first requests after a start took, beside the load's."""

from __future__ import annotations

from tests.serving_made import ServingMade
from tests.verdict.served import blind, found


def started(cold_s: float) -> ServingMade:
    made = ServingMade(rate=(5.0,), blocks=2)
    for block in range(2):
        launch = made.launch(block=block)
        made.request(launch, -0.9, phase="cold", ttft_s=cold_s)
        for place in range(20):
            made.request(launch, 0.2 * place, ttft_s=0.1)
    return made


def test_a_cold_request_five_times_as_slow_is_a_note() -> None:
    (finding,) = found("cold_start", started(0.5).measured())
    assert (finding.rule, finding.severity, finding.configuration) == ("cold_start", "note", "rate=5")
    assert finding.evidence == (
        "the first requests after a start took 500 ms to the first text, 5 times the load's median of 100 ms; they are in no other number"
    )


def test_up_to_twice_is_not_worth_saying() -> None:
    assert found("cold_start", started(0.2).measured()) == ()


def test_without_cold_requests_nobody_knows() -> None:
    made = ServingMade(rate=(5.0,), blocks=1)
    made.request(made.launch(), 0.0)
    assert blind("cold_start", made.measured()) == "no cold request was answered (serving.arrivals.cold)"
    assert blind("cold_start", started(0.5).measured()) is None
