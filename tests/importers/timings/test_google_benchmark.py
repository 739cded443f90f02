"""Are repetitions of Google Benchmark trials of one launch?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.verdict.judge import judge
from tests.importers.timings.made import one, times, value_of

pytestmark = pytest.mark.slow


def test_the_median_of_the_repetitions_of_google_benchmark(tmp_path: Path) -> None:
    """It printed medians of 34,820 ns, 898 ns and 2,460 ns, and 933 ns of processor time (mean 935 ns) for the last."""
    measured = one(tmp_path, "google_benchmark.json")
    assert [round(value_of(value) * 1e9) for value in times(measured).values()] == [34820, 898, 2460]
    cpu = judge(measured).results["trial_cpu_time"]["benchmark=sized/n:100"]
    assert value_of(cpu) == pytest.approx(935e-9, abs=0.5e-9)
