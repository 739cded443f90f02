"""A replayed record holds the rows of its source, in milliseconds and without torch."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import RecordError, SpecError, WorkloadError
from fireassay.record import folder as record_folder
from fireassay.record.reader import open_record
from fireassay.record.seal import plan_signature, verify
from fireassay.record.tables import TABLES
from fireassay.runners.experiment.run import resume, run
from fireassay.spec.experiment import Experiment
from tests.builders import replayed
from tests.runners.making import experiment
from tests.survival import harness


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real record of a script that marks steps."""
    setting = harness.Setting(folder=tmp_path_factory.mktemp("source"), steps=5, step_ms=1.0, launches=2)
    setting.notes.mkdir()
    return run(setting.as_experiment(), folder=setting.folder, root=setting.folder / "records")


def replay_of(source: Path) -> Experiment:
    return replayed(open_record(source).experiment, source)


@pytest.mark.deep
@pytest.mark.slow
def test_every_row_of_every_table_is_there_again(source: Path, tmp_path: Path) -> None:
    path = run(replay_of(source), root=tmp_path)
    old, new = open_record(source), open_record(path)
    assert new.state == "complete"
    assert verify(path) == ()
    assert old.table("steps").height == 2 * 2 * 5  # launches, ranks, steps
    for name in TABLES:
        assert new.table(name).equals(old.table(name)), name


@pytest.mark.deep
def test_two_replays_are_equal(source: Path, tmp_path: Path) -> None:
    one, two = (open_record(run(replay_of(source), root=tmp_path)) for _ in range(2))
    assert all(one.table(name).equals(two.table(name)) for name in TABLES)


def test_an_interrupted_replay_goes_on_without_repeating_a_launch(source: Path, tmp_path: Path) -> None:
    asked = replay_of(source)
    record = record_folder.create(tmp_path, asked, plan_signature(asked), clock=FakeClock())
    record.launch_folder(0)  # begun, and nothing written
    record.finish("interrupted", "test")
    resume(record.path)
    rows = open_record(record.path).table("launches").select("launch", "slot", "status").rows()
    assert rows == [(0, 0, "aborted"), (1, 0, "ok"), (2, 1, "ok")]
    assert open_record(record.path).table("steps")["launch"].unique().sort().to_list() == [1, 2]


@pytest.mark.slow
def test_a_failed_record_replays_as_a_failed_one(tmp_path: Path) -> None:
    asked = experiment()
    failed = record_folder.create(tmp_path / "source", asked, plan_signature(asked), clock=FakeClock())
    failed.finish("failed", "nothing worked")
    with pytest.raises(WorkloadError, match="nothing worked"):
        run(replayed(asked, failed.path), root=tmp_path)


def test_a_record_of_another_plan_is_refused_with_its_plan(source: Path, tmp_path: Path) -> None:
    other = experiment(workload={"runner": "replay", "script": str(source)})
    with pytest.raises(SpecError, match=r"levels \[2\], launches.per_configuration = 2"):
        run(other, root=tmp_path)


def test_a_folder_that_is_no_record_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecordError):
        run(experiment(workload={"runner": "replay", "script": str(tmp_path)}), root=tmp_path / "records")


def test_the_looks_of_an_adaptive_record_go_with_its_rows(source: Path, tmp_path: Path) -> None:
    """They give the confidence of every interval: without them the replay would be judged at another one."""
    copy = tmp_path / "source"
    shutil.copytree(source, copy)
    manifest = json.loads((copy / "manifest.json").read_text())
    looks = [{"blocks": 5, "confidence": 0.975, "enough": True, "widths": {}, "sentence": ""}]
    (copy / "manifest.json").write_text(json.dumps({**manifest, "looks": looks, "looks_ended": "precision"}))
    again = open_record(run(replay_of(copy), root=tmp_path / "again"))
    assert (again.manifest["looks"], again.manifest["looks_ended"]) == (looks, "precision")
    assert again.manifest["sentinel"] == manifest["sentinel"]
