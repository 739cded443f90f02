"""Is a file that contradicts itself named?"""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.reports.build_view import build
from fireassay.reports.pages.record import page
from fireassay.verdict.judge import judge
from fireassay.verdict.pitfalls import of_record
from tests.importers.timings.made import changed, one
from tests.reports.pages.screens import flat

pytestmark = pytest.mark.slow


def test_a_mean_that_does_not_follow_from_the_rounds_is_a_finding(tmp_path: Path) -> None:
    path = changed(tmp_path / "f.json", "pytest_benchmark.json", lambda d: d["benchmarks"][0]["stats"].update(mean=1e-6))
    measured = one(tmp_path / "records", path)
    (pitfall,) = [entry for entry in of_record(measured) if entry.name == "contradictory_file"]
    assert pitfall.state == "fallen into"
    assert "test_fib: it reports a mean of 1e-06 s" in pitfall.findings[0].evidence
    assert "it reports a mean of 1e-06 s" in flat(page(build(measured, judge(measured))))
