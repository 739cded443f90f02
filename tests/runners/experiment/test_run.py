"""An experiment's life: what is refused, what is resumed, how long it will take."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import EnvironmentLacks, RecordError, SpecError
from fireassay.record import folder as record_folder
from fireassay.record.folder import launch_row, write_launch
from fireassay.record.reader import open_record
from fireassay.record.seal import plan_signature
from fireassay.record.writer import StreamWriter
from fireassay.runners.experiment.progress import LaunchProgress, seconds_left
from fireassay.runners.experiment.run import resume, run
from fireassay.runners.experiment.script import script_identity
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan
from tests.runners.making import experiment, planned, row
from tests.survival import harness

PLAN = tuple(planned(slot=slot, workers=workers) for slot, workers in enumerate((1, 2, 1, 2, 4)))


# ---- the time left


def test_before_the_first_launch_has_ended_the_time_left_is_not_known() -> None:
    assert seconds_left(PLAN, []) is None
    assert seconds_left(PLAN, [row("failed")]) is None


def test_the_time_left_is_that_of_the_launches_that_were_made_already() -> None:
    rows = [row(slot=0, workers=1, end_ns=10_000_000_000), row(slot=1, workers=2, end_ns=4_000_000_000)]
    assert seconds_left(PLAN, rows) == pytest.approx(10 + 4 + 7)  # workers=4 counts like the mean of 10 and 4


def test_the_running_launch_counts_only_with_its_rest() -> None:
    rows = [row(slot=0, workers=1), row(slot=1, workers=2, end_ns=4_000_000_000)]
    running = LaunchProgress(number=2, planned=PLAN[2], elapsed_s=6.0, steps=0, steps_per_s=None, ranks=0, incarnation=0)
    assert seconds_left(PLAN, rows, running) == pytest.approx((10 - 6) + 4 + 7)


def test_skipped_and_failed_slots_cost_no_more_time() -> None:
    rows = [row(slot=0, workers=1), row("failed", slot=1), row("skipped", slot=2), row("timeout", slot=3), row("skipped", slot=4)]
    assert seconds_left(PLAN, rows) == 0.0


# ---- what is the same experiment


def test_the_signature_is_of_what_is_run_and_not_of_its_name_or_its_secrets() -> None:
    one = experiment(workload={"environment": {"API_KEY": "first-secret-value"}})
    assert plan_signature(one) == plan_signature(experiment(name="b", workload={"environment": {"API_KEY": "another-secret"}}))
    assert plan_signature(one) != plan_signature(experiment(workload={"environment": {"MODE": "fast"}}))
    assert plan_signature(one) != plan_signature(experiment(launches={"seed": 1}))


# ---- what is refused


def interrupted(tmp_path: Path, asked: Experiment, *, launches: int = 0) -> Path:
    """An interrupted record with some finished launches."""
    (tmp_path / "train.py").write_text("print('hello')")
    record = record_folder.create(tmp_path / "records", asked, plan_signature(asked), clock=FakeClock())
    record.set_environment("before", {"script": script_identity(asked, tmp_path)})
    for number, one in enumerate(plan(asked)[:launches]):
        write_launch(record.writer(number), launch_row(one, launch=number, begin_ns=0, end_ns=1, exit_code=0), record.path)
    record.finish("interrupted", "test")
    return record.path


def test_a_missing_script_is_refused_before_a_record_is_made(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"workload.script: found 'train.py', which does not exist"):
        run(experiment(), folder=tmp_path, root=tmp_path / "records")
    assert not (tmp_path / "records").exists()


def test_a_complete_record_is_not_resumed(tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment(), launches=4)
    record_folder.reopen(path).finish("complete")
    with pytest.raises(RecordError, match="is complete; no launch is left to run"):
        resume(path)


def test_a_record_that_a_living_process_writes_is_not_resumed(tmp_path: Path) -> None:
    process, path = harness.start(harness.Setting(folder=tmp_path, steps=100_000))
    try:
        with pytest.raises(RecordError, match=f"still being written by process {process.pid}"):
            resume(path)
    finally:
        process.terminate()
        assert process.wait() == 130


def test_a_record_without_the_folder_of_its_script_is_resumed_in_the_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = interrupted(tmp_path, experiment(), launches=3)
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["environment"]["before"]["script"]["folder"] = None
    (path / "manifest.json").write_text(json.dumps(manifest))
    monkeypatch.chdir(tmp_path)
    resume(path, force=True)
    assert open_record(path).table("launches")["status"].to_list() == ["ok"] * 4


def test_a_changed_script_is_refused(tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment())
    (tmp_path / "train.py").write_text("print('changed')")
    with pytest.raises(SpecError, match=r"train.py, changed since the record began") as caught:
        resume(path)
    assert "assay resume --force" in str(caught.value)


def test_a_changed_experiment_is_refused(tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment())
    toml = path / "experiment.toml"
    toml.write_text(toml.read_text().replace("per_configuration = 2", "per_configuration = 3"))
    with pytest.raises(SpecError, match="experiment.toml: found changes since the record began"):
        resume(path)


def test_a_secret_that_the_record_does_not_hold_is_asked_for_and_taken_from_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = interrupted(tmp_path, experiment(workload={"environment": {"API_KEY": "correct-horse-battery"}}), launches=3)
    (tmp_path / "train.py").write_text("import os\nassert os.environ['API_KEY'] == 'correct-horse-battery'\n")
    monkeypatch.delenv("API_KEY", raising=False)
    with pytest.raises(EnvironmentLacks, match="secret value for API_KEY"):
        resume(path, force=True)
    monkeypatch.setenv("API_KEY", "correct-horse-battery")
    resume(path, force=True)
    assert open_record(path).table("launches")["status"].to_list() == ["ok"] * 4
    assert not any(b"correct-horse" in file.read_bytes() for file in path.rglob("*") if file.is_file())


# ---- what is resumed


@pytest.mark.slow
def test_finished_launches_are_not_repeated_and_the_record_is_sealed(tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment(), launches=3)
    assert resume(path) == path
    record = open_record(path)
    assert (record.state, record.sealed) == ("complete", True)
    assert record.table("launches")["slot"].to_list() == [0, 1, 2, 3]
    assert len(record.manifest["environment"]["before"]["resumed"]) == 1


@pytest.mark.slow
def test_a_record_whose_launches_are_all_made_is_only_sealed(tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment(), launches=4)
    resume(path)
    assert open_record(path).sealed
    assert not (path / "logs").exists()  # nothing was started


@pytest.mark.slow
def test_a_launch_without_a_row_is_kept_as_aborted_and_made_again_under_a_new_number(tmp_path: Path) -> None:
    path = interrupted(tmp_path, experiment(), launches=3)
    (path / "streams" / "launch=0003").mkdir()
    resume(path)
    rows = open_record(path).table("launches").select("launch", "slot", "attempt", "status").rows()
    assert rows[3:] == [(3, 3, 0, "aborted"), (4, 3, 1, "ok")]


def test_an_aborted_launch_lasts_until_it_was_last_heard_of(tmp_path: Path) -> None:
    """Its steps and its counters are heard as well as its events: what it cost is not lost."""
    path = interrupted(tmp_path, experiment(), launches=3)
    (path / "streams" / "launch=0003").mkdir()
    writer = StreamWriter(path / "streams" / "launch=0003", "coordinator.pid=1")
    detail = '{"slot": 3, "begin_utc": "2026-01-01T00:00:00+00:00", "placement": "{}"}'
    writer.append("events", (3, 1_000, None, "host", None, None, "launch_begin", None, None, detail))
    writer.append("steps", (3, 0, 0, 0, 2_000, 5_000, None, None, None, None, None, None, None, "monotonic"))
    writer.append("telemetry", (3, 7_000, "host", "cpu", "busy", 1.0, "s", "counter"))
    writer.close()
    resume(path)
    row = open_record(path).table("launches").row(3, named=True)
    assert (row["status"], row["begin_ns"], row["end_ns"]) == ("aborted", 1_000, 7_000)
