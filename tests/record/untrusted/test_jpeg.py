"""A small copy is a plain JPEG and nothing else; whatever could hide in one is refused."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from fireassay.instruments.images import decoding
from fireassay.record.untrusted import jpeg


def made(size: tuple[int, int] = (30, 20), mode: str = "RGB", **more: Any) -> bytes:
    into = BytesIO()
    Image.effect_noise(size, 60).convert(mode).save(into, "JPEG", **{"quality": 80, **more})
    return into.getvalue()


@pytest.mark.parametrize("size", [(1, 1), (256, 1), (30, 20), (256, 256)])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_what_pillow_draws_is_accepted_with_its_size(size: tuple[int, int], mode: str) -> None:
    assert jpeg.size_of(made(size, mode), 256) == size


@pytest.mark.parametrize("form", ["PNG", "JPEG", "WEBP", "GIF", "BMP"])
def test_what_the_record_keeps_of_any_format_is_accepted(form: str) -> None:
    into = BytesIO()
    Image.effect_noise((700, 500), 90).convert("RGB").save(into, form)
    assert max(jpeg.size_of(decoding.thumbnail(decoding.decode(into.getvalue())), 256)) <= 256


EXIF = Image.Exif()
EXIF[0x010E] = "<script>alert(1)</script>"
BAD = {
    "a PNG": (b"\x89PNG\r\n\x1a\n" + bytes(40), "it is no JPEG"),
    "an SVG": (b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "it is no JPEG"),
    "nothing": (b"", "it is no JPEG"),
    "its begin alone": (b"\xff\xd8", "it is cut or damaged"),
    "a page after it": (made() + b"<script>alert(1)</script>", "something follows it"),
    "an archive after it": (made() + b"PK\x03\x04" + bytes(30), "something follows it"),
    "another image after it": (made() + made(), "something follows it"),
    "without its end": (made()[:-2], "its end is missing"),
    "a comment": (made(comment=b"<script>alert(1)</script>"), "segment 0xfe"),
    "EXIF": (made(exif=EXIF), "segment 0xe1"),
    "a profile": (made(icc_profile=b"x" * 200), "segment 0xe2"),
    "progressive": (made(progressive=True), "segment 0xc2"),
    "four colours": (made(mode="CMYK"), "segment 0xee"),
    "too wide": (made((257, 2)), "257 x 2 pixels, at most 256 x 256"),
    "too high": (made((2, 257)), "2 x 257 pixels"),
}


@pytest.mark.parametrize("name", BAD)
def test_anything_else_is_refused(name: str) -> None:
    content, why = BAD[name]
    with pytest.raises(ValueError, match=why):
        jpeg.size_of(content, 256)


def test_a_size_of_nothing_or_of_a_bomb_is_refused() -> None:
    content = made()
    at = content.index(b"\xff\xc0")
    for size in (bytes(4), b"\xff\xff\xff\xff", b"\x00\x01\x00\x00"):
        with pytest.raises(ValueError, match="pixels, at most"):
            jpeg.size_of(content[: at + 5] + size + content[at + 9 :], 256)


@given(st.binary(max_size=300), st.integers(0, 700), st.integers(0, 40))
def test_no_bytes_raise_anything_else_or_hang(noise: bytes, at: int, cut: int) -> None:
    content = made((16, 16))
    for hostile in (noise, b"\xff\xd8" + noise, content[:at] + noise + content[at + cut :]):
        try:
            width, height = jpeg.size_of(hostile, 256)
        except ValueError:
            continue
        assert 0 < width <= 256
        assert 0 < height <= 256
        assert hostile.startswith(b"\xff\xd8")
        assert hostile.endswith(b"\xff\xd9")
