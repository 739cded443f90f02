"""Counts that contradict another table."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.verdict.forging import GOOD, Change, a_load, expect_found, forged, put, read, rules

pytestmark = pytest.mark.slow


def labels_swapped(rows: pl.DataFrame) -> pl.DataFrame:
    """A launch of one worker is given out as one of two, and the other way round."""
    two = pl.col("workers") == 2
    return rows.with_columns(
        pl.when(two).then(pl.lit("workers=1")).otherwise(pl.lit("workers=2")).alias("configuration"),
        pl.when(two).then(1).otherwise(2).cast(pl.Int32).alias("workers"),
    )


FORGED: tuple[tuple[str, str, Change, str], ...] = (
    ("a rank too many", "steps", put("rank", 2, launch=4, rank=1), "rank_unknown"),
    ("a launch that succeeded twice", "launches", put("slot", 1, launch=2), "slot_twice"),
    ("labels swapped", "launches", labels_swapped, "rank_unknown"),
    ("a launch that is not there", "fingerprints", put("launch", 9, launch=5), "launch_unknown"),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
def test_a_forged_training_is_found(table: str, change: Change, rule: str, tmp_path: Path) -> None:
    expect_found(forged(GOOD, tmp_path / "forged", **{table: change}), rule)


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two loads, sealed."""
    return a_load(tmp_path_factory.mktemp("load"))


def loads_swapped(rows: pl.DataFrame) -> pl.DataFrame:
    """A load of one stream is given out as one of four, and the other way round."""
    one = pl.col("configuration") == "concurrency=1"
    return rows.with_columns(pl.when(one).then(pl.lit("concurrency=4")).otherwise(pl.lit("concurrency=1")).alias("configuration"))


LOADS: tuple[tuple[str, str, Change, str], ...] = (
    ("labels swapped", "launches", loads_swapped, "plan_differs"),
    (
        "more tokens in the chunks than in the answer",
        "token_counts",
        lambda _: pl.DataFrame({"launch": [0], "request": [12], "tokens_in": [1], "tokens_out": [3], "chunk_tokens": [[2, 2]]}),
        "tokens_differ",
    ),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in LOADS], ids=[case[0] for case in LOADS])
def test_a_forged_load_is_found(table: str, change: Change, rule: str, load: Path, tmp_path: Path) -> None:
    found = rules(read(forged(load, tmp_path / "forged", **{table: change})))
    assert rule in found or (not rule and not found)


def test_more_arrivals_than_were_noted_before_the_load_are_found(load: Path) -> None:
    measured = read(load)
    measured.manifest["schedules"] = {"0": {"sha256": "", "requests": 3}}  # type: ignore[index]
    assert rules(measured) == {"arrivals_too_many"}


def test_a_record_whose_streams_were_cut_is_not_asked_whose_rows_are_whose() -> None:
    measured = read(GOOD)
    measured.tables.update(launches=measured.table("launches").filter(pl.col("launch") != 5))  # type: ignore[attr-defined]
    assert rules(measured) == {"launch_unknown"}
    measured.manifest["sealed"] = {**measured.manifest["sealed"], "salvaged": ["launch=5: the end could not be read"]}  # type: ignore[index]
    assert rules(measured) == set()
