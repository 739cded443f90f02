"""Does the compiled core do what the client in Python does, whatever a server sends; and does it send, follow and give back as it
should?
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from time import monotonic_ns
from typing import Any

import pytest
import uvloop
from hypothesis import given
from hypothesis import strategies as st

from fireassay.traffic.parts import Wire
from fireassay.traffic.wire.compiled import DONE, Core, CorePool, built
from fireassay.traffic.wire.connection import Pool
from fireassay.traffic.wire.response import Exchange, Payloads, address_of
from tests.tiers import examples
from tests.traffic.engine import Engine, Heard, engine, well

pytestmark = pytest.mark.skipif(not built(), reason="the core is not built here")
WIRE = Wire(path="/v1/chat/completions", body=b"{}")
MS = 1_000_000


# ---- the same as in Python ---------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.1 204 No Content\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n",
        b"HTTP/1.1 2x0 No\r\n",
        b"HTTP/1.1 500 Oh\r\n",
        b"Content-Length: 3\r\n",
        b"Content-Length: 5\r\n",
        b"Content-Length: -1\r\n",
        b"content-length:  3 \r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: gzip\r\n",
        b"Connection: close\r\n",
        b"Connection: Keep-Alive\r\n",
        b"no colon\r\n",
        b": no name\r\n",
        b"\r\n",
        b"\r\n\r\n",
        b"3\r\nabc\r\n",
        b"A;x=1\r\n0123456789\r\n",
        b"3\r\nabcd\r\n",
        b"zz\r\n",
        b" 2 \r\nab\r\n",
        b"1 2\r\nab\r\n",
        b"2\nab\n",
        b"0\r\n\r\n",
        b"0\r\nX: y\r\n\r\n",
        b"0\r\n",
        b"abc",
        b"",
    ]
)
WELL = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"",
    ]
)
ANSWERS = st.tuples(WELL, st.lists(PIECES, max_size=8), st.lists(st.integers(1, 200), max_size=4))


@contextmanager
def saying(answers: list[list[bytes]]) -> Iterator[str]:
    """A server that gives its next connection the next answer, piece by piece, and closes it."""
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for pieces in answers:
            link, _ = listening.accept()
            with link, suppress(OSError):
                link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                link.recv(1 << 16)
                for piece in pieces:
                    link.sendall(piece)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        thread.join(30)
        listening.close()
        assert not thread.is_alive()


async def sent(pool: Pool) -> Exchange:
    """One request and its end."""
    ended = asyncio.get_running_loop().create_future()
    pool.send(Exchange(None, Payloads(pool.address).payload(WIRE), 1 << 20, ended.set_result))
    found: Exchange = await ended
    return found


def heard_by(make: Callable[[str], Pool], answers: list[list[bytes]]) -> list[tuple[Any, ...]]:
    """What a client makes of each answer, on a connection of its own."""

    async def run(url: str) -> list[tuple[Any, ...]]:
        found = []
        for _ in answers:
            pool = make(url)
            exchange = await sent(pool)
            reply = exchange.reply()
            assert len(reply.ends) == len(reply.ns) == len(exchange.ns)
            assert list(reply.ns) == sorted(reply.ns)
            found.append((reply.ended, reply.why, reply.http_status, reply.body, dict(reply.headers)))
            await pool.close()
        return found

    with saying(answers) as url:
        return uvloop.run(run(url))


def lean(url: str) -> Pool:
    return Pool(address_of(url))


def compiled(url: str) -> Pool:
    return CorePool(Core(asyncio.get_running_loop()), address_of(url), most=None, connect_timeout_s=60.0)


def in_pieces(answer: tuple[bytes, list[bytes], list[int]]) -> list[bytes]:
    whole = b"".join((answer[0], *answer[1]))
    ends = sorted({place for place in answer[2] if place < len(whole)})
    return [whole[begin:end] for begin, end in zip([0, *ends], [*ends, len(whole)], strict=True)]


@pytest.mark.slow
@examples(150)
@given(st.lists(ANSWERS, min_size=4, max_size=4))
def test_every_answer_means_the_same_to_both_clients(drawn: list[tuple[bytes, list[bytes], list[int]]]) -> None:
    answers = [in_pieces(one) for one in drawn]
    for pieces, python, core in zip(answers, heard_by(lean, answers), heard_by(compiled, answers), strict=True):
        if python[0] == "closed" and core[0] != "closed":
            assert core[2:] == python[2:]
            continue  # the core reads the framing as it comes in, the other one at an end that may not come
        assert core == python, pieces


# ---- following ---------------------------------------------------------------------------------------------------


class Followed:
    """A pool, and exchanges that note how they ended."""

    def __init__(self, pool: CorePool) -> None:
        self.pool, self.told = pool, list[tuple[str, int]]()
        self.changed = asyncio.Event()

    def exchange(self, number: int, due_ns: int = 0) -> Exchange:
        made = Exchange(None, Payloads(self.pool.address).payload(WIRE), 1 << 20, lambda one: self._note("ended", one))
        made.back, made.number, made.due_ns = lambda one: self._note("back", one), number, due_ns
        return made

    def _note(self, what: str, one: Exchange) -> None:
        self.told.append((what if what == "back" else one.ended, one.number))
        self.changed.set()

    async def until(self, count: int) -> list[tuple[str, int]]:
        """Wait until so many were told of."""
        while len(self.told) < count:
            self.changed.clear()
            async with asyncio.timeout(30):
                await self.changed.wait()
        return self.told


def following(made: Engine, use: Callable[[Followed], Any], noted: memoryview | None = None) -> Any:
    async def run() -> Any:
        pool = CorePool(Core(asyncio.get_running_loop(), noted), address_of(made.url), most=None, connect_timeout_s=60.0)
        try:
            return await use(Followed(pool))
        finally:
            await pool.close()

    return uvloop.run(run())


async def late(heard: Heard, writer: asyncio.StreamWriter) -> bool:
    await asyncio.sleep(0.05)
    return await well(heard, writer)


@pytest.mark.slow
def test_what_follows_is_sent_on_the_same_connection_as_soon_as_the_answer_has_ended() -> None:
    async def use(on: Followed) -> tuple[Exchange, Exchange]:
        first, second = on.exchange(0), on.exchange(1)
        on.pool.send(first)
        on.pool.arm(first, second, 0)
        assert sorted(await on.until(2)) == [("complete", 0), ("complete", 1)]
        return first, second

    noted = memoryview(array("q", [0, 0, 0]))
    with engine(late) as made:
        first, second = following(made, use, noted)
    assert made.connections == 1
    assert second.due_ns == first.done_ns
    assert second.sent_ns is not None
    assert second.sent_ns >= first.done_ns
    assert list(noted) == [0, second.due_ns, 0]


@pytest.mark.slow
def test_what_is_armed_too_late_follows_all_the_same() -> None:
    async def use(on: Followed) -> list[tuple[str, int]]:
        first = on.exchange(0)
        on.pool.send(first)
        while not made.heard:
            await asyncio.sleep(0.001)
        while on.pool.core._core.look(first.handle)[0] != DONE:  # the loop stands still: it has ended, and nobody has taken it
            time.sleep(0.001)
        on.pool.arm(first, on.exchange(1), 0)
        return await on.until(2)

    with engine(late) as made:
        assert sorted(following(made, use)) == [("complete", 0), ("complete", 1)]


def test_a_pause_is_kept() -> None:
    async def use(on: Followed) -> tuple[Exchange, Exchange]:
        first, second = on.exchange(0), on.exchange(1)
        on.pool.send(first)
        on.pool.arm(first, second, 30 * MS)
        await on.until(2)
        return first, second

    with engine() as made:
        first, second = following(made, use)
    assert second.due_ns == first.done_ns + 30 * MS
    assert second.sent_ns is not None
    assert second.sent_ns >= second.due_ns


@pytest.mark.parametrize("why", ["an error", "the end", "held", "stopped"])
def test_what_must_not_follow_is_given_back(why: str) -> None:
    async def behave(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(0.02)
        if why != "an error":
            return await well(heard, writer)
        writer.write(b"HTTP/1.1 503 Busy\r\nContent-Length: 2\r\n\r\nno")
        return True

    async def use(on: Followed) -> list[tuple[str, int]]:
        first = on.exchange(0)
        on.pool.send(first)
        on.pool.arm(first, on.exchange(1), 0)
        if why == "the end":
            on.pool.core.limit(monotonic_ns())
        if why == "held":
            on.pool.core.hold(True)
        if why == "stopped":
            on.pool.core.stop()
        return await on.until(2)

    with engine(behave) as made:
        assert following(made, use) == [("back", 1), ("complete", 0)]
    assert len(made.heard) == 1


@pytest.mark.slow
def test_a_request_is_sent_when_it_is_due_and_not_before() -> None:
    async def use(on: Followed) -> list[Exchange]:
        due = monotonic_ns() + 60 * MS
        made = [on.exchange(n, due + n * 10 * MS) for n in (2, 0, 1)]
        for one in made:
            on.pool.send(one)
        assert await on.until(3) == [("complete", 0), ("complete", 1), ("complete", 2)]
        return made

    with engine() as made:
        for one in following(made, use):
            assert one.sent_ns is not None
            assert one.sent_ns >= one.due_ns


def test_what_is_not_due_when_the_load_is_stopped_is_given_back() -> None:
    async def use(on: Followed) -> list[tuple[str, int]]:
        on.pool.send(on.exchange(0, monotonic_ns() + 60_000 * MS))
        on.pool.core.stop()
        return on.told

    with engine() as made:
        assert following(made, use) == [("back", 0)]
    assert not made.heard


def test_what_waits_or_is_not_due_can_be_given_up() -> None:
    async def use(on: Followed) -> list[str]:
        waiting, queued = on.exchange(0), on.exchange(1, monotonic_ns() + 60_000 * MS)
        for one in (waiting, queued):
            on.pool.send(one)
            on.pool.give_up(one, "cancelled", "not needed")
        assert [one.sent_ns for one in (waiting, queued)] == [None, None]
        return [one.why for one in (waiting, queued)]

    with engine() as made:
        assert following(made, use) == ["not needed"] * 2


def test_the_time_of_a_lone_read_is_sure_and_lies_within_the_exchange() -> None:
    async def use(on: Followed) -> Exchange:
        one = on.exchange(0)
        on.pool.send(one)
        await on.until(1)
        return one

    with engine(late) as made:
        one = following(made, use)
    assert one.sent_ns is not None
    assert len(one.unsure) == len(one.ns)
    assert all(one.sent_ns <= ns - abs(unsure) <= ns for ns, unsure in zip(one.ns, one.unsure, strict=True))


@pytest.mark.parametrize(
    "sent", [b"Content-Length: 2\0", b"Content-Length: \0" + b"2", b"\0Content-Length: 2", b"Transfer-Encoding: chunked\0"]
)
def test_a_nul_is_no_blank(sent: bytes) -> None:
    """It ends C's text, but not a header: both clients must see the same end of the answer, or one takes the rest for another answer."""
    answer = [b"HTTP/1.1 200 OK\r\n" + sent + b"\r\n\r\n{}"]
    assert heard_by(compiled, [answer]) == heard_by(lean, [answer])
