"""Are lengths drawn as the scenario says, and always the same from the same seed?"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import stats

from fireassay.spec.sections.scenario import parse
from fireassay.traffic.arrivals.make import draw


def drawn(text: str, n: int = 20_000, seed: int = 1, documents: int = 1) -> tuple[list[int], list[int]]:
    tokens_in, tokens_out = draw(parse(text), np.random.default_rng(seed), n, documents)
    assert (tokens_in.dtype, tokens_out.dtype) == (np.int64, np.int64)
    return tokens_in.tolist(), tokens_out.tolist()


@pytest.mark.parametrize(
    ("text", "documents", "tokens_in", "tokens_out"),
    [
        ("D(100,1000)", 1, 100, 1000),
        ("D(0,0)", 1, 0, 0),
        ("P(2000,500)/200", 1, 2500, 200),
        ("E(1024)", 1, 1024, -1),
        ("E(1024)", 3, 3072, -1),
        ("R(1000,100)", 1, 1100, -1),
        ("R(1000,100)", 4, 4100, -1),
        ("I(64,64,2)", 1, -1, -1),
        ("A(500)", 1, -1, -1),
        ("dataset", 1, -1, -1),
    ],
)
def test_what_is_fixed_is_the_same_in_every_request(text: str, documents: int, tokens_in: int, tokens_out: int) -> None:
    assert drawn(text, 3, documents=documents) == ([tokens_in] * 3, [tokens_out] * 3)


def test_normal_lengths_have_the_mean_and_the_deviation() -> None:
    tokens_in, tokens_out = drawn("N(480,24)/(300,15)")
    # 5 standard errors: 24 / sqrt(20000) = 0.17 of the mean, 24 / sqrt(40000) = 0.12 of the deviation.
    assert np.mean(tokens_in) == pytest.approx(480, abs=0.85)
    assert np.std(tokens_in) == pytest.approx(24, abs=0.6)
    assert np.mean(tokens_out) == pytest.approx(300, abs=0.53)
    assert np.std(tokens_out) == pytest.approx(15, abs=0.375)


def moments(lengths: Any, least: int) -> tuple[float, float]:
    """Mean and deviation of a continuous length that is rounded and raised to `least`, from scipy's distribution function."""
    values = np.arange(least, 200_000)
    share = lengths.cdf(values + 0.5) - lengths.cdf(values - 0.5)
    share[0] = lengths.cdf(least + 0.5)
    mean = float(np.sum(values * share))
    return mean, float(np.sqrt(np.sum((values - mean) ** 2 * share)))


def log_normal(mean: float, deviation: float) -> Any:
    """By scipy's parameters: s = sigma, scale = exp(mu) = median; mean = scale exp(sigma^2 / 2)."""
    sigma = np.sqrt(np.log(1.0 + (deviation / mean) ** 2))
    made = stats.lognorm(s=sigma, scale=mean / np.exp(sigma**2 / 2.0))
    assert (made.mean(), made.std()) == (pytest.approx(mean), pytest.approx(deviation))
    return made


@pytest.mark.parametrize(
    ("text", "of_input", "of_output"),
    [
        ("L(50,20)", log_normal(50, 20), log_normal(50, 20)),
        ("L(480,240)/(300,150)", log_normal(480, 240), log_normal(300, 150)),
        ("L(3,4)/(3,4)", log_normal(3, 4), log_normal(3, 4)),
        ("N(480,240)/(300,150)", stats.norm(480, 240), stats.norm(300, 150)),
        ("N(20,40)/(20,40)", stats.norm(20, 40), stats.norm(20, 40)),
    ],
)
def test_lengths_have_the_mean_and_the_deviation_of_the_distribution_cut_at_the_least(text: str, of_input: Any, of_output: Any) -> None:
    n = 100_000
    for lengths, of, least in zip(drawn(text, n), (of_input, of_output), (1, 2), strict=True):
        mean, deviation = moments(of, least)
        assert np.mean(lengths) == pytest.approx(mean, abs=5.0 * deviation / np.sqrt(n))
        # The deviation of a deviation: sqrt((kurtosis - 1) / (4 n)), by scipy's kurtosis; doubled for the cut.
        error = deviation * np.sqrt((float(of.stats(moments="k")) + 2.0) / (4.0 * n))
        assert np.std(lengths) == pytest.approx(deviation, abs=10.0 * error)


def test_raising_short_lengths_to_the_least_raises_the_mean_as_the_decision_states() -> None:
    # docs/decisions/0085; genai-bench cuts at the same lengths, and rounds down.
    assert moments(stats.norm(480, 240), 1)[0] == pytest.approx(482.0, abs=0.1)
    assert moments(stats.norm(20, 40), 1)[0] == pytest.approx(28.2, abs=0.1)
    assert moments(log_normal(50, 20), 1)[0] == pytest.approx(50.0, abs=0.001)


def test_log_normal_lengths_without_deviation_are_fixed() -> None:
    assert drawn("L(7,0)/(9,0)", 2) == ([7, 7], [9, 9])


def test_normal_lengths_are_held_where_genai_bench_holds_them() -> None:
    tokens_in, tokens_out = drawn("N(0,100)/(0,100)")
    assert (min(tokens_in), min(tokens_out)) == (1, 2)
    assert drawn("N(0,0)/(0,0)", 2) == ([1, 1], [2, 2])
    assert drawn("N(7,0)/(9,0)", 2) == ([7, 7], [9, 9])


def test_uniform_lengths_reach_both_ends_equally_often() -> None:
    tokens_in, tokens_out = drawn("U(50,53)/(200,202)")
    assert sorted(set(tokens_in)) == [50, 51, 52, 53]
    assert sorted(set(tokens_out)) == [200, 201, 202]
    # 5 deviations of a count of 20000 draws with probability 1/4: 5 * sqrt(20000 * 3/16) = 306.
    assert all(abs(tokens_in.count(value) - 5000) < 306 for value in (50, 51, 52, 53))


def test_uniform_alone_counts_from_one() -> None:
    tokens_in, tokens_out = drawn("U(4,3)")
    assert sorted(set(tokens_in)) == [1, 2, 3, 4]
    assert sorted(set(tokens_out)) == [2, 3]  # held to 2, as genai-bench does


@pytest.mark.parametrize("text", ["N(480,240)/(300,150)", "U(50,100)/(200,300)", "U(100,200)", "L(50,20)"])
def test_equal_seeds_draw_equal_lengths_and_more_requests_only_add(text: str) -> None:
    assert drawn(text, 100, seed=7) == drawn(text, 100, seed=7)
    assert drawn(text, 100, seed=7) != drawn(text, 100, seed=8)
    few, many = drawn(text, 10, seed=7), drawn(text, 100, seed=7)
    assert (few[0], few[1]) == (many[0][:10], many[1][:10])
