"""Exposed communication is told with what would be gained without it."""

from __future__ import annotations

from assay.metrics.estimate import Absent, Estimate
from assay.verdict.audits.bottleneck_communication import AUDIT
from tests.builders import estimate
from tests.handmade import Handmade

ONE = "workers=1"


def of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {ONE: estimate(value, half, unit)}


def measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


def test_a_part_is_told_from_a_tenth_on_with_its_gain_and_its_knob() -> None:
    assert AUDIT.examine(measured().measured(), {"step_time": of(1.0), "comm_exposed": of(0.09)}) == ()
    (found,) = AUDIT.examine(measured().measured(), {"step_time": of(1.0), "comm_exposed": of(0.5)})
    assert (found.rule, found.severity, found.configuration) == (AUDIT.name, "note", ONE)
    assert "50% of it; without it a step would be at most 2 times as fast" in found.evidence
    assert "assay tune" in found.remedy


def test_what_was_not_measured_is_no_bottleneck() -> None:
    absent = {ONE: Absent(reason="not_measured", detail="")}
    assert AUDIT.examine(measured().measured(), {"step_time": of(1.0), "comm_exposed": absent}) == ()
    assert AUDIT.examine(measured().measured(), {}) == ()


def test_it_says_what_is_hidden_and_what_is_waiting() -> None:
    results = {
        "step_time": of(1.0), "comm_exposed": of(0.3), "overlap": of(0.25, 0.0, "fraction"), "comm_total": of(0.4), "comm_wait": of(0.1),
    }  # fmt: skip
    (found,) = AUDIT.examine(measured().measured(), results)
    assert "(25% of all communication is hidden, 25% of it is waiting for slower ranks)" in found.evidence
