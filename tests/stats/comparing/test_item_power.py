"""Do plans agree with the published table, and with simulated tests?"""

from __future__ import annotations

import numpy as np
import pytest

from fireassay.stats.comparing.item_power import design_effect, item_power
from fireassay.stats.comparing.tango import flips_lower


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
    held = np.mean([flips_lower(int(b), int(c), items, 0.95) > -margin for b, c, _ in draws])
    assert held > 0.80 - 0.031


def test_clusters_need_more_items() -> None:
    effect = design_effect(1000, 100, 0.2)
    assert effect == pytest.approx(2.8)
    alone, shared = item_power(1000, 0.02, 0.05, 0.95), item_power(1000, 0.02, 0.05, 0.95, effect)
    assert shared.needed == pytest.approx(2.8 * alone.needed, rel=0.01)
    assert shared.power < alone.power


@pytest.mark.parametrize("wrong", [(0, 0.1, 0.1, 0.95), (10, 0.0, 0.1, 0.95), (10, 0.1, 1.1, 0.95), (10, 0.1, 0.1, 0.95, 0.5)])
def test_impossible_plans_are_refused(wrong: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="margin"):
        item_power(*wrong)  # type: ignore[arg-type]
