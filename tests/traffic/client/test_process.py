"""A client process sends what is due, keeps exactly one row for each request, and does what its runner says."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from fireassay.traffic.client import process as client
from fireassay.traffic.wire.compiled import built
from fireassay.traffic.wire.sockets import stamping
from fireassay.traffic.wire.transports import MODEL_THREAD
from tests.limits import PROCESS_S
from tests.traffic.engine import Heard, answer, begin, closed, engine, load_on, rows_of, well, write_job
from tests.traffic.planned import planned

pytestmark = pytest.mark.slow


OWN = "compiled" if built() else "kernel" if stamping() else "lean"
KEY = "sk-live-0123456789abcdef0123456789"


def statuses(rows: list[dict[str, Any]]) -> Counter[str]:
    return Counter(row["status"] for row in rows)


def test_every_request_of_a_closed_loop_has_one_row_with_all_its_times(tmp_path: Path) -> None:
    with engine() as made:
        rows = load_on(tmp_path, [made.url], load=4, concurrency=[4], arrivals=closed(20, cold=2))
    assert [row["request"] for row in rows] == list(range(22))
    assert statuses(rows) == {"ok": 22}
    assert [row["phase"] for row in rows] == ["cold"] * 2 + ["main"] * 20
    for row in rows:
        assert row["scheduled_ns"] <= row["sent_ns"] <= row["first_byte_ns"] <= row["first_token_ns"]
        assert row["first_token_ns"] <= row["last_token_ns"] <= row["done_ns"]
        assert (row["text"], row["tokens_out"], row["tokens_in"]) == ("Hello world", 2, 5)
        assert (row["transport"], row["http_status"], row["replica"], row["client"]) == (OWN, 200, 0, 0)
        assert row["chunk_kind"] == [1, 1, 4, 5, 6]
        assert row["chunk_chars"] == [5, 6, 0, 0, 0]
        assert row["sent_ns"] + row["chunk_ns"][0] == row["first_token_ns"]
        assert row["bytes_out"] > 0


def test_a_closed_loop_keeps_its_streams_in_flight_and_its_connections_alive(tmp_path: Path) -> None:
    with engine() as made:
        rows = load_on(tmp_path, [made.url], load=3, concurrency=[3], arrivals=closed(30))
    assert made.most_open == made.connections == 3
    assert sum(row["connect_ns"] is not None for row in rows) == 3
    by_stream: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        by_stream.setdefault(row["stream"], []).append(row)
    for stream in by_stream.values():
        for before, after in pairwise(stream):
            assert before["done_ns"] <= after["scheduled_ns"] <= after["sent_ns"]  # due once the client knew


def test_requests_of_an_open_loop_are_due_when_the_schedule_says(tmp_path: Path) -> None:
    schedule = planned("constant", load=50.0, duration_s=0.4)
    with engine() as made:
        job = write_job(
            tmp_path,
            [made.url],
            load=50.0,
            schedule=schedule,
            rate=[50.0],
            arrivals={"warm_up_s": 0, "duration_s": 0.4, "process": "constant", "cold": 0},
        )
        t0 = begin(job, 0.5)
        run(job)
    rows = sorted(rows_of(job), key=lambda row: row["request"])
    assert [row["scheduled_ns"] - t0 for row in rows] == schedule.due_ns.tolist()
    assert statuses(rows) == {"ok": 20}
    assert all(row["sent_ns"] >= row["scheduled_ns"] for row in rows)


def run(job: Path, number: int = 0) -> None:
    import gc

    import uvloop

    try:
        uvloop.run(client.Client(client.Job.read(job), number).run())
    finally:
        gc.enable()  # what is frozen stays so: with it all that pytest has collected, which takes 0.6 s to look through


def test_several_clients_send_each_request_once(tmp_path: Path) -> None:
    with engine() as made:
        job = write_job(tmp_path, [made.url], load=4, concurrency=[4], clients=2, arrivals=closed(40, cold=1))
        begin(job)
        run(job, 0)
        run(job, 1)
    rows = rows_of(job, 0) + rows_of(job, 1)
    assert sorted(row["request"] for row in rows) == list(range(41))
    assert {row["client"] for row in rows if row["phase"] == "cold"} == {0}
    assert statuses(rows) == {"ok": 41}


def test_the_warm_up_is_told_by_the_time_a_request_is_due(tmp_path: Path) -> None:
    with engine(slowly(0.02)) as made:
        job = write_job(tmp_path, [made.url], load=2, concurrency=[2], arrivals=closed(10_000, warm_up_s=0.2, duration_s=0.3))
        t0 = begin(job, in_s=6.0)  # loaded by then, on a busy machine too
        run(job)
    rows = rows_of(job)
    assert {row["phase"] for row in rows} == {"warm_up", "main"}
    for row in rows:
        assert (row["scheduled_ns"] < t0 + 200_000_000) == (row["phase"] == "warm_up")
        assert row["scheduled_ns"] < t0 + 500_000_000


def slowly(seconds: float) -> Any:
    async def behave(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(seconds)
        return await well(heard, writer)

    return behave


def test_what_is_under_way_at_the_end_is_waited_for_and_then_given_up(tmp_path: Path) -> None:
    async def behave(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        if heard.number >= 2:
            await asyncio.sleep(60)
        return await well(heard, writer)

    with engine(behave) as made:
        rows = load_on(tmp_path, [made.url], load=2, concurrency=[2], arrivals=closed(4, drain_s=0.1))
    assert statuses(rows) == {"ok": 2, "timeout": 2}
    late = [row for row in rows if row["status"] == "timeout"]
    assert {row["error"] for row in late} == {"not finished 0.1 s after the last request was due"}
    assert all(row["sent_ns"] is not None and row["first_byte_ns"] is None for row in late)


def test_requests_that_a_cap_on_connections_held_back_to_the_end_are_unsent(tmp_path: Path) -> None:
    async def hang(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(60)
        return False

    with engine(hang) as made:
        rows = load_on(
            tmp_path,
            [made.url],
            load=100.0,
            schedule=planned("constant", load=100.0, duration_s=0.1),
            rate=[100.0],
            arrivals={"process": "constant", "warm_up_s": 0, "duration_s": 0.1, "drain_s": 0.1, "cold": 0},
            client={"connections": 2},
        )
    assert statuses(rows) == {"timeout": 2, "unsent": 8}
    unsent = [row for row in rows if row["status"] == "unsent"]
    assert {(row["sent_ns"], row["transport"], row["error"]) for row in unsent} == {(None, "empty", "no connection became free for it")}
    assert made.most_open == 2


def test_a_request_is_given_up_when_it_takes_too_long(tmp_path: Path) -> None:
    async def half(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        writer.write(answer("Hello", " world")[:-5])
        await writer.drain()
        await asyncio.sleep(60)
        return False

    with engine(half) as made:
        rows = load_on(tmp_path, [made.url], load=2, arrivals=closed(2), concurrency=[2], client={"timeout_s": 1.0})
    assert statuses(rows) == {"timeout": 2}
    assert {row["error"] for row in rows} == {"not finished in 1 s"}
    assert {row["text"] for row in rows} == {"Hello world"}
    assert all(row["first_token_ns"] is not None for row in rows)


def test_a_server_that_says_nothing_is_given_up_sooner(tmp_path: Path) -> None:
    async def silent(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(60)
        return False

    with engine(silent) as made:
        rows = load_on(tmp_path, [made.url], arrivals=closed(1), concurrency=[1], client={"first_byte_timeout_s": 0.1})
    assert [(row["status"], row["error"]) for row in rows] == [("timeout", "no response within 0.1 s")]


@pytest.mark.parametrize(("balance", "shares"), [("round_robin", {0: 10, 1: 10}), ("least_in_flight", None)])
def test_requests_are_shared_out_over_the_replicas(tmp_path: Path, balance: str, shares: dict[int, int] | None) -> None:
    with engine(slowly(0.05)) as slow, engine() as fast:
        rows = load_on(tmp_path, [slow.url, fast.url], load=2, concurrency=[2], arrivals=closed(20), target={"balance": balance})
    found = Counter(row["replica"] for row in rows)
    assert (len(slow.heard), len(fast.heard)) == (found[0], found[1])
    if shares is not None:
        assert found == shares
    else:
        assert found[1] > found[0] > 0


def test_a_dead_replica_fails_its_share_and_is_not_hammered(tmp_path: Path) -> None:
    with engine() as alive:
        rows = load_on(
            tmp_path, [alive.url, "http://127.0.0.1:9"], load=2, concurrency=[2], arrivals=closed(100_000, warm_up_s=0, duration_s=0.5)
        )
    refused = [row for row in rows if row["status"] == "refused"]
    assert 1 <= len(refused) <= 2 * 6  # a busy machine gets round to fewer, never to more
    assert {row["replica"] for row in refused} == {1}
    assert {row["error"] for row in refused} == {"Connection refused"}
    assert all(row["sent_ns"] is None and row["done_ns"] is not None for row in refused)


def test_a_conversation_carries_the_real_answers(tmp_path: Path) -> None:
    async def number(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        writer.write(answer(f"answer {heard.number}"))
        await writer.drain()
        return True

    asked: dict[str, Any] = {"prompts": {"turns": 3}, "arrivals": closed(6), "concurrency": [1]}
    with engine(number) as made:
        rows = load_on(tmp_path, [made.url], load=1, **asked)
    assert statuses(rows) == {"ok": 6}
    assert [row["turn"] for row in rows] == [0, 1, 2, 0, 1, 2]
    third = made.heard[2].json["messages"]
    assert [one["role"] for one in third] == ["user", "assistant", "user", "assistant", "user"]
    assert [one["content"] for one in third if one["role"] == "assistant"] == ["answer 0", "answer 1"]
    assert len(made.heard[3].json["messages"]) == 1


def test_progress_is_told_while_it_runs_and_at_the_end(tmp_path: Path) -> None:
    with engine() as made:
        load_on(tmp_path, [made.url], load=2, concurrency=[2], arrivals=closed(10, cold=1))
    told = json.loads((tmp_path / "launch=0000" / "load" / "client-0.json").read_bytes())
    assert told["state"] == "ended"
    assert (told["due"], told["sent"], told["done"], told["ok"], told["in_flight"]) == (11, 11, 11, 11, 0)
    assert (told["tokens"], told["failed"]) == (22, {})
    assert set(told["ttft_ms"]) == {"p50", "p95", "p99"}


def test_no_key_is_recorded_or_told_even_if_the_server_repeats_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def repeat(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        said = next(line for line in heard.head.split("\r\n") if line.lower().startswith("authorization"))
        if heard.number % 2:
            writer.write(answer(said))
        else:
            body = json.dumps({"error": {"message": f"bad {said}"}}).encode()
            writer.write(b"HTTP/1.1 401 No\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        return True

    monkeypatch.setenv("MY_API_KEY", KEY)
    with engine(repeat) as made:
        rows = load_on(tmp_path, [made.url], concurrency=[1], arrivals=closed(4), target={"api_key_env": "MY_API_KEY"})
    assert f"Bearer {KEY}" in made.heard[0].head
    assert statuses(rows) == {"ok": 2, "4xx": 2}
    assert all("[redacted]" in (row["text"] or row["error"]) for row in rows)
    for file in tmp_path.rglob("*"):
        assert file.is_dir() or KEY.encode() not in file.read_bytes()


def test_texts_are_not_kept_where_nobody_wants_them(tmp_path: Path) -> None:
    with engine() as made:
        rows = load_on(tmp_path, [made.url], concurrency=[1], arrivals=closed(2), client={"keep_text": False})
    assert [(row["text"], row["chunk_chars"]) for row in rows] == [(None, [5, 6, 0, 0, 0])] * 2


# ---- as a process of its own -------------------------------------------------------------------------------------


def started(job: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-m", "fireassay.traffic.client.process", str(job), "0"], stderr=subprocess.PIPE)


def until(process: subprocess.Popen[bytes], what: Any) -> None:
    """Wait until it is so, for as long as the process lives."""
    while not what():
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.005)


def state(job: Path) -> str:
    path = job.with_name("client-0.json")
    return str(json.loads(path.read_bytes())["state"]) if path.exists() else ""


def ended(process: subprocess.Popen[bytes]) -> tuple[int, bytes]:
    _, said = process.communicate(timeout=PROCESS_S)
    return process.returncode, said


def test_it_waits_for_the_word_to_go_and_for_the_begin(tmp_path: Path) -> None:
    with engine() as made:
        job = write_job(tmp_path, [made.url], concurrency=[1], arrivals=closed(3, cold=1))
        process = started(job)
        until(process, lambda: state(job) == "ready")
        assert made.heard == []
        (job.parent / "go").write_text("")
        until(process, lambda: state(job) == "cold_done")
        assert len(made.heard) == 1
        (job.parent / "begin").write_text(str(time.monotonic_ns()))
        assert ended(process) == (0, b"")
    assert statuses(rows_of(job)) == {"ok": 4}


def test_sigterm_ends_the_load_at_once_with_every_due_request_accounted_for(tmp_path: Path) -> None:
    async def hang(heard: Heard, writer: asyncio.StreamWriter) -> bool:
        await asyncio.sleep(60)
        return False

    with engine(hang) as made:
        job = write_job(tmp_path, [made.url], load=3, concurrency=[3], arrivals=closed(30), client={"connections": 2})
        process = started(job)
        begin(job)
        until(process, lambda: len(made.heard) == 2)
        os.kill(process.pid, signal.SIGTERM)
        assert ended(process) == (0, b"")
    rows = rows_of(job)
    assert statuses(rows) == {"cancelled": 2, "unsent": 1}
    assert sorted(row["request"] for row in rows) == [0, 1, 2]


def test_sigterm_before_the_begin_ends_it_too(tmp_path: Path) -> None:
    with engine() as made:
        job = write_job(tmp_path, [made.url], concurrency=[1], arrivals=closed(3))
        process = started(job)
        until(process, lambda: state(job) == "ready")
        os.kill(process.pid, signal.SIGTERM)
        assert ended(process) == (0, b"")
    assert rows_of(job) == []


def test_what_is_missing_is_told_in_a_sentence(tmp_path: Path) -> None:
    job = write_job(tmp_path, ["http://127.0.0.1:9"], concurrency=[1], arrivals=closed(1), target={"api_key_env": "NOT_SET_KEY"})
    status, said = ended(started(job))
    assert status == 1
    assert said.startswith(b"assay: ")
    assert b"NOT_SET_KEY" in said
    assert b"Traceback" not in said


def test_a_process_with_a_model_at_work_ends_at_once_with_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    monkeypatch.setattr(client, "MODEL_THREAD", MODEL_THREAD + " of this test")  # others may leave one that still answers
    over = threading.Event()
    thread = threading.Thread(target=over.wait, args=(PROCESS_S,), name=client.MODEL_THREAD)
    thread.start()
    with pytest.raises(SystemExit):  # only because _exit returned
        client._end(3)
    assert ended == [3]
    over.set()
    thread.join()
    with pytest.raises(SystemExit, match="4"):
        client._end(4)
    assert ended == [3]
