"""Do the quality tests give the published vectors, and is a true loss of the margin called held in 5 % of cases at most?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import optimize, stats

from assay.stats.noninferiority import (
    bca_lower,
    clustered,
    crossed,
    flips,
    items_needed,
    items_needed_without_flips,
    paired_t,
    tango,
    tango_lower,
    zero_flip_bound,
)

Array = NDArray[np.float64]

# (b, c, n, margin): p of Tango's test, to the printed digit (quality.md 3.4 and 9.1)
VECTORS = {
    (12, 10, 1000, 0.01): 0.0549,
    (40, 25, 1000, 0.02): 0.2691,
    (60, 60, 3000, 0.01): 0.0038,
    (0, 0, 164, 0.02): 0.0337,
    (12, 10, 1000, 0.02): 0.0008,
    (0, 0, 300, 0.01): 0.0409,
    (25, 40, 1000, 0.02): 0.0000,
    (0, 1, 44, 0.10): 0.0072,
    (1, 0, 44, 0.10): 0.0438,
}


@pytest.mark.parametrize(("table", "p"), VECTORS.items())
def test_tangos_p_is_the_published_one(table: tuple[int, int, int, float], p: float) -> None:
    assert round(tango(*table)[1], 4) == p


def test_tangos_own_example_gives_his_z() -> None:
    assert round(tango(1, 0, 44, 0.10)[0], 3) == 1.709
    assert round(tango(0, 1, 44, 0.10)[0], 3) == 2.449


def numeric_z(b: int, c: int, n: int, margin: float) -> float:
    """Tango's Z with the restricted likelihood maximised by search instead of the closed form."""
    delta = -margin

    def loss(p: float) -> float:
        cells = ((b, p), (c, p + delta), (n - b - c, 1 - 2 * p - delta))
        return -sum(count * math.log(max(share, 1e-300)) for count, share in cells if count)

    best = optimize.minimize_scalar(loss, bounds=(margin, (1 + margin) / 2), method="bounded", options={"xatol": 1e-12})
    return (c - b - n * delta) / math.sqrt(n * (2 * best.x + delta - delta**2))


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(130, 2000), st.floats(0.005, 0.2))
def test_the_closed_form_is_the_restricted_maximum_likelihood(b: int, c: int, n: int, margin: float) -> None:
    assert tango(b, c, n, margin)[0] == pytest.approx(numeric_z(b, c, n, margin), abs=2e-5)


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 60), st.integers(0, 60), st.integers(130, 2000))
def test_the_lower_bound_is_where_the_test_just_fails_to_reject(b: int, c: int, n: int) -> None:
    low = tango_lower(b, c, n, 0.95)
    assert -1 <= low <= (c - b) / n
    if low < -1e-6:
        assert tango(b, c, n, -low)[1] == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize(("margin", "n"), [(0.05, 52), (0.03, 88), (0.02, 133), (0.01, 268), (0.005, 539)])
def test_without_flips_tango_alone_passes_at_the_published_sizes(margin: float, n: int) -> None:
    assert tango_lower(0, 0, n, 0.95) > -margin
    assert tango_lower(0, 0, n - 1, 0.95) <= -margin


@pytest.mark.parametrize(("margin", "n"), [(0.05, 59), (0.03, 99), (0.02, 149), (0.01, 299), (0.005, 598)])
def test_without_flips_held_needs_the_exact_size(margin: float, n: int) -> None:
    assert items_needed_without_flips(margin, 0.95) == n
    assert flips(0, 0, n, margin).verdict == "HELD"
    assert flips(0, 0, n - 1, margin).verdict == "INCONCLUSIVE"


@pytest.mark.parametrize(("n", "bound"), [(164, 0.0181), (300, 0.0099)])
def test_the_zero_flip_bound_is_the_published_one(n: int, bound: float) -> None:
    assert round(zero_flip_bound(n, 0.95), 4) == bound


# share of flips: items for margins of 0.5, 1, 2, 3, 5 points at 80 % power (quality.md 3.3)
SIZES = {
    0.01: (2474, 619, 155, 69, 25),
    0.02: (4947, 1237, 310, 138, 50),
    0.05: (12366, 3092, 773, 344, 124),
    0.10: (24731, 6183, 1546, 687, 248),
    0.20: (49461, 12366, 3092, 1374, 495),
}


@pytest.mark.parametrize(("rate", "sizes"), SIZES.items())
def test_items_needed_are_those_of_the_table(rate: float, sizes: tuple[int, ...]) -> None:
    assert tuple(items_needed(rate, m) for m in (0.005, 0.01, 0.02, 0.03, 0.05)) == sizes


