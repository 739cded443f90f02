"""The wall of communication: what was put in comes out, the interval covers the next worker count, and parts add up.

The truth comes from `runners.simulated`, which knows nothing of the fit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from fireassay.runners.simulated import Cluster, simulate
from fireassay.stats.models.affine_fit import Affine, affine_fit
from fireassay.stats.models.communication_wall import Curve, divide, fit, parameter, predict, trend
from fireassay.stats.models.scaling_predictions import amdahl_fit, amdahl_speedup, gustafson

CLUSTER = Cluster(step_s=1.0, serial=0.03, alpha_s=2e-5, beta_s=8e-10, gradient=1e8, buckets=10)
LEVELS = (1, 2, 4, 8, 16)


def ring(cluster: Cluster, link: Affine | None = None) -> Callable[[float], float]:
    alpha, beta = (cluster.alpha_s, cluster.beta_s) if link is None else (link.fixed, link.per_unit)
    return partial(_ring, cluster, alpha, beta)


def _ring(cluster: Cluster, alpha: float, beta: float, p: float) -> float:
    return 2.0 * (p - 1.0) * (cluster.buckets * alpha + cluster.gradient * beta / p)


def exact(cluster: Cluster, levels: tuple[int, ...] = LEVELS) -> list[float]:
    """Step times without chance."""
    return [float(simulate(cluster, p, 1, np.random.default_rng(0)).step[0]) for p in levels]


# ------------------------------------------------------------------------------------------------------------- recovering


@given(serial=some.floats(0.0, 0.3), overlap=some.floats(0.0, 0.5), buckets=some.integers(1, 30))
def test_without_chance_the_truth_comes_back(serial: float, overlap: float, buckets: int) -> None:
    cluster = replace(CLUSTER, serial=serial, overlap=overlap, buckets=buckets)
    hideable = overlap * (1.0 - serial)
    found = fit(LEVELS, np.array([exact(cluster)]), [ring(cluster)], hideable_s=hideable).curves[0]
    assert found.serial == pytest.approx(serial, abs=1e-9)
    assert found.one_s == pytest.approx(1.0)
    assert found.at(64) == pytest.approx(exact(cluster, (64,))[0])


def test_amdahl_calls_communication_serial_and_this_does_not() -> None:
    """c(p) of this ring is about 0.16 s: Amdahl's fit finds five times the serial work that there is."""
    times = exact(CLUSTER)
    speedups = [times[0] / t for t in times]
    assert amdahl_fit(LEVELS, speedups) > 0.15
    assert fit(LEVELS, np.array([times]), [ring(CLUSTER)]).curves[0].serial == pytest.approx(0.03)


def test_more_communication_than_time_leaves_no_negative_work() -> None:
    found = fit((1, 2, 4), np.array([[1.0, 0.6, 0.5]]), [lambda p: 10.0 * (p - 1.0)]).curves[0]
    assert found.serial_s >= 0.0
    assert found.parallel_s >= 0.0
    assert found.one_s > 0.0


def test_weak_scaling_has_one_part() -> None:
    cluster = replace(CLUSTER, weak=True)
    found = fit((1, 2, 4), np.array([exact(cluster, (1, 2, 4))]), [ring(cluster)], weak=True).curves[0]
    assert found.one_s == pytest.approx(1.0)
    assert found.speedup(8) == pytest.approx(8.0 / (1.0 + cluster.transfer_s(8)))
    assert found.fastest() is None


