"""How is a Chrome trace read that is larger than memory?  Event by event, keeping only the needed ones.

The file is one JSON object whose `traceEvents` lists millions of small objects: they are parsed one at a time, and the result of
`keep` is stored.  All other keys are read whole.
Source: Google, Trace Event Format; torch.profiler writes metadata before and after the events.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

CHUNK: Final = 1 << 20
LONGEST: Final = 64 << 20  # characters of one value; a longer one is damage, not an event
EVENTS: Final = "traceEvents"
_BLANK: Final = " \t\n\r"
_AFTER: Final = tuple(",:]}" + _BLANK)  # terminators of a value
Event = Mapping[str, Any]


class Stream(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """At most `size` bytes; none at the end."""


class TooLarge(Exception):
    """The trace exceeds the size limit."""


def read(stream: Stream, keep: Callable[[Event], Event | None], largest: int) -> dict[str, Any]:
    """The trace with only the events for which `keep` returns a value.

    Raises:
        TooLarge: the trace has more than `largest` bytes.
        ValueError: not a JSON object, or truncated.
    """
    text = _Text(stream, largest)
    sections: dict[str, Any] = {}
    for _ in text.inside("{}"):
        key = text.value()
        if not isinstance(key, str):
            raise ValueError(f"a key is {key!r}; allowed: a string")
        text.expect(":")
        if key == EVENTS and text.peek() == "[":
            events = (text.value() for _ in text.inside("[]"))
            sections[key] = [kept for event in events if isinstance(event, dict) and (kept := keep(event)) is not None]
        else:
            sections[key] = text.value()
    return sections


class _Text:
    """A sliding window over the file."""

    def __init__(self, stream: Stream, largest: int) -> None:
        self._stream, self._left = stream, largest
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        self._scan = json.JSONDecoder().raw_decode
        self._text, self._at, self._over = "", 0, False

    def peek(self) -> str:
        """The next non-blank character; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._text) or not self._more():
                return self._text[self._at : self._at + 1]

    def expect(self, character: str) -> None:
        """Consume this character. Raises ValueError if another follows."""
        actual = self.peek()
        if actual != character:
            raise ValueError(f"found {actual!r} where {character!r} belongs" if actual else "the file ends in the middle")
        self._at += 1

    def inside(self, brackets: str) -> Iterator[None]:
        """Once per member between these brackets, with the window at the member."""
        self.expect(brackets[0])
        separated = False
        while self.peek() != brackets[1]:
            if separated:
                self.expect(",")
            yield
            separated = True
        self.expect(brackets[1])

    def value(self) -> Any:
        """The next whole value."""
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
                continue  # a number may continue
            self._at = end
            return value

    def _more(self) -> bool:
        if self._over:
            return False
        # doubling avoids rescanning a value longer than the window for every piece
        size = max(CHUNK, len(self._text) - self._at)
        read = self._stream.read(size)
        self._left -= len(read)
        if self._left < 0:
            raise TooLarge
        self._over = not read
        self._text, self._at = self._text[self._at :] + self._decode(read, final=not read), 0
        return not self._over
