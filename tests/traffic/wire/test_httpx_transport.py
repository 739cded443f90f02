"""Through a proxy, or over HTTP/2, requests go by httpx, and have the same outcomes and the transport's name."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Client
from fireassay.traffic.wire.transports import client_of
from tests.traffic.engine import HEAD, Heard, answer, chunked, closed, delta, engine, load_on

pytestmark = pytest.mark.slow


pytest.importorskip("httpx")


def through(tmp_path: Path, url: str, requests: int = 2, **client: Any) -> list[dict[str, Any]]:
    return load_on(tmp_path, [url], concurrency=[1], arrivals=closed(requests, drain_s=5.0), client={"transport": "library", **client})


def test_answers_by_the_library_have_their_times_and_its_name(tmp_path: Path) -> None:
    with engine() as made:
        rows = through(tmp_path, made.url, 3)
    for row in rows:
        assert (row["status"], row["text"], row["transport"], row["http_status"]) == ("ok", "Hello world", "library", 200)
        assert row["scheduled_ns"] <= row["sent_ns"] <= row["first_token_ns"] <= row["done_ns"]
    assert made.connections == 1
    assert rows[0]["connect_ns"] is not None
    assert rows[1]["connect_ns"] is None


def test_a_proxy_gets_the_request_and_the_record_says_that_httpx_sent_it(tmp_path: Path) -> None:
    with engine() as proxy:
        rows = load_on(tmp_path, ["http://model.invalid:81/base"], concurrency=[1], arrivals=closed(1), client={"proxy": proxy.url})
    assert [(row["status"], row["transport"]) for row in rows] == [("ok", "library")]
    assert proxy.heard[0].head.startswith("POST http://model.invalid:81/base/v1/chat/completions HTTP/1.1")


def replying(data: bytes) -> Any:
    """A server that says this and closes. A whole answer must say `Connection: close`, or httpx may use it once more."""

    async def behave(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        writer.write(data)
        await writer.drain()
        return False

    return behave


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"", "reset"),
        (HEAD + chunked(delta("begun")), "truncated"),
        (b"nonsense\r\n\r\n", "malformed"),
        (b"HTTP/1.1 500 No\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno", "5xx"),
        (b"HTTP/1.1 302 Found\r\nConnection: close\r\nLocation: /\r\nContent-Length: 0\r\n\r\n", "malformed"),
    ],
)
def test_failures_by_the_library_have_their_classes(tmp_path: Path, data: bytes, status: str) -> None:
    with engine(replying(data)) as made:
        rows = through(tmp_path, made.url)
    assert [row["status"] for row in rows] == [status] * 2


def test_nobody_listening_is_refused(tmp_path: Path) -> None:
    rows = through(tmp_path, "http://127.0.0.1:9", 1)
    assert [(row["status"], row["sent_ns"] is None) for row in rows] == [("refused", True)]


def test_a_library_request_is_given_up_when_it_takes_too_long(tmp_path: Path) -> None:
    async def hang(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(60)
        return False

    with engine(hang) as made:
        rows = through(tmp_path, made.url, timeout_s=0.2)
    assert [(row["status"], row["error"]) for row in rows] == [("timeout", "not finished in 0.2 s")] * 2


def test_a_flood_by_the_library_is_cut_off(tmp_path: Path) -> None:
    async def flood(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        writer.write(HEAD)
        while not writer.transport.is_closing():
            writer.write(chunked(b"x" * 65536))
            await writer.drain()
        return False

    with engine(flood) as made:
        rows = through(tmp_path, made.url, response_mib=0.25, timeout_s=30.0)
    assert [row["status"] for row in rows] == ["malformed"] * 2


def test_without_httpx_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(EnvironmentLacks, match=r"pip install 'fireassay\[library\]'"):
        client_of(Client())


def test_an_answer_in_pieces_is_whole(tmp_path: Path) -> None:
    whole = answer("Hello", " world")

    async def pieces(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        for place in range(0, len(whole), 40):
            writer.write(whole[place : place + 40])
            await writer.drain()
            await asyncio.sleep(0)
        return True

    with engine(pieces) as made:
        rows = through(tmp_path, made.url)
    assert [row["text"] for row in rows] == ["Hello world"] * 2
