"""Is every execution of hyperfine a launch, and one of 0 s none?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from tests.importers.timings.made import one, times
from tests.reports.pages.screens import flat

pytestmark = pytest.mark.slow


def test_every_execution_of_hyperfine_is_a_launch(tmp_path: Path) -> None:
    """It printed 1.1 ms +- 0.1 ms of 8 runs for the second command."""
    found = times(one(tmp_path, "hyperfine.json"))["/bin/ls /"]
    assert isinstance(found, Estimate)
    assert (found.n_launches, found.n_trials) == (8, 8)
    assert found.low <= 1.1e-3 <= found.high


def test_executions_of_no_time_are_not_measured(tmp_path: Path) -> None:
    """hyperfine without -N subtracts its estimate for the shell, here more than the command took."""
    measured = one(tmp_path, "hyperfine_parameters.json")
    assert all(isinstance(value, Absent) for value in times(measured).values())
    shown = flat(page(build(measured, judge(measured))))
    assert "8 of 8 trials ended with an exit code other than 0" in shown
    assert "4 of 4 executions take 0 s" in shown
