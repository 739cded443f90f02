"""Does nothing that stands in a record lead its reader or its writer out of it?"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from fireassay.errors import RecordError
from fireassay.record import files
from fireassay.record.folder import reopen
from fireassay.record.untrusted import paths
from tests.record.making import sealed, unfinished

Plant = Callable[[Path, Path], None]  # in the record's folder, what leads to the victim


def symbolic(name: str) -> Plant:
    def plant(record: Path, victim: Path) -> None:
        (record / name).parent.mkdir(parents=True, exist_ok=True)
        (record / name).symlink_to(victim)

    return plant


def folder(name: str) -> Plant:
    """A folder on the way to the file is a link to the victim's folder, in which a file of the same name lies."""

    def plant(record: Path, victim: Path) -> None:
        (record / name).symlink_to(victim.parent)

    return plant


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    place = tmp_path / "home" / "report.html"
    place.parent.mkdir()
    place.write_text("mine")
    return place


@pytest.mark.parametrize("plant", [symbolic("reports/report.html"), folder("reports")])
def test_a_report_is_written_through_no_link(plant: Plant, victim: Path, tmp_path: Path) -> None:
    record = tmp_path / "record"
    record.mkdir()
    plant(record, victim)
    with pytest.raises(RecordError, match="is a symbolic link"):
        paths.write(record, "reports/report.html", b"theirs")
    assert victim.read_text() == "mine"
    assert sorted(path.name for path in victim.parent.iterdir()) == ["report.html"]


def test_a_hard_link_is_replaced_and_its_other_name_keeps_its_content(victim: Path, tmp_path: Path) -> None:
    record = tmp_path / "record"
    (record / "reports").mkdir(parents=True)
    os.link(victim, record / "reports" / "report.html")
    paths.write(record, "reports/report.html", b"theirs")
    assert (victim.read_text(), (record / "reports" / "report.html").read_text()) == ("mine", "theirs")


def test_a_report_that_cannot_be_written_leaves_the_old_one_and_nothing_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths.write(tmp_path, "reports/report.html", b"old")

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        paths.write(tmp_path, "reports/report.html", b"new")
    assert [path.name for path in (tmp_path / "reports").iterdir()] == ["report.html"]
    assert (tmp_path / "reports" / "report.html").read_bytes() == b"old"


@pytest.mark.parametrize("name", ["../x", "a/../../x", "/etc/passwd", "a//b", "", ".", "a/./b", "a\0b", "a\\..\\b", "..", "a/.."])
def test_a_name_that_leads_out_is_refused(name: str, tmp_path: Path) -> None:
    for act in (lambda: paths.read(tmp_path, name, 10), lambda: paths.write(tmp_path, name, b"x")):
        with pytest.raises(RecordError, match="outside the record"):
            act()


def pipe(path: Path) -> None:
    os.mkfifo(path)


