"""The coordinator sees what a worker stores, at once and without being misled by foreign files."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.record.live.progress import SIZE, Progress, ProgressWriter, read_progress


def test_a_stored_value_is_seen_at_once(tmp_path: Path) -> None:
    path = tmp_path / "progress" / "rank=0.bin"
    writer = ProgressWriter(path, pid=42, incarnation=1, node=-7)
    assert read_progress(path) == Progress(
        pid=42, incarnation=1, steps=0, checkpoints=0, checkpoint_step=-1, updated_ns=0, errno=0, node=-7
    )
    writer.step(7, 123)
    writer.checkpoint(5)
    writer.checkpoint(6)
    writer.error(28)
    assert read_progress(path) == Progress(
        pid=42, incarnation=1, steps=7, checkpoints=2, checkpoint_step=6, updated_ns=123, errno=28, node=-7
    )


def test_a_new_incarnation_starts_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "rank=0.bin"
    ProgressWriter(path, pid=1, incarnation=0).step(9, 9)
    ProgressWriter(path, pid=2, incarnation=1)
    seen = read_progress(path)
    assert seen is not None
    assert (seen.pid, seen.incarnation, seen.steps) == (2, 1, 0)


@pytest.mark.parametrize("content", [b"", b"short", b"\x00" * SIZE, b"x" * (SIZE + 1)])
def test_a_foreign_or_half_made_file_is_no_progress(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "rank=0.bin").write_bytes(content)
    assert read_progress(tmp_path / "rank=0.bin") is None


def test_a_missing_file_is_no_progress(tmp_path: Path) -> None:
    assert read_progress(tmp_path / "rank=0.bin") is None
