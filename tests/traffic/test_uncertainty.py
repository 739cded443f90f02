"""Does every stamp carry how much earlier its bytes may have come: of a client that was blocked, of merged packets, of TLS?"""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import uvloop

from fireassay.traffic.parts import Answer, Ask, Reply, Wire
from fireassay.traffic.replies.openai_stream import read_openai
from fireassay.traffic.wire.connection import Pool
from fireassay.traffic.wire.response import Exchange, Payloads, address_of
from fireassay.traffic.wire.sockets import DELAYED_NS, judged, polling, stamping
from fireassay.traffic.wire.transports import tls_context
from tests.limits import PROCESS_S
from tests.traffic.engine import HEAD, chunked, delta, event, usage

CLOCKS_NS = 50_000  # the wall clock is held against the monotonic one to some microseconds
ASK = Ask(task="chat", model="m", messages=({"role": "user", "content": "?"},))
ANSWER = (
    HEAD,
    chunked(delta("")),
    *(chunked(delta(f"t{n}")) for n in range(6)),
    chunked(delta("", "stop")),
    chunked(usage(6)),
    chunked(event(b"[DONE]")) + b"0\r\n\r\n",
)


@dataclass
class Sent:
    """What a server sent, and when: each piece left between its two times."""

    port: int = 0
    spans: list[tuple[int, int]] = field(default_factory=list)
    asked: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)
    over: threading.Event = field(default_factory=threading.Event)


@contextmanager
def pieces(*parts: bytes, gap_s: float = 0.004, context: ssl.SSLContext | None = None) -> Iterator[Sent]:
    """A server that answers one request piece by piece, each in a packet of its own, as soon as it may go."""
    listening, sent = socket.create_server(("127.0.0.1", 0)), Sent()
    sent.port = listening.getsockname()[1]

    def serve() -> None:
        bare, _ = listening.accept()
        with bare if context is None else context.wrap_socket(bare, server_side=True) as link, suppress(OSError):
            link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            link.recv(1 << 16)
            sent.asked.set()
            sent.go.wait(PROCESS_S)
            for part in parts:
                begin = time.monotonic_ns()
                link.sendall(part)
                sent.spans.append((begin, time.monotonic_ns()))
                time.sleep(gap_s)
            sent.over.set()
            link.recv(1)

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield sent
    finally:
        sent.go.set()
        thread.join(PROCESS_S)
        listening.close()
        assert not thread.is_alive()


def asked(sent: Sent, *, blocked: bool, tls: bool = False) -> Reply:
    """One request's reply. `blocked`: the loop looks at nothing until all has been sent."""

    async def run() -> Reply:
        ended: asyncio.Future[Exchange] = asyncio.get_running_loop().create_future()
        context = tls_context(verify=False) if tls else None
        pool = Pool(address_of(f"http{'s' if tls else ''}://127.0.0.1:{sent.port}"), context=context)
        payload = Payloads(pool.address).payload(Wire(path="/v1/chat/completions", body=b"{}"))
        exchange = Exchange(None, payload, 1 << 20, ended.set_result)
        pool.send(exchange)
        while not sent.asked.is_set():
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.02)  # looks at an empty socket
        sent.go.set()
        if blocked:
            assert sent.over.wait(PROCESS_S)
        await asyncio.wait_for(ended, PROCESS_S)
        reply = exchange.reply()
        await pool.close()
        return reply

    return uvloop.run(run())


def within(answer: Answer, spans: list[tuple[int, int]]) -> list[bool]:
    """Per chunk: whether the time at which it was sent lies where its stamp says."""
    told = zip(answer.chunk_ns, answer.chunk_uncertainty_ns, spans, strict=True)
    return [ns - unsure <= after + CLOCKS_NS and before <= ns + CLOCKS_NS for ns, unsure, (before, after) in told]


@pytest.mark.skipif(not stamping(), reason="the kernel's stamps are Linux's")
@pytest.mark.parametrize("blocked", [False, True])
def test_every_chunk_came_within_the_uncertainty_of_its_stamp(blocked: bool) -> None:
    """A loop that was blocked for several tokens stamped the first of them with the last one's time, and nothing said so."""
    with pieces(*ANSWER) as sent:
        answer = read_openai(asked(sent, blocked=blocked), ASK, True)
    assert answer.status == "ok"
    assert all(within(answer, sent.spans[1:]))


