"""Equal data have equal digests wherever they are, and changed data have others, in bounded time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.record import folder as record_folder
from fireassay.record.reader import open_record
from fireassay.runners.experiment import data_digest
from fireassay.runners.experiment.data_digest import digests
from fireassay.runners.experiment.run import resume, run
from tests.runners.experiment.test_run import interrupted
from tests.runners.making import experiment


def made(folder: Path, **files: str) -> Path:
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def digest(path: Path) -> str:
    return digests([str(path)], path.parent, path.parent / "records")[0]


def test_a_file_is_its_bytes_whatever_its_name(tmp_path: Path) -> None:
    made(tmp_path / "a", one="1,2\n", copy="1,2\n", other="1,3\n")
    one, copy, other = digests(["one", "copy", "other"], tmp_path / "a", tmp_path)
    assert one == copy != other
    assert one.startswith("1 file, 4 bytes, ")


def test_a_folder_is_the_names_and_bytes_of_its_files_wherever_it_is(tmp_path: Path) -> None:
    a = digest(made(tmp_path / "a", x="1", y="2"))
    assert a.startswith("2 files, 2 bytes, ")
    assert digest(made(tmp_path / "below" / "b", y="2", x="1")) == a
    others = {
        digest(made(tmp_path / "c", x="1", y="3")),
        digest(made(tmp_path / "d", x="1", z="2")),
        digest(made(tmp_path / "e", x="12", y="")),
    }
    assert len({a, *others}) == 4


def test_large_data_are_sampled_and_say_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_digest, "MAX_BYTES", 64)
    files = {
        "plain": "x" * 1000,
        "begin": "y" + "x" * 999,
        "end": "x" * 999 + "y",
        "longer": "x" * 1001,
        "between": "x" * 10 + "y" + "x" * 989,  # pieces of 4 bytes every 66
    }
    made(tmp_path / "a", **files)
    plain, *others, between = digests(list(files), tmp_path / "a", tmp_path)
    assert plain.startswith("1 file, 1,000 bytes, sampled ")
    assert len({plain, *others}) == 4
    assert between == plain


def test_of_many_files_some_are_opened_and_all_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_digest, "MAX_FILES", 2)
    many = digest(made(tmp_path / "a", a="1", b="2", c="3", d="4"))
    assert "sampled" in many
    assert digest(made(tmp_path / "b", a="1", b="2", c="x", d="4")) != many  # opened
    assert digest(made(tmp_path / "c", a="1", b="2", c="3", d="44")) != many  # not opened, longer


def test_links_are_followed_once_and_the_records_are_no_data(tmp_path: Path) -> None:
    plain = digest(made(tmp_path / "plain", a="1"))
    linked = made(tmp_path / "linked" / "data")
    (linked / "a").symlink_to(tmp_path / "plain" / "a")
    (linked / "again").symlink_to(linked)
    (linked / "nothing").symlink_to(tmp_path / "gone")
    made(linked / "records" / "run", manifest="{}")
    os.mkfifo(linked / "pipe")
    assert digests([str(linked)], tmp_path, linked / "records") == [plain]


def test_a_pipe_is_no_data(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(SpecError, match=r"data.paths\[0\]: found 'pipe', which cannot be read: it is neither a file nor a folder"):
        digests(["pipe"], tmp_path, tmp_path)


def test_a_record_keeps_the_digest_and_is_not_resumed_on_other_data(tmp_path: Path) -> None:
    asked = experiment(data={"paths": ["train.csv"]})
    path = interrupted(tmp_path, asked, launches=3)
    (tmp_path / "train.csv").write_text("1,2\n")
    resume(path)
    manifest = open_record(path).manifest
    assert manifest["environment"]["before"]["data"] == digests(["train.csv"], tmp_path, tmp_path)
    path = interrupted(tmp_path, asked, launches=3)
    record = record_folder.reopen(path)
    record.set_environment("before", manifest["environment"]["before"])
    record.finish("interrupted", "test")
    (tmp_path / "train.csv").write_text("1,3\n")
    with pytest.raises(SpecError, match="with which the record began"):
        resume(path)


def test_missing_data_are_refused_before_a_record_is_made(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print('hello')")
    with pytest.raises(SpecError, match=r'data.paths\[0\]: found "train.csv", which does not exist'):
        run(experiment(data={"paths": ["train.csv"]}), folder=tmp_path, root=tmp_path / "records")
    assert not (tmp_path / "records").exists()
