"""Request impossible times: forged into an honest load, which is sealed again."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tests.serving_made import S
from tests.verdict.forging import FIRST, MS, Change, a_load, forged, implausible, put, read, row, rules

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two loads, sealed."""
    return a_load(tmp_path_factory.mktemp("load"))


def one_stream(rows: pl.DataFrame) -> pl.DataFrame:
    """What four streams sent is given out as one's."""
    return rows.with_columns(pl.when(pl.col("stream").is_not_null()).then(0).cast(pl.Int32).alias("stream"))


def unsure(of: pl.Expr) -> Change:
    """The first request's chunks with other uncertainties."""
    return lambda rows: rows.with_columns(
        pl.when(row(**FIRST)).then(of).otherwise(pl.col("chunk_uncertainty_ns")).alias("chunk_uncertainty_ns")
    )


FORGED: tuple[tuple[str, str, Change, str], ...] = (
    ("a first token before it was sent", "requests", put("first_token_ns", pl.col("sent_ns") - 2 * MS, **FIRST), "request_runs_backwards"),
    ("an earlier first token", "requests", put("first_token_ns", pl.col("first_token_ns") - 15 * MS, **FIRST), "first_token_ns_differs"),
    ("an end before the last chunk", "requests", put("done_ns", pl.col("last_token_ns") - MS, **FIRST), "chunk_after_end"),
    (
        "chunks the other way round",
        "requests",
        lambda rows: rows.with_columns(
            pl.when(row(**FIRST)).then(pl.col("chunk_ns").list.reverse()).otherwise(pl.col("chunk_ns")).alias("chunk_ns")
        ),
        "chunks_run_backwards",
    ),
    (
        "a chunk less",
        "requests",
        lambda rows: rows.with_columns(
            pl.when(row(**FIRST)).then(pl.col("chunk_kind").list.head(3)).otherwise(pl.col("chunk_kind")).alias("chunk_kind")
        ),
        "chunks_unequal",
    ),
    ("an uncertainty less", "requests", unsure(pl.col("chunk_uncertainty_ns").list.head(1)), "uncertainties_unequal"),
    ("an uncertainty below 0", "requests", unsure(pl.col("chunk_uncertainty_ns").list.eval(-1 - pl.element())), "uncertainty_negative"),
    ("a stream with two at once", "requests", one_stream, "stream_overlaps"),
    ("a lag that was hidden", "requests", put("scheduled_ns", pl.col("scheduled_ns") + 30 * MS, phase="warm_up", stream=0), "due_differs"),
    ("a connection of negative time", "requests", put("connect_ns", -5, **FIRST), "connect_ns_negative"),
    ("a request after the launch", "requests", put("done_ns", pl.col("done_ns") + 500 * S, **FIRST), "request_outside_launch"),
    ("an earlier end", "requests", put("done_ns", pl.col("last_token_ns"), **FIRST), ""),
)


@pytest.mark.parametrize(("table", "change", "rule"), [case[1:] for case in FORGED], ids=[case[0] for case in FORGED])
def test_a_forged_load_is_found(table: str, change: Change, rule: str, load: Path, tmp_path: Path) -> None:
    found = rules(read(forged(load, tmp_path / "forged", **{table: change})))
    assert rule in found or (not rule and not found)


def test_the_honest_load_is_found_nothing_wrong_with(load: Path) -> None:
    assert implausible(read(load)) == ()


def test_what_another_program_wrote_is_not_asked(load: Path, tmp_path: Path) -> None:
    measured = read(forged(load, tmp_path / "forged", requests=put("first_token_ns", pl.col("sent_ns") - 2 * MS, **FIRST)))
    measured.manifest["foreign"] = {"tool": "other", "requests": True, "times": "whole"}  # type: ignore[index]
    assert rules(measured) == set()
