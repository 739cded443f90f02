"""Do the fits give the published parameters, refuse the published trap, and keep their intervals' word?"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.optimize import curve_fit

from fireassay.stats.models.scaling_laws import WEAK, Choice, Points, Refused, choose, fit, points
from fireassay.stats.models.scaling_predictions import (
    HeldOut,
    Peak,
    Prediction,
    _prediction_interval,
    held_out,
    peak,
    predict,
    relative_curve,
)

Array = NDArray[np.float64]

# Published with the R package usl (Moeding): SPEC SDM91 (Gunther, "Guerrilla Capacity Planning") and a ray tracer.
SPECSDM91 = points([1, 18, 36, 72, 108, 144, 216], [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2])
RAYTRACER = points([1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64], [20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310])
FIRST_SIX = RAYTRACER.taken(RAYTRACER.workers <= 20)


def law(n: Array, gamma: float, alpha: float, beta: float) -> Array:
    return np.asarray(gamma * n / (1 + alpha * (n - 1) + beta * n * (n - 1)), dtype=np.float64)


def replicated(alpha: float, beta: float, *, blocks: int = 5, noise: float = 0.03, seed: int = 1) -> Points:
    """Launches of 1 to 64 workers by the USL; each block has a level of its own."""
    rng = np.random.default_rng(seed)
    n = np.tile(2.0 ** np.arange(7), blocks)
    block = np.repeat(np.arange(blocks), 7)
    x = law(n, 100.0, alpha, beta) * np.exp(0.1 * rng.normal(size=blocks)[block] + noise * rng.normal(size=len(n)))
    return points(n, x, blocks=block.tolist(), errors="proportional")


def test_specsdm91_to_the_published_digits() -> None:
    # summary(usl(throughput ~ load, specsdm91)) of R; curve_fit agrees
    found = fit("usl", SPECSDM91)
    gamma, alpha, beta = found.parameters
    assert (f"{alpha.value:.5f}", f"{beta.value:.6e}", f"{gamma.value:.4f}") == ("0.02773", "1.043655e-04", "89.9952")
    assert alpha.value == pytest.approx(0.0277284, rel=1e-4)
    assert beta.value == pytest.approx(1.043659e-4, rel=1e-4)
    errors = [p.standard_error for p in (alpha, beta, gamma)]
    assert errors == pytest.approx([0.00912180, 1.98767e-5, 14.2135], rel=1e-4)
    assert found.turning_point() == pytest.approx(96.519, abs=1e-3)
    assert found.at(96.519) == pytest.approx(1883.9, abs=0.1)
    assert 1 / alpha.value == pytest.approx(36.064, abs=1e-3)
    assert gamma.value / alpha.value == pytest.approx(3245.6, abs=0.1)
    assert (f"{found.residual_error:.2f}", found.df) == ("82.85", 4)


def test_the_scores_of_aicc_are_those_worked_out() -> None:
    # Amdahl against USL, K = p + 1
    for data, expected in ((SPECSDM91, (82.87, 85.92)), (FIRST_SIX, (35.42, 51.12)), (RAYTRACER, (55.07, 60.31))):
        choice = choose(data)
        assert isinstance(choice, Choice)
        assert tuple(round(found.aicc, 2) for found in choice.fits) == expected
        assert choice.chosen.law == "amdahl"
    assert "with fewer than 10 points the penalty decides" in choose(SPECSDM91).sentence


def test_the_raytracer_trap() -> None:
    # The USL through six points turns at 24.5; 64 workers were measured to do 310, not 147
    found = fit("usl", FIRST_SIX)
    gamma, alpha, beta = found.parameters
    assert (alpha.value, beta.value, gamma.value) == pytest.approx((0.024444, 0.00162681, 20.8560), rel=1e-4)
    assert alpha.low == 0.0  # t with 3 degrees of freedom gives -.00226, and alpha is no less than 0
    assert (alpha.high, beta.low, beta.high) == pytest.approx((0.05115, 0.000795, 0.002459), abs=1e-5)
    refused = peak(found, FIRST_SIX)
    assert isinstance(refused, Refused)
    assert refused.sentence.startswith("no peak up to N = 20")
    assert "24" not in refused.sentence
    for each in (found, fit("amdahl", FIRST_SIX)):
        answer = predict(each, FIRST_SIX, 64)
        assert isinstance(answer, Refused)
        assert "beyond 40, twice the largest measured N = 20" in answer.sentence


@pytest.mark.parametrize(("law_name", "expected"), [("usl", (147, 104, 190)), ("amdahl", (280, 241, 319))])
def test_the_naive_prediction_is_the_published_interval(law_name: Literal["usl", "amdahl"], expected: tuple[int, int, int]) -> None:
    """methodology F7 and 3.7: X(64) with its 95 % prediction interval, by the curve's own error and one launch's."""
    interval = _prediction_interval(fit(law_name, FIRST_SIX), 64.0)
    assert (interval.value, interval.low, interval.high) == pytest.approx(expected, abs=0.55)


def test_an_unmeasured_fall_is_not_predicted() -> None:
    # inside twice the range, and the USL would say 191 [155, 227] at 32, where 260 was measured
    refused = predict(fit("usl", FIRST_SIX), FIRST_SIX, 32)
    assert isinstance(refused, Refused)
    assert "there the fitted curve would fall" in refused.sentence or "misses it by" in refused.sentence


def test_the_whole_raytracer_has_its_coherency_on_the_bound_and_no_peak() -> None:
    found = fit("usl", RAYTRACER)
    beta = found.parameter("beta")
    assert (beta.value, beta.standard_error, beta.on_bound, beta.low) == (0.0, None, True, 0.0)
    assert 0.0 < beta.high < 0.001
    assert found.parameter("alpha").value == pytest.approx(fit("amdahl", RAYTRACER).parameter("alpha").value)
    refused = peak(found, RAYTRACER)
    assert isinstance(refused, Refused)
    assert refused.sentence == "no peak up to N = 64: the fitted curve does not turn"


@pytest.mark.deep
@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(alpha=st.floats(0.0, 0.5), beta=st.floats(0.0, 0.01), seed=st.integers(0, 10**6))
def test_scipy_s_bounded_search_finds_no_better_fit(alpha: float, beta: float, seed: int) -> None:
    n = np.array([1.0, 2, 4, 8, 16, 32])
    x = law(n, 50.0, alpha, beta) * (1 + 0.05 * np.random.default_rng(seed).normal(size=6))
    own = fit("usl", points(n, x))
    bounds = ([0, 0, 0], [np.inf, 1, 1])
    rival, _ = curve_fit(law, n, x, p0=[x[0], 0.01, 1e-4], bounds=bounds, max_nfev=10_000)
    theirs = float(np.sum((x - law(n, *rival)) ** 2))
    assert own.residual_error**2 * own.df <= theirs * (1 + 1e-6)
    assert all(0 <= value <= 1 for value in own.values[1:])


def test_weights_are_one_over_the_variance() -> None:
    # a point of weight 4 is worth four points
    n, x = np.array([1.0, 2, 4, 8]), np.array([10.0, 18, 31, 45])
    heavy = fit("amdahl", points(n, x, weights=[1, 4, 1, 1]))
    many = fit("amdahl", points(np.r_[n, 2, 2, 2], np.r_[x, 18, 18, 18]))
    assert heavy.values == pytest.approx(many.values)


def test_blocks_cost_degrees_of_freedom_and_take_their_level_with_them() -> None:
    data = replicated(0.05, 0.001)
    found = fit("usl", data)
    assert found.df == 35 - 3 - 4
    blocks = [] if data.blocks is None else data.blocks.tolist()
    scale = np.exp(np.array(blocks, dtype=np.float64))
    moved = fit("usl", points(data.workers, data.throughputs * scale, blocks=blocks, errors="proportional"))
    assert moved.values[1:] == pytest.approx(found.values[1:])
    assert moved.residual_error == pytest.approx(found.residual_error)


def test_replicates_of_a_retrograde_law_show_their_peak_and_choose_it() -> None:
    data = replicated(0.05, 0.001)
    choice = choose(data)
    assert isinstance(choice, Choice)
    assert choice.chosen.law == "usl"
    shown = peak(choice.chosen, data)  # sqrt(.95/.001) = 30.8: 32 and 64 lie beyond
    assert isinstance(shown, Peak)
    assert shown.sentence.startswith("2 measured worker counts lie beyond it")
    steep = replicated(0.05, 0.004, seed=2)
    shown = peak(fit("usl", steep), steep)
    assert isinstance(shown, Peak)
    assert shown.workers.low < math.sqrt(0.95 / 0.004) < shown.workers.high
    assert shown.p_value < 0.05


def test_welch_decides_on_the_fall_where_there_are_no_blocks() -> None:
    data = replicated(0.05, 0.004, noise=0.01)
    loose = points(data.workers, data.throughputs, errors="proportional")
    assert isinstance(peak(fit("usl", loose), loose), Peak)


def test_prediction_beyond_the_range_carries_its_held_out_error_and_inside_needs_none() -> None:
    data = replicated(0.05, 0.001)
    found = fit("usl", data)
    far, near = predict(found, data, 100), predict(found, data, 24)
    assert isinstance(far, Prediction)
    assert isinstance(near, Prediction)
    assert isinstance(far.held_out, HeldOut)
    assert abs(far.held_out.error.value) < 0.2
    assert near.held_out is None
    assert near.throughput.low < law(np.array([24.0]), 100, 0.05, 0.001)[0] < near.throughput.high


def test_a_late_effect_refuses_every_extrapolation() -> None:
    data = points([1, 2, 4, 8, 16], [10, 20, 40, 80, 85])
    found = fit("amdahl", data)
    held = held_out(data, "amdahl")
    assert isinstance(held, HeldOut)
    assert held.error.value == pytest.approx(160 / 85 - 1)  # perfect up to 8, so 160 is promised
    refused = predict(found, data, 20)
    assert isinstance(refused, Refused)
    assert "without N = 16 the fit misses it by 88%, more than 20%" in refused.sentence
    assert isinstance(predict(found, data, 16), Prediction)


def test_three_counts_are_no_ground_for_a_prediction_beyond_them() -> None:
    data = points([1, 2, 4], [10, 18, 30])
    refused = predict(fit("amdahl", data), data, 5)
    assert isinstance(refused, Refused)
    assert refused.reason == "refused"
    assert "at least 3 smaller ones, not 2" in refused.sentence


def test_weak_scaling_by_gustafson() -> None:
    n = np.array([1.0, 2, 4, 8, 16])
    choice = choose(points(n, 7.0 * (n - 0.1 * (n - 1))), WEAK)
    assert isinstance(choice, Choice)
    assert choice.chosen.law == "gustafson"
    assert choice.chosen.parameter("serial").value == pytest.approx(0.1)


def test_more_than_linear_scaling_puts_the_serial_share_on_its_bound() -> None:
    n = np.array([1.0, 2, 4, 8])
    found = fit("gustafson", points(n, 7.0 * n**1.1))
    assert (found.parameter("serial").value, found.parameter("serial").on_bound) == (0.0, True)


def test_the_relative_curve_is_one_at_its_base_and_holds_the_launches() -> None:
    curve = relative_curve(fit("usl", replicated(0.05, 0.001)), [1, 8, 64], 1)
    assert (curve[0].value, curve[0].low, curve[0].high) == pytest.approx((1, 1, 1))
    for n, at in zip((8, 64), curve[1:], strict=True):
        assert at.low < law(np.array([float(n)]), 1, 0.05, 0.001)[0] < at.high
        assert at.high - at.low < 0.2 * at.value


@pytest.mark.slow
def test_the_intervals_of_the_parameters_cover_the_truth() -> None:
    # 200 sets of 5 blocks: 95 % -+ 3 standard errors = 90.4 to 99.6 %; benchmarks/scaling_fits.py has the large suite
    inside = [
        [p.low <= truth <= p.high for p, truth in zip(found.parameters[1:], (0.05, 0.002), strict=True)]
        for found in (fit("usl", replicated(0.05, 0.002, seed=s)) for s in range(200))
    ]
    alpha, beta = np.mean(inside, axis=0)
    assert 0.904 <= alpha <= 0.996
    assert 0.904 <= beta <= 0.996


@pytest.mark.parametrize(
    ("workers", "throughputs", "words"),
    [
        ([1, 2], [1.0], "one length"),
        ([], [], "at least one launch"),
        ([0.5, 2], [1.0, 2.0], "worker count"),
        ([1, 2], [1.0, 0.0], "throughput"),
    ],
)
def test_bad_points_are_an_error(workers: list[float], throughputs: list[float], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        points(workers, throughputs)


def test_too_few_points_are_an_error_or_a_refusal() -> None:
    with pytest.raises(ValueError, match="3 different worker counts, not 2"):
        fit("usl", points([1, 2, 2, 2], [1, 2, 2, 2]))
    with pytest.raises(ValueError, match="at least 3 launches"):
        fit("amdahl", points([1, 2], [1, 2]))
    assert isinstance(choose(points([1, 2], [1.0, 1.9])), Refused)
    with pytest.raises(ValueError, match="no parameter beta"):
        fit("amdahl", points([1, 2, 4], [1, 2, 3])).parameter("beta")
    with pytest.raises(ValueError, match="at least 1"):
        predict(fit("amdahl", SPECSDM91), SPECSDM91, 0)
