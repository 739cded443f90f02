"""A fresh copy of the working folder for each launch: what is copied, what not, and what is left of it."""

from __future__ import annotations

import errno
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from fireassay.clock import FakeClock
from fireassay.errors import RecordError, SpecError
from fireassay.record.reader import open_record
from fireassay.runners.experiment.context import Job, RunContext
from fireassay.runners.experiment.run import run
from fireassay.runners.launching import fresh_folder
from fireassay.runners.launching.launch import request_for
from tests.runners.making import context, experiment, planned

pytestmark = pytest.mark.slow


def made(folder: Path, **workload: Any) -> RunContext:
    folder.mkdir(exist_ok=True)
    return context(folder, experiment(workload={"fresh_folder": True, **workload}), FakeClock())


def job(number: int = 0, role: str = "timed") -> Job:
    return Job(planned=planned(role=role), number=number, attempt=0)


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())


def test_without_the_key_a_launch_runs_in_the_folder_itself(tmp_path: Path) -> None:
    here = context(tmp_path, experiment(), FakeClock())
    with fresh_folder.working_folder(here, job()) as folder:
        assert folder == tmp_path


def test_a_launch_finds_everything_but_version_control_environments_and_records(tmp_path: Path) -> None:
    for name in ("data/a.bin", "pkg/mod.py", ".git/HEAD", ".venv/x", "env/pyvenv.cfg", "env/lib/y", ".hidden/z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    here = made(tmp_path)
    with fresh_folder.working_folder(here, job()) as folder:
        assert files(folder) == [".hidden/z", "data/a.bin", "pkg/mod.py", "train.py"]
        assert (folder / "data" / "a.bin").read_text() == "data/a.bin"
        assert folder.is_relative_to(tmp_path / "records")


def test_what_one_launch_leaves_no_other_one_finds_and_the_original_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("before")
    here = made(tmp_path)
    for number in range(2):
        with fresh_folder.working_folder(here, job(number)) as folder:
            assert not (folder / "snapshot.pt").exists()
            assert (folder / "log.txt").read_text() == "before"
            (folder / "snapshot.pt").write_text("state")
            (folder / "log.txt").write_text("after")
        assert not folder.exists()
    assert (tmp_path / "log.txt").read_text() == "before"
    assert list((tmp_path / "records").iterdir()) == [here.record.path]


@pytest.mark.parametrize("within", ["mnist", "implementations/wgan", "a/b/c"])
def test_what_lies_beside_the_folder_and_those_that_hold_it_lies_beside_the_copy(tmp_path: Path, within: str) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "a.bin").write_text("shared")
    up = Path(*[".."] * len(Path(within).parts))
    (tmp_path / within).mkdir(parents=True)
    here = made(tmp_path / within)
    with fresh_folder.working_folder(here, job()) as folder:
        assert (folder / up / "data" / "a.bin").read_text() == "shared"
        (folder / ".." / "new.txt").write_text("of this launch alone")
    assert (tmp_path / "data" / "a.bin").read_text() == "shared"
    assert not (tmp_path / "new.txt").exists()


@pytest.mark.deep
def test_copies_are_kept_on_request_and_the_record_says_where(tmp_path: Path) -> None:
    here = made(tmp_path, keep_folders=True)
    with fresh_folder.working_folder(here, job(3)) as folder:
        (folder / "snapshot.pt").write_text("state")
    assert (folder / "snapshot.pt").read_text() == "state"
    here.record.writer(3).flush()
    [event] = [row for row in open_record(here.record.path).table("events").to_dicts() if row["kind"] == "fresh_folder"]
    assert json.loads(event["detail"]) == {"copied": 1, "kept": str(folder)}
    with fresh_folder.working_folder(here, job(4)) as other:  # what was kept is not copied
        assert files(other) == ["train.py"]


def test_the_copy_goes_whatever_happened_in_it(tmp_path: Path) -> None:
    here = made(tmp_path)

    def fails() -> None:
        with fresh_folder.working_folder(here, job()) as folder:
            (folder / "locked").mkdir(mode=0o500)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert not fresh_folder.folders_of(here.record.path).exists()


