"""extrapolation: no further than twice the measured range."""

from __future__ import annotations

import pytest

from tests.verdict.claiming import BASELINE, NOTHING, claim, found, the_finding


@pytest.mark.parametrize(("workers", "expected"), [(16, {}), (17, {"extrapolated": "invalid"}), (1000, {"extrapolated": "invalid"})])
def test_twice_the_measured_range_is_the_limit(workers: int, expected: dict[str, str]) -> None:
    assert found(claim(prediction={"workers": workers, "measured_up_to": 8, "points": 4})) == expected


def test_the_distance_is_said() -> None:
    finding = the_finding(claim(prediction={"workers": 1000, "measured_up_to": 8}), "extrapolated")
    assert finding.evidence == "1,000 workers are 125 times the 8 that were measured"
    assert finding.needs == ("measured_there",)


def test_a_line_through_two_points_is_named() -> None:
    assert found(claim(prediction={"workers": 16, "measured_up_to": 8, "points": 2})) == {"too_few_points": "warning"}


def test_a_range_that_is_not_said_is_left_open() -> None:
    unsaid = {"workers": NOTHING, "baseline": BASELINE | {"workers": None}}
    assert "measured_range_unsaid" in found(claim(unsaid, prediction={"workers": 1000}))
    assert found(claim()) == {}


@pytest.mark.parametrize(("workers", "expected"), [(16, {}), (64, {"extrapolated": "invalid"})])
def test_the_measured_range_is_read_from_the_numbers(workers: int, expected: dict[str, str]) -> None:
    """The claim's only number is on 8 workers."""
    assert found(claim(prediction={"workers": workers})) == expected
