"""Can these times have been measured?  Order of events, and processor time within wall time."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fireassay.verdict.judge import judge
from tests.collectives_made import Made
from tests.metrics.trials_made import timing
from tests.serving_made import S
from tests.tiers import some
from tests.verdict.forging import GOOD, MS, Change, a_timing, expect_found, forged, implausible, put, rules

pytestmark = pytest.mark.slow


# ---- order of times ----
# Times that cannot be: forged into an honest record, which is sealed again.


def shorter(rows: pl.DataFrame) -> pl.DataFrame:
    """Every step of two workers takes half as long."""
    half = pl.col("begin_ns") + (pl.col("end_ns") - pl.col("begin_ns")) // 2
    return rows.with_columns(pl.when(pl.col("launch").is_in([0, 3, 4])).then(half).otherwise(pl.col("end_ns")).alias("end_ns"))


ORDER_OF_TIMES_FORGED: tuple[tuple[str, str, Change, str], ...] = (
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


@pytest.mark.parametrize(
    ("table", "change", "rule"),
    some([case[1:] for case in ORDER_OF_TIMES_FORGED], 3, rows=True),
    ids=[case[0] for case in ORDER_OF_TIMES_FORGED],
)
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


# ---- processor time ----
# More processor time than there was, and what ticks and busy machines may show.

PROCESSOR_TIME_FORGED: tuple[tuple[str, str, Change, str], ...] = (
    ("impossible processor time", "telemetry", put("value", pl.col("value") * 50, device="launch", counter="cpu_time"), "processor_time"),
)


@pytest.mark.parametrize(
    ("table", "change", "rule"), [case[1:] for case in PROCESSOR_TIME_FORGED], ids=[case[0] for case in PROCESSOR_TIME_FORGED]
)
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
