"""A folder of files for another program is written whole or not at all, and never among others."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.errors import RecordError, SpecError
from fireassay.record import files
from fireassay.record.files import fill_folder, write_folder

FILES = {"a.txt": "one", "below/b.bin": b"two"}


@pytest.mark.parametrize("made", [True, False])
def test_a_folder_gets_all_its_files(made: bool, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    if made:
        folder.mkdir()
    write_folder(folder, FILES)
    assert {str(path.relative_to(folder)) for path in folder.rglob("*")} == {"a.txt", "below", "below/b.bin"}
    assert (folder / "below/b.bin").read_bytes() == b"two"


@pytest.mark.parametrize("made", [True, False])
@pytest.mark.parametrize("error", [KeyboardInterrupt, OSError])
def test_an_interrupted_folder_has_none_of_them(
    error: type[BaseException], made: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    if made:
        folder.mkdir()
    whole = files.write_output

    def write(path: Path, content: bytes) -> None:
        if path.name == "b.bin":
            raise error
        whole(path, content)

    monkeypatch.setattr(files, "write_output", write)
    with pytest.raises(RecordError if error is OSError else error):
        write_folder(folder, FILES)
    assert list(tmp_path.rglob("*")) == ([folder] if made else [])


def test_the_same_files_again_change_nothing_and_others_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    large = {**FILES, "c.csv": lambda: iter((b"a,b\n", b"1,2\n"))}
    assert fill_folder("--out", folder, large)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    assert not fill_folder("--out", folder, large)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    for other in (
        {**large, "a.txt": "onE"},
        {**large, "d": "new"},
        FILES,
        {**large, "c.csv": b"a,b\n"},
        {**large, "c.csv": b"a,b\n1,2\n3"},
    ):
        with pytest.raises(SpecError, match="which exists"):
            fill_folder("--out", folder, other)
    (folder / "a.txt").unlink()
    (folder / "a.txt").symlink_to(folder / "c.csv")
    with pytest.raises(SpecError, match="which exists"):
        fill_folder("--out", folder, {**large, "a.txt": b"a,b\n1,2\n"})
