"""Are times those of the last bytes' arrival, and is it known since when others may have lain there?

And is a connection without asyncio's transport as good as one with it?
"""

from __future__ import annotations

import asyncio
import select
import socket
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvloop

from fireassay.traffic.parts import Wire
from fireassay.traffic.wire import sockets
from fireassay.traffic.wire.connection import Pool
from fireassay.traffic.wire.response import Exchange, Payloads, address_of
from fireassay.traffic.wire.sockets import Link, Poller, connected, stamping
from tests.limits import PROCESS_S

pytestmark = pytest.mark.skipif(not stamping(), reason="the kernel's stamps are Linux's")


class Heard:
    """A receiver that keeps what it is told."""

    def __init__(self) -> None:
        self.reads: list[tuple[bytes, int]] = []
        self.ends: list[Any] = []
        self.link: Link | None = None
        self.ended = asyncio.Event()

    def connection_made(self, link: Link) -> None:
        self.link = link

    def received(self, data: bytes, ns: int, unsure: int) -> None:
        self.reads.append((data, ns))

    def eof_received(self) -> None:
        self.ends.append("eof")

    def connection_lost(self, exc: Exception | None) -> None:
        self.ends.append(exc)
        self.ended.set()


@contextmanager
def peer(act: Callable[[socket.socket], None]) -> Iterator[tuple[str, int]]:
    """The other side of one connection."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        link, _ = listening.accept()
        with link:
            act(link)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listening.getsockname()
    finally:
        thread.join(10.0)
        listening.close()
        assert not thread.is_alive()


def linked(address: tuple[str, int], use: Callable[[Heard, Link], Awaitable[None]]) -> Heard:
    """Connect, use the link, and give what was heard."""

    async def all_of_it() -> Heard:
        loop = asyncio.get_running_loop()
        poller, heard = Poller(loop), Heard()
        wait_until_stamped()
        try:
            assert await connected(loop, socket.AF_INET, address, heard, poller)
            assert heard.link is not None
            await use(heard, heard.link)
        finally:
            if heard.link is not None:
                heard.link.abort()
                await asyncio.wait_for(heard.ended.wait(), 10.0)
            poller.close()
        return heard

    return uvloop.run(all_of_it())


def is_stamped() -> bool:
    """Whether the kernel stamps packets as they come, for whoever asks later: this asks only once the packet is there."""
    with socket.socket(type=socket.SOCK_DGRAM) as asking, socket.socket(type=socket.SOCK_DGRAM) as to:
        asking.bind(("127.0.0.1", 0))
        to.connect(asking.getsockname())
        to.send(b"?")
        assert select.select([asking], [], [], PROCESS_S)[0]
        there_ns = time.time_ns()
        time.sleep(0.01)
        asking.setsockopt(socket.SOL_SOCKET, sockets.SO_TIMESTAMPNS, 1)
        _, ancillary, _, _ = asking.recvmsg(8, socket.CMSG_SPACE(16))
    stamps = [struct.unpack("qq", data) for _, kind, data in ancillary if kind == sockets.SO_TIMESTAMPNS]
    return any(seconds * 1_000_000_000 + ns <= there_ns for seconds, ns in stamps)


def wait_until_stamped() -> None:
    deadline = time.monotonic() + PROCESS_S
    while not is_stamped():
        assert time.monotonic() < deadline
        time.sleep(0.05)  # until the kernel has stopped because of what was asked for here


def test_the_kernel_stamps_before_the_first_connection_is_made() -> None:
    """It begins some time after the first socket asks and ends with the last one: of connections in turn a fifth had no first stamp."""

    async def kept() -> None:
        poller = Poller(asyncio.get_running_loop())
        try:
            wait_until_stamped()
        finally:
            poller.close()

    uvloop.run(kept())


@pytest.mark.slow
def test_a_time_is_that_of_the_arrival_even_where_the_process_looked_late() -> None:
    sent: list[int] = []
    go, gone = threading.Event(), threading.Event()

    def act(link: socket.socket) -> None:
        go.wait(10.0)
        sent.append(time.monotonic_ns())
        link.sendall(b"token")
        sent.append(time.monotonic_ns())
        gone.wait(10.0)

    async def use(heard: Heard, _: Link) -> None:
        go.set()
        while len(sent) < 2:  # the loop does not look at its sockets meanwhile
            time.sleep(0.001)
        time.sleep(0.2)
        while not heard.reads:
            await asyncio.sleep(0.001)
        gone.set()

    with peer(act) as address:
        heard = linked(address, use)
    ((data, ns),) = heard.reads
    assert data == b"token"
    assert sent[0] - 1_000_000 <= ns <= sent[1] + 100_000_000  # half of what it was late; a busy machine may add its own


@pytest.mark.parametrize("ago_s", [-3600.0, 3600.0])
def test_a_stamp_of_a_wall_clock_that_was_set_counts_as_the_time_of_the_read(ago_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = threading.Event()

    def act(link: socket.socket) -> None:
        link.sendall(b"token")
        gone.wait(10.0)

    async def use(heard: Heard, _: Link) -> None:
        while not heard.reads:
            await asyncio.sleep(0.001)
        gone.set()

    before = time.monotonic_ns()
    real = time.time_ns
    monkeypatch.setattr(sockets, "time_ns", lambda: real() + int(ago_s * 1e9))
    with peer(act) as address:
        heard = linked(address, use)
    assert before < heard.reads[0][1] <= time.monotonic_ns()


def test_more_than_the_kernel_takes_at_once_is_sent_all_the_same() -> None:
    came = bytearray()
    slow, all_came = threading.Event(), threading.Event()
    data = bytes(range(256)) * 40_000

    def act(link: socket.socket) -> None:
        slow.wait(10.0)
        while len(came) < len(data) + 3:
            came.extend(link.recv(1 << 20))
        all_came.set()

    async def use(heard: Heard, link: Link) -> None:
        link.write(data)
        link.write(b"end")
        slow.set()
        while not all_came.is_set():
            await asyncio.sleep(0.005)

    with peer(act) as address:
        linked(address, use)
    assert bytes(came) == data + b"end"


def test_an_end_and_a_reset_are_told_apart_and_told_once() -> None:
    async def wait(heard: Heard, _: Link) -> None:
        await asyncio.wait_for(heard.ended.wait(), 10.0)

    with peer(lambda link: link.sendall(b"last")) as address:
        heard = linked(address, wait)
    assert (heard.reads[0][0], heard.ends) == (b"last", ["eof", None])

    def reset(link: socket.socket) -> None:
        link.recv(1)
        link.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def ask(heard: Heard, link: Link) -> None:
        link.write(b"?")
        await wait(heard, link)

    with peer(reset) as address:
        heard = linked(address, ask)
    assert len(heard.ends) == 1
    assert isinstance(heard.ends[0], ConnectionResetError)


def test_writing_to_a_connection_that_is_gone_ends_it() -> None:
    async def use(heard: Heard, link: Link) -> None:
        while not heard.ends:
            link.write(b"x" * 65536)
            await asyncio.sleep(0.001)
        link.write(b"nobody hears this")
        assert link.is_closing()

    with peer(lambda link: None) as address:
        heard = linked(address, use)
    assert heard.ends[-1] is None or isinstance(heard.ends[-1], OSError)


def test_where_the_kernel_does_not_stamp_the_loop_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "SO_TIMESTAMPNS", 0x7FFF)  # no such option

    def act(link: socket.socket) -> None:
        link.recv(4096)
        link.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    async def ask(url: str) -> Exchange:
        pool, done = Pool(address_of(url)), asyncio.Event()
        exchange = Exchange(None, Payloads(pool.address).payload(Wire(path="/", body=b"{}")), 1 << 20, lambda _: done.set())
        pool.send(exchange)
        await asyncio.wait_for(done.wait(), 10.0)
        await pool.close()
        return exchange

    with peer(act) as (host, port):
        exchange = uvloop.run(ask(f"http://{host}:{port}"))
    assert (exchange.transport, exchange.ended, exchange.reply().body) == ("lean", "complete", b"ok")


# ---- since when a socket was empty -------------------------------------------------------------------------------


class Script(Heard):
    """A receiver that keeps how unsure it is told to be."""

    def __init__(self) -> None:
        super().__init__()
        self.unsure: list[int] = []

    def received(self, data: bytes, ns: int, unsure: int) -> None:
        super().received(data, ns, unsure)
        self.unsure.append(unsure)


class Socket:
    """A socket that gives what a test says, without stamps."""

    def __init__(self, *reads: bytes) -> None:
        self.reads = list(reads)

    def fileno(self) -> int:
        return -1

    def recvmsg(self, *_: int) -> tuple[bytes, list[Any], int, None]:
        return self.reads.pop(0), [], 0, None


class Clock:
    """A poller's clock, which stands."""

    def __init__(self, now_ns: int) -> None:
        self.now_ns = now_ns


