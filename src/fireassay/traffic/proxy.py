"""How does a load meet a bad network?

Through a TCP proxy on loopback that forwards bytes until a fault is switched on.

    with Proxies(mark=mark) as proxies:
        url = proxies.before("http://127.0.0.1:8000")       # a front: its own address for one upstream
        proxies.control(url, delay_s=0.5, share=0.1)        # from now on
        proxies.control(url)                                # forward everything again

The proxy is a separate process (`python -I proxy.py`, with uvloop if installed), so it shares no interpreter with the coordinator or a
client.  It exits when its standard input closes, however the coordinator dies.

* reset: each open connection is reset (RST, both ways) with probability `share`, immediately; each new one likewise, when its first bytes
  arrive.
* delay: on each open or new connection, with probability `share`, every response byte is delayed by `delay_s`, in order.  Request bytes
  pass immediately, so a first token arrives exactly `delay_s` later.

If the upstream refuses a connection, the client's, already accepted, is reset.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any, Self, cast
from urllib.parse import urlsplit

HOST = "127.0.0.1"
HIGH_BYTES = 1 << 20  # bytes buffered per connection before reading from the upstream pauses
ANSWER_S = 10.0
CONNECT_S = 30.0
_LINGER_RST = struct.pack("ii", 1, 0)


# ---- the proxy's own process -------------------------------------------------------------------------------------


class _Side(asyncio.Protocol):
    """One side of a connection. It forwards what it reads to `other`."""

    def __init__(self, link: _Link) -> None:
        self.link = link
        self.transport: asyncio.Transport | None = None
        self.other: _Side | None = None
        self.ended = False  # it has sent everything

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.link.made(self)

    def data_received(self, data: bytes) -> None:
        self.link.pass_on(self, data)

    def eof_received(self) -> bool:
        self.ended = True
        self.link.pass_on(self, None)
        return True  # the other direction stays open

    def connection_lost(self, error: Exception | None) -> None:
        self.link.lost(self, error)

    def pause_writing(self) -> None:
        if self.other is not None and self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.pause_reading()

    def resume_writing(self) -> None:
        if self.other is not None and self.other.transport is not None and not self.other.transport.is_closing():
            self.other.transport.resume_reading()

    def put(self, data: bytes | None) -> None:
        if self.transport is None or self.transport.is_closing():
            return
        if data is not None:
            self.transport.write(data)
        elif self.ended:
            self.transport.close()
        else:
            self.transport.write_eof()

    def reset(self) -> None:
        if self.transport is None:
            return
        sock = self.transport.get_extra_info("socket")
        if sock is not None and not self.transport.is_closing():
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_RST)
        self.transport.abort()


class _Link:
    """A connection through a front: `near` is the client's side, `far` the upstream's."""

    def __init__(self, front: _Front) -> None:
        self.front = front
        self.near, self.far = _Side(self), _Side(self)
        self.near.other, self.far.other = self.far, self.near
        self.doomed = self.over = False
        self.early: list[bytes | None] = []  # from the client, before the upstream is connected
        self.delay_s = 0.0
        self.held: deque[tuple[float, bytes | None]] = deque()  # delayed responses: due time and bytes
        self.held_bytes = 0
        self.timer: asyncio.TimerHandle | None = None

    def made(self, side: _Side) -> None:
        if side is self.near:
            self.front.links.add(self)
            self.front.draw_reset(self)
            self.front.draw_delay(self)
            if not self.doomed:
                self.front.background(self._connect())
        elif self.over:
            side.reset()
        else:
            early, self.early = self.early, []
            for data in early:
                side.put(data)
            side.resume_writing()

    async def _connect(self) -> None:
        host, port = self.front.upstream
        try:
            await asyncio.wait_for(asyncio.get_running_loop().create_connection(lambda: self.far, host, port), CONNECT_S)
        except (OSError, TimeoutError):
            self.reset()

    def pass_on(self, side: _Side, data: bytes | None) -> None:
        if self.doomed:
            self.reset()
        elif side is self.near and self.far.transport is None:
            self.early.append(data)
            if sum(len(piece or b"") for piece in self.early) > HIGH_BYTES:
                self.far.pause_writing()
        elif side is self.near:
            self.far.put(data)
        elif self.delay_s or self.held:
            self._hold(data)
        else:
            self.near.put(data)

    def lost(self, side: _Side, error: Exception | None) -> None:
        if self.over:
            return
        if error is not None or side is self.near:
            self.reset()
        else:
            self.near.ended = True  # no receiver is left, so its end ends the connection
            if self.held:
                self._hold(None)
            else:
                self.near.put(None)

    def reset(self) -> None:
        """Reset both sides immediately."""
        self.over = True
        self.held.clear()
        if self.timer is not None:
            self.timer.cancel()
        self.front.links.discard(self)
        self.near.reset()
        self.far.reset()

    # ---- delaying

    def _hold(self, data: bytes | None) -> None:
        loop = asyncio.get_running_loop()
        self.held.append((loop.time() + self.delay_s, data))
        self.held_bytes += len(data or b"")
        if self.held_bytes > HIGH_BYTES:
            self.near.pause_writing()
        if self.timer is None:
            self.timer = loop.call_at(self.held[0][0], self.let_go)

    def let_go(self, *, everything: bool = False) -> None:
        """Forward what is due."""
        loop = asyncio.get_running_loop()
        if self.timer is not None:
            self.timer.cancel()
            self.timer = None
        while self.held and (everything or self.held[0][0] <= loop.time()):
            data = self.held.popleft()[1]
            self.held_bytes -= len(data or b"")
            self.near.put(data)
        if self.held:
            self.timer = loop.call_at(self.held[0][0], self.let_go)
        if self.held_bytes <= HIGH_BYTES:
            self.near.resume_writing()


class _Front:
    """The proxy address of one upstream, and the fault on its connections."""

    def __init__(self, upstream: tuple[str, int], seed: int) -> None:
        self.upstream, self.numbers = upstream, random.Random(seed)
        self.links: set[_Link] = set()
        self.reset_share = self.delay_share = self.delay_s = 0.0
        self._tasks: set[asyncio.Task[None]] = set()

    def background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def draw_reset(self, link: _Link) -> None:
        link.doomed = self.numbers.random() < self.reset_share

    def draw_delay(self, link: _Link) -> None:
        link.delay_s = self.delay_s if self.numbers.random() < self.delay_share else 0.0

    def control(self, reset_share: float, delay_share: float, delay_s: float) -> dict[str, int]:
        """Change the fault from now on; returns how many open connections it hit."""
        self.reset_share, self.delay_share, self.delay_s = reset_share, delay_share, delay_s
        affected, links = 0, list(self.links)
        for link in links:
            self.draw_reset(link)
            self.draw_delay(link)
            affected += link.doomed or link.delay_s > 0
            if link.doomed:
                link.reset()
            elif not link.delay_s:
                link.let_go(everything=True)
        return {"open": len(links), "hit": affected}


class _Server:
    """All fronts of a process, controlled by lines of JSON."""

    def __init__(self) -> None:
        self.fronts: list[_Front] = []
        self.servers: list[asyncio.Server] = []

    async def run(self) -> None:
        """Process orders until standard input closes."""
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader()
        await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            print(json.dumps(await self.obey(json.loads(line))), flush=True)

    async def obey(self, order: dict[str, Any]) -> dict[str, Any]:
        ns = time.monotonic_ns()
        if order["do"] == "add":
            front = _Front((order["host"], order["port"]), order["seed"])
            loop = asyncio.get_running_loop()
            server = await loop.create_server(lambda: _Link(front).near, HOST, 0, backlog=4096)
            self.fronts.append(front)
            self.servers.append(server)
            return {"ns": ns, "front": len(self.fronts) - 1, "port": server.sockets[0].getsockname()[1]}
        front = self.fronts[order["front"]]
        return {"ns": ns, **front.control(order["reset_share"], order["delay_share"], order["delay_s"])}


def main() -> None:
    """Entry point of the proxy process."""
    make: Callable[[], asyncio.AbstractEventLoop] = asyncio.new_event_loop
    with suppress(ImportError):
        import uvloop

        make = uvloop.new_event_loop
    with asyncio.Runner(loop_factory=make) as runner:
        runner.run(_Server().run())


# ---- the controlling side ---------------------------------------------------------------------------------------


class Proxies:
    """A proxy process and its fronts. Thread-safe."""

    def __init__(self, *, mark: str = "", seed: int = 0) -> None:
        """Start the process.

        Args:
            mark: value of FIREASSAY_MARK, which identifies the process for cleanup as a last resort.
            seed: of the random choice of connections.
        """
        self._seed, self._lock = seed, threading.Lock()
        self._fronts: dict[str, int] = {}
        environment = {name: os.environ[name] for name in ("PATH", "LANG", "LC_ALL", "SYSTEMROOT") if name in os.environ}
        self._process = subprocess.Popen(
            [sys.executable, "-I", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
            env={**environment, "FIREASSAY_MARK": mark} if mark else environment,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """Process ID of the proxy."""
        return self._process.pid

    def before(self, url: str) -> str:
        """A URL that leads through the proxy to `url`, with the same path.

        Raises:
            ValueError: `url` is not http: a certificate would not match the proxy.
            RuntimeError: the proxy has exited.
        """
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname is None:
            raise ValueError(f"the proxy supports only http://, not {parts.scheme}://")
        answer = self._ask(do="add", host=parts.hostname, port=parts.port or 80, seed=self._seed + len(self._fronts))
        address = f"http://{HOST}:{answer['port']}"
        self._fronts[address] = answer["front"]
        return address + parts.path.rstrip("/")

    def control(self, url: str, *, reset_share: float = 0.0, delay_s: float = 0.0, share: float = 1.0) -> dict[str, int]:
        """Change the fault of a front; without arguments everything passes.

        Returns:
            ns: when the change took effect; open: connections before; hit: how many of them were hit.

        Raises:
            KeyError: no such front.
            RuntimeError: the proxy has exited.
        """
        parts = urlsplit(url)
        front = self._fronts[f"http://{parts.netloc}"]
        delayed = share if delay_s else 0.0
        return self._ask(do="set", front=front, reset_share=reset_share, delay_share=delayed, delay_s=delay_s)

    def close(self) -> None:
        """End the process and all its connections."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(OSError):  # it has already exited
            stdin.close()
        try:
            self._process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        stdout.close()

    def _ask(self, **order: Any) -> dict[str, int]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with self._lock:
            try:
                stdin.write(json.dumps(order) + "\n")
                stdin.flush()
                line = stdout.readline()
            except (OSError, ValueError) as error:
                raise RuntimeError(f"the proxy has exited: {error}") from None
        if not line:
            raise RuntimeError("the proxy has exited")
        return cast(dict[str, int], json.loads(line))


if __name__ == "__main__":
    main()
