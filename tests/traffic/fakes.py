"""Servers that speak a vendor's wire format, on this machine and for the length of a test.

A `Fake` answers every request with the same reply, piece by piece with chunked transfer coding, and keeps what it was sent.
`exchange` is the plainest client there is: it notes when each piece came.  Frames of Amazon's event stream are built here
from their specification (prelude, headers, payload, two CRC-32), not by the library that reads them.
"""

from __future__ import annotations

import json
import struct
import threading
import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

from fireassay import catalog
from fireassay.spec.sections.serving import Target
from fireassay.traffic.parts import Answer, Ask, Reply, Wire
from tests.limits import PROCESS_S
from tests.traffic.transcripts import reply_of


@dataclass
class SeenRequest:
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        """Its body."""
        return json.loads(self.body)


@dataclass
class Fake:
    """A server that runs."""

    url: str
    asked: list[SeenRequest] = field(default_factory=list)


@contextmanager
def serving(pieces: Sequence[bytes], *, status: int = 200, headers: Mapping[str, str] | None = None) -> Iterator[Fake]:
    """A server that answers with these pieces, until the block ends."""
    sent = {"Content-Type": "text/event-stream"} if headers is None else headers

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            given = {name.lower(): value for name, value in self.headers.items()}
            fake.asked.append(SeenRequest(self.command, self.path, given, self.rfile.read(length)))
            self.send_response(status)
            for name, value in sent.items():
                self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            for piece in pieces:
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake = Fake(f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def exchange(url: str, wire: Wire) -> Reply:
    """Send one request and read its answer as it comes."""
    parts = urlsplit(url)
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=PROCESS_S)
    try:
        connection.request(wire.method, wire.path, wire.body, dict(wire.headers))
        response = connection.getresponse()
        reads: list[tuple[int, bytes]] = []
        while data := response.read1(1 << 16):
            reads.append((time.monotonic_ns(), data))
        given = {name.lower(): value for name, value in response.getheaders()}
        return reply_of(reads, http_status=response.status, headers=given)
    finally:
        connection.close()


def asked_for_real(target: Target, ask: Ask, pieces: Sequence[bytes], **more: Any) -> tuple[SeenRequest, Answer]:
    """What a backend sends to a fake that answers so, and what it makes of the answer."""
    backend = catalog.load("traffic.backends", target.backend)
    with serving(pieces, **more) as fake:
        wire = backend.wire(ask, target)
        if backend.prepare is not None:
            wire = backend.prepare(target)(wire, fake.url)
        answer = backend.read(exchange(fake.url, wire), ask)
    (asked,) = fake.asked
    return asked, answer


# ---- wire formats ------------------------------------------------------------------------------------------------


def sse(*told: object, end: str = "\n") -> bytes:
    """Server-sent events, one per object; a text stands as it is."""
    lines = (each if isinstance(each, str) else json.dumps(each) for each in told)
    return "".join(f"data: {line}{end}{end}" for line in lines).encode()


def frame(name: str, told: object, *, kind: str = "event") -> bytes:
    """A frame of Amazon's event stream (application/vnd.amazon.eventstream)."""
    given = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(_text_header(key, value) for key, value in given.items())
    payload = json.dumps(told).encode()
    prelude = struct.pack("!II", 16 + len(headers) + len(payload), len(headers))
    prelude += struct.pack("!I", zlib.crc32(prelude))
    message = prelude + headers + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _text_header(name: str, value: str) -> bytes:
    return struct.pack("!B", len(name)) + name.encode() + struct.pack("!BH", 7, len(value)) + value.encode()
