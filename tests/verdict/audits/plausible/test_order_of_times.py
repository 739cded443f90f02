"""Times that cannot be: forged into an honest record, which is sealed again."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.collectives_made import Made
from tests.metrics.trials_made import timing
from tests.serving_made import S
from tests.verdict.forging import GOOD, MS, Change, expect_found, forged, put, rules

pytestmark = pytest.mark.slow


def shorter(rows: pl.DataFrame) -> pl.DataFrame:
    """Every step of two workers takes half as long."""
    half = pl.col("begin_ns") + (pl.col("end_ns") - pl.col("begin_ns")) // 2
    return rows.with_columns(pl.when(pl.col("launch").is_in([0, 3, 4])).then(half).otherwise(pl.col("end_ns")).alias("end_ns"))


FORGED: tuple[tuple[str, str, Change, str], ...] = (
    ("steps cut in half", "steps", shorter, "phases_exceed_step"),
    (
        "a step before the one before it",
        "steps",
        put("begin_ns", pl.col("begin_ns") - 5000 * MS, launch=0, rank=0, step=9),
        "steps_overlap",
    ),
    ("a step that ends before it begins", "steps", put("end_ns", pl.col("begin_ns") - 1, launch=0, rank=1, step=3), "steps_run_backwards"),
    ("a step counted twice", "steps", put("step", 4, launch=1, rank=0, step=5), "steps_count_back"),
    ("a phase below nothing", "steps", put("forward_ns", -1, launch=2, rank=0, step=7), "forward_ns_negative"),
    ("a launch cut short", "launches", put("end_ns", pl.col("begin_ns") + 4 * S, launch=0), "steps_outside_launch"),
    ("a launch in another's time", "launches", put("begin_ns", pl.col("begin_ns") - 20 * S, launch=3), "launches_overlap"),
    ("a launch that began an hour before", "launches", put("begin_ns", pl.col("begin_ns") - 3600 * S, launch=3), "launch_begins_early"),
    (
        "the first step told otherwise",
        "events",
        put("duration_ns", pl.col("duration_ns") // 3, launch=0, kind="first_step", rank=0),
        "first_step_differs",
    ),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
def test_a_forged_training_is_found_although_its_seal_is_whole(table: str, change: Change, rule: str, tmp_path: Path) -> None:
    expect_found(forged(GOOD, tmp_path / "forged", **{table: change}), rule)


def test_trials_that_overlap_or_lie_outside_of_their_launch_are_found() -> None:
    assert rules(timing([0.5, 11.0]).measured()) == {"trials_outside_launch"}
    twice = timing([0.5, 0.5, 0.5])
    twice.rows["trials"][2] = (0, 2, twice.rows["trials"][1][2] + 5, *twice.rows["trials"][2][3:])
    assert rules(twice.measured()) == {"trials_overlap"}


def test_a_collective_that_was_over_before_everybody_had_entered_is_found() -> None:
    """On one host only: clocks of two are not compared to the nanosecond."""
    made = Made(sizes=("1M",), blocks=1).measured()
    launches = made.table("launches").with_columns(placement=pl.lit('{"launcher": "local"}'))
    started = pl.DataFrame(
        [(0, 1000 * S, None, "host", rank, 0, "worker_start", None, None, "{}") for rank in (0, 1)],
        schema=made.table("events").schema,
        orient="row",
    )
    made.tables.update(launches=launches, events=started)  # type: ignore[attr-defined]
    assert rules(made) == set()
    calls = made.table("collectives")
    late = put("begin_ns", pl.col("begin_ns") - MS, rank=1, call=2)(put("end_ns", pl.col("begin_ns") - MS // 2, rank=1, call=2)(calls))
    made.tables.update(collectives=late)  # type: ignore[attr-defined]
    assert rules(made) == {"collective_before_entry"}
    made.tables.update(events=started.with_columns(detail=pl.lit('{"boot_id": "other"}')))  # type: ignore[attr-defined]
    assert rules(made) == set()
