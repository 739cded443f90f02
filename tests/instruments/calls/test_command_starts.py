"""Does the starter measure what it starts, leave the first starts uncounted, and stop at a failure?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from fireassay.instruments.calls import command_starts
from tests.limits import PROCESS_S

BASE = {"round_ns": 1, "trials": 2, "warm_up": 1, "ignore_failure": False, "keep_output": False}


def rows(tmp_path: Path, *command: str, **asked: Any) -> tuple[list[dict[str, Any]], subprocess.CompletedProcess[str]]:
    """The lines of a round of this Python, and how it ended."""
    job = {"path": command[0], "argv": list(command), "out": str(tmp_path / "lines"), **BASE, **asked}
    words = [sys.executable, "-I", "-S", command_starts.__file__, json.dumps(job)]
    ended = subprocess.run(words, capture_output=True, text=True, timeout=PROCESS_S, check=False, stdin=subprocess.DEVNULL)
    return [json.loads(line) for line in (tmp_path / "lines").read_text().splitlines()], ended


def trials(lines: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [line["trial"] for line in lines if "trial" in line]


def test_warm_up_first_then_the_counted_starts(tmp_path: Path) -> None:
    lines, ended = rows(tmp_path, sys.executable, "-c", "")
    assert ended.returncode == 0
    assert [row["warm_up"] for row in trials(lines)] == [1, 0, 0]
    assert all(row["exit_code"] == 0 and row["end_ns"] > row["begin_ns"] for row in trials(lines))
    assert "floor" in lines[1]  # not while the launch begins, when what started it is busy too


def test_processor_time_is_that_of_the_command(tmp_path: Path) -> None:
    work = "import time\nwhile time.process_time() < 0.05: pass"
    lines, _ = rows(tmp_path, sys.executable, "-c", work, warm_up=0, trials=1)
    (row,) = trials(lines)
    assert row["user_ns"] + row["system_ns"] >= 50_000_000
    assert row["end_ns"] - row["begin_ns"] >= 50_000_000


def test_memory_is_that_of_the_command(tmp_path: Path) -> None:
    lines, _ = rows(tmp_path, sys.executable, "-c", "x = bytearray(64_000_000)", warm_up=0, trials=1)
    assert trials(lines)[0]["max_rss_bytes"] > 64_000_000


def test_the_first_failure_ends_the_round_with_its_last_words(tmp_path: Path) -> None:
    lines, ended = rows(tmp_path, sys.executable, "-c", "import sys; sys.exit('no such model')")
    assert ended.returncode == command_starts.FAILED
    assert [row["exit_code"] for row in trials(lines)] == [1]
    assert "no such model" in ended.stderr


def test_a_failure_that_is_ignored_is_a_trial_like_any_other(tmp_path: Path) -> None:
    lines, ended = rows(tmp_path, sys.executable, "-c", "raise SystemExit(3)", ignore_failure=True)
    assert ended.returncode == 0
    assert [row["exit_code"] for row in trials(lines)] == [3, 3, 3]


def test_a_signal_is_a_negative_exit_code(tmp_path: Path) -> None:
    lines, _ = rows(tmp_path, sys.executable, "-c", "import os; os.kill(os.getpid(), 9)", ignore_failure=True)
    assert {row["exit_code"] for row in trials(lines)} == {-9}


def test_the_command_reads_nothing_and_prints_nowhere(tmp_path: Path) -> None:
    code = "import sys; print('hello'); assert sys.stdin.read() == ''"
    _, ended = rows(tmp_path, sys.executable, "-c", code)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_kept_output_reaches_the_log(tmp_path: Path) -> None:
    _, ended = rows(tmp_path, sys.executable, "-c", "print('hello')", keep_output=True)
    assert ended.stdout == "hello\n" * 3


def test_a_program_that_cannot_be_started_is_no_trial(tmp_path: Path) -> None:
    lines, ended = rows(tmp_path, str(tmp_path / "absent"))
    assert ended.returncode == 126
    assert trials(lines) == []
    assert "No such file" in ended.stderr


def test_a_round_is_as_many_starts_as_its_seconds_take() -> None:
    assert command_starts.trials_for(5_000_000, 500_000_000) == 100
    assert command_starts.trials_for(300_000_000, 500_000_000) == 2
    assert command_starts.trials_for(2_000_000_000, 500_000_000) == 1
    assert command_starts.trials_for(0, 500_000_000) == command_starts.MAX_TRIALS
