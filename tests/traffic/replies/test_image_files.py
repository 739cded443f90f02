"""What does the head of an image's file state?  Heads written by hand from their specifications, and files that Pillow writes."""

from __future__ import annotations

import base64
import hashlib
import struct
from contextlib import suppress
from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fireassay.instruments.reference_server.media import drawn
from fireassay.quality.scoring.image_heads import described
from fireassay.traffic.replies.image_files import content_of, head_of

JPEG = b"\xff\xd8" + b"\xff\xe0\x00\x04ab" + b"\xff\xff\xc2" + struct.pack(">HBHHB", 11, 8, 480, 640, 1) + b"\x01\x11\x00"
GIF = b"GIF89a" + struct.pack("<HH", 7, 9)
LOSSLESS = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f" + struct.pack("<I", (300 - 1) | (200 - 1) << 14)
LOSSY = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a" + struct.pack("<HH", 300, 200 | 1 << 14)
EXTENDED = b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0" + (1023).to_bytes(3, "little") + (767).to_bytes(3, "little")


@pytest.mark.parametrize(
    ("data", "head"),
    [
        (drawn("a cat", 24, 12, 0), ("png", 24, 12)),
        (JPEG, ("jpeg", 640, 480)),
        (GIF, ("gif", 7, 9)),
        (LOSSLESS, ("webp", 300, 200)),
        (LOSSY, ("webp", 300, 200)),
        (EXTENDED, ("webp", 1024, 768)),
    ],
)
def test_the_head_states_type_and_size(data: bytes, head: tuple[str, int, int]) -> None:
    found = head_of(data)
    assert found[:3] == head
    assert (found.nbytes, found.sha256) == (len(data), hashlib.sha256(data).hexdigest())
    assert described(str(found)) == [found]


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF"])
def test_it_states_what_pillow_reads(kind: str) -> None:
    image = pytest.importorskip("PIL.Image")
    file = BytesIO()
    image.new("RGB", (37, 21), (200, 10, 10)).save(file, kind)
    assert head_of(file.getvalue())[:3] == (kind.lower(), 37, 21)


@pytest.mark.parametrize(
    "data", [b"", b"<svg/>", b"\x89PNG\r\n\x1a\n", JPEG[:8], b"\xff\xd8\xff\xd9", GIF[:7], LOSSLESS[:22], b"GIF89a\0\0\0\0"]
)
def test_what_states_no_size_is_no_image(data: bytes) -> None:
    with pytest.raises(ValueError, match="image|JPEG"):
        head_of(data)


@given(st.sampled_from([drawn("a", 9, 9, 0), JPEG, GIF, LOSSLESS, LOSSY, EXTENDED]), st.binary(max_size=40), st.integers(0, 40))
def test_broken_heads_are_refused_and_nothing_else_happens(head: bytes, noise: bytes, at: int) -> None:
    with suppress(ValueError):
        head_of(head[:at] + noise)


def test_a_data_url_is_the_file_behind_its_comma() -> None:
    text = base64.b64encode(GIF).decode()
    assert content_of({"b64_json": f"data:image/gif;base64,{text}"}) == content_of({"b64_json": text}) == GIF
    assert content_of({"b64_json": None, "url": "https://example.org/a.png"}) is None
    for wrong in ({}, {"b64_json": 3}, {"b64_json": "A"}, [], None):
        with pytest.raises(ValueError, match="b64_json"):
            content_of(wrong)
