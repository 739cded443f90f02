"""What would be gained if a part of the step were free, worked out by hand."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.verdict.audits import (
    bottleneck_communication,
    bottleneck_data,
    bottleneck_memory,
    bottleneck_start,
    bottleneck_utilisation,
)
from assay.verdict.bottlenecks import gain_words, share
from tests.builders import estimate
from tests.handmade import Handmade

ONE = "workers=1"


def of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {ONE: estimate(value, half, unit)}


def measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


def test_a_fifth_of_the_step_is_a_quarter_more_speed() -> None:
    found = share({"step_time": of(1.0), "data_time": of(0.2)}, "data_time", ONE)
    assert found == (pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.2))
    assert found is not None
    assert gain_words(found) == "without it a step would be at most 1.25 times as fast"
    assert gain_words((0.2, 0.1, 0.5)) == "without it a step would be at most 1.25 times as fast [1.11, 2]"
    assert gain_words((1.0, 0.9, 1.0)) == "nearly the whole step"


@pytest.mark.parametrize(
    ("audit", "part", "rule"),
    [
        (bottleneck_data, "data_time", "bottleneck_data"),
        (bottleneck_communication, "comm_exposed", "bottleneck_communication"),
    ],
)
def test_a_part_is_told_from_a_tenth_on_with_its_gain_and_its_knob(audit: object, part: str, rule: str) -> None:
    examine = audit.AUDIT.examine  # type: ignore[attr-defined]
    assert examine(measured().measured(), {"step_time": of(1.0), part: of(0.09)}) == ()
    (found,) = examine(measured().measured(), {"step_time": of(1.0), part: of(0.5)})
    assert (found.rule, found.severity, found.configuration) == (rule, "note", ONE)
    assert "50% of it; without it a step would be at most 2 times as fast" in found.evidence
    assert "assay tune" in found.remedy


def test_what_was_not_measured_is_no_bottleneck() -> None:
    absent = {ONE: Absent(reason="not_measured", detail="")}
    for audit in (bottleneck_data, bottleneck_communication):
        assert (
            audit.AUDIT.examine(
                measured().measured(), {"step_time": of(1.0), "data_time": absent, "comm_exposed": absent}
            )
            == ()
        )
        assert audit.AUDIT.examine(measured().measured(), {}) == ()


def test_data_that_does_not_scale_is_told_against_the_base() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    both = {ONE: estimate(0.1, 0.0, "s"), "workers=2": estimate(0.3, 0.0, "s")}
    step = {ONE: estimate(2.0, 0.0, "s"), "workers=2": estimate(1.0, 0.0, "s")}
    (found,) = bottleneck_data.AUDIT.examine(made.measured(), {"step_time": step, "data_time": both})
    assert found.configuration == "workers=2"
    assert "3 times that of the base" in found.evidence


def test_a_long_start_says_how_long_a_job_must_be_for_it_not_to_matter() -> None:
    """4 of 10 s before the first step: 2 % once a job takes 200 rank-seconds."""
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1, wall_s=10.0)
    made.steps(0, seconds=[0.5] * 12, start_s=4.0)
    (found,) = bottleneck_start.AUDIT.examine(made.measured(), {})
    assert found.evidence.startswith("40% of the paid time")
    assert "once a job takes 200 rank-seconds instead of 10" in found.evidence
    made.steps(0, seconds=[1.5], first=12, start_s=0.0, incarnation=0)  # it trained from the beginning
    assert bottleneck_start.AUDIT.examine(made.measured(), {}) == ()


def test_a_low_utilisation_is_told_only_where_its_whole_interval_is_low() -> None:
    made = measured().measured()
    (found,) = bottleneck_utilisation.AUDIT.examine(made, {"mfu": of(0.1, 0.02, "fraction")})
    assert "10 times as fast" in found.evidence
    assert bottleneck_utilisation.AUDIT.examine(made, {"mfu": of(0.19, 0.02, "fraction")}) == ()
    assert bottleneck_utilisation.AUDIT.examine(made, {"mfu": {ONE: Absent(reason="not_measured", detail="")}}) == ()


GIB = 1024**3


@pytest.mark.parametrize(
    ("device", "host", "rules"),
    [
        (0.95, 0.1, ["bottleneck_memory"]),
        (0.4, 0.1, ["memory_unused"]),
        (0.7, 0.5, []),
        (0.7, 0.96, ["bottleneck_memory"]),
    ],
)
def test_memory_that_is_full_or_idle(device: float, host: float, rules: list[str]) -> None:
    made = measured()
    made.manifest["environment"]["before"] = {
        "gpu": {"nvidia": {"devices": [{"memory_bytes": 80 * GIB}, {"memory_bytes": 100 * GIB}]}},
        "memory": {"total_bytes": 64 * GIB}, "cgroup": {"memory_limit": {"limit": "bytes", "bytes": 32 * GIB}},
    }  # fmt: skip
    results = {"memory_peak": of(device * 80 * GIB, 0.0, "B"), "host_memory_peak": of(host * 32 * GIB, 0.0, "B")}
    assert [one.rule for one in bottleneck_memory.AUDIT.examine(made.measured(), results)] == rules


def test_memory_of_a_machine_that_is_not_known_limits_nothing() -> None:
    results = {"memory_peak": of(1e12, 0.0, "B"), "host_memory_peak": of(1e12, 0.0, "B")}
    assert bottleneck_memory.AUDIT.examine(measured().measured(), results) == ()
