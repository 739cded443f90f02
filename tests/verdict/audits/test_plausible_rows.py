"""Can these rows have been recorded?  What no program writes: copied rows, impossible counters, wrong counts."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.handmade import Handmade
from tests.metrics.trials_made import timing
from tests.serving_made import S
from tests.verdict.forging import GOOD, Change, a_load, another, expect_found, forged, put, read, row, rules

pytestmark = pytest.mark.slow


# ---- copied rows ----
# Launches that were written down twice.


def of_another(rows: pl.DataFrame) -> pl.DataFrame:
    """Launch 5 becomes launch 1 at another hour."""
    moved = pl.lit(7_000_000_000, dtype=pl.Int64)
    copy = rows.filter(row(launch=1)).with_columns(
        pl.lit(5, dtype=pl.Int32).alias("launch"), pl.col("begin_ns") + moved, pl.col("end_ns") + moved
    )
    return pl.concat([rows.filter(pl.col("launch") != 5), copy])


COPIED_ROWS_FORGED: tuple[tuple[str, str, Change, str], ...] = (("a launch copied", "steps", of_another, "rows_copied"),)


@pytest.mark.parametrize(
    ("table", "change", "rule"), [case[1:] for case in COPIED_ROWS_FORGED], ids=[case[0] for case in COPIED_ROWS_FORGED]
)
def test_a_copied_launch_is_found(table: str, change: Change, rule: str, tmp_path: Path) -> None:
    expect_found(forged(GOOD, tmp_path / "forged", **{table: change}), rule)


@pytest.fixture(scope="module")
def copied_rows_load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two loads, sealed."""
    return a_load(tmp_path_factory.mktemp("load"))


COPIED_ROWS_LOADS: tuple[tuple[str, str, Change, str], ...] = (
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


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in COPIED_ROWS_LOADS], ids=[case[0] for case in COPIED_ROWS_LOADS])
def test_a_copied_load_is_found(table: str, change: Change, rule: str, copied_rows_load: Path, tmp_path: Path) -> None:
    found = rules(read(forged(copied_rows_load, tmp_path / "forged", **{table: change})))
    assert rule in found or (not rule and not found)


def test_copied_trials_are_found() -> None:
    times = [0.0123456789 * (1 + place) for place in range(12)]
    assert rules(timing(times, times).measured()) == {"rows_copied"}
    assert rules(timing(times, list(reversed(times))).measured()) == {"rows_copied"}  # in whatever order


def test_equal_times_on_a_coarse_clock_are_no_copies() -> None:
    assert rules(timing([0.01] * 40, [0.01] * 40).measured()) == set()
    microseconds = [0.000123 * (1 + place) for place in range(40)]
    assert rules(timing(microseconds, microseconds).measured()) == set()


# ---- counter readings ----
# Counters that cannot have been read as they stand.


def slower_clock(rows: pl.DataFrame) -> pl.DataFrame:
    """The processor time that a launch had used stands still, then falls."""
    own = (pl.col("device") == "launch") & (pl.col("launch") == 0)
    return rows.with_columns(pl.when(own & (pl.col("value") > 10)).then(5.0).otherwise(pl.col("value")).alias("value"))


