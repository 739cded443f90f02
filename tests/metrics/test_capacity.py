"""capacity: the highest load that meets the objectives."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.base import ALL
from assay.metrics.capacity import METRIC
from assay.spec.sections.serving import Objectives
from tests.serving_made import ServingMade


def loaded(misses: dict[float, int], blocks: int = 3, **how: object) -> ServingMade:
    """100 requests per launch, of which so many are late at each rate."""
    made = ServingMade(rate=tuple(misses), blocks=blocks, objectives=Objectives(ttft_s=0.5, attainment=0.9), **how)  # type: ignore[arg-type]
    for block in range(blocks):
        for name in made.names:
            number = made.launch(name, block=block)
            late = misses[float(name.rpartition("=")[2])]
            for place in range(100):
                made.request(number, place * 0.1, ttft_s=0.9 if place < late else 0.1)
    return made


def test_it_lies_between_the_loads_that_bracket_it() -> None:
    """2 % late at 5/s and 30 % at 10/s; allowed 10 %."""
    value = METRIC.compute(loaded({5.0: 2, 10.0: 30}).measured(), {})[ALL]
    assert isinstance(value, Estimate)
    assert 5.0 < value.value < 10.0
    assert value.unit == "1/s"
    assert (value.n_trials, value.n_launches) == (600, 6)


def test_a_sweep_that_stops_too_soon_is_refused() -> None:
    value = METRIC.compute(loaded({5.0: 0, 10.0: 2}).measured(), {})[ALL]
    assert isinstance(value, Absent)
    assert "measure higher loads" in value.detail


def test_each_engine_has_its_own() -> None:
    values = METRIC.compute(loaded({5.0: 2, 10.0: 30}, engines=("a", "b")).measured(), {})
    assert sorted(values) == ["engine=a rate=10", "engine=a rate=5", "engine=b rate=10", "engine=b rate=5"]
    assert values["engine=a rate=5"] == values["engine=a rate=10"]
    assert all(isinstance(value, Estimate) for value in values.values())


@pytest.mark.parametrize(
    "made", [ServingMade(rate=(1.0,), blocks=1), ServingMade(process="offline", blocks=1, objectives=Objectives(e2e_s=1.0))]
)
def test_without_objectives_or_loads_there_is_none(made: ServingMade) -> None:
    made.request(made.launch(), 0.0)
    assert isinstance(METRIC.compute(made.measured(), {})[ALL], Absent)
