"""Does pyarrow convert without pandas where it is told to, and does anybody else still find pandas?"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

CODE = """
import sys
from pathlib import Path
from fireassay.record.arrow_import import without_pandas
without_pandas()
import pyarrow as pa
from fireassay.record.arrow_schemas import arrow_schema
from fireassay.record.tables import TABLES
from fireassay.record.streams import to_batch
from fireassay.traffic.parts import Answer
from fireassay.traffic.client.log import LogRow, RequestLog, Times
from tests.traffic.planned import planned
from fireassay.traffic.arrivals import schedule as file

row = [None if column.nullable else "x" if pa.types.is_string(column.type) else 0 for column in arrow_schema("events")]
assert to_batch("events", [tuple(row)]).num_rows == 1
log = RequestLog(launch=0, client=0, put=lambda batch: print(batch.num_rows))
log.add(LogRow(request=1, phase=2, scheduled_ns=1), Answer(status="ok"), Times())
log.flush()
schedule = planned("constant", load=2.0, duration_s=1.0)
print(file.batch(schedule, 0).num_rows)
file.write(schedule, Path("schedule.arrow"))
assert len(file.read(Path("schedule.arrow"))) == len(schedule)
assert pa.array([None, 1], pa.int64()).to_numpy(zero_copy_only=False)[1] == 1
import polars as pl
assert pl.from_arrow(arrow_schema("requests").empty_table()).height == 0
assert "pandas" not in sys.modules
without_pandas()
import pandas
without_pandas()
print(pandas.Series([1, 2]).sum())
"""


def test_rows_are_converted_without_pandas_which_others_still_find(tmp_path: Path) -> None:
    if importlib.util.find_spec("pandas") is None:
        pytest.skip("pandas is not installed")
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[2])}  # the tests' own helpers
    done = subprocess.run([sys.executable, "-c", CODE], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("1\n2\n3\n", "")


def test_a_verb_that_measures_looks_for_no_pandas(tmp_path: Path) -> None:
    """Of the verbs the one that does most; pandas is among the tests' packages, so that it would be found."""
    (tmp_path / "work.py").touch()
    script = (
        "import sys; from fireassay.cli import main\n"
        "assert main(['run', '--workers', '1', '--launcher', 'plain', '--dry-run', '--', 'work.py']) == 0\n"
        "assert 'pyarrow' in sys.modules and 'pandas' not in sys.modules"
    )
    run = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
