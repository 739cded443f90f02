"""Do plans agree with the published table, and with simulated tests?"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from fireassay.stats.comparing.item_power import Grouping, design_effect, item_power
from fireassay.stats.comparing.noninferiority import flips_lower, of_items

Draw = Callable[[np.random.Generator, int], tuple[np.ndarray, Sequence[int] | None, np.ndarray | None]]


@pytest.mark.parametrize(
    ("flips", "margin", "needed"),
    [(0.02, 0.01, 1237), (0.05, 0.02, 773), (0.10, 0.01, 6183), (0.10, 0.02, 1546), (0.20, 0.05, 495), (0.0, 0.01, 299)],
)
def test_the_items_needed_are_a_few_more_than_in_the_table(flips: float, margin: float, needed: int) -> None:
    """Normal sample sizes at alpha .05 and power .80, which the test itself exceeds; without flips those of the exact rule."""
    found = item_power(100, margin, flips, 0.95).needed
    assert needed <= found <= 1.3 * needed
    assert flips > 0.0 or found == needed


@pytest.mark.parametrize(
    ("items", "flips", "margin"), [(164, 0.10, 0.061), (1319, 0.05, 0.0153), (500, 0.02, 0.0157), (14042, 0.10, 0.0066)]
)
def test_the_supported_margin_is_that_of_the_table(items: int, flips: float, margin: float) -> None:
    assert item_power(items, 0.5, flips, 0.95).supported_margin == pytest.approx(margin, rel=0.12)


def test_a_hundred_and_sixty_four_problems_cannot_show_one_point() -> None:
    power = item_power(164, 0.01, 0.10, 0.95)
    assert not power.enough
    assert power.power < 0.2


@pytest.mark.parametrize(("flips", "margin"), [(0.05, 0.02), (0.10, 0.02), (0.05, 0.03), (0.02, 0.05), (0.10, 0.05)])
def test_the_planned_items_have_the_power(flips: float, margin: float) -> None:
    """At the planned size with no true change: at least 80 %, within three errors of 1,500 draws."""
    items = item_power(100, margin, flips, 0.95).needed
    assert item_power(items, margin, flips, 0.95).power == pytest.approx(0.80, abs=0.02) or flips < 0.05
    random = np.random.default_rng(5)
    draws = random.multinomial(items, [flips / 2, flips / 2, 1 - flips], size=1500)
    tables, times = np.unique(draws, axis=0, return_counts=True)
    held = np.array([flips_lower(int(b), int(c), items, 0.95) > -margin for b, c, _ in tables])
    assert times[held].sum() / 1500 > 0.80 - 0.031


def test_clusters_need_more_items_than_their_design_effect_says() -> None:
    """Kish's effect of tens that correlate by 0.2 is 2.8; a whole passage that may be lost asks for more."""
    assert design_effect(10, 0.2) == pytest.approx(2.8)
    tens = Grouping(size=10, largest=10, correlation=0.2)
    alone, shared = item_power(1000, 0.02, 0.05, 0.95), item_power(1000, 0.02, 0.05, 0.95, tens)
    assert 2.8 * alone.needed < shared.needed < 5 * alone.needed
    assert shared.power < alone.power
    assert item_power(shared.needed, 0.02, 0.05, 0.95, tens).supported_margin == pytest.approx(0.02, rel=0.02)


def clustered(rng: np.random.Generator, n: int) -> tuple[np.ndarray, Sequence[int] | None, np.ndarray | None]:
    """Tens, of which half share one fate, so that they correlate by 1/4; one in ten changes."""
    each = rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9, 0.05], size=(2, n))
    shared = np.repeat(each[1, : -(-n // 10)], 10)[:n]
    return np.where(rng.random(n) < 0.5, shared, each[0]), [index // 10 for index in range(n)], None


def graded(rng: np.random.Generator, n: int) -> tuple[np.ndarray, Sequence[int] | None, np.ndarray | None]:
    return rng.uniform(-0.3, 0.3, n), None, None  # of variance 0.03


def weighted(rng: np.random.Generator, n: int) -> tuple[np.ndarray, Sequence[int] | None, np.ndarray | None]:
    """Weights 1 and 3: mean(w^2) / mean(w)^2 is 5/4."""
    return rng.choice([-1.0, 0.0, 1.0], p=[0.05, 0.9, 0.05], size=n), None, rng.choice([1.0, 3.0], n)


@pytest.mark.parametrize(
    ("draw", "margin", "variance", "grouping"),
    [
        (clustered, 0.05, 0.1, Grouping(size=10, largest=10, correlation=0.25)),
        (graded, 0.03, 0.03, Grouping()),
        (weighted, 0.05, 0.1, Grouping(largest=1.5, uneven=1.25)),
    ],
)
def test_planned_items_that_are_no_independent_flips_have_the_power(draw: Draw, margin: float, variance: float, grouping: Grouping) -> None:
    """80 % within three errors of 300 draws, by the decision itself."""
    items = item_power(1000, margin, variance, 0.95, grouping).needed
    rng, held = np.random.default_rng(6), 0
    for _ in range(300):
        d, clusters, weights = draw(rng, items)
        held += of_items(d, 0.95, 1.0, clusters, fixed=True, weights=weights).low > -margin
    assert 0.80 - 0.07 < held / 300 < 0.95


@pytest.mark.parametrize("wrong", [(0, 0.1, 0.1, 0.95), (10, 0.0, 0.1, 0.95), (10, 0.1, 1.1, 0.95)])
def test_impossible_plans_are_refused(wrong: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="margin"):
        item_power(*wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [{"size": 0.5}, {"largest": 0.0}, {"correlation": 1.5}, {"uneven": 0.9}])
def test_impossible_groupings_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="sizes must be at least 1"):
        Grouping(**wrong)
