"""Does the example of a load of images say what is known of its engine?"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.record_data import from_record
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.load import load
from fireassay.verdict.judge import judge

EXPERIMENT = "images.toml"


@pytest.mark.slow
def test_two_images_take_eighty_milliseconds(tmp_path: Path, repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """60 ms for the first image and 20 ms for the second: 40 ms each, and two answers at a time."""
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    shutil.copy(repository / "examples" / EXPERIMENT, tmp_path)
    experiment = load(str(tmp_path / EXPERIMENT))
    assert experiment.serving is not None
    arrivals = experiment.serving.arrivals.model_copy(update={"duration_s": 1.5})
    serving = experiment.serving.model_copy(update={"arrivals": arrivals})
    launches = experiment.launches.model_copy(update={"per_configuration": 2})
    experiment = experiment.model_copy(update={"serving": serving, "launches": launches})
    results = judge(from_record(open_record(run(experiment, folder=tmp_path, root=tmp_path / "records")))).results
    alone, four = results["image_time_p50"]["concurrency=1"], results["image_throughput"]["concurrency=4"]
    assert isinstance(alone, Estimate)
    assert isinstance(four, Estimate)
    assert 0.040 <= alone.value < 0.060
    assert 30.0 < four.value <= 51.0
    assert isinstance(results["cost_per_image"]["concurrency=1"], Estimate)
    assert isinstance(results["ttft_p50"]["concurrency=1"], Absent)
