"""A name is a file below the folder of the file of answers, or data; everything else is a reason."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest

from fireassay.instruments.images.decoding import MAX_BYTES, NotAnImage
from fireassay.instruments.images.folder import ImageFolder, shown


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with an image's bytes, and a secret beside it."""
    (tmp_path / "secret").write_bytes(b"secret")
    home = tmp_path / "answers"
    (home / "deep").mkdir(parents=True)
    (home / "deep" / "a.png").write_bytes(b"pixels")
    return home


def why(folder: Path, name: str) -> str:
    with pytest.raises(NotAnImage) as caught:
        ImageFolder(folder).read(name)
    return str(caught.value)


def test_a_path_below_the_folder_is_read(folder: Path) -> None:
    (folder / "link.png").symlink_to("deep/a.png")
    for name in ("deep/a.png", "./deep/../deep/a.png", "link.png", "../answers/deep/a.png"):
        assert ImageFolder(folder).read(name) == b"pixels"
    assert ImageFolder(folder).has("deep/a.png")


def test_the_folder_itself_may_be_a_link(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "other").symlink_to(folder)
    assert ImageFolder(tmp_path / "other").read("deep/a.png") == b"pixels"


def test_nothing_outside_of_the_folder_is_read(folder: Path, tmp_path: Path) -> None:
    (folder / "out.png").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    for name in ("../secret", "deep/../../secret", str(tmp_path / "secret"), "out.png", "up/secret", "/etc/passwd"):
        assert "outside the folder of the file of answers" in why(folder, name)


@pytest.mark.parametrize("name", ["http://127.0.0.1:9/a.png", "https://example.org/a.png", "file:///etc/passwd", "ftp://x/y", "s3://b/k"])
def test_nothing_is_fetched(folder: Path, name: str) -> None:
    assert "is an address; nothing is fetched" in why(folder, name)


def test_what_is_no_plain_file_is_not_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "circle").symlink_to("circle")
    assert "'pipe' is no plain file" in why(folder, "pipe")
    assert "deep" in why(folder, "deep")
    assert why(folder, "circle")
    assert "No such file" in why(folder, "missing.png")
    assert "null" in why(folder, "a\0b")
    assert "File name too long" in why(folder, "x" * 5000)
    assert not ImageFolder(folder).has("x" * 5000)
    assert not ImageFolder(folder).has("missing.png")


def test_a_large_file_is_not_read(folder: Path) -> None:
    with (folder / "large").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    assert "has 67,108,865 bytes, at most 67,108,864" in why(folder, "large")


def test_data_in_the_file_is_decoded(folder: Path) -> None:
    name = f"data:image/png;base64,{base64.b64encode(b'pixels').decode()}"
    assert ImageFolder(folder).read(name) == b"pixels"
    assert ImageFolder(folder).has(name)
    assert shown(name) == "data:image/png;base64, 30 characters"
    assert shown("deep/a.png") == "deep/a.png"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("data:image/png,abc", "without ;base64"),
        ("data:;base64,@@@@", "not base64"),
        ("data:", "without ;base64"),
        ("data:;base64,é", "not base64"),
    ],
)
def test_broken_data_is_a_reason(folder: Path, name: str, said: str) -> None:
    assert said in why(folder, name)


def test_a_long_name_is_cut_in_a_reason(folder: Path) -> None:
    assert len(why(folder, "a" * 200 + "/" + "b" * 200)) < 200