def test_links_inside_lead_to_the_copy_and_links_outside_to_where_they_led(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "data.bin").write_text("large")
    inside = tmp_path / "inside"
    (inside / "sub").mkdir(parents=True)
    (inside / "real.txt").write_text("original")
    (inside / "sub" / "relative").symlink_to("../real.txt")
    (inside / "sub" / "absolute").symlink_to(inside / "real.txt")
    (inside / "data").symlink_to("../outside")
    (inside / "nowhere").symlink_to("gone")
    (inside / "loop").symlink_to(".")
    here = made(inside)
    with fresh_folder.working_folder(here, job()) as folder:
        (folder / "real.txt").write_text("copy")
        assert [(folder / "sub" / name).read_text() for name in ("relative", "absolute")] == ["copy", "copy"]
        assert (folder / "data" / "data.bin").read_text() == "large"
        assert (folder / "nowhere").is_symlink()
        assert (folder / "loop").resolve() == folder.resolve()
    assert (inside / "real.txt").read_text() == "original"
    assert (outside / "data.bin").exists()


def test_a_link_by_another_name_of_the_folder_leads_to_the_copy(tmp_path: Path) -> None:
    """A home directory that is itself a link: what a launch writes through it must not reach the user's own file."""
    inside = tmp_path / "disk" / "project"
    (inside / "out").mkdir(parents=True)
    (tmp_path / "home").symlink_to("disk")
    (inside / "out" / "model.pt").write_text("the user's")
    (inside / "latest").symlink_to(tmp_path / "home" / "project" / "out")
    (inside / "round").symlink_to("../../home/project/out/../out")
    here = made(inside)
    with fresh_folder.working_folder(here, job()) as folder:
        for name in ("latest", "round"):
            (folder / name / "model.pt").write_text("the launch's")
        assert (folder / "out" / "model.pt").read_text() == "the launch's"
    assert (inside / "out" / "model.pt").read_text() == "the user's"


@pytest.mark.parametrize("left_out", ["records/one", ".venv"])
def test_a_link_to_what_is_not_copied_leads_to_the_original(tmp_path: Path, left_out: str) -> None:
    kept = tmp_path / left_out / "files" / "model.pt"
    kept.parent.mkdir(parents=True)
    kept.write_text("weights")
    for name in ("manifest.json", "experiment.toml"):
        (tmp_path / left_out / name).touch()
    (tmp_path / "pretrained.pt").symlink_to(kept.relative_to(tmp_path))
    here = made(tmp_path)
    with fresh_folder.working_folder(here, job()) as folder:
        assert (folder / "pretrained.pt").read_text() == "weights"


def test_read_only_files_can_be_written_in_the_copy_and_pipes_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "model.pt").write_text("weights")
    (tmp_path / "model.pt").chmod(0o444)
    os.mkfifo(tmp_path / "pipe")
    here = made(tmp_path)
    with fresh_folder.working_folder(here, job()) as folder:
        (folder / "model.pt").write_text("trained")
        assert files(folder) == ["model.pt", "train.py"]


def test_the_launch_runs_the_copied_script_in_the_copy(tmp_path: Path) -> None:
    here = made(tmp_path)
    with fresh_folder.working_folder(here, job()) as folder:
        asked = request_for(here, job(), {"PWD": "/elsewhere"}, folder)
    assert (asked.script, asked.cwd, asked.environment["PWD"]) == (folder / "train.py", folder, str(folder))


def test_a_script_that_lies_elsewhere_stays_where_it_is(tmp_path: Path) -> None:
    elsewhere = tmp_path / "scripts" / "train.py"
    elsewhere.parent.mkdir()
    elsewhere.touch()
    here = made(tmp_path / "work", script=str(elsewhere))
    with fresh_folder.working_folder(here, job()) as folder:
        assert request_for(here, job(), {}, folder).script == elsewhere
        assert request_for(here, job(), {}, folder).cwd == folder


