"""What does a request to the reference server say, and who sends it?

HTTP/1.1 with keep-alive, one request at a time on a connection: one that comes before the answer to the one before it has
ended is refused, since no client of a measurement should pipeline.  Bodies have a content-length; chunked ones are refused.
"""

from __future__ import annotations

import socket
import struct
import time
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

LONGEST_HEAD: Final = 64 * 1024
LONGEST_BODY: Final = 256 * 1024 * 1024
READ: Final = 32 * 1024  # the buffer is made anew for every read, and larger ones come from the kernel
SO_TIMESTAMPNS: Final = 35  # Linux, include/uapi/asm-generic/socket.h; the module socket does not name it
_ANCILLARY: Final = socket.CMSG_SPACE(16)


class Refused(Exception):
    """A request that is not read further: `status` and the reason."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


@dataclass(frozen=True, slots=True)
class Head:
    """The head of a request, as far as it matters here."""

    method: str
    path: str
    length: int
    keep: bool
    expects: bool  # waits for 100 Continue before it sends its body
    id: str
    fault: str


@lru_cache(maxsize=4096)
def parsed(head: bytes) -> Head:
    """Read a head without its empty line. Equal heads, the rule in a load, are read once.

    Raises:
        Refused: it is no HTTP/1 request, or has no length.
    """
    first, *rest = head.decode("latin-1").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise Refused(400, "this is no HTTP/1 request")
    headers: dict[str, str] = {}
    for text in rest:
        name, colon, value = text.partition(":")
        if not colon:
            raise Refused(400, "a header has no colon")
        headers[name.strip().lower()] = value.strip()
    if "transfer-encoding" in headers:
        raise Refused(411, "a request needs a content-length")
    length = headers.get("content-length", "0")
    if not (length.isascii() and length.isdigit()) or int(length) > LONGEST_BODY:
        raise Refused(400, "the content-length is none that is read here")
    asks = headers.get("connection", "").lower()
    keep = "keep-alive" in asks if words[2] == "HTTP/1.0" else "close" not in asks
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
    """The bytes of one connection that were read and not yet used."""

    __slots__ = ("_continued", "_data", "_head", "_stamps", "arrived_ns", "link")

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.arrived_ns: int | None = None  # of the last byte read, monotonic
        self._data = bytearray()
        self._head: Head | None = None
        self._continued = False
        self._stamps = stamped(link)

    def read(self) -> bool:
        """Take what has come; False if the other side has closed.

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
        """The request that has come whole, if any.

        Raises:
            Refused: what has come is none.
        """
        head, data = self._head, self._data
        if head is None:
            end = data.find(b"\r\n\r\n")
            if end < 0:
                if len(data) > LONGEST_HEAD:
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
        """Whether there are bytes that belong to no request that was taken."""
        return bool(self._data)


def stamped(link: socket.socket) -> bool:
    """Ask the kernel to say when the bytes of this connection came; whether it does."""
    try:
        link.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
    except OSError:
        return False
    return hasattr(link, "recvmsg")


def _monotonic(ancillary: list[tuple[int, int, bytes]]) -> int | None:
    """The kernel's time of arrival (wall clock) on the monotonic clock: by how long ago it was."""
    for level, kind, data in ancillary:
        if level == socket.SOL_SOCKET and kind == SO_TIMESTAMPNS and len(data) >= 16:
            seconds, ns = struct.unpack("qq", data[:16])
            ago = time.time_ns() - (seconds * 1_000_000_000 + ns)
            # a wall clock that was set in between would give nonsense
            return time.monotonic_ns() - ago if 0 <= ago < 60_000_000_000 else None
    return None
