"""loss_deviation: the first loss against that of the base's launch in the same block."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.loss_deviation import METRIC
from tests.handmade import Handmade


def test_losses_of_ranks_are_weighted_by_their_items() -> None:
    """Ranks of 6 and 2 items with losses 1 and 3: (6 + 6) / 8 = 1.5 against 1.2 is a quarter more."""
    made = Handmade(levels=(1, 2), blocks=1)
    one, two = made.launch(workers=1), made.launch(workers=2)
    made.steps(one, seconds=[1.0], items=8)
    made.fingerprint(one, "loss", 1.2, step=0)
    for rank, (items, loss) in enumerate(((6, 1.0), (2, 3.0))):
        made.steps(two, rank=rank, seconds=[1.0], items=items)
        made.fingerprint(two, "loss", loss, rank=rank, step=0)
        made.fingerprint(two, "loss", 9.0, rank=rank, step=1)  # later losses are advice only
    values = METRIC.compute(made.measured(), {})
    value = values["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.25)
    assert isinstance(values["workers=1"], Absent)


def test_without_losses_it_is_absent() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.launch(workers=2)
    assert isinstance(METRIC.compute(made.measured(), {})["workers=2"], Absent)