def unsure_of(monkeypatch: pytest.MonkeyPatch, reads: list[tuple[int, int, int, int]]) -> list[int]:
    """How unsure each read is told to be: (look before it, begin of the read, its end, bytes)."""
    heard, clock = Script(), Clock(0)
    link = Link(Socket(*(b"x" * size for *_, size in reads)), heard, clock)  # type: ignore[arg-type]
    for looked_ns, begin_ns, end_ns, _ in reads:
        clock.now_ns = begin_ns
        monkeypatch.setattr(sockets, "monotonic_ns", lambda end_ns=end_ns: end_ns)
        link.ready(select.EPOLLIN, None, looked_ns)
    return heard.unsure


FULL = sockets.READ_BYTES


def test_a_socket_was_empty_at_the_look_before_which_did_not_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    assert unsure_of(monkeypatch, [(100, 600, 650, 5)]) == [-550]


def test_a_socket_was_empty_when_it_was_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """The look that named it began at 100, but others were read before it: it was emptied at 600."""
    assert unsure_of(monkeypatch, [(50, 600, 650, 5), (100, 700, 760, 5)]) == [-600, -160]


def test_what_did_not_fit_into_a_read_lay_there_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    reads = [(100, 600, 650, FULL), (600, 700, 760, FULL), (700, 800, 870, 5), (800, 900, 960, 5)]
    assert unsure_of(monkeypatch, reads) == [-550, -660, -770, -160]


