"""Connections are kept, shared and given up honestly: by the client in Python, and by the compiled one."""

from __future__ import annotations

import asyncio
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import uvloop

from fireassay.traffic.parts import Wire
from fireassay.traffic.wire.compiled import Core, CorePool, built
from fireassay.traffic.wire.connection import Pool
from fireassay.traffic.wire.response import Exchange, Payloads, address_of
from fireassay.traffic.wire.transports import tls_context
from tests.traffic.engine import Heard, engine, well

WIRE = Wire(path="/v1/chat/completions", body=b"{}")
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
COMPILED = pytest.param(True, id="compiled", marks=pytest.mark.skipif(not built(), reason="the core is not built here"))
asked: dict[str, bool] = {}


@pytest.fixture(params=[pytest.param(False, id="lean"), COMPILED], autouse=True)
def compiled(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    monkeypatch.setitem(asked, "compiled", request.param)
    return bool(request.param)


def pool_of(url: str, *, context: ssl.SSLContext | None = None, most: int | None = None) -> Pool:
    """The connections of the client that is asked for; TLS is always Python's."""
    if asked["compiled"] and context is None:
        return CorePool(Core(asyncio.get_running_loop()), address_of(url), most=most, connect_timeout_s=60.0)
    return Pool(address_of(url), context=context, most=most)


async def sent(pool: Pool, wire: Wire = WIRE) -> Exchange:
    """One request and its end."""
    ended = asyncio.get_running_loop().create_future()
    made = Exchange(None, Payloads(pool.address).payload(wire), 1 << 20, ended.set_result)
    pool.send(made)
    await ended
    return made


def pooled(url: str, use: Callable[[Pool], Any], **options: Any) -> Any:
    """Run something on a pool, and close it."""

    async def run() -> Any:
        pool = pool_of(url, **options)
        try:
            return await use(pool)
        finally:
            await pool.close()

    return uvloop.run(run())


def test_one_connection_serves_requests_one_behind_the_other() -> None:
    async def use(pool: Pool) -> list[Exchange]:
        return [await sent(pool) for _ in range(3)]

    with engine() as made:
        found = pooled(made.url, use)
    assert made.connections == 1
    assert [one.ended for one in found] == ["complete"] * 3
    assert [one.connect_ns is None for one in found] == [False, True, True]


@pytest.mark.slow
def test_a_cap_on_connections_holds_and_every_request_gets_its_turn() -> None:
    async def use(pool: Pool) -> list[Exchange]:
        return await asyncio.gather(*(sent(pool) for _ in range(20)))

    async def late(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(0.005)
        return await well(heard, writer)

    with engine(late) as made:
        found = pooled(made.url, use, most=3)
    assert [one.ended for one in found] == ["complete"] * 20
    assert made.most_open == 3
    assert [heard.number for heard in made.heard] == list(range(20))


@contextmanager
def serving(serve: Callable[[socket.socket], None], over: threading.Event | None = None) -> Iterator[str]:
    """A server of raw sockets in a thread, which is told when it is over."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=serve, args=(listening,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            if over is not None:
                over.set()
            thread.join(10.0)


@pytest.mark.slow
def test_an_answer_before_all_was_asked_ends_the_connection_and_no_request_is_mixed_with_the_rest_of_another() -> None:
    begins: list[bytes] = []
    over = threading.Event()

    def serve(listening: socket.socket) -> None:
        links = []
        for _ in range(2):
            link, _ = listening.accept()
            links.append(link)
            begins.append(link.recv(4096)[:5])
            link.sendall(OK)
        over.wait(10.0)
        for link in links:
            link.close()

    async def use(pool: Pool) -> list[Exchange]:
        return [await sent(pool, Wire(path="/", body=b"x" * (32 << 20))), await sent(pool)]

    with serving(serve, over) as url:
        found = pooled(url, use)
    assert [one.ended for one in found] == ["complete", "complete"]
    assert begins == [b"POST ", b"POST "]


@pytest.mark.slow
def test_an_answer_before_all_was_asked_is_heard_though_the_server_closes_then() -> None:
    told = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 50000\r\n\r\n" + b"x" * 50_000

    def serve(listening: socket.socket) -> None:
        link, _ = listening.accept()
        with link:
            link.recv(4096)
            link.sendall(told)  # and then a reset, for what was asked is not read

    async def use(pool: Pool) -> Exchange:
        return await sent(pool, Wire(path="/", body=b"x" * (32 << 20)))

    with serving(serve) as url:
        found = pooled(url, use)
    reply = found.reply()
    assert (found.ended, reply.http_status, len(reply.body)) == ("complete", 413, 50_000)


def test_times_of_an_answer_never_run_backwards() -> None:
    body = b"HTTP/1.1 200 OK\r\nContent-Length: 400000\r\n\r\n" + b"x" * 400_000

    async def large(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        writer.write(body)
        return True

    async def use(pool: Pool) -> list[Exchange]:
        return await asyncio.gather(*(sent(pool) for _ in range(8)))

    with engine(large) as made:
        found = [one for _ in range(5) for one in pooled(made.url, use)]
    assert all(one.ended == "complete" and len(one.ns) > 5 for one in found)
    assert all(one.ns == sorted(one.ns) and one.sent_ns is not None and one.ns[0] > one.sent_ns for one in found)


def test_connections_can_be_opened_ahead() -> None:
    together = asyncio.Barrier(4)

    async def when_all_are_in(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        await together.wait()  # else a fast answer frees its connection for a later request
        writer.write(OK)
        return True

    async def use(pool: Pool) -> list[Exchange]:
        pool.warm(4)
        await pool.warmed()
        return await asyncio.gather(*(sent(pool) for _ in range(4)))

    with engine(when_all_are_in) as made:
        found = pooled(made.url, use)
    assert made.connections == 4
    assert all(one.connect_ns is not None for one in found)


def test_nobody_listening_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        found = pooled(f"http://127.0.0.1:{taken.getsockname()[1]}", sent)
    assert (found.ended, found.why, found.sent_ns) == ("refused", "Connection refused", None)


def test_a_name_that_nobody_has_is_refused() -> None:
    found = pooled("http://no-such-host.invalid", sent)
    assert (found.ended, found.sent_ns) == ("refused", None)
    assert "no-such-host" not in found.why


@contextmanager
def script(*steps: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[bytes]]]:
    """A server that does one step for each connection, each in turn, on bare sockets."""
    heard: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(30)

        def serve() -> None:
            for step in steps:
                taken, _ = listener.accept()
                taken.settimeout(30)
                with taken:
                    step(taken)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", heard
        thread.join(30)
        assert not thread.is_alive()


def hear(taken: socket.socket) -> None:
    """One request with a body of two bytes."""
    data = b""
    while not data.endswith(b"\r\n\r\n{}"):
        data += taken.recv(65536)


def test_a_connection_that_was_closed_before_it_was_used_again_is_replaced_without_a_failure() -> None:
    closed = threading.Event()

    def once(taken: socket.socket) -> None:
        hear(taken)
        taken.sendall(OK)
        taken.close()
        closed.set()

    def again(taken: socket.socket) -> None:
        hear(taken)
        taken.sendall(OK)

    async def use(pool: Pool) -> list[Exchange]:
        payload = Payloads(pool.address).payload(WIRE)
        both: list[Exchange] = []
        done = asyncio.get_running_loop().create_future()

        def next_one(first: Exchange) -> None:
            both.append(first)
            assert closed.wait(30)  # the end of the connection has come, and nobody has looked
            pool.send(Exchange(None, payload, 1 << 20, done.set_result))

        pool.send(Exchange(None, payload, 1 << 20, next_one))
        both.append(await done)
        return both

    with script(once, again) as (url, _):
        first, second = pooled(url, use)
    assert (first.ended, second.ended) == ("complete", "complete")
    assert second.connect_ns is not None


def test_a_request_that_the_servers_kernel_took_is_never_sent_again() -> None:
    def dies(taken: socket.socket) -> None:
        hear(taken)
        taken.sendall(OK)
        taken.recv(1, socket.MSG_PEEK)  # the next request has come, and is not read
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))

    async def use(pool: Pool) -> list[Exchange]:
        return [await sent(pool), await sent(pool)]

    with script(dies) as (url, _):
        first, second = pooled(url, use)
    assert first.ended == "complete"
    assert (second.ended, second.why[:6]) == ("closed", "reset:")


def test_words_on_an_idle_connection_are_not_taken_for_an_answer() -> None:
    idle = threading.Event()

    def talks(taken: socket.socket) -> None:
        hear(taken)
        taken.sendall(OK)
        assert idle.wait(30)  # on a connection that is asked something it would be an answer
        taken.sendall(OK.replace(b"ok", b"no"))
        with suppress(ConnectionError):
            taken.recv(1)  # until it is given up

    def answers(taken: socket.socket) -> None:
        hear(taken)
        taken.sendall(OK)

    async def use(pool: Pool) -> list[Exchange]:
        first = await sent(pool)
        idle.set()
        while pool.open:
            await asyncio.sleep(0.001)
        return [first, await sent(pool)]

    with script(talks, answers) as (url, _):
        found = pooled(url, use)
    assert [(one.ended, one.reply().body) for one in found] == [("complete", b"ok")] * 2


def test_a_fresh_connection_that_is_closed_without_a_word_is_a_reset() -> None:
    def shut(taken: socket.socket) -> None:
        hear(taken)

    with script(shut) as (url, _):
        found = pooled(url, sent)
    assert found.ended == "closed"
    assert found.why == "reset: the server closed the connection without an answer"


def test_a_large_request_is_written_whole() -> None:
    async def use(pool: Pool) -> Exchange:
        return await sent(pool, Wire(path="/x", body=b"x" * (8 << 20)))

    with engine() as made:
        found = pooled(made.url, use)
    assert (found.ended, len(made.heard[0].body)) == ("complete", 8 << 20)


def test_a_request_that_is_given_up_takes_its_connection_with_it() -> None:
    async def hang(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        if heard.number == 0:
            await asyncio.sleep(60)
        return await well(heard, writer)

    async def use(pool: Pool) -> list[Exchange]:
        ended = asyncio.get_running_loop().create_future()
        first = Exchange(None, Payloads(pool.address).payload(WIRE), 1 << 20, ended.set_result)
        pool.send(first)
        while not made.heard:
            await asyncio.sleep(0.001)
        first.connection.give_up(first, "timeout", "late")
        await ended
        return [first, await sent(pool)]

    with engine(hang) as made:
        first, second = pooled(made.url, use)
    assert (first.ended, first.why, second.ended) == ("timeout", "late", "complete")
    assert made.connections == 2


# ---- TLS ---------------------------------------------------------------------------------------------------------


def server_context(certificate: tuple[Path, Path]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    return context


def test_tls_works_and_its_handshake_is_part_of_connecting(certificate: tuple[Path, Path]) -> None:
    trusting = ssl.create_default_context(cafile=str(certificate[0]))

    async def use(pool: Pool) -> list[Exchange]:
        return [await sent(pool), await sent(pool)]

    with engine(context=server_context(certificate)) as made:
        found = pooled(made.url, use, context=trusting)
    assert [one.ended for one in found] == ["complete"] * 2
    assert b"Hello" in found[0].reply().body
    assert found[0].connect_ns is not None
    assert made.connections == 1


def test_a_certificate_that_nobody_vouches_for_is_refused_unless_that_is_wanted(certificate: tuple[Path, Path]) -> None:
    with engine(context=server_context(certificate)) as made:
        refused = pooled(made.url, sent, context=tls_context(verify=True))
        taken = pooled(made.url, sent, context=tls_context(verify=False))
    assert refused.ended == "refused"
    assert "certificate" in refused.why.lower()
    assert taken.ended == "complete"