@pytest.mark.skipif(not stamping(), reason="the kernel's stamps are Linux's")
def test_a_loop_that_was_blocked_says_by_how_much_it_may_be_wrong() -> None:
    with pieces(*ANSWER) as sent:
        answer = read_openai(asked(sent, blocked=True), ASK, True)
    first, last = answer.chunk_ns[1], sent.spans[2][1]
    assert first - last > 10_000_000  # five gaps late ...
    assert answer.chunk_uncertainty_ns[1] >= first - last  # ... and within what is told


@pytest.mark.skipif(not stamping(), reason="the kernel's stamps are Linux's")
def test_a_chunk_that_ends_its_read_is_certain_however_late_it_was_read() -> None:
    whole = b"".join(ANSWER[:3])  # head, role and the first token in one packet
    with pieces(whole, b"".join(ANSWER[3:])) as sent:
        answer = read_openai(asked(sent, blocked=False), ASK, True)
    assert answer.chunk_uncertainty_ns[1] == 0


@pytest.mark.skipif(not polling(), reason="looks are counted by epoll")
@pytest.mark.parametrize("blocked", [False, True])
def test_what_the_loop_itself_reads_came_within_what_is_told_of_it(certificate: tuple[Path, Path], blocked: bool) -> None:
    """Over TLS this process stamps: no chunk is certain, not even the last of a read."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    with pieces(*ANSWER, context=context) as sent:
        answer = read_openai(asked(sent, blocked=blocked, tls=True), ASK, True)
    assert answer.status == "ok"
    assert all(within(answer, sent.spans[1:]))
    assert min(answer.chunk_uncertainty_ns) > 0


@dataclass(frozen=True)
class Case:
    """Reads of a plain body, and what is expected of each chunk."""

    reads: tuple[bytes, ...]
    unsure: tuple[int, ...]
    expected: list[int]


def reply_of(case: Case, **more: Any) -> Reply:
    ends, size = [], 0
    for read in case.reads:
        size += len(read)
        ends.append(size)
    return Reply(
        ended="complete",
        http_status=200,
        headers={"content-type": "text/event-stream"},
        body=b"".join(case.reads),
        ends=ends,
        ns=[1000 * (n + 1) for n in range(len(ends))],
        unsure=list(case.unsure),
        **more,
    )


NOW, EMPTY = 10_000_000_000, 9_999_500_000


@pytest.mark.parametrize(
    ("stamp", "emptied", "last", "expected"),
    [
        (NOW - 100_000, True, 0, (NOW - 100_000, 400_000)),  # all since the socket was empty may lie in this read
        (NOW - 100_000, False, 0, (NOW - 100_000, -400_000)),  # more lay behind it: the stamp may be of what was not read
        (None, True, 0, (NOW, -500_000)),  # the time is that of the read
        (NOW + 1, True, 0, (NOW, -500_000)),  # a stamp of another clock
        (EMPTY - 1000, True, 0, (EMPTY - 1000, 0)),  # stamped just before the look, and there just behind it
        (EMPTY - DELAYED_NS - 1, True, 0, (NOW, -500_000 - DELAYED_NS - 1)),  # held up below: it came somewhere in between
        (NOW - 300_000, True, NOW - 100_000, (NOW - 100_000, -400_000)),  # times never run backwards, and this one is moved for that
    ],
    ids=["stamp", "full", "none", "foreign", "just", "delayed", "moved"],
)
def test_a_reads_uncertainty_reaches_back_to_when_its_socket_was_empty(
    stamp: int | None, emptied: bool, last: int, expected: tuple[int, int]
) -> None:
    assert judged(stamp, NOW, EMPTY, last, emptied=emptied) == expected


A, B, C, END = delta("a"), delta("b"), delta("c"), event(b"[DONE]")


@pytest.mark.parametrize(
    "case",
    [
        Case((A, B, C, END), (7, 7, 7, 7), [0, 0, 0, 0]),  # each ends its own read
        Case((A + B, C + END), (7, 8), [7, 0, 8, 0]),  # of several, the last alone is certain
        Case((A, B, C, END), (7, -9, 7, 7), [0, 9, 0, 0]),  # stamped by this process: not even the last
        Case((A + B[:5], B[5:] + C, END), (3, 4, 5), [3, 4, 0, 0]),  # a read that ends inside of a chunk
        Case((A, B, C, END), (), []),  # nothing is known
    ],
    ids=["own", "merged", "process", "inside", "unknown"],
)
@pytest.mark.parametrize("lines", [b"\n", b"\r\n"])
def test_the_uncertainty_of_a_chunk_is_that_of_its_place_in_its_read(case: Case, lines: bytes) -> None:
    case = Case(tuple(read.replace(b"\n", lines) for read in case.reads), case.unsure, case.expected)
    assert read_openai(reply_of(case), ASK, True).chunk_uncertainty_ns == case.expected
