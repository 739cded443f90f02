"""Is a rating the number that was given?"""

from __future__ import annotations

import math

import pytest

from fireassay import catalog
from fireassay.quality.scoring.metrics.ratings import number


@pytest.mark.parametrize(("text", "value"), [("4", 4.0), ("0.5", 0.5), (" 3 ", 3.0), ("", math.nan), ("inf", math.nan), ("good", math.nan)])
def test_a_rating_is_its_number_and_anything_else_has_no_score(text: str, value: float) -> None:
    assert number(text) == pytest.approx(value, nan_ok=True)


@pytest.mark.parametrize("name", ["likert", "win_rate"])
def test_the_scores_of_ratings_are_means(name: str) -> None:
    metric = catalog.load("quality.scoring.metrics", name)
    rows = metric.prepare({}).statistics(["1", "0", "0.5"], [(), (), ()])
    assert metric.score(rows) == pytest.approx(0.5)
    assert not metric.corpus
