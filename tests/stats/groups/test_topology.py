"""Are members grouped as they really lie, in every simulated cluster, and not grouped where there is nothing to see?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from fireassay.stats.groups.topology import Array, Groups, nesting, within
from tests.tiers import some

ISLAND, HOST, ACROSS = 0, 1, 2
# a machine of our time: NVLink, PCIe, a network; seconds and seconds per byte
LATENCY = (5e-6, 9e-6, 25e-6)
PER_BYTE = (1 / 200e9, 1 / 25e9, 1 / 10e9)


def kinds(hosts: int, islands: int, ranks: int) -> np.ndarray:
    """How each pair is connected; ranks are numbered host by host, island by island."""
    n = hosts * islands * ranks
    island = np.arange(n) // ranks
    host = island // islands
    return np.where(island[:, None] == island, ISLAND, np.where(host[:, None] == host, HOST, ACROSS))


def measured(rng: np.random.Generator, kind: np.ndarray, values: tuple[float, ...], noise: float) -> Array:
    """Each ordered pair with a lognormal noise of its own."""
    made: Array = np.asarray(values)[kind] * np.exp(noise * rng.standard_normal(kind.shape))
    return made


def blocks(count: int, size: int) -> Groups:
    return tuple(tuple(range(place * size, (place + 1) * size)) for place in range(count))


@pytest.mark.parametrize("seed", some(range(50), 5))
@pytest.mark.parametrize("ranks", [2, 4])
@pytest.mark.parametrize("noise", [0.05, 0.10])
def test_two_hosts_of_two_islands_are_found_in_every_seed(seed: int, ranks: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    order = rng.permutation(4 * ranks)  # the engine may number the ranks as it likes
    kind = kinds(2, 2, ranks)[np.ix_(order, order)]
    found = nesting({"latency": measured(rng, kind, LATENCY, noise), "time per byte": measured(rng, kind, PER_BYTE, noise)})
    place = {int(member): new for new, member in enumerate(order)}

    def moved(groups: Groups) -> Groups:
        return tuple(sorted(tuple(sorted(place[member] for member in group)) for group in groups))

    assert found.refused == ""
    assert [level.groups for level in found.levels] == [moved(blocks(4, ranks)), moved(blocks(2, 2 * ranks))]


@pytest.mark.parametrize("seed", some(range(50), 5))
def test_a_level_visible_only_in_bandwidth_is_found(seed: int) -> None:
    rng = np.random.default_rng(seed)
    kind = kinds(2, 2, 2)
    latency = measured(rng, kind, (8e-6, 8e-6, 40e-6), 0.1)  # islands are alike in it
    found = nesting({"latency": latency, "time per byte": measured(rng, kind, PER_BYTE, 0.05)})
    assert [level.groups for level in found.levels] == [blocks(4, 2), blocks(2, 4)]
    assert found.levels[0].feature == "time per byte"


@pytest.mark.parametrize("seed", some(range(50), 5))
@pytest.mark.parametrize("noise", [0.2, 0.4])
def test_noise_hides_borders_and_never_moves_them(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    kind = kinds(2, 2, 3)
    found = nesting({"latency": measured(rng, kind, LATENCY, noise), "time per byte": measured(rng, kind, PER_BYTE, noise)})
    assert {level.groups for level in found.levels} <= {blocks(4, 3), blocks(2, 6)}


@pytest.mark.parametrize("n", [3, 4, 8, 16])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2, 0.5])
def test_no_groups_are_made_up_where_all_pairs_are_alike(n: int, noise: float) -> None:
    for seed in range(50):
        rng = np.random.default_rng(seed)
        kind = np.full((n, n), HOST)
        found = nesting({"latency": measured(rng, kind, LATENCY, noise), "time per byte": measured(rng, kind, PER_BYTE, noise)})
        assert found.levels == ()


def test_one_odd_pair_makes_no_host() -> None:
    """A slow link between two of eight: all others are near, the two are not, and nearness is not transitive."""
    latency = np.full((8, 8), 1e-5)
    latency[2, 5] = latency[5, 2] = 1e-4
    found = nesting({"latency": latency})
    assert found.levels == ()
    assert "2 and 5 are far from each other" in found.notes[0]


def test_a_ring_of_neighbours_makes_no_host() -> None:
    latency = np.full((6, 6), 1e-4)
    for a in range(6):
        latency[a, (a + 1) % 6] = latency[(a + 1) % 6, a] = 1e-5
    assert nesting({"latency": latency}).levels == ()


def test_groups_that_cross_are_refused() -> None:
    by_latency = np.where(np.arange(4)[:, None] // 2 == np.arange(4) // 2, 1e-6, 1e-4)
    by_bytes = np.where(np.arange(4)[:, None] % 2 == np.arange(4) % 2, 1e-10, 1e-8)
    found = nesting({"latency": by_latency, "time per byte": by_bytes})
    assert found.levels == ()
    assert "cross" in found.refused
    assert "{0, 1} {2, 3}" in found.refused


def test_links_within_the_least_ratio_are_one_class() -> None:
    latency = np.where(np.arange(4)[:, None] // 2 == np.arange(4) // 2, 1.0, 1.4)
    assert nesting({"latency": latency}).levels == ()
    latency = np.where(np.arange(4)[:, None] // 2 == np.arange(4) // 2, 1.0, 1.6)
    (level,) = nesting({"latency": latency}).levels
    assert level.groups == ((0, 1), (2, 3))
    assert math.isclose(level.ratio, 1.6)


def test_noise_as_wide_as_the_gap_is_refused_as_no_gap() -> None:
    """Directions that disagree by 60 % cannot show a border of 60 %, however the pairs' means happen to lie."""
    latency = np.where(np.arange(4)[:, None] // 2 == np.arange(4) // 2, 1.0, 1.6)
    skewed = np.where(np.triu(np.ones((4, 4)), 1) > 0, latency * 1.6, latency / 1.6)
    assert nesting({"latency": skewed}).levels == ()


def test_two_members_have_nothing_to_compare() -> None:
    assert "too few pairs" in nesting({"latency": np.ones((2, 2))}).refused


@pytest.mark.parametrize(
    ("matrix", "words"), [(np.ones((3, 2)), "must be a matrix"), (np.zeros((3, 3)), "above 0"), (np.full((3, 3), np.nan), "above 0")]
)
def test_a_matrix_that_is_none_is_refused(matrix: Array, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        nesting({"latency": matrix})


def test_one_partition_lies_within_another() -> None:
    assert within(blocks(4, 2), blocks(2, 4))
    assert not within(((0, 2), (1, 3)), blocks(2, 2))
