"""Which images does an answer of the images API hold?

An image is described by a line of the answer's text (`fireassay.quality.scoring.image_heads`); its pixels are never decoded.  Type and size are
those that the file's own head states.  Hashing takes some 5 ms for each MB of an image, after the answer has ended.
Cannot tell: whether what follows the head can be decoded.
Sources: PNG (W3C, 2003), 11.2.2; GIF89a, 18; WebP container, https://developers.google.com/speed/webp/docs/riff_container; ITU-T T.81, B.2.2.
"""

from __future__ import annotations

import binascii
import hashlib
import struct
from typing import Any, Final

from fireassay.quality.scoring.image_heads import ImageHead

LINK: Final = "link"  # the line of an image that is elsewhere; its address may hold a key, so it is not kept
NO_IMAGE: Final = "no image of PNG, JPEG, WebP or GIF"
NO_SIZE: Final = frozenset({0xC4, 0xC8, 0xCC})  # JPEG markers among the frame headers that are none


def head_of(data: bytes) -> ImageHead:
    """The description of a file. Raises ValueError: it begins like none of the known types."""
    kind, width, height = _head(data)
    if not (width and height):
        raise ValueError(f"an image of {width} x {height} pixels")
    return ImageHead(kind, width, height, len(data), hashlib.sha256(data).hexdigest())


def content_of(entry: Any) -> bytes | None:
    """The file in an entry of `data`, or in an event; None: the entry has a link. Raises ValueError: it has neither, or invalid base64."""
    text = entry.get("b64_json") if isinstance(entry, dict) else None
    if isinstance(text, str) and text:
        if text.startswith("data:"):
            text = text.partition(",")[2]
        try:
            return binascii.a2b_base64(text, strict_mode=True)
        except binascii.Error as error:
            raise ValueError(f"b64_json is not base64: {error}") from None
    if isinstance(entry, dict) and entry.get("url"):
        return None
    raise ValueError("an entry of `data` has neither b64_json nor url")


def _head(data: bytes) -> tuple[str, int, int]:
    try:
        if data.startswith(b"\x89PNG\r\n\x1a\n") and data[12:16] == b"IHDR":
            return "png", *struct.unpack_from(">II", data, 16)
        if data.startswith((b"GIF87a", b"GIF89a")):
            return "gif", *struct.unpack_from("<HH", data, 6)
        if data.startswith(b"\xff\xd8\xff"):
            return "jpeg", *_of_jpeg(data)
        if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
            return "webp", *_of_webp(data)
    except (struct.error, IndexError):
        raise ValueError("an image whose head is cut off") from None
    raise ValueError(f"{NO_IMAGE}: it begins with {data[:8]!r}")


def _of_jpeg(data: bytes) -> tuple[int, int]:
    at = 2
    while True:
        while data[at + 1] == 0xFF:  # padding
            at += 1
        marker = data[at + 1]
        if data[at] != 0xFF or marker in (0xD9, 0xDA):
            raise ValueError("a JPEG without a frame header")
        if 0xC0 <= marker <= 0xCF and marker not in NO_SIZE:
            height, width = struct.unpack_from(">HH", data, at + 5)
            return width, height
        at += 2 + struct.unpack_from(">H", data, at + 2)[0]


def _of_webp(data: bytes) -> tuple[int, int]:
    chunk = data[12:16]
    if chunk == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if chunk == b"VP8L" and data[20] == 0x2F:
        (bits,) = struct.unpack_from("<I", data, 21)
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    if chunk == b"VP8 " and data[23:26] == b"\x9d\x01\x2a":
        width, height = struct.unpack_from("<HH", data, 26)
        return width & 0x3FFF, height & 0x3FFF
    raise ValueError("a WebP without a known head")
