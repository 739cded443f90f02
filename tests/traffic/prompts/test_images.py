"""Are synthetic images valid PNGs that each differ, and are images read from files and nowhere else?"""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import pytest

from fireassay.errors import SpecError
from fireassay.traffic.prompts.texts import Images, data_url, from_file, media_type


def decoded(png: bytes) -> tuple[int, int, list[bytes]]:
    """Width, height and rows of an 8-bit RGB PNG without filters, every checksum verified."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at : at + 8])
        content = png[at + 8 : at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length : at + 12 + length])[0] == zlib.crc32(kind + content)
        chunks.append((kind, content))
        at += 12 + length
    assert [kind for kind, _ in chunks] == [b"IHDR", b"IDAT", b"IDAT", b"IDAT", b"IEND"]
    width, height, *form = struct.unpack(">IIBBBBB", chunks[0][1])
    assert form == [8, 2, 0, 0, 0]
    pixels = zlib.decompress(b"".join(content for kind, content in chunks if kind == b"IDAT"))  # checks Adler-32
    rows = [pixels[y * (3 * width + 1) : (y + 1) * (3 * width + 1)] for y in range(height)]
    assert b"".join(rows) == pixels
    assert all(len(row) == 3 * width + 1 and row[0] == 0 for row in rows)
    return width, height, rows


@pytest.mark.parametrize(("width", "height"), [(1, 1), (3, 1), (1, 40), (17, 33), (512, 512), (640, 48)])
def test_an_image_is_a_valid_png_of_its_size(width: int, height: int) -> None:
    assert decoded(Images(width, height).png(5))[:2] == (width, height)


def test_images_differ_in_their_first_row_and_only_there() -> None:
    drawn = Images(64, 32)
    (_, _, one), (_, _, other) = decoded(drawn.png(1)), decoded(drawn.png(2))
    assert one[0] != other[0]
    assert one[1:] == other[1:]
    assert len({drawn.png(number) for number in range(500)}) == 500
    assert drawn.png(3) == Images(64, 32).png(3)


def test_an_image_is_small() -> None:
    assert len(Images(512, 512).png(1)) < 40_000


def test_images_are_read_from_files_and_data_urls(tmp_path: Path) -> None:
    png = Images(4, 4).png(1)
    (tmp_path / "a.png").write_bytes(png)
    assert from_file("a.png", tmp_path) == png
    url = data_url(png)
    assert url == "data:image/png;base64," + base64.b64encode(png).decode()
    assert from_file(url, tmp_path) == png


@pytest.mark.parametrize(
    ("magic", "kind"),
    [(b"\xff\xd8\xff\xe0", "image/jpeg"), (b"GIF89a", "image/gif"), (b"RIFF....WEBP", "image/webp"), (b"<html>", None), (b"", None)],
)
def test_the_media_type_is_told_by_the_first_bytes(magic: bytes, kind: str | None) -> None:
    assert media_type(magic) == kind


@pytest.mark.parametrize("text", ["nowhere.png", "page.html", "data:image/png;base64,AAA"])
def test_what_is_no_image_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "page.html").write_text("<html>")
    with pytest.raises(SpecError, match="PNG, JPEG, GIF or WebP"):
        from_file(text, tmp_path)
