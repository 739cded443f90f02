"""Do the intervals of scores over steps cover, and is a knee hardly ever false?  Records simulated from a known truth."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from fireassay.frames.evaluation.item_scores import ItemScores, metric_named
from fireassay.frames.evaluation.steps import Curve, Level
from fireassay.kinds.evaluation.steps import knee_of
from fireassay.spec.experiment import Quality
from fireassay.stats.intervals.item_means import of_items
from fireassay.stats.votes import shares

LEVELS, SAMPLES = (1, 2, 4, 8), 8
DIFFICULTY = {0.3: 0.15, 0.55: 0.35, 0.8: 0.3, 0.97: 0.2}  # probability of a right sample -> share of the items; wrong samples agree


@cache
def vote(right: int, k: int) -> float:
    """The expected vote of k of eight samples of which so many are right."""
    counts = [count for count in (right, SAMPLES - right) if count]
    return shares(counts, 0, k)[0][0] if right else 0.0


@cache
def truth(k: int) -> float:
    """The score of a vote of k over all items of this kind, by the binomial distribution; a tie is half right."""

    def of_item(p: float) -> float:
        return sum(math.comb(k, c) * p**c * (1.0 - p) ** (k - c) * (1.0 if 2 * c > k else 0.5 if 2 * c == k else 0.0) for c in range(k + 1))

    return sum(share * of_item(p) for p, share in DIFFICULTY.items())


def record(items: int, rng: np.random.Generator) -> Curve:
    """A curve of so many items, each with eight samples."""
    p = rng.choice(list(DIFFICULTY), size=items, p=list(DIFFICULTY.values()))
    right = rng.binomial(SAMPLES, p)
    return Curve(task="sums", engine="a", levels=tuple(level(k, right) for k in LEVELS), left=0, tied=0)


def level(k: int, right: np.ndarray) -> Level:
    scores = ItemScores(
        metric=metric_named("exact_match"),
        items=tuple(f"i{item}" for item in range(len(right))),
        rows=np.array([[vote(int(c), k)] for c in right]),
        weights=np.ones(len(right)),
        clusters=(None,) * len(right),
        repetitions=SAMPLES,
        launches=SAMPLES,
        unscored=0,
    )
    return Level(steps=k, configuration="a", scores=scores, session_s=np.ones(len(right)), at_once_s=np.ones(len(right)), sums={})


def simulated(items: int, margin: float, records: int, seed: int) -> tuple[list[float], float, float, float]:
    """Coverage at each level; shares of records with a falsely enough level, with the true knee, and with none."""
    rng, covered, false, right, none = np.random.default_rng(seed), np.zeros(len(LEVELS)), 0, 0, 0
    best = max(map(truth, LEVELS))
    short = [best - truth(k) >= margin - 1e-12 for k in LEVELS]
    knee = short.index(False)
    for _ in range(records):
        curve = record(items, rng)
        for place, one in enumerate(curve.levels):
            interval = of_items(one.scores.rows[:, 0], one.scores.weights, None, (0.0, 1.0), 0.95)
            covered[place] += interval.low <= truth(one.steps) <= interval.high
        found = knee_of(curve, Quality(metric="exact_match", margin=margin), 0.95).knee
        false += any(enough and is_short for enough, is_short in zip(found.enough, short, strict=True))
        right += found.at == knee
        none += found.at is None
    return (covered / records).tolist(), false / records, right / records, none / records


def slack(share: float, records: int) -> float:
    """Three standard errors of a share of so many records."""
    return 3.0 * math.sqrt(share * (1.0 - share) / records)


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.parametrize("items", [60, 200])
def test_intervals_cover_and_knees_are_true(items: int) -> None:
    """The margin is the true gap between 4 samples and 8: 4 lies at its edge, so that every record is as hard as can be."""
    records, margin = 500, truth(8) - truth(4)
    covered, false, _, _ = simulated(items, margin, records, seed=items)
    assert min(covered) >= 0.95 - slack(0.95, records)
    assert false <= 0.05 + slack(0.05, records)


@pytest.mark.slow
def test_a_true_knee_is_found_where_the_items_suffice() -> None:
    """Four samples lie about two points below eight, two and one about seven: with a margin of five points and 800 items the knee is 4."""
    assert truth(1) == pytest.approx(truth(2))
    assert 0.0 < truth(8) - truth(4) < 0.03 < 0.05 < truth(8) - truth(2)
    covered, false, right, _ = simulated(800, 0.05, 20, seed=3)
    assert min(covered) >= 0.8
    assert (false, right) == (0.0, 1.0)
