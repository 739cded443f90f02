"""The coordinator's side: creating, filling, resuming, finishing."""

from __future__ import annotations

import errno
import json
import os
import threading
import tomllib
from datetime import date
from pathlib import Path

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import RecordError
from fireassay.record import files
from fireassay.record.folder import RecordFolder, create, reopen
from fireassay.record.manifest import hold, myself, release
from fireassay.record.reader import open_record
from fireassay.spec.experiment import Experiment, Factor, Gates, Quality
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.prices import Prices
from fireassay.spec.sections.workload import Workload
from tests.record.making import experiment, launch_row, sealed, step_row, unfinished


def dead(path: Path) -> None:
    """Make the manifest name a coordinator that no longer runs: process 1 was not created in 1970."""
    manifest = json.loads((path / "manifest.json").read_bytes())
    manifest["coordinator"] |= {"pid": 1, "create_time": 0.0}
    (path / "manifest.json").write_text(json.dumps(manifest))
    release(path)


def test_a_folder_is_named_after_experiment_time_and_id(tmp_path: Path) -> None:
    made = create(tmp_path / "records", experiment(), "plan-1", clock=FakeClock())
    name, utc, identifier = made.path.name.rsplit("-", 2)
    assert (name, utc) == ("digits", "20260101T000000Z")
    assert len(identifier) == 6
    assert int(identifier, 16) >= 0
    manifest = json.loads((made.path / "manifest.json").read_bytes())
    assert manifest["id"] == identifier
    assert manifest["state"] == "running"
    assert manifest["plan_signature"] == "plan-1"
    assert manifest["coordinator"]["pid"] == os.getpid()


def test_records_made_at_the_same_instant_get_folders_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identifiers = iter(["aaaaaa", "aaaaaa", "aaaaaa", "bbbbbb"])
    monkeypatch.setattr("fireassay.record.folder.secrets.token_hex", lambda _bytes: next(identifiers))
    first = create(tmp_path, experiment(), "", clock=FakeClock())
    second = create(tmp_path, experiment(), "", clock=FakeClock())
    assert [first.path.name[-6:], second.path.name[-6:]] == ["aaaaaa", "bbbbbb"]


@pytest.mark.slow
def test_many_threads_creating_at_once_never_share_a_folder(tmp_path: Path) -> None:
    made: list[Path] = []

    def make() -> None:
        made.append(create(tmp_path / "records", experiment(), "", clock=FakeClock()).path)

    threads = [threading.Thread(target=make) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(made)) == 16


@pytest.mark.slow
@pytest.mark.parametrize("name", ["with space", "mit Umlaut ü", "日本", "a'b\"c", "tail\n"])
def test_a_root_of_any_name_works_from_creation_to_sealing(tmp_path: Path, name: str) -> None:
    path = sealed(tmp_path / name)
    assert open_record(path).table("steps").height == 10


def test_a_root_that_is_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("not a folder")
    with pytest.raises(RecordError, match=r"cannot create a record in .*/records: a file has the name of a required folder"):
        create(tmp_path / "records", experiment(), "", clock=FakeClock())


@pytest.mark.parametrize(
    ("number", "sentence"),
    [
        (errno.ENOSPC, r"the disk is full \(\d+ bytes free\)\. Free some space"),
        (errno.EDQUOT, r"the disk quota is used up"),
        (errno.EACCES, r"Permission denied\. Give yourself the right"),
        (errno.EROFS, r"Read-only file system\. Give yourself the right"),
    ],
)
def test_a_root_that_cannot_be_written_says_why_and_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, sentence: str
) -> None:
    def fail(_path: Path, _content: bytes) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files, "replace", fail)
    with pytest.raises(RecordError, match=sentence) as told:
        create(tmp_path, experiment(), "", clock=FakeClock())
    assert "assay resume" not in str(told.value)  # there is no record yet


