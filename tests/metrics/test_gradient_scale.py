"""gradient_scale: the factor between the gradients, over all parameters."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.gradient_scale import METRIC
from tests.handmade import Handmade
from tests.metrics.gradients_made import add


@pytest.mark.parametrize("factor", [1.0, 0.5, 2.0])
def test_the_factor_is_found_exactly(factor: float) -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0], "b": [0.5]}])
    add(made, [{"w": [3.0 * factor, 4.0 * factor], "b": [0.5 * factor]}] * 2)
    found = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == factor


def test_a_shorter_one_that_points_elsewhere_has_its_projection() -> None:
    """g* = (3, 4), g = (3, 0): 9/25."""
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [3.0, 4.0]}])
    add(made, [{"w": [3.0, 0.0]}] * 2)
    found = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(9 / 25, rel=1e-15)


def test_a_gradient_of_zero_has_no_factor() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    add(made, [{"w": [0.0, 0.0]}])
    add(made, [{"w": [1.0, 0.0]}] * 2)
    values = METRIC.compute(made.measured(), {})
    assert isinstance(values["workers=1"], Absent)
    found = values["workers=2"]
    assert isinstance(found, Absent)
    assert found.reason == "undefined"
