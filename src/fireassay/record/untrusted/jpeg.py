"""Is a file a plain JPEG of a bounded size, with nothing in it but its pixels?

As `fireassay.instruments.images.decoding` draws small copies: baseline, 8 bits, one scan, no metadata and no byte after the end.  So nothing can hide in
one: no EXIF, comment, profile or further file.  Nothing is decoded.
Source: ITU-T T.81 (1992), annex B; ITU-T T.871 (2011), JFIF.
"""

from __future__ import annotations

import re
from typing import Final

BEGIN: Final = b"\xff\xd8"
END: Final = b"\xff\xd9"
APP0, TABLES, FRAME, SCAN = 0xE0, (0xDB, 0xC4, 0xDD), 0xC0, 0xDA  # JFIF; quantisation, Huffman, restarts; baseline; start of scan
JFIF: Final = b"JFIF\0"
JFIF_LENGTH: Final = 16  # without a thumbnail of its own
MARKER: Final = re.compile(rb"\xff[^\x00\xd0-\xd7]")  # in a scan all but a stuffed byte and a restart


def size_of(content: bytes, most: int) -> tuple[int, int]:
    """Width and height in pixels, each at most `most`. Raises ValueError: it is anything else, in a few words."""
    if content[:2] != BEGIN:
        raise ValueError("it is no JPEG")
    at, size = 2, None
    while True:
        marker, segment = _segment(content, at)
        at += 4 + len(segment)
        if marker == FRAME and size is None:
            size = _frame(segment, most)
        elif marker == SCAN and size is not None:
            break
        elif marker not in TABLES and not (marker == APP0 and segment.startswith(JFIF) and len(segment) == JFIF_LENGTH - 2):
            raise ValueError(f"it has a segment {marker:#x} that no small copy has")
    end = MARKER.search(content, at)
    if end is None or content[end.start() :] != END:
        raise ValueError("its end is missing, or something follows it")
    return size


def _segment(content: bytes, at: int) -> tuple[int, bytes]:
    """A marker and the bytes after its length."""
    length = int.from_bytes(content[at + 2 : at + 4], "big")
    segment = content[at + 4 : at + 2 + length]
    if content[at : at + 1] != b"\xff" or length < 2 or len(segment) < length - 2:
        raise ValueError("it is cut or damaged")
    return content[at + 1], segment


def _frame(segment: bytes, most: int) -> tuple[int, int]:
    height, width = int.from_bytes(segment[1:3], "big"), int.from_bytes(segment[3:5], "big")
    if len(segment) < 6 or segment[0] != 8 or segment[5] not in (1, 3):
        raise ValueError("it is not of 8 bits with one or three colours")
    if not (0 < width <= most and 0 < height <= most):
        raise ValueError(f"it has {width:,} x {height:,} pixels, at most {most} x {most}")
    return width, height
