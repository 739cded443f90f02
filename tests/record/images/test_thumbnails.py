"""Small copies lie in one archive a launch, under the seal; an archive of a stranger is read within limits."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from fireassay.errors import RecordError
from fireassay.record import files
from fireassay.record.images import thumbnails
from fireassay.record.images.thumbnails import MAX_BYTES, Copies, Thumbnails, name_of, read
from fireassay.record.seal import covered
from tests.record.untrusted.test_jpeg import made as jpeg


def test_a_copy_is_kept_once_and_read_back(tmp_path: Path) -> None:
    with Thumbnails() as kept:
        assert [kept.add("ab", b"one"), kept.add("cd", b"two"), kept.add("ab", b"one")] == ["ab.jpg", "cd.jpg", "ab.jpg"]
        kept.write(tmp_path, 3)
    assert name_of(3) == "images/launch=0003.zip"
    assert covered(tmp_path) == ["images/launch=0003.zip"]
    with zipfile.ZipFile(tmp_path / name_of(3)) as archive:
        assert archive.namelist() == ["ab.jpg", "cd.jpg"]
        assert {info.compress_type for info in archive.infolist()} == {zipfile.ZIP_STORED}
    assert (read(tmp_path, 3, "ab.jpg"), read(tmp_path, 3, "cd.jpg")) == (b"one", b"two")


def test_equal_copies_make_equal_archives(tmp_path: Path) -> None:
    for launch in (0, 1):
        with Thumbnails() as kept:
            kept.add("ab", b"one")
            kept.write(tmp_path, launch)
    assert files.digest(tmp_path / name_of(0)) == files.digest(tmp_path / name_of(1))


def test_without_an_image_nothing_is_written(tmp_path: Path) -> None:
    with Thumbnails() as kept:
        kept.write(tmp_path, 0)
    with Thumbnails() as kept:
        kept.add("ab", b"one")  # and then the launch is interrupted
    assert list(tmp_path.iterdir()) == []


def test_more_than_memory_holds_goes_through_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(thumbnails, "IN_MEMORY", 1000)
    with Thumbnails() as kept:
        for number in range(50):
            kept.add(f"{number:02}", bytes([number]) * 100)
        kept.write(tmp_path, 0)
    assert read(tmp_path, 0, "49.jpg") == bytes([49]) * 100


def test_a_full_disk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(files, "create", full)
    with Thumbnails() as kept:
        kept.add("ab", b"one")
        with pytest.raises(RecordError, match="the disk is full"):
            kept.write(tmp_path, 0)


def archive(folder: Path, content: bytes, how: int = zipfile.ZIP_STORED) -> None:
    (folder / "images").mkdir(exist_ok=True)
    with zipfile.ZipFile(folder / name_of(0), "w", how) as made:
        made.writestr("ab.jpg", content)


def test_an_archive_of_a_stranger_is_read_within_limits(tmp_path: Path) -> None:
    archive(tmp_path, bytes(MAX_BYTES + 1))
    with pytest.raises(RecordError, match="larger than 65,536 bytes"):
        read(tmp_path, 0, "ab.jpg")
    archive(tmp_path, bytes(100_000_000), zipfile.ZIP_DEFLATED)
    with pytest.raises(RecordError, match="compressed"):
        read(tmp_path, 0, "ab.jpg")
    archive(tmp_path, b"one")
    whole = (tmp_path / name_of(0)).read_bytes()
    for damaged in (b"", whole[:-10], whole.replace(b"one", b"two")):
        (tmp_path / name_of(0)).write_bytes(damaged)
        with pytest.raises(RecordError, match="cannot be read"):
            read(tmp_path, 0, "ab.jpg")
    (tmp_path / name_of(0)).write_bytes(whole)
    with pytest.raises(RecordError, match="cannot be read"):
        read(tmp_path, 0, "../../etc/passwd")
    with pytest.raises(RecordError, match="cannot be read"):
        read(tmp_path, 1, "ab.jpg")


def test_a_link_in_the_place_of_an_archive_is_not_followed(tmp_path: Path) -> None:
    archive(tmp_path, b"one")
    (tmp_path / name_of(0)).rename(tmp_path / "elsewhere.zip")
    (tmp_path / name_of(0)).symlink_to(tmp_path / "elsewhere.zip")
    with pytest.raises(RecordError, match="link"):
        read(tmp_path, 0, "ab.jpg")


# ---- copies that are shown ----


IMAGE = "ab" * 32


def kept(folder: Path, content: bytes, sha256: str = IMAGE) -> dict[str, dict[str, str]]:
    """An archive with this copy; its digest as a manifest lists it."""
    with Thumbnails() as thumbnails:
        thumbnails.add(sha256, content)
        thumbnails.write(folder, 0)
    return {name_of(0): {"sha256": files.digest(folder / name_of(0))}}


def test_a_copy_is_given_as_it_was_sealed(tmp_path: Path) -> None:
    content = jpeg()
    copies = Copies(tmp_path, kept(tmp_path, content))
    assert copies.jpeg(0, IMAGE, f"{IMAGE}.jpg") == content
    assert copies.jpeg(0, IMAGE, f"{IMAGE}.jpg") == content
    assert Copies(tmp_path).jpeg(0, IMAGE, f"{IMAGE}.jpg") == content  # of a record that is not sealed yet


def test_an_archive_that_changed_after_sealing_gives_nothing(tmp_path: Path) -> None:
    kept(tmp_path, jpeg())
    for sealed in ({name_of(0): {"sha256": "0" * 64}}, {"tables/x": {"sha256": "0" * 64}}, {name_of(0): "x"}, {name_of(0): {}}):
        copies = Copies(tmp_path, sealed)
        for _ in range(2):
            with pytest.raises(RecordError, match=r"launch=0000\.zip cannot be read: it was changed after it was sealed"):
                copies.jpeg(0, IMAGE, f"{IMAGE}.jpg")


def test_only_the_copy_of_the_image_is_given(tmp_path: Path) -> None:
    copies = Copies(tmp_path, kept(tmp_path, jpeg()))
    for sha256, entry in (("cd" * 32, f"{IMAGE}.jpg"), (IMAGE, "../../etc/passwd"), (IMAGE.upper(), f"{IMAGE.upper()}.jpg"), ("", ".jpg")):
        with pytest.raises(RecordError, match="is not the copy of the image"):
            copies.jpeg(0, sha256, entry)
    with pytest.raises(RecordError, match="cannot be read"):
        copies.jpeg(0, "cd" * 32, f"{'cd' * 32}.jpg")
    with pytest.raises(RecordError, match="cannot be read"):
        copies.jpeg(7, IMAGE, f"{IMAGE}.jpg")


@pytest.mark.parametrize("content", [b"<svg onload='alert(1)'/>", b"\x89PNG\r\n\x1a\n", b"", jpeg() + b"<script>", jpeg((300, 300))])
def test_what_is_no_small_copy_is_never_given(tmp_path: Path, content: bytes) -> None:
    copies = Copies(tmp_path, kept(tmp_path, content))
    with pytest.raises(RecordError, match="is no small copy"):
        copies.jpeg(0, IMAGE, f"{IMAGE}.jpg")


def test_a_directory_larger_than_any_of_ours_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept(tmp_path, jpeg())
    monkeypatch.setattr(thumbnails, "MAX_DIRECTORY", 50)
    with pytest.raises(RecordError, match="its directory is larger"):
        Copies(tmp_path).jpeg(0, IMAGE, f"{IMAGE}.jpg")


def test_an_archive_of_more_than_65535_entries_is_read(tmp_path: Path) -> None:
    with Thumbnails() as many:
        for number in range(65_600):
            many.add(f"{number:064x}", b"x")
        many.write(tmp_path, 0)
    assert Copies(tmp_path).content(0, f"{65_599:064x}.jpg") == b"x"
