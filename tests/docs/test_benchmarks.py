"""Is every benchmark in the table of benchmarks?"""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

from fireassay.record.reader import open_record

pytestmark = pytest.mark.slow


def test_every_benchmark_is_in_the_table(repository: Path) -> None:
    table = (repository / "benchmarks" / "README.md").read_text()
    scripts = sorted(path.name for path in (repository / "benchmarks").glob("*.py"))
    assert [name for name in scripts if f"| `{name}` |" not in table] == []


def test_the_made_load_is_recorded_row_by_row(repository: Path, tmp_path: Path) -> None:
    """A row that does not fit its table is told and left out: a benchmark of reports would measure empty ones."""
    written = runpy.run_path(str(repository / "benchmarks" / "serving_report.py"))["write"](tmp_path, 300)
    record = open_record(written)
    assert record.table("requests").height == record.table("arrivals").height > 200
