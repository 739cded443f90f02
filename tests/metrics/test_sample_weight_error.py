"""sample_weight_error: |N / (W d) - 1| of told denominators, exactly."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.sample_weight_error import METRIC
from tests.handmade import Handmade


def value(shares: Sequence[int], denominators: Sequence[float], *, items: bool) -> float:
    made = Handmade(levels=(len(shares),), blocks=1)
    number = made.launch(workers=len(shares))
    first = 0
    for rank, (share, denominator) in enumerate(zip(shares, denominators, strict=True)):
        made.steps(number, rank=rank, seconds=[1.0], items=float(share) if items else None)
        if not items:
            made.samples(number, range(first, first + share), rank=rank)
        first += share
        made.fingerprint(number, "denominator", denominator, rank=rank)
    found = METRIC.compute(made.measured(), {})[f"workers={len(shares)}"]
    assert isinstance(found, Estimate)
    assert found.low == found.value == found.high
    return found.value


@pytest.mark.parametrize("items", [True, False])
@pytest.mark.parametrize(
    ("shares", "largest"),
    [
        ((16, 15, 15, 15), 4.7e-2),  # N = 61: 1 - 61/64, house research section 4; of the small ones 61/60 - 1
        ((251, 250, 250, 250), 3.0e-3),  # N = 1001
        ((1025, 1024, 1024, 1024), 7.3e-4),  # N = 4097
    ],
)
def test_a_mean_of_means_is_off_by_the_published_amounts(shares: Sequence[int], largest: float, items: bool) -> None:
    assert value(shares, shares, items=items) == pytest.approx(largest, rel=0.02)


@pytest.mark.parametrize("shares", [(21, 20, 20), (29, 16, 10, 6), (31, 30), (60, 1), (7, 0)])
def test_the_right_denominator_is_off_by_nothing(shares: Sequence[int]) -> None:
    assert value(shares, [sum(shares) / len(shares)] * len(shares), items=True) == 0.0


def test_a_loss_that_is_summed_is_off_by_a_factor() -> None:
    assert value((30, 31), (1.0, 1.0), items=True) == 61 / 2 - 1


def test_ranks_without_samples_that_divide_by_nothing_weigh_nothing() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[1.0], items=0.0)
        made.fingerprint(number, "denominator", 0.0, rank=rank)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)


def test_untold_is_absent() -> None:
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2)
    made.steps(number, seconds=[1.0], items=8)
    found = METRIC.compute(made.measured(), {})["workers=2"]
    assert isinstance(found, Absent)
    assert "probe.log(denominator=...)" in found.detail