COUNTER_READINGS_FORGED: tuple[tuple[str, str, Change, str], ...] = (
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


@pytest.mark.parametrize(
    ("table", "change", "rule"), [case[1:] for case in COUNTER_READINGS_FORGED], ids=[case[0] for case in COUNTER_READINGS_FORGED]
)
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


def test_an_exporter_that_updates_every_30_s_draws_no_impossible_power() -> None:
    """700 W read every second: the count stands still for 30 s, then rises by 21 kJ. The same rise of a meter that never stands still is impossible."""
    for still, found in ((True, set()), (False, {"power_too_high"})):
        made = Handmade(levels=(1,), blocks=1)
        number = made.launch(workers=1, wall_s=90.0)
        for second in range(90):
            joules = 21_000.0 * ((second + 10) // 30) + (0.0 if still else second)
            made.reading(number, "GPU-1", "energy", joules, at_s=float(second), unit="J")
        made.manifest["environment"] = {"before": {"gpu": {"nvidia": [{"uuid": "GPU-1", "power_limit_w": 700.0}]}}, "after": {}}
        assert rules(made.measured()) == found


def test_the_kernel_s_own_totals_may_fall_and_a_last_reading_may_be_late() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1, wall_s=10.0)
    for counter, value in (("idle", 100.0), ("steal", 5.0)):
        made.reading(number, "cpu", counter, value)
        made.reading(number, "cpu", counter, value - 1.0, at_s=12.0)
    assert rules(made.measured()) == set()


# ---- row counts ----
# Counts that contradict another table.


def labels_swapped(rows: pl.DataFrame) -> pl.DataFrame:
    """A launch of one worker is given out as one of two, and the other way round."""
    two = pl.col("workers") == 2
    return rows.with_columns(
        pl.when(two).then(pl.lit("workers=1")).otherwise(pl.lit("workers=2")).alias("configuration"),
        pl.when(two).then(1).otherwise(2).cast(pl.Int32).alias("workers"),
    )


ROW_COUNTS_FORGED: tuple[tuple[str, str, Change, str], ...] = (
    ("a rank too many", "steps", put("rank", 2, launch=4, rank=1), "rank_unknown"),
    ("a launch that succeeded twice", "launches", put("slot", 1, launch=2), "slot_twice"),
    ("labels swapped", "launches", labels_swapped, "rank_unknown"),
    ("a launch that is not there", "fingerprints", put("launch", 9, launch=5), "launch_unknown"),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in ROW_COUNTS_FORGED], ids=[case[0] for case in ROW_COUNTS_FORGED])
def test_a_forged_training_is_found(table: str, change: Change, rule: str, tmp_path: Path) -> None:
    expect_found(forged(GOOD, tmp_path / "forged", **{table: change}), rule)


@pytest.fixture(scope="module")
def row_counts_load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two loads, sealed."""
    return a_load(tmp_path_factory.mktemp("load"))


def loads_swapped(rows: pl.DataFrame) -> pl.DataFrame:
    """A load of one stream is given out as one of four, and the other way round."""
    one = pl.col("configuration") == "concurrency=1"
    return rows.with_columns(pl.when(one).then(pl.lit("concurrency=4")).otherwise(pl.lit("concurrency=1")).alias("configuration"))


ROW_COUNTS_LOADS: tuple[tuple[str, str, Change, str], ...] = (
    ("labels swapped", "launches", loads_swapped, "plan_differs"),
    (
        "more tokens in the chunks than in the answer",
        "token_counts",
        lambda _: pl.DataFrame({"launch": [0], "request": [12], "tokens_in": [1], "tokens_out": [3], "chunk_tokens": [[2, 2]]}),
        "tokens_differ",
    ),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in ROW_COUNTS_LOADS], ids=[case[0] for case in ROW_COUNTS_LOADS])
def test_a_forged_load_is_found(table: str, change: Change, rule: str, row_counts_load: Path, tmp_path: Path) -> None:
    found = rules(read(forged(row_counts_load, tmp_path / "forged", **{table: change})))
    assert rule in found or (not rule and not found)


def test_more_arrivals_than_were_noted_before_the_load_are_found(row_counts_load: Path) -> None:
    measured = read(row_counts_load)
    measured.manifest["schedules"] = {"0": {"sha256": "", "requests": 3}}  # type: ignore[index]
    assert rules(measured) == {"arrivals_too_many"}


def test_a_record_whose_streams_were_cut_is_not_asked_whose_rows_are_whose() -> None:
    measured = read(GOOD)
    measured.tables.update(launches=measured.table("launches").filter(pl.col("launch") != 5))  # type: ignore[attr-defined]
    assert rules(measured) == {"launch_unknown"}
    measured.manifest["sealed"] = {**measured.manifest["sealed"], "salvaged": ["launch=5: the end could not be read"]}  # type: ignore[index]
    assert rules(measured) == set()
