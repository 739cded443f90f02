"""Whatever a file holds, it is an image within the limits or a reason; nothing but pixels leaves it."""

from __future__ import annotations

import struct
import zlib
from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fireassay.instruments.images.decoding import MAX_BYTES, MAX_THUMBNAIL, ORIENTATION, SIDE, NotAnImage, decode, thumbnail
from tests.instruments.images.tiny_models import drawn
from tests.tiers import examples

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def stored(image: Image.Image, kind: str = "PNG", **words: Any) -> bytes:
    into = BytesIO()
    image.save(into, format=kind, **words)
    return into.getvalue()


def halves() -> Image.Image:
    """Red on the left, blue on the right: 40 x 20."""
    image = Image.new("RGB", (40, 20), RED)
    image.paste(BLUE, (20, 0, 40, 20))
    return image


def chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def png_of(width: int, height: int, content: bytes = b"") -> bytes:
    """A PNG whose head says this size, in grey."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(content)) + chunk(b"IEND", b"")


@pytest.mark.parametrize("kind", ["PNG", "BMP", "GIF", "WEBP", "JPEG"])
def test_five_formats_are_read_by_their_content(kind: str) -> None:
    found = decode(stored(halves(), kind, **({"lossless": True} if kind == "WEBP" else {})))
    assert (found.format, found.width, found.height, found.pixels.mode) == (kind, 40, 20, "RGB")
    left, right = found.pixels.getpixel((4, 10)), found.pixels.getpixel((36, 10))
    assert left[0] > 250 > 10 > left[2]
    assert right[2] > 250 > 10 > right[0]


@pytest.mark.parametrize("kind", ["TIFF", "PPM", "ICO", "PDF"])
def test_other_formats_are_refused(kind: str) -> None:
    with pytest.raises(NotAnImage, match="neither PNG, JPEG, WEBP, GIF nor BMP"):
        decode(stored(halves(), kind))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "an empty file"),
        (b"GIF89a", "not an image"),
        (b"\x00" * 5000, "neither PNG"),
        (b"  <svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "SVG and HTML are programs"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><!DOCTYPE svg [<!ENTITY a SYSTEM 'file:///etc/passwd'>]><svg>&a;</svg>", "SVG and HTML"),
        (b"<!doctype html><img src=x onerror=alert(1)>", "SVG and HTML"),
        (b"%!PS-Adobe-3.0\n/showpage", "neither PNG"),
        (stored(halves())[:-30], "not an image"),
        (stored(halves(), "JPEG")[:200], "not an image"),
        (png_of(100_000, 100_000), "pixels"),
        (png_of(10_000, 10_000), "10,000 x 10,000 pixels, at most 64,000,000"),
        (png_of(0, 5), "not an image"),
    ],
)
def test_what_is_no_image_says_why(content: bytes, why: str) -> None:
    with pytest.raises(NotAnImage, match=why):
        decode(content)


def test_a_large_file_is_not_opened() -> None:
    with pytest.raises(NotAnImage, match="67,108,865 bytes, at most 67,108,864"):
        decode(bytes(MAX_BYTES + 1))


def test_bytes_behind_the_pixels_and_text_in_a_file_do_not_survive() -> None:
    """A polyglot: a ZIP appended, a comment, a colour profile and a private chunk."""
    from PIL.PngImagePlugin import PngInfo

    told = PngInfo()
    told.add_text("comment", "<script>alert(1)</script>")
    content = stored(halves(), pnginfo=told, icc_profile=b"profile-marker") + b"PK\x03\x04marker"
    found = decode(content)
    assert not found.pixels.info
    kept = thumbnail(found)
    assert not any(word in kept for word in (b"script", b"marker", b"PK\x03\x04", b"Exif"))
    jpeg = stored(halves(), "JPEG", comment=b"a-comment", exif=_turned(1, "Secret Camera"))
    assert not any(word in thumbnail(decode(jpeg)) for word in (b"a-comment", b"Secret", b"Exif"))


def _turned(orientation: int, maker: str = "") -> Image.Exif:
    exif = Image.Exif()
    exif[ORIENTATION] = orientation
    if maker:
        exif[0x010F] = maker
    return exif


# Where the left, red half of the stored image ends up, by EXIF 2.3's table of orientations: the stored row 0 and column 0 are the ...
TOWARDS = {1: "left", 2: "right", 3: "right", 4: "left", 5: "top", 6: "top", 7: "bottom", 8: "bottom"}


@pytest.mark.parametrize("orientation", TOWARDS)
def test_an_image_is_seen_upright(orientation: int) -> None:
    found = decode(stored(halves(), exif=_turned(orientation)))
    sideways = orientation >= 5
    assert (found.width, found.height) == ((20, 40) if sideways else (40, 20))
    first, last = found.pixels.getpixel((1, 1)), found.pixels.getpixel((found.width - 2, found.height - 2))
    reds_first = TOWARDS[orientation] in ("left", "top")
    assert (first, last) == ((RED, BLUE) if reds_first else (BLUE, RED))


def test_an_orientation_that_does_not_exist_turns_nothing() -> None:
    assert decode(stored(halves(), exif=_turned(77))).width == 40
    assert decode(stored(halves(), exif=b"Exif\0\0MM\0*\0\0\0\x08\xff\xff")).width == 40


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "PA", "RGBA", "I;16"])
def test_every_mode_of_pixels_becomes_rgb(mode: str) -> None:
    image = Image.new("I;16", (4, 4), 0x8000) if mode == "I;16" else Image.new("L", (4, 4), 128).convert("RGBA" if mode == "PA" else mode)
    if mode == "PA":
        image = image.quantize(8)
    pixels = decode(stored(image)).pixels
    assert pixels.mode == "RGB"
    assert pixels.getpixel((1, 1)) in {(128,) * 3, (255,) * 3, (0,) * 3}
    if mode == "I;16":
        assert pixels.getpixel((1, 1)) == (128, 128, 128)


def test_cmyk_is_read_and_transparency_dropped() -> None:
    assert decode(stored(Image.new("CMYK", (8, 8), (0, 255, 255, 0)), "JPEG")).pixels.mode == "RGB"
    hidden = Image.new("RGBA", (4, 4), (255, 0, 0, 0))
    assert decode(stored(hidden)).pixels.getpixel((0, 0)) == RED


def test_of_an_animation_the_first_frame_counts() -> None:
    frames = [Image.new("RGB", (8, 8), colour) for colour in ("red", "blue", "white")]
    content = stored(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert decode(content).pixels.getpixel((0, 0)) == RED


@pytest.mark.parametrize("size", [(1, 1), (5000, 1), (1, 3000), (300, 300), (256, 256)])
def test_a_thumbnail_is_small_whole_and_a_jpeg(size: tuple[int, int]) -> None:
    noise = Image.effect_noise(size, 200).convert("RGB")
    kept = thumbnail(decode(stored(noise)))
    assert len(kept) <= MAX_THUMBNAIL
    read = Image.open(BytesIO(kept))
    assert read.format == "JPEG"
    assert max(read.size) <= SIDE
    if max(size) <= SIDE:
        assert read.size in {size, tuple(side // 2 for side in size)}


@examples(60)
@given(
    at=st.integers(0, 400), value=st.integers(0, 255), cut=st.integers(0, 60), kind=st.sampled_from(["PNG", "JPEG", "GIF", "WEBP", "BMP"])
)
def test_a_damaged_file_is_an_image_or_a_reason(at: int, value: int, cut: int, kind: str) -> None:
    content = bytearray(drawn("red", (24, 20), kind))
    content[at % len(content)] = value
    try:
        found = decode(bytes(content[: len(content) - cut]))
    except NotAnImage as problem:
        reason = str(problem)
    else:
        reason = "an image"
        assert found.pixels.size == (found.width, found.height)
        assert len(thumbnail(found)) <= MAX_THUMBNAIL
    assert 0 < len(reason) < 200
