"""launch_groups: launches in two groups, or one far from the others."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.estimates.format import show
from tests.handmade import Handmade
from tests.verdict.making import add_steps, good, judged, rules

pytestmark = pytest.mark.slow


def of(times: list[float]) -> Handmade:
    """One worker, a launch per time of a step in seconds."""
    made = good(levels=(1,), blocks=len(times), leave_out=("steps",))
    for number, step_s in enumerate(times):
        add_steps(made, number, 1, step_s)
    return made


def test_launches_round_one_value_give_no_finding() -> None:
    assert rules(judged(of([1.00, 1.02, 0.99, 1.01, 1.03]))) == {}


def test_two_groups_are_named_with_their_launches_and_a_way_on() -> None:
    judgement = judged(of([1.00, 1.40, 1.01, 1.41, 0.99]))
    (finding,) = [one for one in judgement.verdict.findings if one.rule == "launches_in_two_groups"]
    assert finding.severity == "warning"
    assert "2 near" in finding.evidence
    assert "3 near" in finding.evidence
    assert "(launches 0, 2, 4)" in finding.evidence
    assert "5 can miss a mode of up to 45 % of all launches, 29 one of 10 %" in finding.remedy


def test_an_outlying_launch_is_named_alone() -> None:
    judgement = judged(of([1.00, 1.01, 0.99, 1.005, 1.5]))
    (finding,) = [one for one in judgement.verdict.findings if one.rule == "outlying_launch"]
    assert "launch 4" in finding.evidence
    assert "one in 5" in finding.evidence


@pytest.mark.parametrize(
    ("times", "words"),
    [([1.00, 1.40, 1.01, 1.41, 0.99], "two groups"), ([1.00, 1.01, 0.99, 1.005, 1.5], "one far out"), ([1.0, 1.02, 0.99, 1.01, 1.03], "")],
)
def test_the_interval_carries_a_mark_wherever_it_is_written(times: list[float], words: str) -> None:
    value = judged(of(times)).results["step_time"]["workers=1"]
    assert isinstance(value, Estimate)
    assert show(value).interval.endswith(f"] ({words})" if words else "]")
