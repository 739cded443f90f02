"""silent_slo: a throughput beside a broken objective."""

from __future__ import annotations

from typing import Any

from assay.spec.experiment import Gates
from assay.verdict.pitfalls import of_record
from tests.verdict.claiming import LATENCY, THROUGHPUT, claim, found, the_finding
from tests.verdict.making import good, judged

SLO = {"objective": "p99 latency of at most 300 ms", "metric": "latency", "limit": 0.3}


def served(latency: float = 0.2, **sections: Any) -> Any:
    bounds = {"low": latency * 0.9, "high": latency * 1.1, "kind": "confidence"}
    return claim(numbers=[THROUGHPUT, LATENCY | {"value": latency, "interval": bounds}], **sections)


def test_an_objective_that_a_published_number_breaks_makes_the_throughput_inadmissible() -> None:
    finding = the_finding(served(4.0, slo=SLO), "objective_not_met")
    assert finding.severity == "invalid"
    assert finding.needs == ("goodput",)
    assert "4 s, the limit is 0.3 s" in finding.evidence


def test_an_objective_that_is_said_not_to_be_met_does_so_too() -> None:
    assert found(served(slo={"objective": "x", "met": False}))["objective_not_met"] == "invalid"


def test_an_objective_that_is_met_is_clear_and_one_that_is_not_said_is_left_open() -> None:
    assert found(served(slo=SLO)) == {}
    assert found(served(slo={"objective": "x", "met": True})) == {}
    assert found(served(slo={"objective": "x"})) == {"objective_met_unsaid": "note"}
    assert found(served()) == {"objective_unsaid": "note"}


def test_a_training_throughput_needs_no_objective() -> None:
    assert found(claim(numbers=[THROUGHPUT | {"unit": "samples/s"}])) == {}


def test_a_record_can_be_examined_where_it_has_a_deadline() -> None:
    states = {}
    for gates in (Gates(), Gates(deadline_s=100.0)):
        made = good(gates=gates)
        pitfalls = of_record(made.measured(), judged(made).results)
        states[gates.deadline_s] = next(p.state for p in pitfalls if p.name == "silent_slo")
    assert states == {None: "not examined", 100.0: "clear"}
