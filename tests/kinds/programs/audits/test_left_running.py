"""Are processes that a program leaves running ended, not timed, and a warning?"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import polars as pl
import pytest

from fireassay.frames.record_data import from_record
from fireassay.verdict.judge import judge
from tests.programs_made import made

pytestmark = pytest.mark.slow


def test_processes_that_a_program_leaves_are_ended_and_not_timed(tmp_path: Path) -> None:
    """The one here ignores SIGTERM for the grace period of two seconds, which are no time of the program."""
    beats = tmp_path / "beats"
    stays = f"import signal, time; signal.signal(15, signal.SIG_IGN)\nwhile 1: open('{beats}', 'a').write(f'{{time.monotonic_ns()}}\\n'); time.sleep(0.02)"
    (tmp_path / "stays.py").write_text(stays)
    script = f'{sys.executable} stays.py & until test -s "{beats}"; do sleep 0.02; done'
    record = made(tmp_path, script, levels=(1,), limits={"grace_s": 2.0})
    (launch,) = record.table("launches").iter_rows(named=True)
    (left,) = record.table("events").filter(pl.col("kind") == "left_running")["detail"]
    assert json.loads(left) == {"processes": 1}
    *_, last, _ = beats.read_text().split("\n")
    assert int(last) > launch["end_ns"] + 1e9
    (finding,) = (one for one in judge(from_record(record)).verdict.findings if one.rule == "left_running")
    assert finding.severity == "warning"
