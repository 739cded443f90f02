"""Sealing may be cut short at any file operation; nothing is lost and it can always be finished."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.limits import PROCESS_S

ROWS = 6  # 3 steps and 3 samples


def drill(folder: Path, mode: str) -> list[dict[str, Any]]:
    """Every operation of a sealing, interrupted in turn; the last line is the sealing that was left in peace."""
    repository = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "tests.record.sealing_drill", str(folder), mode],
        capture_output=True,
        text=True,
        timeout=PROCESS_S,
        cwd=repository,
        env=os.environ | {"POLARS_MAX_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.mark.survival
@pytest.mark.parametrize("mode", ["kill", "fail", "fail-on"])
def test_a_sealing_cut_short_anywhere_loses_no_row_and_is_finished_by_reopening(tmp_path: Path, mode: str) -> None:
    *interrupted, undisturbed = drill(tmp_path, mode)
    assert undisturbed["ended"] == "sealed"
    struck = " ".join(result["struck"] for result in interrupted)
    for operation in ("tables.tmp", "os.rename", "fsync", "manifest.json.tmp", "SEAL.tmp", "os.rmdir"):
        assert operation in struck, "the drill must reach every stage of the sealing"
    for result in interrupted:
        assert result["before"]["rows"] == ROWS, result
        assert result["after"] == {"state": "complete", "sealed": True, "rows": ROWS}, result
        assert result["problems"] == [], result
        assert_clear(result, mode)
        assert result["left"] == ["SEAL", "experiment.toml", "logs", "manifest.json", "tables"], result


def assert_clear(result: dict[str, Any], mode: str) -> None:
    """The error names the record and what to do; only after the seal may a failure be passed over."""
    if mode == "kill":
        assert result["ended"] == "killed"
    elif result["ended"] == "sealed":
        assert result["before"]["sealed"], result
    else:
        assert result["ended"].startswith("RecordError: cannot "), result
        assert "Give yourself the right" in result["ended"] or "bytes free). Free some space" in result["ended"], result
