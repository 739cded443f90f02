"""Counters that cannot have been read as they stand."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.handmade import Handmade
from tests.serving_made import S
from tests.verdict.forging import GOOD, Change, another, expect_found, forged, put, rules

pytestmark = pytest.mark.slow


def slower_clock(rows: pl.DataFrame) -> pl.DataFrame:
    """The processor time that a launch had used stands still, then falls."""
    own = (pl.col("device") == "launch") & (pl.col("launch") == 0)
    return rows.with_columns(pl.when(own & (pl.col("value") > 10)).then(5.0).otherwise(pl.col("value")).alias("value"))


FORGED: tuple[tuple[str, str, Change, str], ...] = (
    ("processor time that falls", "telemetry", slower_clock, "counter_falls"),
    (
        "a reading before the launch",
        "telemetry",
        put("ns", pl.col("ns") - 900 * S, launch=0, device="cpu", counter="steal"),
        "reading_outside_launch",
    ),
    (
        "energy of a power station",
        "telemetry",
        lambda rows: another(device="package-0", counter="energy", value=2e9, unit="J", method="counter", ns=4 * 10**12)(
            another(device="package-0", counter="energy", value=0.0, unit="J", method="counter")(rows)
        ),
        "power_too_high",
    ),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
def test_a_forged_counter_is_found(table: str, change: Change, rule: str, tmp_path: Path) -> None:
    expect_found(forged(GOOD, tmp_path / "forged", **{table: change}), rule)


@pytest.mark.parametrize(("joules", "found"), [(3400.0, set()), (7100.0, {"power_too_high"})])
def test_a_gpu_draws_at_most_twice_its_power_limit(joules: float, found: set[str]) -> None:
    """350 W for 10 s are 3500 J; 7000 are twice that."""
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1, wall_s=10.0)
    made.reading(number, "GPU-1", "energy", 0.0, unit="J")
    made.reading(number, "GPU-1", "energy", joules, at_s=10.0, unit="J")
    made.manifest["environment"] = {"before": {"gpu": {"nvidia": [{"uuid": "GPU-1", "power_limit_w": 350.0}]}}, "after": {}}
    assert rules(made.measured()) == found


def test_the_kernel_s_own_totals_may_fall_and_a_last_reading_may_be_late() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1, wall_s=10.0)
    for counter, value in (("idle", 100.0), ("steal", 5.0)):
        made.reading(number, "cpu", counter, value)
        made.reading(number, "cpu", counter, value - 1.0, at_s=12.0)
    assert rules(made.measured()) == set()
