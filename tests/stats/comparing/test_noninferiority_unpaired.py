"""Is "held" honest if launches of the two sides are unpaired?"""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.stats.comparing.noninferiority import crossed, unpaired


def test_without_launch_variation_the_bounds_are_those_of_the_items() -> None:
    r = np.tile(np.linspace(0.0, 1.0, 50), (3, 1))
    c = np.tile(np.linspace(0.0, 1.0, 50) ** 1.1, (4, 1))
    expected = crossed(np.tile(c[0] - r[0], (3, 1)), 0.1)
    assert (unpaired(r, c, 0.1).low, unpaired(r, c, 0.1).high) == pytest.approx((expected.low, expected.high))


def test_the_launches_term_is_welchs_standard_error() -> None:
    """Items all alike: launch means 0, .1, .2 against .5, .5, .8. A = (1/3 + 3/3)/100; Welch's df = (4/3)^2/((1/3)^2/2 + 1/2) = 3.2."""
    from scipy import stats

    r = np.repeat([[0.0], [0.1], [0.2]], 10, axis=1)
    c = np.repeat([[0.5], [0.5], [0.8]], 10, axis=1)
    half = stats.t.ppf(0.95, 3.2) * np.sqrt(4 / 300)
    missed = 1 - 0.05 ** (1 / 10)  # of ten items: what they have not shown
    found = unpaired(r, c, 1.0)
    assert found.low == pytest.approx(0.5 - np.hypot(1.5 * missed, half))
    assert found.high == pytest.approx(0.5 + np.hypot(0.5 * missed, half))


def test_flips_without_launch_variation_get_tangos_bound_and_clusters_do_not() -> None:
    r, c = np.ones((3, 400)), np.ones((4, 400))
    c[:, :2] = 0.0
    assert unpaired(r, c, 0.02).method.startswith("Tango's score test on 400 independent items, Student t on 3 and 4 launches")
    grouped = unpaired(r, c, 0.02, clusters=[i // 10 for i in range(400)])
    assert (grouped.clusters, grouped.verdict) == (40, "INCONCLUSIVE")
    assert unpaired(r, c, 0.02).verdict == "HELD"


def test_fewer_than_three_launches_on_a_side_decide_nothing() -> None:
    found = unpaired(np.ones((2, 500)), np.ones((5, 500)), 0.1)
    assert (found.verdict, found.launches_needed) == ("INCONCLUSIVE", 3)


def test_sides_with_other_items_are_refused() -> None:
    with pytest.raises(ValueError, match="same items"):
        unpaired(np.ones((3, 4)), np.ones((3, 5)), 0.1)


@pytest.mark.slow
def test_at_the_margin_held_is_said_in_at_most_5_per_cent() -> None:
    """300 graded items, 5 launches a side, launch effects of 0.02, a true loss of exactly the margin of 0.05; 400 sets."""
    rng = np.random.default_rng(20260101)
    held = 0
    for _ in range(400):
        items = rng.normal(0.6, 0.2, 300)
        side = [items + rng.normal(0, 0.02, (5, 1)) + rng.normal(0, 0.2, (5, 300)) for _ in range(2)]
        held += unpaired(side[0], side[1] - 0.05, 0.05).verdict == "HELD"
    assert held / 400 <= 0.05


def test_a_side_that_lost_nothing_is_held_where_the_data_can_show_it() -> None:
    rng = np.random.default_rng(7)
    items = rng.normal(0.6, 0.2, 400)
    r, c = (items + rng.normal(0, 0.005, (5, 1)) + rng.normal(0, 0.05, (5, 400)) for _ in range(2))
    assert unpaired(r, c, 0.05).verdict == "HELD"
    assert unpaired(r, c - 0.2, 0.05).verdict == "DEGRADED"
