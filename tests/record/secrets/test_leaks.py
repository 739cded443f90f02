"""A record of an older release or of another program may hold a key: `leaks` names the file and never the key."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fireassay.record.secrets.batches import AT_ONCE, kind_of, leaks
from tests.record.making import sealed

KEY = "ghp_" + "aBcD3fGh" * 5


def put(path: Path, table: str, **columns: list[str | None] | list[list[str]]) -> None:
    """A table as an older release wrote it."""
    file = path / "tables" / table / "launch=0000" / "part-9.parquet"
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), file, compression="zstd")


@pytest.mark.slow
def test_a_record_that_assay_made_holds_none(tmp_path: Path) -> None:
    assert leaks(sealed(tmp_path)) == ()


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 500])
def test_a_key_in_a_column_is_found_though_the_file_is_compressed(tmp_path: Path, rows: int) -> None:
    path = sealed(tmp_path)
    put(path, "requests", text=[*["plain"] * rows, f"use {KEY}", None])
    (said,) = leaks(path)
    assert said.startswith("tables/requests/launch=0000/part-9.parquet: holds what looks like a secret (ghp_)")
    assert KEY not in said


@pytest.mark.slow
def test_a_key_in_a_list_of_texts_is_found(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    put(path, "x", names=[["a", f"{KEY}"], []])
    assert len(leaks(path)) == 1


@pytest.mark.slow
def test_a_models_program_is_none_and_a_log_with_the_same_line_is_one(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    put(path, "requests", text=["password = hunter2hunter2"])
    assert leaks(path) == ()
    (path / "logs" / "more.log").write_text("password = hunter2hunter2\n")
    assert [said.split(":")[0] for said in leaks(path)] == ["logs/more.log"]


@pytest.mark.slow
def test_a_key_across_two_pieces_of_a_large_file_is_found(tmp_path: Path) -> None:
    path = sealed(tmp_path)
    (path / "logs" / "long.log").write_bytes(b"x " * (AT_ONCE // 2 - 8) + KEY.encode() + b" y" * 100)
    assert [said.split(":")[0] for said in leaks(path)] == ["logs/long.log"]


@pytest.mark.slow
def test_a_value_of_this_environment_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sealed(tmp_path)
    (path / "logs" / "more.log").write_text("it was perfectly-ordinary-words\n")
    assert leaks(path) == ()
    monkeypatch.setenv("MY_TOKEN", "perfectly-ordinary-words")
    (said,) = leaks(path)
    assert "variable of this environment" in said


@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer [redacted]",
        "postgres://me:[redacted]@db/x",
        "password=[redacted]",
        "https://h/?sig=[redacted]&x",
        "Cookie: [redacted]",
        "machine h login me password [redacted]",
        "-----BEGIN PRIVATE KEY-----[redacted]-----END PRIVATE KEY-----",
    ],
)
def test_what_was_taken_out_is_no_leak(text: str) -> None:
    assert kind_of(text.encode()) == ""
