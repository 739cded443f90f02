"""What is said of a record that only times: a time, and nothing about what was not measured."""

from __future__ import annotations

import pytest

from fireassay.verdict.judge import judge
from tests.metrics.trials_made import timing

pytestmark = pytest.mark.slow


def test_a_time_with_its_interval_is_measured_without_quality_cost_or_reliability() -> None:
    verdict = judge(timing(*([1.0, 1.0, 1.1],) * 3, [1.01] * 3, [0.99] * 3).measured()).verdict
    assert verdict.status == "MEASURED"
    assert verdict.sentence.startswith("handmade: 1,000.0 ms [")
    assert "a call (95 % over 5 launches, 15 trials in all). Only time was measured" in verdict.sentence
    assert "time of a call" in verdict.dimensions["workers=1"]["performance"].sentence


def test_two_launches_carry_no_verdict() -> None:
    verdict = judge(timing([1.0], [1.1]).measured()).verdict
    assert verdict.status == "INCONCLUSIVE"
    assert "use at least 3" in verdict.sentence


def test_no_counted_trial_is_said_and_is_no_zero() -> None:
    verdict = judge(timing(*([1.0],) * 3, warm_up=1).measured()).verdict
    assert verdict.status == "INCONCLUSIVE"
    assert verdict.sentence == "handmade: INCONCLUSIVE: no counted trial has ended."