def everything_asked() -> Experiment:
    """An experiment in which every optional part is given."""
    return Experiment(
        name="all.parts-1",
        workload=Workload(script="tr äin.py", arguments=("--lr", "0.1", 'quoted "x"'), environment={"HF_TOKEN": "hf_secret_value"}),
        factor=Factor(levels=(4, 1)),
        quality=Quality(margin=0.005),
        gates=Gates(efficiency=None, deadline_s=12.5),
        prices=Prices(usd_per_worker_hour=1.25, as_of=date(2026, 2, 3), source="list"),
        faults=(Fault(levels=(4,)), Fault(signal="TERM")),
    )


def test_the_record_stores_exactly_what_was_asked_with_secrets_redacted(tmp_path: Path) -> None:
    asked = everything_asked()
    made = create(tmp_path, asked, "", clock=FakeClock())
    read = open_record(made.path).experiment
    assert "hf_secret_value" not in (made.path / "experiment.toml").read_text()
    assert set(read.workload.environment) == {"HF_TOKEN"}
    workload = asked.workload.model_copy(update={"environment": read.workload.environment})
    assert read == asked.model_copy(update={"workload": workload})
    assert read.gates.efficiency is None, "a gate that was switched off stays off, although TOML has no null"
    assert tomllib.loads((made.path / "experiment.toml").read_text())["prices"]["date"] == date(2026, 2, 3)


def test_the_writer_of_a_launch_is_the_same_until_it_is_closed(tmp_path: Path) -> None:
    made = create(tmp_path, experiment(), "", clock=FakeClock())
    first = made.writer(0)
    assert made.writer(0) is first
    first.close()
    assert made.writer(0) is not first
    made.finish("interrupted", "test")


def test_finished_launches_are_known_without_closing_and_across_reopening(tmp_path: Path) -> None:
    made = create(tmp_path, experiment(), "", clock=FakeClock())
    made.writer(0).append("launches", launch_row(0))
    made.writer(1).append("launches", launch_row(1, status="failed"))
    assert [(row["launch"], row["status"]) for row in made.finished_launches()] == [(0, "ok"), (1, "failed")]
    made.finish("interrupted", "stopped by the user")
    again = reopen(made.path)
    assert [row["launch"] for row in again.finished_launches()] == [0, 1]
    assert again.experiment == made.experiment
    again.finish("interrupted")


def test_an_interrupted_record_is_not_sealed_and_goes_on(tmp_path: Path) -> None:
    made = unfinished(tmp_path, launches=1)
    made.finish("interrupted", "Ctrl-C")
    record = open_record(made.path)
    assert (record.state, record.sealed, record.manifest["reason"]) == ("interrupted", False, "Ctrl-C")
    again = reopen(made.path)
    assert open_record(made.path).state == "running"
    writer = again.writer(1)
    writer.append("launches", launch_row(1))
    again.finish("complete")
    record = open_record(made.path)
    assert (record.state, record.sealed, record.manifest["reason"]) == ("complete", True, "")
    assert record.table("launches")["launch"].to_list() == [0, 1]


def test_finish_writes_rows_that_nobody_flushed(tmp_path: Path) -> None:
    made = create(tmp_path, experiment(), "", clock=FakeClock())
    made.writer(0).append("steps", step_row(0, 0))
    made.finish("failed", "no launch succeeded")
    record = open_record(made.path)
    assert record.table("steps").height == 1
    assert (record.state, record.sealed) == ("failed", True)


def test_a_record_without_any_launch_can_be_sealed(tmp_path: Path) -> None:
    made = create(tmp_path, experiment(), "", clock=FakeClock())
    made.finish("failed", "the script is missing")
    record = open_record(made.path)
    assert record.sealed
    assert record.table("steps").height == 0


