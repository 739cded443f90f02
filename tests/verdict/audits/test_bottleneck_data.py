"""Waiting for data is told with what would be gained without it, and against the base."""

from __future__ import annotations

from assay.metrics.estimate import Absent, Estimate
from assay.verdict.audits.bottleneck_data import AUDIT
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
    assert AUDIT.examine(measured().measured(), {"step_time": of(1.0), "data_time": of(0.09)}) == ()
    (found,) = AUDIT.examine(measured().measured(), {"step_time": of(1.0), "data_time": of(0.5)})
    assert (found.rule, found.severity, found.configuration) == (AUDIT.name, "note", ONE)
    assert "50% of it; without it a step would be at most 2 times as fast" in found.evidence
    assert "assay tune" in found.remedy


def test_what_was_not_measured_is_no_bottleneck() -> None:
    absent = {ONE: Absent(reason="not_measured", detail="")}
    assert AUDIT.examine(measured().measured(), {"step_time": of(1.0), "data_time": absent}) == ()
    assert AUDIT.examine(measured().measured(), {}) == ()


def test_data_that_does_not_scale_is_told_against_the_base() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    both = {ONE: estimate(0.1, 0.0, "s"), "workers=2": estimate(0.3, 0.0, "s")}
    step = {ONE: estimate(2.0, 0.0, "s"), "workers=2": estimate(1.0, 0.0, "s")}
    (found,) = AUDIT.examine(made.measured(), {"step_time": step, "data_time": both})
    assert found.configuration == "workers=2"
    assert "3 times that of the base" in found.evidence
