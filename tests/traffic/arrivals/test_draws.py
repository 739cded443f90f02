"""Are the numbers of a schedule the right ones, the same everywhere, and a stream of their own for every purpose?"""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from fireassay.traffic.arrivals.draws import exponential, gamma, logarithm, source, text_seeds, uniform

RAW = [15718830934230047781, 11887618377103673661]


def test_the_first_numbers_of_a_stream_stay_as_they_are() -> None:
    # PCG64 seeded by SeedSequence([7, w]), w the first 16 bytes of SHA-256("gaps"), little-endian; made apart from this program.
    raw = source(7, "gaps").random_raw(2)
    assert raw.tolist() == RAW
    assert uniform(source(7, "gaps"), 2).tolist() == [(value >> 11) * 2.0**-53 for value in RAW]


def test_every_purpose_and_every_seed_has_numbers_of_its_own() -> None:
    first = {uniform(source(seed, purpose), 1)[0] for seed in (0, 1, 2**40) for purpose in ("gaps", "lengths", "canaries")}
    assert len(first) == 9


def test_more_numbers_begin_like_fewer() -> None:
    assert exponential(source(1, "gaps"), 10).tolist() == exponential(source(1, "gaps"), 1000)[:10].tolist()
    assert gamma(source(1, "gaps"), 10, 2.0).tolist() == gamma(source(1, "gaps"), 1000, 2.0)[:10].tolist()


@given(st.floats(min_value=2.0**-60, max_value=2.0**60))
def test_logarithms_are_those_of_a_decimal_library(value: float) -> None:
    true = Decimal(value).ln()
    found = Decimal(float(logarithm(np.array([value]))[0]))
    assert abs(found - true) <= Decimal("4e-16") * max(abs(true), Decimal(value - 1).copy_abs().min(1))


def test_logarithms_do_not_depend_on_how_many_are_taken_at_once() -> None:
    values = uniform(source(3, "x"), 1001) + 2.0**-53
    one_by_one = [float(logarithm(values[k : k + 1])[0]) for k in range(len(values))]
    assert logarithm(values).tolist() == one_by_one


def test_logarithms_agree_with_the_mathematical_library() -> None:
    values = uniform(source(3, "x"), 10_000) + 2.0**-53
    assert np.allclose(logarithm(values), [math.log(value) for value in values], rtol=5e-16, atol=0)
    assert logarithm(np.array([1.0, 2.0])).tolist() == [0.0, math.log(2.0)]


def test_exponential_numbers_are_exponential() -> None:
    drawn = exponential(source(5, "gaps"), 100_000)
    assert stats.kstest(drawn, "expon").pvalue > 0.01
    assert drawn.min() >= 0.0


@pytest.mark.slow
def test_gamma_numbers_have_the_mean_and_the_variation_asked_for() -> None:
    for cv in (0.25, 0.5, 1.0, 2.0):
        drawn = gamma(source(6, "gaps"), 100_000, cv)
        assert abs(drawn.mean() - 1.0) < 0.02
        assert abs(drawn.std() / drawn.mean() / cv - 1.0) < 0.02
        assert stats.kstest(drawn, "gamma", args=(cv**-2, 0.0, cv**2)).pvalue > 0.01


def test_no_two_texts_have_the_same_seed() -> None:
    seeds = text_seeds(1, "texts", 100_000)
    assert len(np.unique(seeds)) == 100_000
    assert seeds.min() >= 0
    assert seeds.max() < 2**53
