"""The script that examples/tune.toml turns the knobs of trains and is scored."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.launched import Launched

pytestmark = [pytest.mark.torch, pytest.mark.deep]


def test_the_script_trains_with_every_knob_turned(repository: Path, tmp_path: Path) -> None:
    launch = Launched(tmp_path / "launch=0000")
    knobs = ("--accumulate", "2", "--loaders", "1", "--bucket-mb", "1")
    done = launch.run(repository / "examples" / "tune" / "train.py", "--epochs", "1", *knobs, workers=1)
    assert done.returncode == 0, done.stderr
    assert launch.table("steps")["items"].sum() == 1280
    assert launch.table("examples")["score"].mean() > 0.3, "one epoch is better than chance"
