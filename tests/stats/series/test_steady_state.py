"""Does the detector find the published change points, and tell the four shapes of a series apart?"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray

from fireassay.stats.series.steady_state import Kind, _noise, change_points, mser5, steady_state
from tests.tiers import examples, some

pytestmark = pytest.mark.slow


Array = NDArray[np.float64]

# Annual flow of the Nile at Aswan, 1871 to 1970 (Cobb 1978): the level fell in 1899, index 28.
# fmt: off
NILE = np.array([
    1120, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960, 1180, 799, 958, 1140,
    1100, 1210, 1150, 1250, 1260, 1220, 1030, 1100, 774, 840, 874, 694, 940, 833, 701, 916, 692, 1020, 1050, 969,
    831, 726, 456, 824, 702, 1120, 1100, 832, 764, 821, 768, 845, 864, 862, 698, 845, 744, 796, 1040, 759,
    781, 865, 845, 944, 984, 897, 822, 1010, 771, 676, 649, 846, 812, 742, 801, 1040, 860, 874, 848, 890,
    744, 749, 838, 1050, 918, 986, 797, 923, 975, 815, 1020, 906, 901, 1170, 912, 746, 919, 718, 714, 740,
], dtype=np.float64)
# fmt: on
T = np.arange(1000.0)
MSER_EXACT = {
    "decay": (10 + 5 * np.exp(-T / 20) + 0.2 * np.sin(T), 105),
    "step": (np.where(T < 60, 15.0, 10 + 0.2 * (-1.0) ** T), 60),
    "flat": (10 + 0.2 * np.sin(T), 0),
    "ramp": (10 + 0.01 * T, 500),
}
SHAPES: dict[str, tuple[Callable[[Array, int], Array], Kind]] = {  # the level at point t of n, and the class that it belongs to
    "flat": (lambda t, n: np.ones(n), "flat"),
    "step down": (lambda t, n: np.where(t < 0.2 * n, 1.5, 1.0), "warm-up"),
    "decay": (lambda t, n: 1 + np.exp(-t / (0.04 * n)), "warm-up"),
    "three slow steps": (lambda t, n: np.r_[30.0, 8.0, 4.0, np.ones(n - 3)], "warm-up"),
    "throttled": (lambda t, n: np.where(t < 0.3 * n, 1.0, 1.4), "slow-down"),
    "rising": (lambda t, n: 1 + t / n, "no steady state"),
    "late step": (lambda t, n: np.where(t < 0.85 * n, 1.0, 1.5), "no steady state"),
}


def autocorrelated(rng: np.random.Generator, n: int) -> Array:
    """AR(1) noise with coefficient 0.5 and innovations of 2 %."""
    noise = np.empty(n + 50)
    noise[0] = 0.0
    for i, e in enumerate(rng.normal(0, 0.02, n + 49)):
        noise[i + 1] = 0.5 * noise[i] + e
    return np.asarray(1 + noise[50:], dtype=np.float64)


NOISES: dict[str, Callable[[np.random.Generator, int], Array]] = {
    "normal": lambda rng, n: 1 + rng.normal(0, 0.02, n),
    "lognormal": lambda rng, n: np.exp(rng.normal(0, 0.1, n)),
    "spikes": lambda rng, n: (1 + rng.normal(0, 0.02, n)) * np.where(rng.random(n) < 0.03, 3.0, 1.0),
    "autocorrelated": autocorrelated,
}


def test_the_nile_fell_in_1899_and_nowhere_else() -> None:
    assert change_points(NILE) == (28,)


def test_the_noise_of_the_nile_is_the_one_worked_out() -> None:
    """1.4826 MAD(differences)/sqrt(2) = 115.32."""
    assert round(_noise(NILE), 2) == 115.32


def test_the_nile_keeps_its_level_from_1899() -> None:
    assert (steady_state(NILE).kind, steady_state(NILE).warmup) == ("warm-up", 28)


@pytest.mark.parametrize(("series", "cut"), MSER_EXACT.values(), ids=MSER_EXACT)
def test_mser5_cuts_exactly_where_worked_out(series: Array, cut: int) -> None:
    assert mser5(series) == cut


@pytest.mark.parametrize(("size", "scale", "median", "least", "most"), [(5, 20, 80, 65, 110), (1, 50, 115, 85, 160)])
def test_mser5_cuts_noisy_decays_where_the_prototype_did(size: float, scale: float, median: float, least: float, most: float) -> None:
    rng = np.random.default_rng(15)
    cuts = [mser5(10 + size * np.exp(-T / scale) + rng.normal(0, 0.2, len(T))) for _ in range(300)]
    assert np.percentile(cuts, (5, 50, 95)) == pytest.approx((least, median, most), abs=5.0)


def test_mser5_of_a_handful_of_points_cuts_nothing() -> None:
    assert [mser5(np.array([9.0] + [1.0] * n)) for n in range(9)] == [0] * 9


@pytest.mark.parametrize("noise", some(NOISES))
@pytest.mark.parametrize("shape", SHAPES)
def test_95_percent_of_noisy_series_are_put_in_their_class(shape: str, noise: str) -> None:
    n, (level, kind) = 300, SHAPES[shape]
    rng, t = np.random.default_rng(9), np.arange(float(n))
    kinds = [steady_state(level(t, n) * NOISES[noise](rng, n)).kind for _ in range(60)]
    assert kinds.count(kind) >= 57, kinds


@pytest.mark.parametrize("n", some([50, 100]))
@pytest.mark.parametrize("shape", SHAPES)
def test_short_series_are_put_in_their_class_too(shape: str, n: int) -> None:
    level, kind = SHAPES[shape]
    rng, t = np.random.default_rng(n), np.arange(float(n))
    kinds = [steady_state(level(t, n) * NOISES["normal"](rng, n)).kind for _ in range(100)]
    assert kinds.count(kind) >= 95, kinds


def test_a_warm_up_ends_where_the_level_is_reached_and_mser_adds_a_tenth_at_most() -> None:
    cuts = []
    for seed in range(30):
        got = steady_state(np.where(T < 60, 15.0, 10.0) + np.random.default_rng(seed).normal(0, 0.2, len(T)))
        assert got.kind == "warm-up"
        cuts.append(got.warmup)
    assert min(cuts) == 60
    assert np.median(cuts) == 60
    assert max(cuts) <= 60 + 100


@pytest.mark.parametrize("first", [[50.0], [900.0, 40.0], [900.0, 40.0, 20.0]])
@pytest.mark.parametrize("n", [12, 40, 300])
def test_huge_first_steps_are_found_although_bins_of_five_hide_them(first: list[float], n: int) -> None:
    steady = 10 + 0.1 * (-1.0) ** np.arange(n)
    assert (steady_state(np.r_[first, steady]).warmup, steady_state(np.r_[first, steady]).kind) == (len(first), "warm-up")


@pytest.mark.parametrize("n", [4, 5, 9])
def test_a_few_points_lose_only_an_outlying_first_one(n: int) -> None:
    rest = 10 + 0.1 * (-1.0) ** np.arange(n - 1)
    assert steady_state(np.r_[99.0, rest]).warmup == 1
    assert steady_state(np.r_[10.05, rest]).warmup == 0
    assert steady_state(np.r_[1.0, rest]).warmup == 0  # a fast first step is no warm-up
    assert steady_state(np.r_[99.0, rest]).kind == "flat"


@pytest.mark.parametrize("n", [1, 2, 3])
def test_three_points_or_fewer_are_all_kept(n: int) -> None:
    assert steady_state(np.r_[99.0, np.ones(n - 1)]).warmup == 0


def test_a_pause_in_the_middle_is_not_a_change_of_level() -> None:
    series = 10 + 0.1 * np.sin(T)
    series[[300, 301, 700, 950]] = 500.0
    assert (steady_state(series).kind, steady_state(series).warmup) == ("flat", 0)


def test_levels_within_one_percent_are_one_level() -> None:
    exact = np.where(T < 300, 1.009, 1.0)
    assert steady_state(exact).kind == "flat"
    assert steady_state(np.where(T < 300, 1.011, 1.0)).kind == "warm-up"


def test_a_million_points_need_no_more_than_a_thousand_bins() -> None:
    rng = np.random.default_rng(0)
    series = 10 + rng.normal(0, 0.2, 1_000_000)
    series[:150_000] += 3.0
    got = steady_state(series)
    assert got.kind == "warm-up"
    assert got.warmup == pytest.approx(150_000, abs=2_000)


@examples(200)
@given(arrays(np.float64, st.integers(1, 120), elements=st.floats(0, 1e9)))
def test_at_least_half_of_any_series_is_left(series: Array) -> None:
    got = steady_state(series)
    assert 0 <= got.warmup <= len(series) / 2
    assert len(series) < 10 or len(series) - got.warmup >= 5


@examples(50)
@given(st.floats(1e-9, 1e9), st.integers(0, 10_000))
def test_the_unit_of_time_does_not_matter(unit: float, seed: int) -> None:
    series = np.where(np.arange(80) < 16, 1.5, 1.0) * (1 + np.random.default_rng(seed).normal(0, 0.02, 80))
    assert steady_state(series * unit).kind == steady_state(series).kind


def test_a_constant_series_is_flat() -> None:
    assert steady_state(np.full(500, 0.1)).kind == "flat"
    assert steady_state(np.zeros(500)).kind == "flat"


@pytest.mark.parametrize("bad", [[], [[1.0, 2.0]], [1.0, math.nan], [math.inf] * 20])
def test_anything_but_a_finite_series_is_refused(bad: list[float]) -> None:
    for function in (steady_state, mser5, change_points):
        with pytest.raises(ValueError, match="series"):
            function(np.array(bad))


def pelt(data: Array) -> tuple[int, ...]:
    """The same optimum by another program: PELT of ruptures, l2, penalty 3 sigma^2 ln n, segments of max(5, 2 %) or more."""
    import ruptures

    least, sigma = max(5, math.ceil(0.02 * len(data))), max(_noise(data), 1e-9 * float(np.abs(data).max()))
    if len(data) < 2 * least:
        return ()
    fitted = ruptures.Pelt(model="l2", min_size=least, jump=1).fit(data - data.mean())
    return tuple(int(end) for end in fitted.predict(pen=3.0 * sigma**2 * math.log(len(data)))[:-1])


@pytest.mark.parametrize("series", ["nile", "step", "flat", "two"])
def test_ruptures_finds_the_same_optimum(series: str) -> None:
    rng = np.random.default_rng(5)
    data = {
        "nile": NILE,
        "step": rng.normal(size=120) + 3 * (np.arange(120) >= 70),
        "flat": rng.normal(size=300),
        "two": rng.normal(size=300) + 2 * (np.arange(300) >= 80) - 2 * (np.arange(300) >= 210),
    }[series]
    assert change_points(data) == pelt(data)


@examples(40)
@given(data=arrays(np.float64, st.integers(10, 60), elements=st.integers(-5, 5).map(float)))
def test_pelt_of_ruptures_costs_what_our_optimum_costs(data: Array) -> None:
    # ties may be broken differently, so the costs are compared, not the places
    def cost(places: tuple[int, ...]) -> float:
        sigma = max(_noise(data), 1e-9 * abs(data).max())
        scatter = sum(float(((part - part.mean()) ** 2).sum()) for part in np.split(data, places))
        return float(scatter + 3 * sigma**2 * math.log(len(data)) * len(places))

    assert cost(change_points(data)) == pytest.approx(cost(pelt(data)), abs=1e-6)
