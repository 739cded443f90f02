"""Whatever is killed, and whenever: the record opens, at most what came after its last flush is lost, and nothing is left running."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.survival import harness

OF_EACH = 3  # benchmarks/survival.py: twenty
MOMENTS = [
    (victim, moment) for moment in range(OF_EACH) for victim in ("coordinator", "worker", "ctrl-c") if (victim, moment) != ("worker", 1)
]


@pytest.fixture(scope="module")
def length_s(tmp_path_factory: pytest.TempPathFactory) -> float:
    """Seconds from the first sign of the record to the end of an undisturbed run."""
    return harness.unharmed(harness.Setting(folder=tmp_path_factory.mktemp("unharmed"), launches=2))


@pytest.mark.survival
@pytest.mark.parametrize(("victim", "moment"), [pytest.param("worker", 1, marks=pytest.mark.core), *MOMENTS])
def test_the_plan_is_completed_and_nothing_is_left_after_a_kill_at_a_random_moment(
    tmp_path: Path, length_s: float, victim: str, moment: int
) -> None:
    numbers = random.Random(f"{victim} {moment}")
    setting = harness.Setting(folder=tmp_path, launches=2)
    seen = harness.once(setting, victim, length_s * (moment + numbers.random()) / OF_EACH, numbers)
    assert seen.problems == []


@pytest.mark.survival
@pytest.mark.parametrize("victim", ["guard", "engine"])
def test_the_other_launches_go_on_when_a_launch_loses_its_guard_or_its_engine(tmp_path: Path, victim: str) -> None:
    seen = harness.once(harness.Setting(folder=tmp_path), victim, 0.5, random.Random(victim))
    assert seen.hit
    assert seen.problems == []
    assert sorted(seen.statuses) == ["failed", "ok", "ok"]
