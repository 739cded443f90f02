"""How is chunked framing removed from an answer, and how much of the body had arrived by each read?

Most bodies are plain: every chunk is a size, its data and a line end, without extensions or trailers.  Those are split in one pass after
they have ended; anything else goes through `Dechunker`, read by read.  Source: RFC 9112, section 7.1.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import Final, NamedTuple, cast

LAST: Final = b"0\r\n\r\n"
MAX_LINE_LENGTH: Final = 1 << 16  # bytes of a chunk's size line, extensions included
_FEW: Final = 12  # reads: up to this many, checking each is faster


class _Sizes(dict[bytes, int]):
    """Cache: chunk size in hexadecimal -> integer."""

    def __missing__(self, text: bytes) -> int:
        if not text or len(text) > 12 or text.strip(b"0123456789abcdefABCDEF"):
            raise ValueError(f"not a chunk size: {text[:40]!r}")
        value = int(text, 16)
        if value < 4096:
            self[text] = value  # at most 4096 sizes in a few spellings
        return value


SIZES: Final = _Sizes()


class Framed(NamedTuple):
    """A chunked body as received, and how many of its bytes had arrived by each read (negative: still in the head)."""

    raw: bytes
    ends: list[int]

    def without_framing(self, unsure: Sequence[int]) -> list[int]:
        """Each read's uncertainty (`Reply.unsure`) for body bytes: after the last one, framing may have arrived later."""
        raw = self.raw
        return [
            certain_end(raw[max(0, end - 3) : max(0, end)], unsure_bytes)
            for unsure_bytes, end in zip(unsure, self.ends, strict=bool(unsure))
        ]

    def unframed(self) -> tuple[bytes, list[int]]:
        """The body, and how much of it had arrived by each read. Ignores anything after its end.

        Raises:
            ValueError: the framing is not chunked, or has no end.
        """
        pieces = plain_chunks(self.raw)
        if pieces is not None:
            return b"".join(pieces[1::2]), plain_ends(pieces, self)
        dechunker, ends, begin = Dechunker(), [], 0
        for end in self.ends:
            end = max(end, 0)
            dechunker.feed(self.raw[begin:end])
            ends.append(dechunker.size)
            begin = end
        if not dechunker.done:
            raise ValueError("the answer's chunks continue after its apparent end")
        return b"".join(dechunker.pieces), ends


def certain_end(tail: bytes, unsure: int) -> int:
    """A read's uncertainty for the body, from the read's last bytes: only an event's end rules out trailing framing."""
    return unsure if unsure < 0 or tail.endswith(b"\n\r\n") else -max(1, unsure)


class Dechunker:
    """Removes chunked framing read by read, for what `plain_chunks` cannot handle: extensions, trailers, CR LF inside."""

    def __init__(self) -> None:
        self.pieces: list[bytes] = []
        self.size = 0  # bytes of the body so far
        self.done = False
        self.rest = b""  # bytes after the end
        self._line = b""  # an unfinished line
        self._left = 0  # missing bytes of the current chunk
        self._after = False  # the CR LF after a chunk's data is still missing
        self._trailer = False

    def feed(self, data: bytes) -> None:
        """Process one read. Raises ValueError: the framing is not chunked."""
        position = 0
        while position < len(data) and not self.done:
            position = self._data(data, position) if self._left else self._lines(data, position)
        if self.done:
            self.rest += data[position:]

    def _data(self, data: bytes, position: int) -> int:
        piece = data[position : position + self._left]
        self.pieces.append(piece)
        self.size += len(piece)
        self._left -= len(piece)
        self._after = not self._left
        return position + len(piece)

    def _lines(self, data: bytes, position: int) -> int:
        stop = data.find(b"\n", position)
        self._line += data[position : stop + 1 if stop >= 0 else len(data)]
        if len(self._line) > MAX_LINE_LENGTH:
            raise ValueError("a chunk's line without end")
        if stop < 0:
            return len(data)
        line, self._line = self._line.rstrip(b"\r\n"), b""
        if self._trailer:
            self.done = not line
        elif self._after:
            if line:
                raise ValueError("a chunk exceeds its size")
            self._after = False
        else:
            self._left = SIZES[line.partition(b";")[0].strip()]
            self._trailer = not self._left
        return stop + 1


def plain_chunks(raw: bytes) -> list[bytes] | None:
    """Sizes and data of a chunked body, alternating; None if it has not ended or is not plain."""
    pieces = raw.split(b"\r\n")
    if pieces[-3:] != [b"0", b"", b""]:
        return None
    del pieces[-3:]
    try:
        plain = list(map(SIZES.__getitem__, pieces[::2])) == list(map(len, pieces[1::2]))
    except ValueError:
        return None
    return pieces if plain else None


def plain_ends(pieces: Sequence[bytes], framed: Framed) -> list[int]:
    """How much of a body of plain chunks had arrived by each read.

    Nearly all reads end at a chunk boundary: there, the line ends so far give the number of chunks, and so the amount of framing.
    """
    raw_ends = framed.ends
    total = sum(map(len, pieces[1::2]))
    if len(raw_ends) == 1:
        return [total]
    if len(raw_ends) > _FEW:
        return _exact_ends(pieces, raw_ends)
    widths = list(accumulate(map(len, pieces[::2]), initial=0))  # total width of the sizes before each chunk
    whole = len(widths) - 1
    ends: list[int] = []
    lines = begin = 0
    for end in raw_ends:
        lines += framed.raw.count(b"\r\n", begin, max(end, 0))
        chunks, inside = divmod(lines, 2)
        if chunks >= whole:
            ends.append(total)
        elif end < 0 or inside or (end and framed.raw[end - 2 : end] != b"\r\n"):
            return _exact_ends(pieces, raw_ends)
        else:
            ends.append(end - widths[chunks] - 4 * chunks)
        begin = max(end, 0)
    return ends


def _exact_ends(pieces: Sequence[bytes], raw_ends: Sequence[int]) -> list[int]:
    """The same for reads that end anywhere."""
    widths = list(map(len, pieces))
    body_ends = list(accumulate(widths[1::2]))
    stops = [stop + 4 * n for n, stop in enumerate(accumulate(map(int.__add__, widths[::2], widths[1::2])), 1)]
    end_by_stop = dict(zip(stops, body_ends, strict=True))
    end_by_stop[0] = 0
    end_by_stop[raw_ends[-1]] = body_ends[-1] if body_ends else 0
    ends = list(map(end_by_stop.get, raw_ends))
    if None in ends:  # a read that ended inside a chunk
        ends = [_body_end(end, stops, body_ends, widths) for end in raw_ends]
    return cast(list[int], ends)


def _body_end(raw_end: int, stops: list[int], body_ends: list[int], widths: list[int]) -> int:
    """Body bytes within the first `raw_end` raw bytes."""
    whole = bisect_right(stops, raw_end)
    before = body_ends[whole - 1] if whole else 0
    if whole == len(stops):
        return before
    partial = raw_end - (stops[whole - 1] if whole else 0) - widths[2 * whole] - 2
    return before + max(0, min(partial, widths[2 * whole + 1]))
