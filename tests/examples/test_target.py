"""The script of examples/target.toml knows nothing of assay, and its printed accuracy is found."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from fireassay.instruments import injected
from fireassay.instruments.found_scores import VARIABLE
from fireassay.record.reader import open_record
from fireassay.spec.load import load
from tests.launched import Launched, run


def test_the_stored_record_is_of_this_experiment(repository: Path) -> None:
    experiment, stored = load(repository / "examples" / "target.toml"), open_record(repository / "tests" / "records" / "target").experiment
    assert (stored.target, stored.workload.script, stored.workload.arguments) == (
        experiment.target,
        "target/train.py",
        experiment.workload.arguments,
    )


@pytest.mark.torch
@pytest.mark.deep
def test_the_printed_accuracy_of_every_epoch_is_a_score_with_the_steps_so_far(repository: Path, tmp_path: Path) -> None:
    """1,280 images in batches of 64 are 20 steps an epoch."""
    launch = Launched(tmp_path / "launch=0000")
    launch.folder.mkdir()
    own = {"FIREASSAY_LAUNCH_DIR": str(launch.folder), "FIREASSAY_LAUNCH": "0", "FIREASSAY_SEED": "7", VARIABLE: "accuracy"}
    hooked = {name: value for name, value in injected.into({}).items() if name in ("FIREASSAY_ATTACH", "PYTHONPATH")}
    done = run(repository / "examples" / "target" / "train.py", "--epochs", "3", workers=1, **own, **hooked)
    assert done.returncode == 0, done.stderr
    scores = launch.table("events").filter(pl.col("kind") == "score")
    printed = [float(line.rsplit(" ", 1)[1]) for line in done.stdout.splitlines() if "test accuracy" in line]
    assert scores["value"].to_list() == printed
    assert [json.loads(text)["steps"] for text in scores["detail"]] == [20, 40, 60]
    assert scores["step"].to_list() == [1, 2, 3]