@pytest.mark.parametrize(
    ("workers", "times", "words"),
    [((2, 2), [[1.0, 1.0]], "separating"), ((1, 2), [[1.0, 0.0]], "above 0"), ((1, 2), [[1.0]], "one row per round")],
)
def test_an_unfittable_law_is_refused(workers: tuple[int, ...], times: list[list[float]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        fit(workers, np.array(times), [ring(CLUSTER)])


# ---------------------------------------------------------------------------------------------------- what a curve tells


def test_the_shortest_step_is_where_the_slope_turns() -> None:
    """-B/p^2 + 2 k alpha + 2 n beta/p^2 = 0: p = sqrt((B - 2 n beta) / (2 k alpha)) = sqrt((0.97 - 0.16) / 4e-4) = 45."""
    curve = Curve(serial_s=0.03, parallel_s=0.97, total=ring(CLUSTER))
    best = curve.fastest()
    assert best == round(math.sqrt((0.97 - 0.16) / 4e-4))
    assert curve.at(best + 1) > curve.at(best) < curve.at(best - 1)


def test_a_step_that_only_gets_shorter_has_no_shortest() -> None:
    assert Curve(serial_s=0.1, parallel_s=0.9, total=lambda p: 0.0).fastest() is None


def test_communication_that_outweighs_all_work_leaves_one_worker() -> None:
    assert Curve(serial_s=0.1, parallel_s=0.9, total=lambda p: 10.0 * (p - 1.0)).fastest() == 1


@given(some.floats(0.0, 1.0), some.integers(1, 4096))
def test_without_communication_it_is_amdahl_and_gustafson(serial: float, p: int) -> None:
    curve = Curve(serial_s=serial, parallel_s=1.0 - serial, total=lambda _: 0.0)
    assert curve.speedup(p) == pytest.approx(amdahl_speedup(serial, p))
    assert curve.scaled(p) == pytest.approx(gustafson(serial, p))


# ------------------------------------------------------------------------------------------------------------ predictions


def experiment(cluster: Cluster, last: int, launches: int, rng: np.random.Generator, links: float = 0.03) -> dict[str, float]:
    """One simulated experiment: fit LEVELS with alpha and beta fitted to noisy calls; is the next worker count covered?"""
    rows = {p: [simulate(cluster, p, 10, rng) for _ in range(launches)] for p in (*LEVELS, last)}
    times = np.array([[np.median(rows[p][b].step) for p in LEVELS] for b in range(launches)])
    sizes = np.geomspace(1e3, 1e8, 9)
    calls = [
        (cluster.alpha_s + sizes * cluster.beta_s) * math.exp(links * rng.standard_normal()) * np.exp(links * rng.standard_normal(9))
        for _ in range(launches)
    ]
    whole = affine_fit(np.tile(sizes, launches), np.concatenate(calls))
    alone = [affine_fit(sizes, own) for own in calls]
    found = fit(LEVELS, times, [ring(cluster, whole)] * launches, spread=cluster.jitter)
    others = [fit(LEVELS, times, [ring(cluster, one)] * launches, spread=cluster.jitter) for one in alone]
    told = predict(found, last, 0.90, launches=launches, others=others)
    serial = parameter(found, 0.90, lambda curve: curve.free, others)
    measured = float(np.exp(np.mean([math.log(np.median(one.step)) for one in rows[last]])))
    return {
        "covered": float(told.low <= measured <= told.high),
        "half": (told.high - told.low) / (2.0 * measured),
        "alpha": whole.fixed,
        "beta": whole.per_unit,
        "serial": serial.value,
        "serial_covered": float(serial.low <= cluster.serial <= serial.high),
    }


@pytest.mark.slow
@pytest.mark.deep
def test_the_interval_covers_the_next_worker_count_and_the_truth_is_recovered() -> None:
    """120 experiments, launches scatter by 3 %, workers by 2 %: the 90 % interval holds the held-out 32 in at least 85 %."""
    rng = np.random.default_rng(20261122)
    cluster = replace(CLUSTER, jitter=0.02, noise=0.03)
    runs = [experiment(cluster, 32, 5, rng) for _ in range(120)]
    mean = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
    assert mean["covered"] >= 0.85
    assert mean["half"] < 0.10  # and not by being wide
    assert mean["alpha"] == pytest.approx(cluster.alpha_s, rel=0.02)
    assert mean["beta"] == pytest.approx(cluster.beta_s, rel=0.02)
    assert mean["serial"] == pytest.approx(cluster.serial, rel=0.03)
    assert mean["serial_covered"] >= 0.85


@pytest.mark.slow
@pytest.mark.parametrize("serial", [0.0, 0.001])
def test_hardly_any_serial_work_is_found_without_a_bias_and_with_an_interval(serial: float) -> None:
    """Fits that are held above 0 have a mean above such a truth, and no scatter where all of them end at 0."""
    rng = np.random.default_rng(11)
    cluster = replace(CLUSTER, jitter=0.02, noise=0.01, serial=serial)
    runs = [experiment(cluster, 32, 5, rng, links=0.01) for _ in range(49)]
    values = [run["serial"] for run in runs]
    assert np.mean(values) == pytest.approx(serial, abs=3 * float(np.std(values)) / 7)
    assert np.mean([run["serial_covered"] for run in runs]) >= 0.80


@pytest.mark.slow
def test_where_launches_scatter_by_a_hundredth_each_experiment_recovers_all_three() -> None:
    """s, alpha and beta within 10 % in at least 95 of 100 experiments, although c(16) is three times the serial work."""
    rng = np.random.default_rng(7)
    cluster = replace(CLUSTER, jitter=0.02, noise=0.01, serial=0.05)
    runs = [experiment(cluster, 32, 5, rng, links=0.01) for _ in range(100)]
    for name, truth in (("serial", cluster.serial), ("alpha", cluster.alpha_s), ("beta", cluster.beta_s)):
        assert np.mean([abs(run[name] / truth - 1.0) <= 0.10 for run in runs]) >= 0.95, name


def test_one_block_bounds_nothing() -> None:
    found = fit(LEVELS, np.array([exact(CLUSTER)]), [ring(CLUSTER)])
    told = predict(found, 32, 0.95)
    assert (told.low, told.high) == (0.0, math.inf)
    assert parameter(found, 0.95, lambda curve: curve.serial).high == math.inf


def test_model_misfit_widens_the_interval() -> None:
    """The same scatter between blocks, once about the model and once about something else: a step that stops at 8 workers."""
    right = np.array([exact(CLUSTER), exact(CLUSTER)]) * np.array([[1.0], [1.01]])
    wrong = right * np.array([1.0, 1.0, 1.0, 1.1, 0.9])
    good, bad = (fit(LEVELS, times, [ring(CLUSTER)] * 2) for times in (right, wrong))
    one, other = (predict(found, 32, 0.90) for found in (good, bad))
    assert math.log(other.high / other.low) > 5.0 * math.log(one.high / one.low)


# ------------------------------------------------------------------------------------------------------- what limits it?


@given(some.floats(0.0, 0.5), some.floats(1e-7, 1e-3), some.integers(2, 512), some.floats(0.0, 0.2))
def test_the_parts_of_a_step_add_up(serial: float, alpha: float, p: int, spread: float) -> None:
    curve = Curve(serial_s=serial, parallel_s=1.0 - serial, total=ring(replace(CLUSTER, alpha_s=alpha)), spread=spread)
    parts = divide(curve, p, 1.1 * curve.at(p))
    named = parts.serial_s + parts.communication_s + parts.slowest_s + parts.rest_s
    assert named == pytest.approx(parts.lost_s)
    assert parts.rest_s == pytest.approx(0.1 * curve.at(p))


@pytest.mark.parametrize(
    ("serial", "seconds", "spread", "measured", "limit"),
    [
        (0.2, 0.0, 0.0, 1.0, "serial"),
        (0.0, 0.2, 0.0, 1.0, "communication"),
        (0.2, 0.2, 0.0, 1.0, "serial and communication"),
        (0.0, 0.0, 0.3, 1.0, "slowest"),
        (0.0, 0.0, 0.0, 1.0, "nothing"),
        (0.0, 0.0, 0.0, 3.0, "unexplained"),
    ],
)
def test_the_largest_part_is_named(serial: float, seconds: float, spread: float, measured: float, limit: str) -> None:
    curve = Curve(serial_s=serial, parallel_s=1.0 - serial, total=lambda p: seconds * (p > 1), spread=spread)
    assert divide(curve, 16, measured * curve.at(16)).limit == limit


def test_the_karp_flatt_series_is_read() -> None:
    assert trend([2, 4, 8], [0.1, 0.1, 0.1]) == "flat"
    assert trend([2, 4, 8], [0.05, 0.1, 0.2]) == "rising"
    assert trend([2, 4, 8], [0.2, 0.1, 0.05]) == "falling"
    assert trend([2, 4], [0.1, 0.2]) == "unknown"