# the same at 90 % power, where quality.md 3.3 prints it: (share of flips, margin) -> items
SIZES_90 = {
    (0.01, 0.005): 3426, (0.01, 0.01): 857, (0.01, 0.02): 215, (0.02, 0.01): 1713, (0.02, 0.02): 429,
    (0.05, 0.01): 4282, (0.05, 0.02): 1071, (0.10, 0.01): 8564, (0.10, 0.02): 2141, (0.20, 0.02): 4282,
}  # fmt: skip


@pytest.mark.parametrize(("case", "size"), SIZES_90.items())
def test_items_needed_at_ninety_percent_are_those_of_the_table(case: tuple[float, float], size: int) -> None:
    assert items_needed(*case, power=0.9) == size


# (items, flips): points that can be supported at 80 % power (quality.md 3.3: 2.4865 sqrt(psi/n))
SUPPORTED = {
    (100, 2): 3.5, (500, 10): 1.6, (100, 5): 5.6, (500, 25): 2.5, (100, 10): 7.9, (500, 50): 3.5,
}  # fmt: skip


@pytest.mark.parametrize(("case", "points"), SUPPORTED.items())
def test_the_smallest_margin_of_a_benchmark_is_that_of_the_table(case: tuple[int, int], points: float) -> None:
    n, moved = case
    got = flips(moved // 2, moved - moved // 2, n, 0.5)
    assert 100 * got.smallest_supported_margin == pytest.approx(points, abs=0.051)


def test_where_the_usual_rules_say_held_ours_does_not() -> None:
    """quality.md 3.4.  12 and 10 flips of 1000, one point: Wald p .0441.  40 and 25, two points: McNemar p .0817, not significant."""
    b, c, n, margin = 12, 10, 1000, 0.01
    spread = ((b + c) / n - ((c - b) / n) ** 2) / (n - 1)
    assert stats.norm.sf(((c - b) / n + margin) / math.sqrt(spread)) == pytest.approx(0.0441, abs=5e-5)
    assert stats.binomtest(10, 22).pvalue == pytest.approx(0.832, abs=5e-4)
    assert stats.binomtest(25, 65).pvalue == pytest.approx(0.0817, abs=5e-5)
    assert flips(b, c, n, margin).verdict == flips(40, 25, 1000, 0.02).verdict == "INCONCLUSIVE"


def test_items_needed_grow_with_power_and_with_a_true_loss() -> None:
    assert items_needed(0.05, 0.01, power=0.9) == 4282
    # half of the margin lost: (2.4865)^2 (0.05 - 0.005^2)/0.005^2 = 12359.4
    assert items_needed(0.05, 0.01, difference=-0.005) == pytest.approx(12360, abs=1)
    with pytest.raises(ValueError, match="no size"):
        items_needed(0.05, 0.01, difference=-0.01)


def test_one_sample_of_humaneval_cannot_support_one_point() -> None:
    # flip rate 10 % on 164 items supports 6.1 points (quality.md 3.3); 8 + 8 flips are 9.8 %
    got = flips(8, 8, 164, 0.01)
    assert got.smallest_supported_margin == pytest.approx(0.061, abs=0.001)
    assert got.verdict == "INCONCLUSIVE"
    assert got.items_needed is not None
    assert got.items_needed > 5000


@pytest.mark.parametrize(
    ("table", "verdict", "worse"),
    [
        ((12, 10, 1000, 0.01), "INCONCLUSIVE", False),
        ((40, 25, 1000, 0.02), "INCONCLUSIVE", True),  # McNemar p .08: "not significant", yet not held
        ((60, 60, 3000, 0.01), "HELD", False),
        ((60, 20, 3000, 0.02), "HELD", True),
        ((300, 20, 3000, 0.02), "DEGRADED", False),
    ],
)
def test_flips_are_judged(table: tuple[int, int, int, float], verdict: str, worse: bool) -> None:
    got = flips(*table)
    assert (got.verdict, got.worse_within_margin) == (verdict, worse)


def test_the_paired_t_bounds_are_students() -> None:
    # Student's sleep data: mean 1.58, s/sqrt(10) = 0.3889587, t[.95, 9] = 1.8331129 -> 1.58 -+ 0.7130052
    got = paired_t([1.2, 2.4, 1.3, 1.3, 0.0, 1.0, 1.8, 0.8, 4.6, 1.4], 0.1)
    assert (got.estimate, got.low, got.high) == pytest.approx((1.58, 0.8669948, 2.2930052), abs=1e-6)
    assert got.verdict == "HELD"


def test_the_paired_t_agrees_with_scipy() -> None:
    d = np.random.default_rng(1).normal(-0.01, 0.1, 80)
    reference = stats.ttest_1samp(d, 0.0, alternative="greater").confidence_interval(0.95)
    assert paired_t(d, 0.02).low == pytest.approx(reference.low)


def test_clusters_of_one_are_independent_items() -> None:
    d = np.random.default_rng(2).normal(0, 0.1, 50)
    assert clustered(d, list(range(50)), 0.02).low == pytest.approx(paired_t(d, 0.02).low)


def test_copies_of_an_item_in_its_cluster_add_nothing() -> None:
    d = np.random.default_rng(2).normal(0, 0.1, 50)
    copied = clustered(np.repeat(d, 10), [str(i // 10) for i in range(500)], 0.02)
    assert copied.low == pytest.approx(paired_t(d, 0.02).low)


def test_fewer_than_ten_clusters_are_refused() -> None:
    with pytest.raises(ValueError, match="at least 10 clusters, not 9"):
        clustered(np.arange(90.0), [i % 9 for i in range(90)], 0.1)


def test_the_crossed_bounds_are_those_worked_out_by_hand() -> None:
    """3 launches x 2 items [[1, 2], [3, 6], [5, 4]].

    Row means 1.5, 4.5, 4.5 (variance 3), column means 3, 4 (variance 0.5), residuals -+0, -+1, +-1: sum of squares 4 over
    2 degrees, so E = 2/6, A = 3/3, B = 0.5/2; B < E, hence the half-width is the larger of t[2] sqrt(A) = 2.919986 and
    sqrt(t[2]^2 (A - E) + t[1]^2 B) = sqrt(8.526317 x 2/3 + 39.863458/4) = sqrt(15.650076) = 3.956018.
    """
    got = crossed([[1, 2], [3, 6], [5, 4]], 1.0)
    assert (got.estimate, got.low, got.high) == pytest.approx((3.5, 3.5 - 3.956018, 3.5 + 3.956018), abs=1e-5)


def test_identical_launches_count_as_one_look_at_the_items() -> None:
    d = np.random.default_rng(3).normal(0, 0.1, 200)
    once, thrice = paired_t(d, 0.02), crossed(np.tile(d, (3, 1)), 0.02)
    assert (thrice.low, thrice.high) == pytest.approx((once.low, once.high))
    assert thrice.verdict == "HELD"


def test_identical_items_count_as_one_look_at_the_launches() -> None:
    shift = np.array([0.01, -0.02, 0.005, 0.0, 0.015])
    got = crossed(np.repeat(shift[:, np.newaxis], 300, axis=1), 0.05)
    reference = stats.ttest_1samp(shift, 0.0, alternative="greater").confidence_interval(0.95)
    assert got.low == pytest.approx(reference.low)
    assert got.items_needed is not None
    assert crossed(np.repeat(shift[:, np.newaxis], 300, axis=1), 0.01).items_needed is None  # more items cannot help


def test_order_of_launches_and_items_does_not_matter() -> None:
    rng = np.random.default_rng(4)
    d = rng.normal(size=(4, 30))
    shuffled = rng.permutation(rng.permutation(d, axis=0), axis=1)
    assert crossed(shuffled, 0.1).low == pytest.approx(crossed(d, 0.1).low)


def test_the_two_sides_mirror_each_other() -> None:
    d = np.random.default_rng(5).choice([-1.0, 0.0, 1.0], p=[0.05, 0.92, 0.03], size=(5, 200))
    there, back = crossed(d, 0.02), crossed(-d, 0.02)
    assert (there.low, there.high) == pytest.approx((-back.high, -back.low))
    assert there.low < there.estimate < there.high


def test_nothing_varied_is_held_from_the_exact_size_and_three_launches_on() -> None:
    assert crossed(np.zeros((3, 299)), 0.01).verdict == "HELD"
    few_items, few_launches = crossed(np.zeros((3, 298)), 0.01), crossed(np.zeros((2, 299)), 0.01)
    assert (few_items.verdict, few_items.items_needed, few_items.launches_needed) == ("INCONCLUSIVE", 299, None)
    assert (few_launches.verdict, few_launches.launches_needed) == ("INCONCLUSIVE", 3)
    assert crossed(np.zeros((3, 299)), 0.01).low == pytest.approx(-zero_flip_bound(299, 0.95))


def test_one_launch_bounds_nothing_unless_nothing_varied() -> None:
    got = crossed(np.random.default_rng(6).normal(0, 0.001, (1, 1000)), 0.5)
    assert (got.low, got.high, got.verdict, got.launches_needed) == (-math.inf, math.inf, "INCONCLUSIVE", 3)


def test_two_launches_give_bounds_but_no_verdict() -> None:
    got = crossed(np.random.default_rng(7).normal(0, 0.001, (2, 1000)), 0.5)
    assert -0.5 < got.low < got.high < 0.5
    assert got.verdict == "INCONCLUSIVE"


def test_a_large_loss_is_degraded() -> None:
    got = crossed(np.random.default_rng(8).normal(-0.1, 0.05, (5, 100)), 0.02)
    assert (got.verdict, got.worse_within_margin) == ("DEGRADED", False)


def test_a_small_sure_loss_is_held_and_flagged() -> None:
    got = crossed(np.random.default_rng(8).normal(-0.01, 0.01, (5, 100)), 0.02)
    assert (got.verdict, got.worse_within_margin) == ("HELD", True)


def test_a_gap_in_the_table_is_refused_by_name() -> None:
    d = np.zeros((3, 5))
    d[1, 4] = math.nan
    with pytest.raises(ValueError, match="item 4 has no finite difference in launch 1"):
        crossed(d, 0.01)
    with pytest.raises(ValueError, match=r"numbers differ: \[2, 3\]"):
        crossed([[0, 0], [0, 0, 1], [0, 0]], 0.01)
    with pytest.raises(ValueError, match="at least 2 items"):
        crossed(np.zeros((3, 1)), 0.01)


@pytest.mark.parametrize("margin", [0.0, -0.01, math.nan, math.inf])
def test_a_margin_that_is_not_positive_is_refused(margin: float) -> None:
    d = np.random.default_rng(9).normal(size=(3, 10))
    calls: list[Callable[[], object]] = [
        lambda: crossed(d, margin),
        lambda: crossed(np.zeros((3, 10)), margin),
        lambda: paired_t(d[0], margin),
        lambda: tango(1, 2, 10, margin),
        lambda: flips(1, 2, 10, margin),
        lambda: flips(0, 0, 10, margin),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="margin"):
            call()


def test_more_flips_than_items_are_refused() -> None:
    with pytest.raises(ValueError, match="at most the number of items"):
        flips(6, 5, 10, 0.01)


def flipping(rng: np.random.Generator, k: int, n: int, rate: float, loss: float, launch_sd: float) -> Array:
    """[launches, items] of -1, 0, 1: half of the flips stay, half come and go; a launch flips its own share besides."""

    def draw(shape: tuple[int, int]) -> Array:
        u = rng.random(shape)
        return np.where(u < (rate + loss) / 2, -1.0, np.where(u < rate, 1.0, 0.0))

    d = np.where(rng.random((k, n)) < 0.5, draw((1, n)), draw((k, n)))
    shift = rng.normal(0, launch_sd, (k, 1))
    return np.where(rng.random((k, n)) < np.abs(shift), np.sign(shift), d)


@pytest.mark.parametrize("noisy_launches", [False, True])
@pytest.mark.parametrize(("rate", "loss"), [(0.05, 0.02), (0.15, 0.05)])
@pytest.mark.parametrize("n", [100, 300, 1000])
@pytest.mark.parametrize("k", [3, 5, 10])
def test_a_true_loss_of_the_margin_is_held_in_at_most_one_case_in_twenty(
    k: int, n: int, rate: float, loss: float, noisy_launches: bool
) -> None:
    """False HELD at the margin; the launches' standard deviation is that of the item mean. 5.5 % + 3 SE."""
    repetitions = 250
    rng = np.random.default_rng([k, n, int(100 * rate), noisy_launches])
    launch_sd = math.sqrt(rate / n) if noisy_launches else 0.0
    margin = loss * (1 - launch_sd * math.sqrt(2 / math.pi))  # a launch's own flips replace others
    draws = (flipping(rng, k, n, rate, loss, launch_sd) for _ in range(repetitions))
    held = sum(crossed(d, margin).verdict == "HELD" for d in draws)
    assert held / repetitions <= 0.055 + 3 * math.sqrt(0.055 * 0.945 / repetitions)


def test_enough_items_and_launches_do_decide() -> None:
    rng = np.random.default_rng(10)
    outcomes = [crossed(flipping(rng, 5, 1000, 0.05, 0.0, 0.0), 0.02).verdict for _ in range(50)]
    assert outcomes.count("HELD") >= 45


def test_the_planned_numbers_decide_in_about_four_cases_of_five() -> None:
    """Plan from one small experiment, carry the plan out 200 times: 80 % power, within what a plan from data can promise."""
    rng = np.random.default_rng(12)
    plan = crossed(rng.normal(0, 0.2, (5, 400)) + rng.normal(0, 0.2, (1, 400)), 0.015).items_needed
    assert plan is not None
    held = 0
    for _ in range(200):
        d = rng.normal(0, 0.2, (5, plan)) + rng.normal(0, 0.2, (1, plan))
        held += crossed(d, 0.015).verdict == "HELD"
    assert 0.7 <= held / 200 <= 0.9


def test_one_flip_does_not_bound_the_difference_more_closely_than_none() -> None:
    """A single answer that changes in one of five launches: the half-width stays at the zero-flip bound of 517 items."""
    differences = np.zeros((5, 517))
    none = crossed(differences, 0.01)
    differences[2, 100] = -1.0
    one = crossed(differences, 0.01)
    assert none.high - none.low == pytest.approx(2 * (1 - 0.05 ** (1 / 517)))
    assert one.high - one.low >= none.high - none.low
    assert one.low < none.low


def losses(n: int) -> Array:
    """Mostly small gains and some large losses: skewed to the left."""
    return 0.1 - 0.1 * np.random.default_rng(9).exponential(size=n)


@pytest.mark.parametrize("sign", [1, -1])
def test_few_skewed_items_get_the_wider_of_bca_and_t_on_both_sides(sign: int) -> None:
    d = sign * losses(30)
    plain, got = paired_t(d, 0.05), bca_lower(d, 0.05, seed=3)
    scipys = [
        stats.bootstrap((d,), np.mean, method="BCa", confidence_level=0.95, alternative=side, rng=5).confidence_interval
        for side in ("greater", "less")
    ]
    assert got.low == pytest.approx(min(plain.low, scipys[0].low), abs=0.004)
    assert got.high == pytest.approx(max(plain.high, scipys[1].high), abs=0.004)
    assert (got.low < plain.low) == (sign == 1)  # BCa reaches out to where the rare values are
    assert got.smallest_supported_margin >= plain.smallest_supported_margin
    assert got.method.startswith("the wider of BCa and paired Student t on 30 items")


def test_the_same_seed_gives_the_same_decision() -> None:
    assert bca_lower(losses(30), 0.05, seed=3) == bca_lower(losses(30), 0.05, seed=3)


def test_items_that_are_many_and_even_or_fewer_than_twenty_are_left_to_t() -> None:
    for d in (np.random.default_rng(1).normal(size=60), losses(19), np.full(30, 0.01)):
        assert bca_lower(d, 0.05, seed=3) == paired_t(d, 0.05)


def test_the_stricter_bound_never_turns_a_loss_into_held() -> None:
    """20 sets of 30 items whose true mean loss is the margin: never HELD where Student's t is not."""
    rng = np.random.default_rng(10)
    sets = [0.05 - 0.1 * rng.exponential(size=30) for _ in range(20)]
    held = [(bca_lower(d, 0.05, seed=1).verdict == "HELD", paired_t(d, 0.05).verdict == "HELD") for d in sets]
    assert all(plain or not own for own, plain in held)


def test_no_failure_in_three_hundred_bounds_their_share_at_1_2221_percent() -> None:
    """methodology T16: the upper end of the two-sided 95 % Clopper-Pearson interval of 0/300."""
    exact = stats.binomtest(0, 300).proportion_ci(0.95, method="exact").high
    assert zero_flip_bound(300, 0.975) == pytest.approx(exact) == pytest.approx(0.012221, abs=5e-7)


@pytest.mark.parametrize("margin", [0.01, 0.05, 0.25])
def test_ten_identical_items_are_not_held(margin: float) -> None:
    """Ten answers that are all the same rule out no more than 1 - .05^(1/10) = 26 % of flips (quality.md 3.2: a Wald test holds)."""
    assert flips(0, 0, 10, margin).verdict == "INCONCLUSIVE"
    assert crossed(np.zeros((5, 10)), margin).verdict == "INCONCLUSIVE"
    assert crossed(np.zeros((5, 10)), 0.26).verdict == "HELD"
