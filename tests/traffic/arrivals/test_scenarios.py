"""Are lengths drawn as the scenario says, and always the same from the same seed?"""

from __future__ import annotations

import numpy as np
import pytest

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


@pytest.mark.parametrize("text", ["N(480,240)/(300,150)", "U(50,100)/(200,300)", "U(100,200)"])
def test_equal_seeds_draw_equal_lengths_and_more_requests_only_add(text: str) -> None:
    assert drawn(text, 100, seed=7) == drawn(text, 100, seed=7)
    assert drawn(text, 100, seed=7) != drawn(text, 100, seed=8)
    few, many = drawn(text, 10, seed=7), drawn(text, 100, seed=7)
    assert (few[0], few[1]) == (many[0][:10], many[1][:10])
