"""The least that a client on uvloop can do: a bare protocol that keeps each read and its time, finds an answer's end, and asks again.

    python benchmarks/bare_protocol.py PORT CONNECTIONS REQUESTS TOKENS

Prints requests, seconds and processor seconds.  It parses nothing, records nothing and checks nothing: the floor for a client in Python.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import uvloop

END = b"0\r\n\r\n"


class Bare(asyncio.Protocol):
    """One connection."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.reads: list[tuple[int, bytes]] = []
        self.transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep a read; at the answer's end ask again."""
        self.reads.append((time.monotonic_ns(), data))
        if data.endswith(END):
            self.run.done += 1
            self.reads = []
            self.ask()

    def ask(self) -> None:
        """Send the next request, if there is one."""
        run = self.run
        if run.sent < run.wanted:
            run.sent += 1
            self.transport.write(run.request)
        elif run.done >= run.wanted:
            run.over.set()


class Run:
    """What all connections share."""

    def __init__(self, wanted: int, tokens: int) -> None:
        told = {"model": "m", "stream": True, "max_tokens": tokens, "messages": [{"role": "user", "content": "0" * 512}]}
        body = json.dumps(told, separators=(",", ":")).encode()
        head = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        self.request = b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), body)
        self.wanted, self.sent, self.done = wanted, 0, 0
        self.over = asyncio.Event()


async def main(port: int, connections: int, requests: int, tokens: int) -> None:
    """Load the server."""
    loop, run = asyncio.get_running_loop(), Run(requests, tokens)
    made = [await loop.create_connection(lambda: Bare(run), "127.0.0.1", port) for _ in range(connections)]
    begin, cpu = time.monotonic(), time.process_time()
    for _, one in made:
        one.ask()
    await run.over.wait()
    print(run.done, time.monotonic() - begin, time.process_time() - cpu)
    for transport, _ in made:
        transport.close()


if __name__ == "__main__":
    uvloop.run(main(*map(int, sys.argv[1:5])))
