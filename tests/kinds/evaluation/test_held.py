"""Is a loss of exactly the margin called held in one case in twenty at most, by the decision over items?"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import ItemScores, Paired
from fireassay.kinds.evaluation.held import Rule, decided
from fireassay.quality.scoring.text_metric import Options, Prepared, TextMetric
from tests.tiers import some

Array = NDArray[np.float64]
EXPERIMENTS = 400
LIMIT = 0.055 + 3.0 * math.sqrt(0.055 * 0.945 / EXPERIMENTS)


def never(_: Options) -> Prepared:
    raise AssertionError


METRIC = TextMetric(name="m", title="M", better="higher", scale=(0.0, 1.0), prepare=never)


def verdict(before: Array, after: Array, margin: float, *, weights: Array | None = None, repetitions: int = 1, clusters: int = 0) -> str:
    """The outcome; "" without one. `clusters`: items of each."""
    n = len(before)
    side = ItemScores(
        metric=METRIC if np.isin(before, (0.0, 1.0)).all() or before.min() >= 0.0 else replace(METRIC, scale=(-math.inf, math.inf)),
        items=tuple(map(str, range(n))),
        rows=before[:, None],
        weights=np.ones(n) if weights is None else weights,
        clusters=tuple(str(index // clusters) for index in range(n)) if clusters else (None,) * n,
        repetitions=repetitions,
        launches=1,
        unscored=0,
    )
    pair = Paired(reference=side, candidate=replace(side, rows=after[:, None]), left=0)
    found = decided(pair, after - before, Rule(margin=margin, confidence=0.95))
    return "" if isinstance(found, Absent) else found.verdict


def flipped(rng: np.random.Generator, n: int, rate: float, loss: float) -> tuple[Array, Array]:
    u = rng.random(n)
    d = np.where(u < (rate + loss) / 2, -1.0, np.where(u < rate, 1.0, 0.0))
    before = np.where(d == 0.0, 1.0, d < 0.0)
    return before, before + d


@pytest.mark.parametrize(("n", "rate", "margin"), some([(50, 0.05, 0.02), (164, 0.05, 0.02), (164, 0.15, 0.05)], rows=True))
def test_weighted_flips_at_the_margin_are_rarely_held(n: int, rate: float, margin: float) -> None:
    """A bootstrap of them held 14 % of 164 items at 2 points: with few flips many samples hold no loss."""
    rng, held = np.random.default_rng([n, int(100 * rate)]), 0
    for _ in range(EXPERIMENTS):
        held += verdict(*flipped(rng, n, rate, margin), margin, weights=rng.choice([1.0, 2.0, 4.0], n)) == "HELD"
    assert held / EXPERIMENTS <= LIMIT


@pytest.mark.parametrize("answers", [1, 3])
def test_sampled_answers_at_the_margin_are_rarely_held(answers: int) -> None:
    """Every item is right with its own probability; the mean of its answers is its score."""
    rng, held = np.random.default_rng(answers), 0
    for _ in range(EXPERIMENTS):
        p = rng.beta(1.2, 0.4, 164)
        before, after = (rng.binomial(answers, p * factor) / answers for factor in (1.0, 1.0 - 0.05 / 0.75))
        held += verdict(before, after, 0.05, repetitions=answers) == "HELD"
    assert held / EXPERIMENTS <= LIMIT


def test_large_losses_on_an_unknown_scale_are_rarely_held() -> None:
    """Most gain a little and some lose much: of 164 a tail must be expected beyond what was seen."""
    rng, held = np.random.default_rng(7), 0
    for _ in range(EXPERIMENTS):
        before = rng.normal(0.0, 1.0, 164)
        after = before + math.exp(0.5) - 0.1 - rng.lognormal(0.0, 1.0, 164)
        held += verdict(before, after, 0.1) == "HELD"
    assert held / EXPERIMENTS <= LIMIT


def test_equal_weights_are_no_weights() -> None:
    before, after = flipped(np.random.default_rng(1), 2000, 0.03, 0.0)
    assert verdict(before, after, 0.02, weights=np.full(2000, 3.0)) == verdict(before, after, 0.02) == "HELD"


def test_nothing_changed_of_weighted_items_is_held_as_soon_as_the_heaviest_cannot_hide_the_margin() -> None:
    """Of 300 items one of twice the mean weight counts as two: 1 point takes about 600."""
    for n, outcome in ((500, "INCONCLUSIVE"), (700, "HELD")):
        weights = np.where(np.arange(n) % 100 == 0, 2.0, 1.0)
        assert verdict(np.ones(n), np.ones(n), 0.01, weights=weights) == outcome
