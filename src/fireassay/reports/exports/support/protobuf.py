"""How are the fields of a protobuf message written?  Enough of it for messages whose field numbers are known; needs no library.

A message is the concatenation of its fields in any order, so two messages of one type, one after the other, are one that has the fields of
both.  (https://protobuf.dev/programming-guides/encoding/)
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator


def varint(number: int) -> bytes:
    """A whole number of at most 64 bits, seven at a time; a negative one as its two's complement."""
    number &= 0xFFFF_FFFF_FFFF_FFFF
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes((*out, number))


def whole(field: int, number: int) -> bytes:
    """int32, int64, uint32, bool or enum."""
    return varint(field << 3) + varint(number)


def fixed(field: int, number: int) -> bytes:
    """fixed64."""
    return varint(field << 3 | 1) + struct.pack("<Q", number)


def double(field: int, number: float) -> bytes:
    """double."""
    return varint(field << 3 | 1) + struct.pack("<d", number)


def block(field: int, *parts: bytes) -> bytes:
    """bytes, an embedded message, or a packed field, from its parts."""
    content = b"".join(parts)
    return varint(field << 3 | 2) + varint(len(content)) + content


def text(field: int, content: str) -> bytes:
    """string; what is no Unicode (half a surrogate pair) becomes a question mark."""
    return block(field, content.encode(errors="replace"))


def packed(field: int, form: str, numbers: Iterable[float]) -> bytes:
    """A packed repeated field of numbers of one fixed `form`, as `struct` names it: d or Q."""
    every = tuple(numbers)
    return block(field, struct.pack(f"<{len(every)}{form}", *every))


def fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Each field's number and content. Raises ValueError: no message."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == 0:
            number, at = _varint(message, at)
            yield key >> 3, number
            continue
        length, at = _varint(message, at) if kind == 2 else ({1: 8, 5: 4}.get(kind, -1), at)
        if length < 0 or at + length > len(message):
            raise ValueError("not a protobuf message")
        yield key >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    number = 0
    for index in range(10):
        if at + index >= len(message):
            break
        number |= (message[at + index] & 0x7F) << 7 * index
        if message[at + index] < 0x80:
            return number, at + index + 1
    raise ValueError("not a protobuf message")
