"""Is a slow link named, a slow node instead of its links, and neither more often than promised?"""

from __future__ import annotations

import math

import numpy as np
import pytest

from benchmarks.slow_links import Fabric, broken, measure
from fireassay.stats.groups.slow_links import MIN_LINKS, Links, fitted, slow_links


def links(count: int, *, directed: bool = True, classes: tuple[int, ...] = ()) -> Links:
    pairs = [(a, b) for a in range(count) for b in range(count) if a < b or (directed and a != b)]
    first, second = zip(*pairs, strict=True)
    return Links(count, first, second, classes or (0,) * len(pairs), directed)


def rates(shape: Links, *, spread: float = 0.005, seed: int = 3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    level = spread * rng.standard_normal(len(shape.first)) + (spread * rng.standard_normal(shape.effects))[shape.ends].sum(axis=1)
    return 1e9 * np.exp(level[:, None] + 0.002 * rng.standard_normal((len(shape.first), 7)))


@pytest.mark.parametrize(("count", "directed", "slower"), [(4, True, 0.5), (6, False, 0.2), (16, True, 0.2)])
def test_a_slow_link_is_named_alone(count: int, directed: bool, slower: float) -> None:
    shape = links(count, directed=directed)
    measured = rates(shape)
    measured[4] *= 1.0 - slower
    found = slow_links(measured, shape, alpha=0.05)
    (result,) = found.links
    assert result is not None
    assert np.flatnonzero(result.slow).tolist() == [4]
    assert result.slower[4] == pytest.approx(slower, abs=0.04)
    assert not any(side is not None and side.slow.any() for side in found.nodes)


@pytest.mark.parametrize("directed", [True, False])
def test_a_slow_node_explains_its_links(directed: bool) -> None:
    shape = links(8, directed=directed)
    measured = rates(shape)
    measured[(np.array([shape.first, shape.second]) == 3).any(axis=0)] *= 0.8
    found = slow_links(measured, shape, alpha=0.05)
    (result,) = found.links
    assert result is not None
    assert not result.slow.any()
    for side in found.nodes:
        assert side is not None
        assert np.flatnonzero(side.slow).tolist() == [3]


def test_a_node_that_only_sends_slowly_is_found_as_a_sender() -> None:
    shape = links(8)
    measured = rates(shape)
    measured[np.array(shape.first) == 5] *= 0.8
    sends, receives = slow_links(measured, shape, alpha=0.05).nodes
    assert sends is not None
    assert receives is not None
    assert (np.flatnonzero(sends.slow).tolist(), np.flatnonzero(receives.slow).tolist()) == ([5], [])


def test_classes_have_a_level_and_a_spread_of_their_own() -> None:
    """A link between switches at half of the rate is ordinary; one that is 15 % slower than its class is not, if the class is quiet."""
    far = tuple(int((a < 5) != (b < 5)) for a in range(10) for b in range(10) if a != b)
    shape = links(10, classes=far)
    measured = rates(shape) * np.exp(-np.array(far) * math.log(2.0))[:, None]
    slow = far.index(1)
    measured[slow] *= 0.85
    near, other = slow_links(measured, shape, alpha=0.05).links
    assert near is not None
    assert other is not None
    assert not near.slow.any()
    assert shape.members[1][np.flatnonzero(other.slow)].tolist() == [slow]


def test_a_class_with_too_few_links_is_not_judged() -> None:
    shape = links(6, classes=(1,) * (MIN_LINKS - 1) + (0,) * (30 - MIN_LINKS + 1))
    ordinary, few = slow_links(rates(shape), shape, alpha=0.05).links
    assert ordinary is not None
    assert few is None


def test_the_fit_takes_away_exactly_what_nodes_add() -> None:
    shape = links(6)
    effects = np.random.default_rng(1).standard_normal(12)
    rest, found = fitted(effects[shape.ends].sum(axis=1)[None, :], shape)
    assert np.abs(rest).max() < 1e-9
    assert found[0] - np.repeat([np.median(found[0, :6]), np.median(found[0, 6:])], 6) == pytest.approx(
        effects - np.repeat([np.median(effects[:6]), np.median(effects[6:])], 6)
    )


def test_rounds_that_are_slow_for_all_links_change_nothing() -> None:
    shape = links(5)
    measured = rates(shape)
    shared = measured * np.array([1.0, 0.5, 2.0, 1.0, 0.1, 1.0, 3.0])
    one, other = (slow_links(values, shape, alpha=0.05).links[0] for values in (measured, shared))
    assert one is not None
    assert other is not None
    assert other.slower == pytest.approx(one.slower)


def test_a_round_that_lacks_links_counts_as_missing() -> None:
    shape = links(8)
    measured = rates(shape)
    measured[9] *= 0.8
    measured[9, :3] = np.nan
    measured[20:30, 6] = np.nan
    (result,) = slow_links(measured, shape, alpha=0.05).links
    assert result is not None
    assert np.flatnonzero(result.slow).tolist() == [9]


@pytest.mark.deep
@pytest.mark.parametrize("directed", [True, False])
def test_200_fleets_of_256_nodes_keep_the_promises(directed: bool) -> None:
    """An alarm in at most 5 %, within three Monte Carlo errors; of 2,048 pairs a link 20 % slow is named, and no other."""
    shares = measure(Fabric("normal", 256, 16, directed, 0.0075, 0.005), 200)
    assert not broken(shares, 200)
    assert (shares.link, shares.node) == (1.0, 1.0)


def test_small_fleets_are_accused_as_seldom() -> None:
    shares = measure(Fabric("normal", 4, 3, True, 0.0075, 0.005), 200)
    assert shares.alarms <= 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
