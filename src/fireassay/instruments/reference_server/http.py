"""How does the reference server parse HTTP requests?

HTTP/1.1 with keep-alive, one request at a time per connection: a pipelined request is refused, since no measuring client should
pipeline. Bodies need a content-length; chunked ones are refused.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

MAX_HEAD_LENGTH: Final = 64 * 1024
MAX_BODY_LENGTH: Final = 256 * 1024 * 1024
READ: Final = 32 * 1024  # allocated for every read; larger ones come from mmap
SO_TIMESTAMPNS: Final = 35  # Linux, include/uapi/asm-generic/socket.h; missing in the module socket
_ANCILLARY: Final = socket.CMSG_SPACE(16)


class Refused(Exception):
    """A request that is not read further: `status` and the reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """The needed parts of a request's head."""

    method: str
    path: str
    length: int
    keep: bool
    expects: bool  # waits for 100 Continue before it sends its body
    id: str
    fault: str


@lru_cache(maxsize=4096)
def parsed(head: bytes) -> Head:
    """Parse a head without its empty line. Cached: in a load most heads are equal.

    Raises:
        Refused: not an HTTP/1 request, or without a length.
    """
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(400, "not an HTTP/1 request")
    headers: dict[str, str] = {}
    for text in rest:
        name, colon, value = text.partition(":")
        if not colon:
            raise Refused(400, "a header has no colon")
        headers[name.strip().lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise Refused(411, "a request needs a content-length")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) > MAX_BODY_LENGTH:
        raise Refused(400, "the content-length is invalid or too large")
    persistence = headers.get("connection", "").lower()
    keep = "keep-alive" in persistence if words[2] == "HTTP/1.0" else "close" not in persistence
    return Head(
        words[0],
        words[1].partition("?")[0],
        int(length),
        keep,
        "100-continue" in headers.get("expect", "").lower(),
        headers.get("x-request-id", ""),
        headers.get("x-reference-fault", ""),
    )


class Inbox:
    """The bytes of one connection that were read but not consumed yet."""

    __slots__ = ("_continued", "_data", "_head", "_stamps", "arrived_ns", "link")

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.arrived_ns: int | None = None  # of the last byte read, monotonic
        self._data = bytearray()
        self._head: Head | None = None
        self._continued = False
        self._stamps = stamped(link)

    def read(self) -> bool:
        """Read available bytes; False if the peer has closed.

        Raises:
            OSError: the connection is broken.
        """
        try:
            if self._stamps:
                data, ancillary, _, _ = self.link.recvmsg(READ, _ANCILLARY)
                self.arrived_ns = _monotonic(ancillary)
            else:
                data = self.link.recv(READ)
        except BlockingIOError:
            return True
        self._data += data
        return bool(data)

    def request(self) -> tuple[Head, bytes] | None:
        """The next complete request, if any.

        Raises:
            Refused: the bytes are not a valid request.
        """
        head, data = self._head, self._data
        if head is None:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > MAX_HEAD_LENGTH:
                    raise Refused(431, "the head of a request is too long")
                return None
            head = self._head = parsed(bytes(data[:end]))
            del data[: end + 4]
        if len(data) < head.length:
            if head.expects and not self._continued:
                self._continued = True
                self.link.send(b"HTTP/1.1 100 Continue\r\n\r\n")
            return None
        body = bytes(data[: head.length])
        del data[: head.length]
        self._head, self._continued = None, False
        return head, body

    @property
    def waiting(self) -> bool:
        """True if there are unconsumed bytes."""
        return bool(self._data)


def stamped(link: socket.socket) -> bool:
    """Enable kernel timestamps for received bytes; whether they are supported."""
    try:
        link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return hasattr(link, "recvmsg")


def _monotonic(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    """Convert the kernel's arrival time (wall clock) to the monotonic clock, by its age."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(data) >= 16:
            seconds, ns = struct.unpack("qq", data[:16])
            ago = time.time_ns() - (seconds * 1_000_000_000 + ns)
            # a wall clock set in between would give nonsense
            return time.monotonic_ns() - ago if 0 <= ago < 60_000_000_000 else None
    return None
