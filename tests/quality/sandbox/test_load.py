"""Does the clock go slower by the load?"""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from fireassay.quality.sandbox import process

CORES = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("text", "slow"),
    [
        (f"0.10 0.20 0.30 {CORES + 1}/200 4711\n", 1.0),
        (f"{3.0 * CORES:.2f} 0.20 0.30 1/200 4711\n", 3.0),
        (f"0.10 0.20 0.30 {4 * CORES + 1}/200 4711\n", 4.0),
        (f"{1000 * CORES}.00 0.20 0.30 1/200 4711\n", process.SLOWEST),
        ("nothing", 1.0),
    ],
)
def test_slowness_is_runnable_threads_for_each_processor(tmp_path: Path, text: str, slow: float) -> None:
    (tmp_path / "loadavg").write_text(text)
    assert process.slowness(tmp_path / "loadavg") == pytest.approx(slow)


def test_without_a_count_the_clock_is_the_wall(tmp_path: Path) -> None:
    assert process.slowness(tmp_path / "missing") == 1.0


def test_four_times_the_load_needs_four_times_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter([100.0, 104.0, 112.0])
    slow = iter([4.0, 4.0, 1.0])
    monkeypatch.setattr(process, "time", SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(process, "slowness", lambda: next(slow))
    clock = process.StretchedClock()
    assert clock.read() == 1.0
    assert clock.read() == 3.0  # between two readings the slower one counts
    assert clock.wall_s == 12.0
