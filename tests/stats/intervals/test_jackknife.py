"""Scores without one unit: those of a mean in closed form, however many weights are held at a time."""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.stats.intervals import item_means
from fireassay.stats.intervals.item_means import leaving_out


@pytest.mark.parametrize("held", [1, 100, 1 << 21])
def test_a_mean_without_each_cluster(monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    monkeypatch.setattr(item_means, "AT_ONCE", held)
    values, weights, member = np.arange(12.0), np.linspace(1.0, 2.0, 12), np.arange(12) // 4
    without = leaving_out(lambda drawn: drawn @ values / drawn.sum(axis=1), weights, member)
    expected = [np.average(values[member != unit], weights=weights[member != unit]) for unit in range(3)]
    assert without == pytest.approx(expected)