def test_a_process_that_was_stopped_between_two_looks_knows_nothing_of_the_time_in_between(monkeypatch: pytest.MonkeyPatch) -> None:
    second = 1_000_000_000
    assert unsure_of(monkeypatch, [(100, 150, 160, 5), (200, 200 + second, 300 + second, 5)]) == [-60, -second - 100]


@pytest.mark.slow
def test_looks_come_often_while_something_is_expected_and_not_otherwise() -> None:
    async def run() -> tuple[int, int, int]:
        expecting, loop = [True], asyncio.get_running_loop()
        poller = Poller(loop, lambda: expecting[0])
        looks = [poller.long_ago_ns]

        async def many(enough: int) -> int:
            """Looks until there were enough, or none came any more."""
            begin = len(looks)
            while len(looks) - begin < enough:
                await asyncio.sleep(0.001)
                if poller.long_ago_ns != looks[-1]:
                    looks.append(poller.long_ago_ns)
            return len(looks) - begin

        try:
            poller.hurry()
            first = await asyncio.wait_for(many(200), PROCESS_S)  # more than after which it is asked
            expecting[0] = False
            while poller._timer.running:  # it polls often
                await asyncio.sleep(0.001)
            stood = poller.long_ago_ns
            await asyncio.sleep(0.05)
            return first, stood, poller.long_ago_ns
        finally:
            poller.close()

    first, stood, still = uvloop.run(run())
    assert first >= 200
    assert stood == still
