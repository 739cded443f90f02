"""Is a function timed launch by launch in fresh processes?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.errors import SpecError, WorkloadError
from fireassay.record.reader import Record, open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping


def made(tmp_path: Path, target: str, *arguments: str, **timing: Any) -> Record:
    asked = from_mapping(
        {
            "name": "timed",
            "workload": {"runner": "function", "script": target, "arguments": list(arguments)},
            "factor": {"levels": [1]},
            "launches": {"per_configuration": 3},
            "noise": {"sentinel_s": 0.0},
            "timing": {"round_s": 0.005, **timing},
            "limits": {"grace_s": 0.5},
        }
    )
    return open_record(run(asked, root=tmp_path / "records", folder=tmp_path))


def test_every_launch_makes_the_trials_and_calls_that_the_first_one_found(tmp_path: Path) -> None:
    trials = made(tmp_path, "math:sqrt", "[2.0]").table("trials").filter(pl.col("warm_up") == 0)
    per_launch = trials.group_by("launch").agg(pl.len(), pl.col("calls").unique()).sort("launch")
    assert per_launch["launch"].to_list() == [0, 1, 2]
    assert per_launch["len"].n_unique() == 1
    assert per_launch["calls"].to_list() == [per_launch["calls"][0].to_list()] * 3


def test_a_module_in_the_folder_is_found_and_every_launch_is_a_fresh_process(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("import os, pathlib\ndef step():\n    pathlib.Path(str(os.getpid())).touch()\n")
    made(tmp_path, "work:step", trials=1)
    assert len([path for path in tmp_path.iterdir() if path.name.isdigit()]) == 3


def test_an_exception_ends_it_with_its_own_words(tmp_path: Path) -> None:
    (tmp_path / "work.py").write_text("def step():\n    raise ValueError('no such model')\n")
    with pytest.raises(WorkloadError, match="ValueError: no such model"):
        made(tmp_path, "work:step")


@pytest.mark.parametrize(
    ("target", "arguments", "found"),
    [("json.dumps", (), "module:function"), ("work:step", ("not json",), "which is not JSON"), ("work:step", ("3",), "a JSON list")],
)
def test_what_cannot_be_read_is_told_before_a_record_is_made(tmp_path: Path, target: str, arguments: tuple[str, ...], found: str) -> None:
    with pytest.raises(SpecError, match=found):
        made(tmp_path, target, *arguments)
    assert not (tmp_path / "records").exists()
