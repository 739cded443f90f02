"""Launches that were written down twice."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.metrics.trials_made import timing
from tests.serving_made import S
from tests.verdict.forging import GOOD, Change, a_load, expect_found, forged, read, row, rules

pytestmark = pytest.mark.slow


def of_another(rows: pl.DataFrame) -> pl.DataFrame:
    """Launch 5 becomes launch 1 at another hour."""
    moved = pl.lit(7_000_000_000, dtype=pl.Int64)
    copy = rows.filter(row(launch=1)).with_columns(
        pl.lit(5, dtype=pl.Int32).alias("launch"), pl.col("begin_ns") + moved, pl.col("end_ns") + moved
    )
    return pl.concat([rows.filter(pl.col("launch") != 5), copy])


FORGED: tuple[tuple[str, str, Change, str], ...] = (("a launch copied", "steps", of_another, "rows_copied"),)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
def test_a_copied_launch_is_found(table: str, change: Change, rule: str, tmp_path: Path) -> None:
    expect_found(forged(GOOD, tmp_path / "forged", **{table: change}), rule)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two loads, sealed."""
    return a_load(tmp_path_factory.mktemp("load"))


LOADS: tuple[tuple[str, str, Change, str], ...] = (
    (
        "a launch copied",
        "requests",
        lambda rows: pl.concat(
            [
                rows.filter(pl.col("launch") != 3),
                rows.filter(pl.col("launch") == 0).with_columns(
                    pl.lit(3, dtype=pl.Int32).alias("launch"), *(pl.col(name) + 3000 * S for name in ("sent_ns", "done_ns"))
                ),
            ]
        ),
        "rows_copied",
    ),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in LOADS], ids=[case[0] for case in LOADS])
def test_a_copied_load_is_found(table: str, change: Change, rule: str, load: Path, tmp_path: Path) -> None:
    found = rules(read(forged(load, tmp_path / "forged", **{table: change})))
    assert rule in found or (not rule and not found)


def test_copied_trials_are_found() -> None:
    times = [0.0123456789 * (1 + place) for place in range(12)]
    assert rules(timing(times, times).measured()) == {"rows_copied"}
    assert rules(timing(times, list(reversed(times))).measured()) == {"rows_copied"}  # in whatever order


def test_equal_times_on_a_coarse_clock_are_no_copies() -> None:
    assert rules(timing([0.01] * 40, [0.01] * 40).measured()) == set()
    microseconds = [0.000123 * (1 + place) for place in range(40)]
    assert rules(timing(microseconds, microseconds).measured()) == set()
