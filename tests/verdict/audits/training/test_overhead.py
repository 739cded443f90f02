"""overhead: the probe's own cost against the step."""

from __future__ import annotations

import pytest

from tests.verdict.making import change, good, judged, rules

pytestmark = pytest.mark.slow


VALUE = 5  # column of telemetry


def test_a_probe_that_costs_at_most_a_hundredth_of_a_step_is_let_pass() -> None:
    """Steps of workers=2 take about 0.56 s, those of the base about 1.02 s: 5 ms are 0.9 and 0.5 %."""
    made = good()
    change(made, "telemetry", VALUE, lambda row: 5e6 if row[3] == "probe" else row[VALUE])
    assert rules(judged(made)) == {}


def test_a_probe_that_costs_more_is_a_warning_where_it_does() -> None:
    """8 ms are 1.4 % of the step of workers=2 and 0.8 % of that of the base."""
    made = good()
    change(made, "telemetry", VALUE, lambda row: 8e6 if row[3] == "probe" else row[VALUE])
    judgement = judged(made)
    assert rules(judgement) == {"instrument_overhead": ["workers=2"]}
    assert judgement.verdict.findings[0].severity == "warning"
    assert judgement.verdict.status == "PASS"
