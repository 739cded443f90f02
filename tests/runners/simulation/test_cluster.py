"""The simulated cluster: its communication is the ring's closed form, its steps follow the model that it was told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some

from fireassay.frames.links.network_probe import predicted
from fireassay.runners.simulated import Cluster, simulate
from fireassay.stats.groups.stragglers import slowest_of

KNOWN = Cluster(step_s=1.0, serial=0.03, alpha_s=2e-5, beta_s=8e-10, gradient=1e8)


@given(some.integers(1, 10_000), some.integers(1, 50))
def test_the_all_reduce_takes_what_a_ring_takes(workers: int, buckets: int) -> None:
    """`frames.links.bandwidth` is another program for the same formula: so many calls of a bucket each."""
    cluster = replace(KNOWN, buckets=buckets)
    ring = buckets * predicted("all_reduce", workers, KNOWN.gradient / buckets, KNOWN.alpha_s, KNOWN.beta_s)
    assert cluster.transfer_s(workers) == pytest.approx(ring, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("workers", [1, 2, 16])
def test_without_chance_a_step_is_the_model(workers: int) -> None:
    """T = 0.03 + 0.97/p + c(p), by hand: c(2) = 2 (20 us + 1e8 * 0.8 ns / 2) = 0.08004 s."""
    made = simulate(KNOWN, workers, 4, np.random.default_rng(1))
    assert made.step == pytest.approx([0.03 + 0.97 / workers + KNOWN.transfer_s(workers)] * 4)
    assert KNOWN.transfer_s(2) == pytest.approx(0.08004)


def test_what_may_hide_hides_and_no_more() -> None:
    """Half of 0.97/2 s may hide 0.08 s: nothing is exposed. A tenth hides 0.0485 s of it."""
    hidden = simulate(replace(KNOWN, overlap=0.5), 2, 3, np.random.default_rng(1))
    assert hidden.exposed == pytest.approx(np.zeros((3, 2)), abs=1e-12)
    partly = simulate(replace(KNOWN, overlap=0.1), 2, 3, np.random.default_rng(1))
    assert partly.exposed == pytest.approx(np.full((3, 2), 0.08004 - 0.0485))


def test_everybody_waits_for_the_slowest() -> None:
    made = simulate(replace(KNOWN, jitter=0.1), 64, 500, np.random.default_rng(5))
    assert np.all(made.exposed >= 0.0)
    assert np.mean(made.step) == pytest.approx(KNOWN.compute_s(64) * slowest_of(64, 0.1) + KNOWN.transfer_s(64), rel=0.005)
    assert made.compute.mean() == pytest.approx(KNOWN.compute_s(64), rel=0.005)  # the mean worker is as it was told


def test_stragglers_are_the_same_workers_in_every_step() -> None:
    made = simulate(replace(KNOWN, stragglers=0.1, slowdown=2.0), 16, 5, np.random.default_rng(1))
    assert np.all(made.compute[:, :2] == pytest.approx(2.0 * KNOWN.compute_s(16)))  # 1.6 workers: 2
    assert np.all(made.compute[:, 2:] == pytest.approx(KNOWN.compute_s(16)))


def test_the_work_of_weak_scaling_grows() -> None:
    made = simulate(replace(KNOWN, weak=True), 8, 2, np.random.default_rng(1))
    assert made.step == pytest.approx([1.0 + KNOWN.transfer_s(8)] * 2)


def test_ten_thousand_workers_are_arrays() -> None:
    made = simulate(replace(KNOWN, jitter=0.02), 10_000, 20, np.random.default_rng(1))
    assert made.compute.shape == (20, 10_000)


def test_one_worker_is_no_straggler_of_a_tenth() -> None:
    """A share is of whole workers, to the nearest: of 4 none, of 8 one."""
    for workers, slow in ((1, 0), (4, 0), (8, 1)):
        made = simulate(replace(KNOWN, stragglers=0.1, slowdown=2.0), workers, 1, np.random.default_rng(1))
        assert int((made.compute > 1.5 * KNOWN.compute_s(workers)).sum()) == slow
