"""Is a mean of a judge's scores, corrected by few labels, that of the papers, and does its interval keep its word?"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from fireassay.stats.people.prediction_powered import Judged, labels_for

NAN = math.nan


def judged(judge: list[float], gold: list[float], **more: object) -> Judged:
    fields: dict[str, object] = {"weights": np.ones(len(judge)), **more}
    return Judged(judge=np.array(judge, dtype=np.float64), gold=np.array(gold, dtype=np.float64), **fields)  # type: ignore[arg-type]


def drawn(rng: np.random.Generator, items: int, labels: int, *, wrong: float, first: float = 0.0) -> tuple[Judged, float]:
    """Wins, ties and losses; a judge that is wrong in a share, and in another says that the candidate wins. The true mean is 0."""
    truth = rng.choice([-0.5, 0.0, 0.5], items, p=[0.3, 0.4, 0.3])
    judge = np.where(rng.random(items) < wrong, rng.choice([-0.5, 0.0, 0.5], items), truth)
    judge = np.where(rng.random(items) < first, 0.5, judge)
    gold = np.full(items, NAN)
    at = rng.permutation(items)[:labels]
    gold[at] = truth[at]
    return Judged(judge=judge, gold=gold, weights=np.ones(items), scale=(-0.5, 0.5)), 0.0


def test_the_estimate_is_that_of_a_hand_computation() -> None:
    """n = 3, N = 3: cov(Y, f) = 1 over the labelled, var(f) = 1.1 over all six, so L = 1 / (2 x 1.1)."""
    one = judged([1, 2, 3, 1, 2, 4 - 1], [1, 2, 3, NAN, NAN, NAN])
    spread = np.var([1, 2, 3, 1, 2, 3], ddof=1)
    assert one.tuning == pytest.approx(1.0 / (2.0 * spread))
    assert one.value == pytest.approx(one.tuning * 2.0 + (2.0 - one.tuning * 2.0))
    other = judged([1, 2, 3, 3, 4, 5], [2, 4, 6, NAN, NAN, NAN])
    tuning = min(1.0, 2.0 / (2.0 * np.var([1, 2, 3, 3, 4, 5], ddof=1)))
    assert other.value == pytest.approx(4.0 + tuning * (4.0 - 2.0))


def test_the_numbers_are_those_of_ppi_python() -> None:
    """ppi_mean_pointestimate and ppi_mean_ci of ppi-python 0.2.3 with our L, and with its own, whose covariance has the divisor n."""
    rng = np.random.default_rng(1)
    truth = rng.choice([0.0, 0.5, 1.0], 2000, p=[0.3, 0.4, 0.3])
    judge = np.where(rng.random(2000) < 0.2, rng.choice([0.0, 0.5, 1.0], 2000), truth)
    one = Judged(judge=judge, gold=np.where(np.arange(2000) < 400, truth, NAN), weights=np.ones(2000))
    assert one.value == pytest.approx(0.48976829, abs=1e-8)
    assert one.value == pytest.approx(0.48973137, abs=1e-4)
    assert one.bounds(0.95) == pytest.approx((0.46200157, 0.51753500), abs=3e-4)  # theirs are normal, ours Student's and skewness-corrected
    assert (one._mean(1.0), one._mean(0.0)) == pytest.approx((0.5, 0.475))


def test_the_error_is_that_of_the_paper() -> None:
    """L^2 var(f) / N + var(Y - L f) / n (Angelopoulos, Duchi and Zrnic, section 6), of single items with the divisor of the sample."""
    rng = np.random.default_rng(1)
    one, _ = drawn(rng, 4000, 1000, wrong=0.2)
    at, tuning = one.labelled, one.tuning
    others = tuning**2 * np.var(one.judge[~at], ddof=1) / (~at).sum()
    rest = np.var(one.gold[at] - tuning * one.judge[at], ddof=1) / at.sum()
    assert one.error == pytest.approx(math.sqrt(others + rest), rel=1e-3)


def test_all_items_labelled_is_the_mean_of_the_labels() -> None:
    one = judged([5, 5, 1, 5], [1, 2, 3, 4])
    assert (one.tuning, one.value) == (0.0, 2.5)
    assert one.error == pytest.approx(np.std([1, 2, 3, 4], ddof=1) / 2.0)
    assert one.worth(0.95).value == 0.0


def test_a_judge_that_says_one_thing_does_not_count() -> None:
    one = judged([3] * 40, [1, 2, 3, 4] * 5 + [NAN] * 20)
    assert (one.tuning, one.value) == (0.0, 2.5)


def test_a_constant_bias_of_the_judge_cancels() -> None:
    rng = np.random.default_rng(2)
    plain, _ = drawn(rng, 600, 100, wrong=0.2)
    moved = Judged(judge=plain.judge + 0.3, gold=plain.gold, weights=plain.weights)
    assert moved.value == pytest.approx(plain.value)
    assert moved.error == pytest.approx(plain.error)
    assert moved.judge_alone == pytest.approx(plain.judge_alone + 0.3)


def test_weights_count_as_copies() -> None:
    judge, gold = [1.0, 2, 4, 1, 5, 2], [1.0, 3, 4, NAN, NAN, NAN]
    twice = judged([one for one in judge for _ in range(2)], [one for one in gold for _ in range(2)])
    heavy = judged(judge, gold, weights=np.full(6, 2.0))
    assert heavy._mean(0.5) == pytest.approx(twice._mean(0.5))


def test_clusters_that_all_agree_have_the_error_of_their_number() -> None:
    """Ten clusters of five equal items are ten units."""
    rng = np.random.default_rng(3)
    truth, judge = rng.normal(size=20), rng.normal(size=20)
    gold = np.where(np.arange(20) < 10, truth, NAN)
    single = Judged(judge=judge, gold=gold, weights=np.ones(20))
    clustered = Judged(
        judge=np.repeat(judge, 5), gold=np.repeat(gold, 5), weights=np.ones(100), clusters=[f"c{index // 5}" for index in range(100)]
    )
    assert clustered._error(0.5) == pytest.approx(single._error(0.5) * math.sqrt((10 / 9) / (20 / 19)), rel=1e-9)


def test_the_interval_covers_and_a_loss_of_the_margin_is_rarely_held() -> None:
    """Quick form of `benchmarks/judges.py`: 400 draws of a judge that is wrong in 20 % and prefers the candidate in 10 %."""
    rng = np.random.default_rng(4)
    covered = held = 0
    for _ in range(400):
        one, truth = drawn(rng, 500, 100, wrong=0.2, first=0.1)
        low, high = one.bounds(0.95)
        covered += low <= truth <= high
        held += one.one_sided(0.95)[0] > truth
    assert covered / 400 == pytest.approx(0.95, abs=0.035)
    assert held / 400 <= 0.055 + 2.0 * math.sqrt(0.055 * 0.945 / 400)


def test_the_judge_alone_does_not_cover() -> None:
    """What labels are for: a judge that prefers the candidate in 10 % is off by 0.05, whatever the number of items."""
    rng = np.random.default_rng(5)
    one, truth = drawn(rng, 20_000, 100, wrong=0.2, first=0.1)
    half = 1.96 * float(np.std(one.judge)) / math.sqrt(20_000)
    assert one.judge_alone - half > truth


def test_what_a_judge_is_worth_lies_in_its_interval() -> None:
    """Truth: the correlation over two million items."""
    rng = np.random.default_rng(6)
    large, _ = drawn(rng, 2_000_000, 0, wrong=0.2)
    truth = np.random.default_rng(6).choice([-0.5, 0.0, 0.5], 2_000_000, p=[0.3, 0.4, 0.3])
    r = float(np.corrcoef(truth, large.judge)[0, 1])
    share = 500 / 600
    worth = 100 * (1.0 / (1.0 - r * r * share) - 1.0)
    inside = 0
    for _ in range(200):
        one, _ = drawn(rng, 600, 100, wrong=0.2)
        found = one.worth(0.95)
        inside += found.low <= worth <= found.high
    assert inside / 200 == pytest.approx(0.95, abs=0.05)


def test_the_worth_is_the_ratio_of_variances() -> None:
    """n labels and the judge have the error of n + worth labels alone, where L is not cut at 0 or 1."""
    rng = np.random.default_rng(7)
    one, _ = drawn(rng, 50_000, 10_000, wrong=0.2)
    alone = Judged(judge=one.judge[one.labelled], gold=one.gold[one.labelled], weights=np.ones(one.labels))
    assert one.labels * (alone.error / one.error) ** 2 - one.labels == pytest.approx(one.worth(0.95).value, rel=0.05)


def test_equal_labels_do_not_say_what_a_judge_is_worth() -> None:
    assert math.isinf(judged([1, 2, 3, 4, 5, 1, 2, 3], [3, 3, 3, 3, 3, NAN, NAN, NAN]).worth(0.95).high)


def test_a_few_rare_labels_do_not_say_what_a_judge_is_worth() -> None:
    """Four losses among 100 labels are too few for the jackknife, five are not."""
    for losses, bounded in ((4, False), (5, True)):
        rare = [0.0] * losses + [0.5] * (100 - losses)
        found = judged([*rare[:-1], 0.0, *rare], [*rare, *[NAN] * 100]).worth(0.95)
        assert math.isfinite(found.high) == bounded


@pytest.mark.parametrize("labels", [0, 1, 2])
def test_fewer_than_three_labels_bound_nothing(labels: int) -> None:
    one = judged([1.0] * 10, [1.0] * labels + [NAN] * (10 - labels))
    assert one.bounds(0.95) == (-math.inf, math.inf)


def test_how_many_labels_are_needed() -> None:
    """Without a judge ((1.645 + 0.842) x spread / gap)^2 = 154.6, so 155; a better judge needs fewer; all items may not suffice."""
    assert labels_for(0.1, 0.5, 0.0, 10_000, 0.95, 0.8) == 155
    better = labels_for(0.1, 0.5, 0.8, 10_000, 0.95, 0.8)
    assert better is not None
    assert better < 70
    assert labels_for(0.1, 0.5, 0.0, 100, 0.95, 0.8) is None
    assert labels_for(0.0, 0.5, 0.0, 100, 0.95, 0.8) is None


@given(
    judge=arrays.arrays(np.float64, 30, elements=st.integers(0, 10**9).map(lambda one: one / 1e9)),  # no scale has finer steps
    gold=arrays.arrays(np.float64, 30, elements=st.sampled_from([NAN, 0.0, 0.5, 1.0])),
)
def test_any_scores_give_bounds_around_the_estimate(judge: np.ndarray, gold: np.ndarray) -> None:
    one = Judged(judge=judge, gold=gold, weights=np.ones(30), scale=(0.0, 1.0))
    assert 0.0 <= one.tuning <= 1.0
    if one.labels < 3:
        return
    for low, high in (one.bounds(0.95), one.one_sided(0.95)):
        assert low <= one.value <= high
    worth = one.worth(0.95)
    assert 0.0 <= worth.low <= worth.value + 1e-9 <= worth.high + 2e-9
