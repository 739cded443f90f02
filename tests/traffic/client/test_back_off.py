"""A stream that is told to come later waits as long as it is told, and a dead target is given up."""

from __future__ import annotations

import asyncio
import socket
from itertools import pairwise
from pathlib import Path

import pytest

from fireassay.errors import WorkloadError
from fireassay.traffic.client.due import Liveness, Pauses, retry_after_s
from tests.traffic.engine import Heard, closed, engine, load_on, well

S = 1_000_000_000


@pytest.mark.parametrize(
    ("told", "wanted"),
    [
        ("3", 3.0),
        (" 0 ", 0.0),
        ("Thu, 01 Jan 1970 00:02:00 GMT", 20.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0.0),
        ("soon", None),
        ("-1", None),
        ("9" * 400, 999_999_999.0),
    ],
)
def test_a_header_says_seconds_or_a_date(told: str, wanted: float | None) -> None:
    assert retry_after_s(told, 100.0) == wanted


def test_without_a_header_a_stream_waits_twice_as_long_each_time_up_to_the_most() -> None:
    pauses = Pauses(0.25, 2.0)
    assert [pauses.pause_ns(1, status, "", 0.0) / S for status in (429, 503, 429, 429, 429)] == [0.25, 0.5, 1.0, 2.0, 2.0]
    assert pauses.pause_ns(2, 429, "", 0.0) / S == 0.25  # another stream
    assert pauses.pause_ns(1, 200, "", 0.0) == 0
    assert pauses.pause_ns(1, 429, "", 0.0) / S == 0.25


def test_what_the_server_asks_for_is_kept_up_to_the_most() -> None:
    pauses = Pauses(0.25, 10.0)
    assert [pauses.pause_ns(1, 429, told, 0.0) / S for told in ("3", "3600")] == [3.0, 10.0]


def test_a_target_is_dead_once_nothing_was_heard_for_long_enough() -> None:
    life = Liveness(10.0)
    assert [life.refuse(at * S) for at in (100, 105, 109)] == [False] * 3
    life.heard()
    assert [life.refuse(at * S) for at in (111, 120, 121)] == [False, False, True]
    assert life.refused == 3
    assert not Liveness(None).refuse(0)


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["auto", "lean"])
def test_a_limited_stream_of_a_closed_loop_comes_back_when_it_was_told_to(tmp_path: Path, transport: str) -> None:
    async def limited(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        if heard.number != 1:
            return await well(heard, writer)
        writer.write(b"HTTP/1.1 429 Too Many Requests\r\nRetry-After: 1\r\nContent-Length: 4\r\n\r\nslow")
        return True

    with engine(limited) as made:
        rows = load_on(tmp_path, [made.url], load=1, concurrency=[1], arrivals=closed(4), client={"transport": transport})
    assert [row["http_status"] for row in rows] == [200, 429, 200, 200]
    waits = [after["scheduled_ns"] - before["done_ns"] for before, after in pairwise(rows)]
    assert waits == [0, S, 0]
    assert rows[2]["sent_ns"] >= rows[2]["scheduled_ns"]


@pytest.mark.slow
@pytest.mark.parametrize("transport", ["auto", "lean"])
def test_a_dead_target_ends_the_load_early(tmp_path: Path, transport: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(WorkloadError, match=r"the target sent nothing for 0.3 s: \d+ requests in a row"):
            load_on(tmp_path, [url], load=2, concurrency=[2], arrivals=closed(6000), client={"transport": transport, "dead_after_s": 0.3})