def test_a_sealed_record_takes_nothing_more(tmp_path: Path) -> None:
    again = reopen(sealed(tmp_path))
    assert again.sealed
    for add in (again.launch_folder, again.log_path, again.writer):
        with pytest.raises(RecordError, match="is sealed; nothing can be added"):
            add(7)
    again.finish("failed", "has no effect")
    assert open_record(again.path).state == "complete"


def test_both_environments_are_kept(tmp_path: Path) -> None:
    made = create(tmp_path, experiment(), "", clock=FakeClock())
    made.set_environment("before", {"load": 0.5})
    made.set_environment("after", {"load": 1.5})
    made.finish("complete")
    assert open_record(made.path).manifest["environment"] == {"before": {"load": 0.5}, "after": {"load": 1.5}}


def test_sealed_rows_are_in_natural_order_whoever_wrote_them_first(tmp_path: Path) -> None:
    made = create(tmp_path, experiment(), "", clock=FakeClock())
    for launch in (1, 0):
        for step in (2, 0, 1):
            for rank in (1, 0):
                made.writer(launch).append("steps", step_row(launch, step, rank))
    made.finish("complete")
    frame = open_record(made.path).table("steps")
    order = list(zip(frame["launch"], frame["rank"], frame["step"], strict=True))
    assert order == [(launch, rank, step) for launch in (0, 1) for rank in (0, 1) for step in (0, 1, 2)]


def test_a_manifest_that_cannot_be_replaced_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = create(tmp_path, experiment(), "", clock=FakeClock())
    before = (made.path / "manifest.json").read_bytes()

    def full(_descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("fireassay.record.files.os.fsync", full)
    with pytest.raises(RecordError, match=r"cannot write .*manifest\.json: the disk is full"):
        made.set_environment("before", {"load": 0.5})
    assert (made.path / "manifest.json").read_bytes() == before
    assert made.manifest["environment"]["before"] is None


def test_a_record_whose_last_rows_did_not_reach_the_disk_is_not_sealed_as_complete(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = unfinished(tmp_path, launches=1)
    made.writer(1).append("launches", launch_row(1))

    def full(_descriptor: int, _data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr("fireassay.record.writer.os.write", full)
        with pytest.raises(RecordError, match=r"cannot write the record .*: the disk is full"):
            made.finish("complete")
    record = open_record(made.path)
    assert (record.state, record.sealed, record.table("launches").height) == ("interrupted", False, 1)
    reopen(made.path).finish("complete")
    assert open_record(made.path).sealed


def test_a_record_whose_coordinator_lives_is_not_taken_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = create(tmp_path, experiment(), "", clock=FakeClock())
    another = myself() | {"pid": os.getppid(), "create_time": _created(os.getppid())}
    manifest = made.manifest | {"coordinator": another}
    (made.path / "manifest.json").write_text(json.dumps(manifest))
    release(made.path)
    with pytest.raises(RecordError, match=rf"is still being written by process {os.getppid()} on .*\. Wait for it"):
        reopen(made.path)


def _created(pid: int) -> float:
    import psutil

    return float(psutil.Process(pid).create_time())


def test_of_two_that_resume_at_once_only_one_gets_the_record(tmp_path: Path) -> None:
    made = unfinished(tmp_path)
    made.finish("interrupted")
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        hold(made.path)
        os.write(theirs, b"held")
        os.read(ours, 0)
        os.kill(os.getpid(), 19)  # SIGSTOP: holds the lock until it is killed
        os._exit(0)
    assert os.read(ours, 4) == b"held"
    try:
        with pytest.raises(RecordError, match="is still being written by"):
            reopen(made.path)
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(ours)
        os.close(theirs)
    reopen(made.path).finish("interrupted")


@pytest.mark.slow
def test_a_dead_coordinators_record_can_be_resumed(tmp_path: Path) -> None:
    made = unfinished(tmp_path)
    dead(made.path)
    assert open_record(made.path).state == "interrupted"
    again: RecordFolder = reopen(made.path)
    again.finish("complete")
    assert open_record(made.path).table("launches").height == 2
