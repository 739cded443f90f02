"""More processor time than there was, and what ticks and busy machines may show."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fireassay.verdict.judge import judge
from tests.metrics.trials_made import timing
from tests.verdict.forging import GOOD, MS, Change, a_timing, expect_found, forged, implausible, put, rules

pytestmark = pytest.mark.slow


FORGED: tuple[tuple[str, str, Change, str], ...] = (
    ("impossible processor time", "telemetry", put("value", pl.col("value") * 50, device="launch", counter="cpu_time"), "processor_time"),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
def test_a_launch_cannot_have_used_more_than_all_processors(table: str, change: Change, rule: str, tmp_path: Path) -> None:
    expect_found(forged(GOOD, tmp_path / "forged", **{table: change}), rule)


def test_a_step_of_300_us_with_920_us_of_processor_time_is_invalid_on_two_processors() -> None:
    """Two processors have 600 us in 300; 1 % and 50 us are allowed on top."""
    found = implausible(a_timing(wall_us=300.0, used_us=920.0))
    assert [finding.rule for finding in found] == ["processor_time"]
    assert "table trials, launch 0, trial 0: 920002 ns of processor time in 300000 ns on 2 processors; 100 rows in all" in found[0].evidence
    assert judge(a_timing(wall_us=300.0, used_us=920.0)).verdict.status == "INVALID"


def test_both_processors_may_be_busy_throughout() -> None:
    assert rules(a_timing(wall_us=300.0, used_us=600.0)) == set()
    assert rules(a_timing(wall_us=30_000.0, used_us=60_400.0)) == set()


def test_a_kernel_that_counts_in_ticks_may_be_a_tick_too_high_on_each_processor() -> None:
    """A command of 3 ms that two ticks of 10 ms fell into."""
    made = timing([0.003] * 5, [0.0031] * 5)
    made.manifest["environment"] = {"before": {"cpu": {"logical": 2}}}
    made.rows["trials"] = [(*one[:7], 10 * MS, 10 * MS, *one[9:]) for one in made.rows["trials"]]
    assert rules(made.measured()) == set()


def test_a_machine_whose_processors_are_not_known_is_not_asked() -> None:
    made = a_timing(wall_us=300.0, used_us=920.0)
    made.manifest["environment"] = {"before": {}, "after": {}}  # type: ignore[index]
    assert rules(made) == set()


def test_all_calls_of_a_function_are_asked_together() -> None:
    """20 calls of 300 us with 920 us each are 18.4 ms in 6 ms; two ticks of two processors are 20 ms, which 200 calls exceed."""
    few, many = timing([0.0003] * 20), timing([0.0003] * 200)
    for made in (few, many):
        made.manifest["environment"] = {"before": {"cpu": {"logical": 2}}}
        made.rows["trials"] = [(*one[:6], None, 460_001, 460_001, *one[9:]) for one in made.rows["trials"]]
    assert rules(few.measured()) == set()
    assert rules(many.measured()) == {"processor_time"}
