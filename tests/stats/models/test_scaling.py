"""Do the scaling formulas give both tables of docs/definitions.md to the printed digit?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.models.scaling_predictions import (
    amdahl_fit,
    amdahl_fit_interval,
    amdahl_speedup,
    band,
    ceiling,
    gustafson,
    half_efficiency_workers,
    karp_flatt,
    speedup,
)

WORKERS = [1, 2, 4, 8, 16, 32]
SECONDS = [3600, 1880, 1010, 560, 340, 250]
SPEEDUPS = [speedup(SECONDS[0], t) for t in SECONDS]


def test_the_reference_speedups() -> None:
    assert [f"{s:.2f}" for s in SPEEDUPS] == ["1.00", "1.91", "3.56", "6.43", "10.59", "14.40"]


def test_the_reference_serial_fraction_and_what_follows_from_it() -> None:
    s = amdahl_fit(WORKERS, SPEEDUPS)
    assert f"{s:.4f}" == "0.0376"
    assert f"{ceiling(s):.1f}" == "26.6"
    assert f"{amdahl_speedup(s, 32):.2f}" == "14.77"
    assert f"{half_efficiency_workers(s):.1f}" == "27.6"


def test_karp_flatt_finds_amdahls_fraction_at_every_worker_count() -> None:
    assert [karp_flatt(amdahl_speedup(0.05, p), p) for p in (2, 8, 64)] == pytest.approx([0.05] * 3)


def test_karp_flatt_rises_where_communication_grows() -> None:
    # T(p) = 1/p + 0.01 (p - 1): e(p) = 0.01 (p - 1)/(1 - 1/p) = 0.01 p
    got = [karp_flatt(1 / (1 / p + 0.01 * (p - 1)), p) for p in (2, 4, 8)]
    assert got == pytest.approx([0.02, 0.04, 0.08])


def test_a_perfect_fit_returns_its_fraction_and_the_base_adds_nothing() -> None:
    points = [amdahl_speedup(0.1, p) for p in (2, 4, 8)]
    assert amdahl_fit([2, 4, 8], points) == pytest.approx(0.1)
    assert amdahl_fit([1, 2, 4, 8], [1.0, *points]) == pytest.approx(0.1)


def test_superlinear_speedup_has_no_ceiling() -> None:
    s = amdahl_fit([1, 2], [1.0, 2.5])
    assert s == pytest.approx((1 / 2.5 - 1 / 2) / (1 - 1 / 2))
    assert (ceiling(s), half_efficiency_workers(s), amdahl_speedup(s, 4)) == (math.inf, math.inf, 4.0)


def test_gustafsons_own_example() -> None:
    # Gustafson (1988): a serial share of 0.4 % on 1024 processors scales 1020-fold
    assert gustafson(0.004, 1024) == pytest.approx(1019.9, abs=0.05)


def test_the_interval_of_the_serial_fraction_is_students_over_blocks() -> None:
    # blocks with s = 0.04, 0.05, 0.06: mean 0.05, sd 0.01, t[2] = 4.302653
    blocks = np.array([[1.0, amdahl_speedup(s, 4), amdahl_speedup(s, 8)] for s in (0.04, 0.05, 0.06)])
    got = amdahl_fit_interval([1, 4, 8], blocks, 0.95)
    half = 4.302653 * 0.01 / math.sqrt(3)
    assert (got.value, got.low, got.high) == pytest.approx((0.05, 0.05 - half, 0.05 + half), abs=1e-7)


def test_one_block_does_not_bound_the_serial_fraction() -> None:
    got = amdahl_fit_interval(WORKERS, np.array([SPEEDUPS]), 0.95)
    assert (got.low, got.high) == (-math.inf, math.inf)


def test_fits_without_a_second_worker_count_are_refused() -> None:
    with pytest.raises(ValueError, match="more workers"):
        amdahl_fit([1, 1], [1.0, 1.0])
    with pytest.raises(ValueError, match="one speedup"):
        amdahl_fit([1, 2], [1.0])
    with pytest.raises(ValueError, match="one row per round"):
        amdahl_fit_interval([1, 2], np.ones((2, 3)), 0.95)
    with pytest.raises(ValueError, match="more than one worker"):
        karp_flatt(1.0, 1)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_times_must_be_positive(bad: float) -> None:
    with pytest.raises(ValueError, match="above 0"):
        speedup(1.0, bad)


def test_efficiency_of_the_model_is_one_half_at_the_stated_count() -> None:
    p = half_efficiency_workers(0.0376)
    assert amdahl_speedup(0.0376, p) / p == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("efficiency", "word"),
    [
        *((1.02, "superlinear"), (1.0, "excellent"), (0.9001, "excellent"), (0.9, "good"), (0.8125, "good")),
        *((7 * 0.1, "good"), (0.6999, "moderate"), (0.5, "moderate"), (0.4999, "poor"), (0.0, "poor")),
    ],
)
def test_bands_are_those_of_the_textbook(efficiency: float, word: str) -> None:
    """> 90 excellent, 70 to 90 good, 50 to 70 moderate, < 50 poor."""
    assert band(efficiency) == word
