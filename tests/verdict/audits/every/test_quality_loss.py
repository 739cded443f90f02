"""A configuration that gives a worse model is named among the findings, and refused."""

from __future__ import annotations

import pytest

from tests.verdict.making import good, judged, pick

pytestmark = pytest.mark.slow


def named(right: int) -> list[tuple[str, str | None]]:
    findings = judged(good(right={2: right})).verdict.findings
    return [(finding.severity, finding.configuration) for finding in findings if finding.rule == "quality_degraded"]


def test_a_degraded_configuration_is_named_and_never_recommended() -> None:
    assert named(right=10) == [("warning", "workers=2")]  # 26 of 40 answers got wrong
    assert pick(judged(good(right={2: 10})), "recommended") == "workers=1"


def test_held_and_undecided_quality_is_no_finding() -> None:
    assert named(right=36) == []
    assert named(right=35) == []
