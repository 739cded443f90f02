"""Whatever a server does, it costs bounded memory and time, is filed under the right class, and harms no other request."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import tracemalloc
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from tests.tiers import some
from tests.traffic.engine import HEAD, Heard, answer, chunked, closed, delta, engine, event, load_on

pytestmark = pytest.mark.slow


Evil = Callable[[asyncio.StreamWriter], Awaitable[bool | None]]
SMALL = {"response_mib": 0.25}
LATE_S = 1.5  # within which the good answers between those that never end must come, on a busy machine too


def one_in_two(evil: Evil) -> Callable[[Heard, asyncio.StreamWriter], Awaitable[bool | None]]:
    """Every second request is treated well."""

    async def behave(heard: Heard, writer: asyncio.StreamWriter) -> bool | None:
        if heard.number % 2:
            return await evil(writer)
        writer.write(answer("Hello", " world"))
        await writer.drain()
        return True

    return behave


def under(tmp_path: Path, evil: Evil, *, requests: int = 8, **client: Any) -> list[dict[str, Any]]:
    """The rows of a load in which every second answer is evil; the others must not notice."""
    with engine(one_in_two(evil)) as made:
        rows = load_on(tmp_path, [made.url], load=1, concurrency=[1], arrivals=closed(requests, drain_s=5.0), client={**SMALL, **client})
    good, bad = rows[::2], rows[1::2]
    assert [(row["status"], row["text"]) for row in good] == [("ok", "Hello world")] * (requests // 2)
    for row in good:
        assert row["scheduled_ns"] <= row["sent_ns"] <= row["first_token_ns"] <= row["done_ns"]
    return bad


def says(data: bytes, *, keep: bool = False) -> Evil:
    """Write these bytes, and close unless told otherwise."""

    async def evil(writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        return keep

    return evil


def plain(data: bytes, *, status: str = "200 OK", kind: str = "application/json", more: str = "") -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(data)}\r\n{more}\r\n"
    return head.encode() + data


def stream(*events: bytes) -> bytes:
    return HEAD + b"".join(map(chunked, events)) + b"0\r\n\r\n"


CASES: dict[str, tuple[bytes, str, str]] = {
    "closes at once": (b"", "reset", "reset"),
    "closes in its head": (b"HTTP/1.1 200 OK\r\nContent-", "reset", "in the middle of its answer"),
    "closes in the stream": (HEAD + chunked(delta("begun")), "truncated", "in the middle of its answer"),
    "closes in a chunk": (HEAD + chunked(delta("begun"))[:-9], "truncated", "in the middle of its answer"),
    "less than its length": (plain(b"{}" * 50)[:-20], "truncated", "in the middle of its answer"),
    "ends without a reason": (stream(delta("begun")), "truncated", "without a finish reason"),
    "500 in HTML": (plain(b"<html>oops</html>", status="500 No", kind="text/html"), "5xx", "HTTP 500: <html>oops"),
    "429 in JSON": (plain(b'{"error":{"message":"slow down"}}', status="429 No"), "4xx", "HTTP 429: slow down"),
    "redirects to itself": (
        plain(b"", status="302 Found", more="Location: /v1/chat/completions\r\n"),
        "malformed",
        "redirects are not followed",
    ),
    "HTML as an answer": (plain(b"<html><script>alert(1)</script></html>", kind="text/html"), "malformed", "text/html"),
    "a stream of HTML": (stream(b"<html>\n\n</html>\n\n"), "malformed", "no chunk"),
    "invalid UTF-8": (stream(b'data: {"choices":[{"delta":{"content":"\xff\xfe"}}]}\n\n'), "malformed", "not JSON"),
    "NaN in the usage": (
        stream(delta("a", "stop"), b'data: {"choices":[],"usage":{"completion_tokens":NaN}}\n\n'),
        "malformed",
        "not a count",
    ),
    "negative tokens": (stream(delta("a", "stop"), event({"choices": [], "usage": {"completion_tokens": -7}})), "malformed", "not a count"),
    "an error in a 200": (stream(delta("a"), event({"error": {"message": "out of memory"}})), "error", "out of memory"),
    "not HTTP": (b"220 smtp.example ESMTP\r\n\r\n", "malformed", "not an answer of HTTP"),
    "two lengths": (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab", "malformed", "two different"),
    "a length that is none": (b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n", "malformed", "not a length"),
    "a coding that was not asked for": (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n", "malformed", "coding"),
    "a chunk size that is none": (HEAD + b"zz\r\nab\r\n\r\n", "malformed", "chunk size"),
    "a chunk longer than it says": (HEAD + b"2\r\nabcd\r\n0\r\n\r\n", "malformed", "exceeds its size"),
    "a huge chunk size": (HEAD + b"fffffffffffffffff\r\nab\r\n\r\n", "malformed", "chunk size"),
    "closes after interim answers": (b"HTTP/1.1 101 Switching\r\n\r\n" * 3, "reset", "in the middle of its answer"),
}


@pytest.mark.parametrize("name", CASES)
def test_an_evil_answer_is_filed_under_its_class(tmp_path: Path, name: str) -> None:
    data, status, why = CASES[name]
    bad = under(tmp_path, says(data, keep=not name.startswith(("closes", "less"))))
    assert [row["status"] for row in bad] == [status] * 4
    assert all(why in row["error"] for row in bad), bad[0]["error"]
    assert all(len(row["error"]) <= 500 and row["done_ns"] is not None for row in bad)


def test_what_came_before_a_cut_is_kept(tmp_path: Path) -> None:
    bad = under(tmp_path, says(HEAD + chunked(delta("begun")) + chunked(delta(" and"))[:-9]))
    assert [(row["text"], row["chunk_kind"], row["http_status"]) for row in bad] == [("begun", [1], 200)] * 4
    assert all(row["first_token_ns"] is not None for row in bad)


def test_a_reset_in_the_stream_is_a_reset(tmp_path: Path) -> None:
    async def reset(writer: asyncio.StreamWriter) -> bool:
        import socket
        import struct

        writer.write(HEAD + chunked(delta("begun")))
        await writer.drain()
        await asyncio.sleep(0.05)
        taken = writer.get_extra_info("socket")
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
        return False

    bad = under(tmp_path, reset)
    assert [row["status"] for row in bad] == ["reset"] * 4
    assert {row["error"] for row in bad} == {"reset: Connection reset by peer"}


def test_a_server_that_hangs_for_ever_is_given_up(tmp_path: Path) -> None:
    async def hang(writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(600)
        return False

    bad = under(tmp_path, hang, requests=4, timeout_s=LATE_S)
    assert [(row["status"], row["error"]) for row in bad] == [("timeout", "not finished in 1.5 s")] * 2


def flood(head: bytes, piece: bytes) -> Evil:
    """Bytes without end."""

    async def evil(writer: asyncio.StreamWriter) -> bool:
        writer.write(head)
        while not writer.transport.is_closing():
            writer.write(piece)
            await writer.drain()
        return False

    return evil


FLOODS: dict[str, tuple[bytes, bytes, str]] = {
    "a stream without a line's end": (HEAD, chunked(b"x" * 65536), "larger than client.response_mib"),
    "one chunk without end": (HEAD + b"ffffffff\r\ndata: ", b"x" * 65536, "larger than client.response_mib"),
    "a body as long as it likes": (
        b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n",
        b"x" * 65536,
        "larger than client.response_mib",
    ),
    "a body until it closes": (b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536, "larger than client.response_mib"),
    "headers without end": (b"HTTP/1.1 200 OK\r\n", b"X-More: yes, please\r\n" * 500, "no end"),
    "one header without end": (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 65536, "no end"),
    "trailers without end": (HEAD + b"0\r\n", b"X-More: yes, please\r\n" * 500, "larger than client.response_mib"),
    "a chunk's size without end": (HEAD, b"0" * 65536, "larger than client.response_mib|a chunk's line without end"),
    "interim answers without end": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 500, "no end"),
}


@pytest.mark.parametrize("name", some(FLOODS, 3))
def test_a_flood_is_cut_off_at_the_largest_answer(tmp_path: Path, name: str) -> None:
    head, piece, why = FLOODS[name]
    tracemalloc.start()
    try:
        bad = under(tmp_path, flood(head, piece))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert {row["status"] for row in bad} <= {"malformed", "timeout"}  # whichever limit a busy machine reaches first
    assert len(bad) == 4
    assert all(re.search(why, row["error"]) for row in bad), bad[0]["error"]
    assert peak < 64 << 20


def test_a_drip_of_single_bytes_is_bounded_by_time(tmp_path: Path) -> None:
    async def drip(writer: asyncio.StreamWriter) -> bool:
        writer.write(HEAD)
        while not writer.transport.is_closing():
            writer.write(chunked(b"x"))
            await writer.drain()
            await asyncio.sleep(0.005)
        return False

    bad = under(tmp_path, drip, requests=4, timeout_s=LATE_S)
    assert [(row["status"], row["error"]) for row in bad] == [("timeout", "not finished in 1.5 s")] * 2


def test_a_drip_that_never_waits_is_bounded_by_what_reads_cost(tmp_path: Path) -> None:
    async def drip(writer: asyncio.StreamWriter) -> bool:
        writer.write(HEAD)
        while not writer.transport.is_closing():
            writer.write(b"1\r\nx\r\n")
            await asyncio.sleep(0)
        return False

    bad = under(tmp_path, drip)
    assert {row["status"] for row in bad} <= {"malformed", "timeout"}  # whichever limit a busy machine reaches first
    assert len(bad) == 4


def test_an_answer_whose_head_comes_byte_by_byte_is_read(tmp_path: Path) -> None:
    whole = answer("Hello", " world")

    async def slowly(writer: asyncio.StreamWriter) -> bool:
        for place in range(150):
            writer.write(whole[place : place + 1])
            await writer.drain()
        writer.write(whole[150:])
        await writer.drain()
        return True

    bad = under(tmp_path, slowly)
    assert [(row["status"], row["text"]) for row in bad] == [("ok", "Hello world")] * 4


def test_more_than_an_answer_spoils_the_connection_and_not_the_next_request(tmp_path: Path) -> None:
    bad = under(tmp_path, says(answer("Hello") + answer("for somebody else"), keep=True))
    assert [(row["status"], row["text"]) for row in bad] == [("ok", "Hello")] * 4


def test_trailers_extensions_and_odd_spellings_of_chunks_are_no_defects(tmp_path: Path) -> None:
    data = delta("Hello", "stop")
    odd = HEAD + b"%X;name=value\r\n%b\r\n000\r\nX-Trailer: 1\r\n\r\n" % (len(data), data)
    bad = under(tmp_path, says(odd, keep=True))
    assert [(row["status"], row["text"]) for row in bad] == [("ok", "Hello")] * 4


def test_an_interim_answer_is_passed_over(tmp_path: Path) -> None:
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
    bad = under(tmp_path, says(hints + answer("Hello"), keep=True))
    assert [(row["status"], row["text"], row["http_status"]) for row in bad] == [("ok", "Hello", 200)] * 4


def test_an_answer_that_ends_with_the_connection_is_whole_if_it_says_why_it_ended(tmp_path: Path) -> None:
    head = b"HTTP/1.0 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
    bad = under(tmp_path, says(head + delta("Hello") + delta("", "stop")))
    assert [(row["status"], row["text"]) for row in bad] == [("ok", "Hello")] * 4
    assert json.loads(json.dumps(bad[0]["finish_reason"])) == "stop"


@pytest.mark.parametrize("transport", ["auto", "lean"])
def test_a_compressed_answer_is_named(tmp_path: Path, transport: str) -> None:
    async def squeezed(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        body = gzip.compress(b'data: {"choices":[{"delta":{"content":"a"}}]}\n\n')
        writer.write(
            b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n%b"
            % (len(body), body)
        )
        return True

    with engine(squeezed) as made:
        rows = load_on(tmp_path, [made.url], load=1, concurrency=[1], arrivals=closed(2), client={"transport": transport})
    assert "accept-encoding: identity" in made.heard[0].head.lower()
    assert [row["status"] for row in rows] == ["malformed"] * 2
    assert rows[0]["error"].startswith("the server compressed its answer (gzip) despite accept-encoding")
