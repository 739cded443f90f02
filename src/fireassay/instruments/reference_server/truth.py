"""What did the reference server do, by its own clock?

One line of JSON per request, in the order of reading. Times are CLOCK_MONOTONIC nanoseconds, shared by all processes of a host:

    request       number in the order of reading, from 0        id       the request's header x-request-id, if any
    server        the replica's name                            sha256   first 16 digits of the body's SHA-256
    connection    number of the connection, from 0              stream   whether the answer was streamed
    arrived_ns    when its last byte reached this host's socket, by the kernel; null if not reported
    read_ns       when this program had read it
    begin_ns      when its service began: later than read_ns if it waited for a slot; null: never
    sent_ns       just before every send(), after read_ns       first_text, texts   which of the sends hold text, and how many
    tokens_in, tokens_out   words of the prompt and of the answer; of a cut answer, the planned words
    fault         names of the faults that struck, with +
    outcome       complete, close, reset, hang, refused (no room), abandoned (the client went away), invalid, or open (not ended)
    first_left_ns when the send() of the first text had returned: the kernel got it between these two times; null: there was none
    blocked       sends that found the connection full: their bytes left later than their recorded time
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Entry:
    """A request in the server's own log."""

    request: int
    id: str
    sha256: str
    server: str
    connection: int
    stream: bool
    arrived_ns: int | None
    read_ns: int
    begin_ns: int | None = None
    sent_ns: array[int] = field(default_factory=lambda: array("q"))  # absolute
    first_text: int = 0
    texts: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    fault: str = ""
    outcome: str = "open"
    blocked: int = 0
    first_left_ns: int | None = None

    @property
    def text_ns(self) -> list[int]:
        """When each piece of text was handed over, absolute."""
        return list(self.sent_ns[self.first_text : self.first_text + self.texts])

    @property
    def came_ns(self) -> int:
        """When the request arrived: by the kernel, else by this program."""
        return self.read_ns if self.arrived_ns is None else self.arrived_ns


NAMES = tuple(Entry.__dataclass_fields__)


def line(entry: Entry) -> str:
    """Serialise an entry."""
    row: dict[str, Any] = {name: getattr(entry, name) for name in NAMES}
    row["sent_ns"] = [ns - entry.read_ns for ns in entry.sent_ns]
    return json.dumps(row, separators=(",", ":"))


def lines(entries: Iterable[Entry]) -> Iterator[bytes]:
    """All entries, in chunks large enough for writing."""
    batch: list[str] = []
    for entry in entries:
        batch.append(line(entry))
        if len(batch) >= 256:
            yield ("\n".join(batch) + "\n").encode()
            batch.clear()
    yield ("".join(text + "\n" for text in batch)).encode()


def entries(data: str | bytes) -> list[Entry]:
    """The entries of a truth file or of a response from /reference/truth.

    Raises:
        ValueError: a line is not from this server.
    """
    rows = []
    for text in data.splitlines():
        row = json.loads(text)
        row["sent_ns"] = array("q", (ns + row["read_ns"] for ns in row["sent_ns"]))
        rows.append(Entry(**row))
    return rows