def test_a_folder_above_the_limit_is_refused_before_anything_is_made_and_its_largest_entries_are_named(tmp_path: Path) -> None:
    for name, size in (("data", 3), ("src", 1)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.bin").write_bytes(bytes(size << 20))
    (tmp_path / "train.py").touch()
    asked = experiment(workload={"fresh_folder": True}, limits={"fresh_folder_mib": 3.5})
    with pytest.raises(SpecError, match=r"more than 3\.5 MiB .*data \(3 MiB\), src \(1 MiB\).*limits\.fresh_folder_mib"):
        run(asked, folder=tmp_path, root=tmp_path / "records")
    assert not (tmp_path / "records").exists()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_named_before_anything_is_made(tmp_path: Path) -> None:
    (tmp_path / "train.py").touch()
    (tmp_path / "secret.bin").touch(mode=0o000)
    with pytest.raises(SpecError, match=r"secret\.bin, without read permission"):
        run(experiment(workload={"fresh_folder": True}), folder=tmp_path, root=tmp_path / "records")


def test_a_folder_that_may_not_be_read_is_named_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.scandir
    (tmp_path / "private").mkdir()
    (tmp_path / "train.py").touch()

    def scandir(path: Any) -> Any:  # root may read everything
        if str(path).endswith("private"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    with pytest.raises(SpecError, match="private: Permission denied"):
        run(experiment(workload={"fresh_folder": True}), folder=tmp_path, root=tmp_path / "records")
    assert not (tmp_path / "records").exists()


def test_a_full_disk_leaves_nothing_of_the_copy_and_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data.bin").write_text("x")
    here = made(tmp_path)

    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copy2", full)
    with (
        pytest.raises(RecordError, match=r"cannot copy the working folder to .*the disk is full.*assay resume"),
        fresh_folder.working_folder(here, job()),
    ):
        pytest.fail("nothing may be launched")
    assert not fresh_folder.folders_of(here.record.path).exists()


def test_a_file_that_vanishes_while_others_are_copied_was_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.tmp").touch()
    here = made(tmp_path)
    copy = shutil.copy2

    def vanishing(source: str, target: Path, **rest: Any) -> object:
        Path(source).unlink() if source.endswith(".tmp") else None
        return copy(source, target, **rest)

    monkeypatch.setattr(shutil, "copy2", vanishing)
    with fresh_folder.working_folder(here, job()) as folder:
        assert files(folder) == ["train.py"]


def test_copies_of_a_killed_coordinator_go_when_the_record_is_gone_on_with(tmp_path: Path) -> None:
    here = made(tmp_path)
    left = fresh_folder.folders_of(here.record.path) / "launch=0007"
    left.mkdir(parents=True)
    fresh_folder.clear(here)
    assert not left.parent.exists()


def test_it_is_refused_where_nothing_could_be_copied() -> None:
    for changes, where in (
        ({"workload": {"fresh_folder": True, "runner": "command"}}, "workload.fresh_folder"),
        ({"workload": {"fresh_folder": True}, "launcher": {"nodes": 2, "rendezvous_endpoint": "a:1"}}, "workload.fresh_folder"),
        ({"workload": {"keep_folders": True}}, "workload.keep_folders"),
    ):
        with pytest.raises(SpecError) as caught:
            experiment(**changes)
        assert where in [problem.where for problem in caught.value.problems]


RESUMES = """
import os
found = os.path.exists("snapshot")
open("snapshot", "a").write("x")
os.write(1, b"resumed" if found else b"fresh")
"""


@pytest.mark.deep
def test_a_script_that_resumes_from_what_it_finds_starts_afresh_in_every_launch(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RESUMES)
    said = {}
    for fresh in (True, False):
        asked = experiment(workload={"fresh_folder": fresh}, factor={"levels": [1]})
        path = run(asked, folder=tmp_path, root=tmp_path / "records")
        said[fresh] = [file.read_text() for file in sorted((path / "logs").glob("launch=*.log"))]
        assert open_record(path).state == "complete"
    assert said == {True: ["fresh", "fresh"], False: ["fresh", "resumed"]}
    assert [path.name for path in (tmp_path / "records").iterdir() if path.name.endswith(".folders")] == []
