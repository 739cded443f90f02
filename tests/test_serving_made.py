"""The builder of serving records: what it promises to every other test."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from fireassay.record.reader import open_record
from fireassay.verdict.judge import judge
from tests.serving_made import ServingMade, seal, serving_measured, simulated

pytestmark = pytest.mark.slow


def test_a_request_by_hand_has_the_times_that_were_asked_for() -> None:
    made = ServingMade(concurrency=(2,), blocks=1)
    made.request(made.launch(), 1.5, lag_s=0.25, ttft_s=0.5, gap_s=0.25, tokens_out=3)
    row = made.measured().table("requests").row(0, named=True)
    t0 = made.t0[0]
    assert (row["scheduled_ns"] - t0, row["sent_ns"] - t0) == (1_500_000_000, 1_750_000_000)
    assert (row["first_token_ns"] - t0, row["last_token_ns"] - t0) == (2_000_000_000, 2_500_000_000)
    assert row["chunk_ns"] == [250_000_000, 500_000_000, 750_000_000]
    assert row["chunk_kind"] == [1, 1, 1]


def test_a_failed_and_an_unsent_request_bear_no_text() -> None:
    measured = serving_measured(
        [{"due_s": 0.0, "status": "5xx"}, {"due_s": 1.0, "status": "unsent", "lag_s": None}], concurrency=(1,), blocks=1
    )
    failed, unsent = measured.table("requests").iter_rows(named=True)
    assert (failed["http_status"], failed["first_token_ns"], failed["chunk_ns"]) == (500, None, [])
    assert (unsent["sent_ns"], unsent["done_ns"], unsent["transport"]) == (None, None, "")


def test_a_simulated_record_is_complete_and_the_same_for_the_same_seed() -> None:
    how = {"rate": (5.0, 10.0), "blocks": 2, "seconds": 4.0, "outage": (1.0, 2.0), "canaries": 0.1}
    first, second = (simulated(seed=3, **how).measured() for _ in range(2))  # type: ignore[arg-type]
    assert all(first.table(name).equals(second.table(name)) for name in first.tables)
    assert first.kind.name == "serving"
    launches = first.table("launches")
    assert launches["role"].to_list() == ["timed"] * 4 + ["fault"]
    arrived = first.table("arrivals").select("launch", "request")
    assert arrived.sort("launch", "request").equals(first.table("requests").select("launch", "request").sort("launch", "request"))
    assert "refused" in first.table("requests").filter(pl.col("launch") == 4)["status"].to_list()


def test_a_simulated_closed_loop_never_has_more_in_flight_than_asked() -> None:
    rows = simulated(concurrency=(3,), blocks=1, seconds=4.0, seed=1).measured().table("requests")
    load = rows.filter(pl.col("phase") != "cold").sort("scheduled_ns")
    ends = load["done_ns"].to_list()
    begins = load["scheduled_ns"].to_list()
    assert max(sum(b <= now < e for b, e in zip(begins, ends, strict=True)) for now in begins) == 3


def test_a_sealed_copy_reads_as_it_was_made_and_can_be_judged(tmp_path: Path) -> None:
    measured = simulated(rate=(5.0,), blocks=1, seconds=2.0).measured()
    record = open_record(seal(measured, tmp_path))
    assert record.table("requests").height == measured.table("requests").height
    assert record.experiment == measured.experiment
    judge(measured)
