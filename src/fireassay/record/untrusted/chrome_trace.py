"""How is a Chrome trace read that is larger than memory?  Event by event, keeping only the needed ones.

The file is one JSON object whose `traceEvents` lists millions of small objects, or (`alone`) that list: they are parsed one at a time, and the
result of `keep` is stored.  All other keys are read whole.
Source: Google, Trace Event Format (the closing bracket of a list alone is optional); torch.profiler writes metadata before and after the events.
"""

from __future__ import annotations

import codecs
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol

from fireassay.units import MIB

CHUNK: Final = 1 << 20
MAX_VALUE_LENGTH: Final = 64 << 20  # characters of one value; a longer one is damage, not an event
EVENTS: Final = "traceEvents"
# uncompressed bytes of a trace to summarise: takes minutes, and memory for the needed events
MAX_TRACE_BYTES: Final = 4096 * MIB
# errors that a damaged trace raises; RecursionError if deeply nested
UNREADABLE: Final = (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_BLANK: Final = " \t\n\r"
_AFTER: Final = tuple(",:]}" + _BLANK)  # terminators of a value
_UNNEEDED: Final = ("python_function", "ac2g", "fwdbwd", "overhead")  # event categories that no summary uses
_PLAIN: Final = ("ph", "cat", "name", "pid", "tid", "ts", "dur")
_MEMORY: Final = ("Device Type", "Device Id", "Total Allocated", "Bytes")
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
    sections: dict[str, Any] = {}
    kept = [one for event in events(stream, largest, sections) if (one := keep(event)) is not None]
    return {key: kept if value is LISTED else value for key, value in sections.items()}


LISTED: Final = object()  # stands in `sections` for the events, which are not kept


def events(stream: Stream, largest: int, sections: dict[str, Any], *, alone: bool = False) -> Iterator[Event]:
    """The events one by one; `sections` gets all other keys, and is complete once the last event was taken. Raises like `read`.

    `alone`: the file may be the list of events without an object around it.
    """
    text = _Text(stream, largest)
    if alone and text.peek() == "[":
        sections[EVENTS] = LISTED
        yield from _listed(text, closed=False)
        return
    for _ in text.inside("{}"):
        key = text.value()
        if not isinstance(key, str):
            raise ValueError(f"a key is {key!r}; allowed: a string")
        text.expect(":")
        if key == EVENTS and text.peek() == "[":
            sections[key] = LISTED
            yield from _listed(text)
        else:
            sections[key] = text.value()


def _listed(text: _Text, *, closed: bool = True) -> Iterator[Event]:
    for _ in text.inside("[]", closed=closed):
        event = text.value()
        if isinstance(event, dict):
            yield event


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

    def inside(self, brackets: str, *, closed: bool = True) -> Iterator[None]:
        """Once per member between these brackets, with the window at the member; not `closed`: the file may end after a member."""
        self.expect(brackets[0])
        separated = False
        while self.peek() != brackets[1]:
            if not closed and not self.peek():
                return
            if separated:
                self.expect(",")
                if not closed and not self.peek():
                    return
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
                if len(self._text) - self._at > MAX_VALUE_LENGTH or not self._more():
                    raise
                continue
            if self._text[end : end + 1] not in _AFTER and len(self._text) - self._at <= MAX_VALUE_LENGTH and self._more():
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


def needed(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The part of an event that a summary needs: most of the millions in a trace are flow arrows or Python frames."""
    details = event.get("args") or {}
    if event.get("name") == "[memory]":
        return {"name": "[memory]", "args": {key: details[key] for key in _MEMORY if key in details}}
    if event.get("ph") != "X" or event.get("cat") in _UNNEEDED:
        return None
    if event.get("cat") != "cpu_op" or "Collective name" in details:
        return event
    return {key: event[key] for key in _PLAIN if key in event}
