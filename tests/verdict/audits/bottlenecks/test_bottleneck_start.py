"""A long start is told with the length of a job for which it would not matter."""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.verdict.audits.bottlenecks.bottleneck_start import AUDIT
from tests.builders import estimate
from tests.handmade import Handmade

pytestmark = pytest.mark.slow


ONE = "workers=1"


def of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {ONE: estimate(value, half, unit)}


def measured() -> Handmade:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    return made


def test_a_long_start_says_how_long_a_job_must_be_for_it_not_to_matter() -> None:
    """4 of 10 s before the first step: 2 % once a job takes 200 rank-seconds."""
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1, wall_s=10.0)
    made.steps(0, seconds=[0.5] * 12, start_s=4.0)
    (found,) = AUDIT.examine(made.measured(), {})
    assert found.evidence.startswith("40% of the paid time")
    assert "once a job takes 200 rank-seconds instead of 10" in found.evidence
    made.steps(0, seconds=[1.5], first=12, start_s=0.0, incarnation=0)  # it trained from the beginning
    assert tuple(AUDIT.examine(made.measured(), {})) == ()
