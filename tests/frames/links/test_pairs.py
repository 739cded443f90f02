"""Is the matrix of pairs what the exchanges took, and are its classes those of the simulated cluster, named by its hosts?"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.links import pairs
from tests.builders import measured
from tests.metrics.narrow import absence
from tests.paired import LATENCY, kinds, matrix, record
from tests.tiers import some

pytestmark = pytest.mark.slow


def test_latency_and_bandwidth_are_those_that_made_the_times() -> None:
    """T(S) = 2 latency + (S - 8) / bandwidth; everything is a thousand times as slow (tests/paired.py)."""
    found = matrix(record(kinds(2, 1, 2)))
    assert len(found.links) == 12
    near, far = found.links[0], found.links[1]
    assert (near.pair, far.pair) == ((0, 1), (0, 2))
    assert isinstance(near.latency, Estimate)
    assert isinstance(far.latency, Estimate)
    assert isinstance(far.bandwidth, Estimate)
    assert near.latency.value == pytest.approx(5e-3)
    assert far.latency.value == pytest.approx(25e-3)
    assert far.bandwidth.value == pytest.approx(10e6)
    assert far.bandwidth.n_launches == 5
    assert far.bandwidth.n_trials == 5 * 9


def test_the_interval_over_launches_holds_the_truth() -> None:
    found = matrix(record(kinds(2, 1, 2), noise=0.05, seed=3))
    inside = [
        link.latency.low <= 1000 * LATENCY[kinds(2, 1, 2)[link.pair]] <= link.latency.high
        for link in found.links
        if isinstance(link.latency, Estimate)
    ]
    assert len(inside) == 12
    assert sum(inside) >= 10  # of 95 % intervals


@pytest.mark.parametrize("seed", some(range(50), 5))
def test_every_pair_of_two_hosts_with_islands_gets_its_class(seed: int) -> None:
    kind = kinds(2, 2, 2)
    found = matrix(record(kind, hosts=("a",) * 4 + ("b",) * 4, noise=0.1, seed=seed))
    seen = pairs.classes(found)
    names = (pairs.ISLAND, pairs.HOST, pairs.ACROSS)
    assert seen.names == names
    assert {pair: names[kind[pair]] for pair in seen.kinds} == dict(seen.kinds)


def test_without_names_a_group_is_not_called_a_host() -> None:
    seen = pairs.classes(matrix(record(kinds(2, 2, 2))))
    assert seen.names == (pairs.NEAR, pairs.BETWEEN, pairs.FAR)
    assert "did not report their hosts" in " ".join(seen.sentences)


def test_names_contradicted_by_times_are_reported() -> None:
    """Ranks 0 and 1 are near, 2 and 3 too, but the names put 0 and 2 together."""
    seen = pairs.classes(matrix(record(kinds(2, 1, 2), hosts=("a", "b", "a", "b"))))
    (told,) = [sentence for sentence in seen.sentences if sentence.startswith("CONTRADICTION")]
    assert "{0, 1} {2, 3}" in told
    assert "{0, 2} {1, 3}" in told


def test_hosts_that_are_as_near_as_one_are_parted_by_name_alone() -> None:
    seen = pairs.classes(matrix(record(np.ones((4, 4), int), hosts=("a", "a", "b", "b"))))
    assert seen.kinds[0, 2] == pairs.ACROSS
    assert "only the names do" in " ".join(seen.sentences)


def test_two_machines_of_one_name_are_two_hosts() -> None:
    found = matrix(record(kinds(2, 1, 2), hosts=("node",) * 4, boots=("x", "x", "y", "y")))
    assert found.hosts == ("node (1)", "node (1)", "node (2)", "node (2)")
    assert pairs.classes(found).kinds[0, 2] == pairs.ACROSS


def test_a_uniform_host_has_no_islands() -> None:
    seen = pairs.classes(matrix(record(np.ones((4, 4), int), hosts=("a",) * 4, noise=0.1)))
    assert seen.names == (pairs.HOST,)


def test_a_large_message_that_takes_no_longer_gives_no_bandwidth() -> None:
    found = matrix(record(kinds(2, 1, 2), flat=True))
    assert isinstance(found.links[0].bandwidth, Absent)
    assert "use larger ones" in found.links[0].bandwidth.detail
    assert pairs.classes(found).names == (pairs.NEAR, pairs.FAR)  # by latency


def test_a_pair_that_was_not_measured_leaves_everything_unnamed() -> None:
    made = record(kinds(2, 1, 2))
    calls = made.table("collectives").filter(pl.col("group") != "pair 3-1")
    found = matrix(replace(made, tables={**made.tables, "collectives": calls}))
    assert pairs.classes(found).refused == "1 pair without a latency (3 to 1)"


def test_wrong_bytes_are_counted() -> None:
    assert matrix(record(kinds(2, 1, 2), wrong=2)).links[0].wrong == 2 * 9 * 5


def test_a_record_without_pairs_has_no_matrix() -> None:
    assert "--matrix" in absence(pairs.matrix(measured(), "workers=4")).detail
