"""How is a Chrome trace read that is larger than memory?  Event by event, keeping what somebody asked for.

The file is one JSON object of which `traceEvents` is a list of millions of small objects: only one of them is made at a time, and what
`keep` gives for it is kept.  Everything else of the object is read as it is.
Source: the Trace Event Format; torch.profiler writes its metadata before and behind the events.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

CHUNK: Final = 1 << 20
LONGEST: Final = 64 << 20  # characters of one value: what is longer is no event, but damage that has no end
EVENTS: Final = "traceEvents"
_BLANK: Final = " \t\n\r"
_AFTER: Final = tuple(",:]}" + _BLANK)  # what ends a value
Event = Mapping[str, Any]


class Stream(Protocol):
    """What gives bytes."""

    def read(self, size: int, /) -> bytes:
        """At most so many of them; none at the end."""


class TooLarge(Exception):
    """The trace is longer than it may be."""


def read(stream: Stream, keep: Callable[[Event], Event | None], largest: int) -> dict[str, Any]:
    """The trace with only those events for which `keep` gives something.

    Raises:
        TooLarge: it has more bytes than `largest`.
        ValueError: it is no JSON object, or ends before its end.
    """
    text = _Text(stream, largest)
    found: dict[str, Any] = {}
    text.expect("{")
    if text.peek() == "}":
        text.expect("}")
        return found
    while True:
        key = text.value()
        if not isinstance(key, str):
            raise ValueError(f"a key is {key!r}; allowed: a string")
        text.expect(":")
        if key == EVENTS and text.peek() == "[":
            found[key] = [kept for event in _items(text) if isinstance(event, dict) and (kept := keep(event)) is not None]
        else:
            found[key] = text.value()
        if text.peek() == "}":
            text.expect("}")
            return found
        text.expect(",")


def _items(text: _Text) -> Iterator[Any]:
    text.expect("[")
    if text.peek() == "]":
        text.expect("]")
        return
    while True:
        yield text.value()
        if text.peek() == "]":
            text.expect("]")
            return
        text.expect(",")


class _Text:
    """A window that moves over the file."""

    def __init__(self, stream: Stream, largest: int) -> None:
        self._stream, self._left = stream, largest
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._scan = json.JSONDecoder().raw_decode
        self._text, self._at, self._over = "", 0, False

    def peek(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def expect(self, character: str) -> None:
        """That character comes next."""
        found = self.peek()
        if found != character:
            raise ValueError(f"found {found!r} where {character!r} belongs" if found else "the file ends in the middle")
        self._at += 1

    def value(self) -> Any:
        """The next value, whole."""
        if not self.peek():
            raise ValueError("the file ends in the middle")
        while True:
            try:
                value, end = self._scan(self._text, self._at)
            except json.JSONDecodeError:
                if len(self._text) - self._at > LONGEST or not self._more():
                    raise
                continue
            if self._text[end : end + 1] not in _AFTER and len(self._text) - self._at <= LONGEST and self._more():
                continue  # a number goes on, or may
            self._at = end
            return value

    def _more(self) -> bool:
        if self._over:
            return False
        # a value longer than the window is not scanned again for every piece of it
        size = max(CHUNK, len(self._text) - self._at)
        read = self._stream.read(size)
        self._left -= len(read)
        if self._left < 0:
            raise TooLarge
        self._over = not read
        self._text, self._at = self._text[self._at :] + self._decode(read, final=not read), 0
        return not self._over
