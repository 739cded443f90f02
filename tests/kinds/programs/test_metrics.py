"""Is work per second that of whole runs, and does it tell weak scaling?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.frames.record_data import from_record
from fireassay.kinds.programs.judging import result
from fireassay.verdict.judge import judge
from tests.programs_made import made

pytestmark = pytest.mark.slow


def test_work_makes_a_rate_and_weak_scaling_is_seen_by_it(tmp_path: Path) -> None:
    script = 'echo "{\\"items\\": $(($1 * 100))}" > "$2/n"; sleep 0.2'
    record = made(tmp_path, script, "{workers}", "{out}", launches=3, program={"numbers": "{out}/n"})
    measured = from_record(record)
    assert measured.mode == "weak"
    results = judge(measured).results
    assert results["speedup"]["workers=2"].value == pytest.approx(2.0, rel=0.5)  # twice the work in the same time
    rate = results["work_rate"]["workers=2"]
    assert rate.value == pytest.approx(200 / results["wall_time"]["workers=2"].value, rel=1e-6)
    assert result(measured, "workers=2")[0] == "not run"
