"""What would be gained if a part of the step were free, worked out by hand."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Estimate
from assay.verdict.bottlenecks import gain_words, share
from tests.builders import estimate

ONE = "workers=1"


def of(value: float, half: float = 0.0, unit: str = "s") -> dict[str, Estimate]:
    return {ONE: estimate(value, half, unit)}


def test_a_fifth_of_the_step_is_a_quarter_more_speed() -> None:
    found = share({"step_time": of(1.0), "data_time": of(0.2)}, "data_time", ONE)
    assert found == (pytest.approx(0.2), pytest.approx(0.2), pytest.approx(0.2))
    assert found is not None
    assert gain_words(found) == "without it a step would be at most 1.25 times as fast"
    assert gain_words((0.2, 0.1, 0.5)) == "without it a step would be at most 1.25 times as fast [1.11, 2]"
    assert gain_words((1.0, 0.9, 1.0)) == "nearly the whole step"