def listening(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        before = Path.cwd()
        os.chdir(path.parent)  # a socket's path has at most 108 bytes
        try:
            made.bind(path.name)
        finally:
            os.chdir(before)


@pytest.mark.parametrize(
    ("make", "what"),
    [
        (pipe, "a pipe"),
        (listening, "a socket"),
        (Path.mkdir, "a folder"),
        (lambda path: path.symlink_to("/dev/zero"), "a symbolic link"),
        (lambda path: path.symlink_to(path), "a symbolic link"),
    ],
)
def test_nothing_but_a_plain_file_is_read_or_written_over(make: Callable[[Path], None], what: str, tmp_path: Path) -> None:
    make(tmp_path / "file")
    with pytest.raises(RecordError, match=what):
        paths.read(tmp_path, "file", 10)
    with pytest.raises(RecordError, match=what):
        paths.write(tmp_path, "file", b"x")


def test_a_file_is_read_to_its_limit_and_no_further(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"0123456789")
    assert paths.read(tmp_path, "file", 10) == b"0123456789"
    with pytest.raises(RecordError, match="more than assay writes"):
        paths.read(tmp_path, "file", 9)


def test_a_record_s_own_folder_may_be_reached_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    paths.write(tmp_path / "link", "reports/x", b"x")
    assert paths.read(tmp_path / "link", "reports/x", 10) == b"x"


# ---- going on with a record ------------------------------------------------------------------------------------------

WRITTEN = [
    "manifest.json.tmp",
    "tables.tmp",
    "tables",
    "logs/launch=0002.log",
    "logs/launch=0000.log.tail",
    "streams/coordinator.lock",
    "streams/launch=0002",
    "traces",
    "reports",
    "experiment.toml.tmp",
    "traces/launch=0000/summary.json",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize("hard", [False, True])
def test_a_record_with_a_link_is_not_gone_on_with(name: str, hard: bool, victim: Path, tmp_path: Path) -> None:
    record = unfinished(tmp_path / "records")
    record.finish("interrupted")
    place = record.path / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.unlink(missing_ok=True)
    if hard:
        os.link(victim, place)
    else:
        place.symlink_to(victim if "." in place.name else victim.parent)
    with pytest.raises(RecordError, match="link"):
        reopen(record.path)
    assert victim.read_text() == "mine"
    assert sorted(path.name for path in victim.parent.iterdir()) == ["report.html"]


@pytest.mark.slow
def test_a_deep_record_is_looked_through_to_its_end(tmp_path: Path) -> None:
    """Deeper than Python's recursion goes."""
    deepest = tmp_path.joinpath(*["d"] * 1200)
    os.makedirs(tmp_path / "d")
    opened = os.open(tmp_path / "d", os.O_RDONLY)
    for _ in range(1199):
        os.mkdir("d", dir_fd=opened)
        inner = os.open("d", os.O_RDONLY, dir_fd=opened)
        os.close(opened)
        opened = inner
    os.close(opened)
    try:
        paths.refuse_all_but_plain_files(tmp_path)
        assert sum(1 for _ in paths.walk(tmp_path)) == 1200
    finally:  # what tidies up after tests goes as deep as Python's recursion
        while deepest != tmp_path:
            deepest.rmdir()
            deepest = deepest.parent


# ---- what the user names ---------------------------------------------------------------------------------------------


def test_a_link_in_the_place_of_an_output_is_replaced_and_not_followed(victim: Path, tmp_path: Path) -> None:
    (tmp_path / "out.html").symlink_to(victim)
    files.write_output(tmp_path / "out.html", b"theirs")
    assert (victim.read_text(), (tmp_path / "out.html").read_text()) == ("mine", "theirs")
    assert not (tmp_path / "out.html").is_symlink()


def test_a_section_is_appended_through_no_link(victim: Path, tmp_path: Path) -> None:
    (tmp_path / "summary.md").symlink_to(victim)
    with pytest.raises(OSError, match="symbolic links"):
        files.write_output(tmp_path / "summary.md", b"theirs", append=True)
    files.write_output(tmp_path / "own.md", b"a", append=True)
    files.write_output(tmp_path / "own.md", b"b", append=True)
    assert (victim.read_text(), (tmp_path / "own.md").read_text()) == ("mine", "ab")


def test_a_device_and_a_pipe_are_written_into(tmp_path: Path) -> None:
    files.write_output(Path("/dev/null"), b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    files.write_output(tmp_path / "pipe", b"through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)


def test_who_may_read_an_output_stays_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    (tmp_path / "out").chmod(0o600)
    files.write_output(tmp_path / "out", b"new")
    assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600


def test_a_temporary_file_that_is_a_link_is_not_written_through(victim: Path, tmp_path: Path) -> None:
    (tmp_path / "manifest.json.tmp").symlink_to(victim)
    files.replace(tmp_path / "manifest.json", b"{}")
    assert (victim.read_text(), (tmp_path / "manifest.json").read_text()) == ("mine", "{}")


@pytest.mark.slow
def test_every_form_of_report_refuses_the_link_and_writes_nothing_outside(
    victim: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from fireassay.cli import main
    from fireassay.cli.support.judged import write_inside  # noqa: F401  the one place that writes into a record

    record = sealed(tmp_path / "records")
    (record / "reports").mkdir()
    for suffix in ("html", "xlsx", "tex"):
        (record / "reports" / f"report.{suffix}").symlink_to(victim)
    for form in ("--html", "--excel", "--latex"):
        assert main(["report", str(record), form]) == 6
        assert "is a symbolic link" in capsys.readouterr().err
    assert victim.read_text() == "mine"
