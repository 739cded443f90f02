"""A load survives whatever its parts do, and accounts for every request, also if it is stopped while it is late."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import uvloop

from fireassay import catalog
from fireassay.traffic.arrivals import make as arrivals
from fireassay.traffic.arrivals.schedule import Schedule
from fireassay.traffic.client.due import Agenda
from fireassay.traffic.client.load import Load
from fireassay.traffic.client.log import RequestLog
from fireassay.traffic.client.plan import NS, Made, Plan
from fireassay.traffic.parts import Answer, Ask, Json, Prompt, Reply, Wire
from fireassay.traffic.wire.response import Exchange
from fireassay.traffic.wire.transports import InProcess
from tests.limits import PROCESS_S
from tests.traffic.planned import S, planned

ASK = Ask(task="chat", model="m")


class Transport:
    """Answers as it is told, in the loop's next turn."""

    def __init__(self, sent: list[int]) -> None:
        self.sent = sent

    def payload(self, made: Made) -> bytes:
        return b""

    def send(self, exchange: Exchange) -> None:
        self.sent.append(exchange.request.number)
        exchange.sent_ns = exchange.request.due_ns
        asyncio.get_running_loop().call_soon(exchange.finish, "closed", "reset: as told")


def plan(schedule: Schedule, transports: Sequence[Any], **given: Any) -> Plan:
    def make(number: int, history: Sequence[Json]) -> Made:
        return Made(Prompt(text=str(number)), ASK, Wire(path="/", body=b"{}"))

    return Plan(
        **{
            "schedule": schedule,
            "agenda": Agenda(schedule, arrivals.mine(schedule, 0, 1), arrivals.predecessors(schedule)),
            "make": make,
            "after": lambda prompt, said: (),
            "read": lambda reply, ask: Answer(status="reset"),
            "transports": transports,
            "lasts_ns": 60 * NS,
            "drain_ns": NS,
            **given,
        }
    )


def run(make_plan: Any) -> tuple[list[dict[str, Any]], Load]:
    """The rows of a load that begins now."""
    batches: list[pa.RecordBatch] = []

    async def whole() -> Load:
        load = Load(make_plan(), RequestLog(launch=0, client=0, put=batches.append), asyncio.get_running_loop())
        try:
            await load.cold()
            await load.run(time.monotonic_ns())
        finally:
            load.finish()
        return load

    load = uvloop.run(whole())
    return [row for batch in batches for row in batch.to_pylist()], load


def test_cold_requests_come_first_and_one_by_one() -> None:
    sent: list[int] = []
    rows, _ = run(lambda: plan(planned("closed", load=2, cold=3, requests=4), [Transport(sent)]))
    assert sent[:3] == [0, 1, 2]
    assert [row["phase"] for row in rows] == ["cold"] * 3 + ["main"] * 4
    assert rows[1]["scheduled_ns"] >= rows[0]["done_ns"]


def test_a_content_that_cannot_be_made_ends_the_load_with_its_reason() -> None:
    def make(number: int, history: Sequence[Json]) -> Made:
        raise RuntimeError("no such tokenizer")

    with pytest.raises(RuntimeError, match="no such tokenizer"):
        run(lambda: plan(planned("closed", load=1, requests=3), [Transport([])], make=make))


def test_a_dialect_that_fails_on_an_answer_fails_that_request_alone() -> None:
    def read(reply: Reply, ask: Ask) -> Answer:
        raise KeyError("choices")

    rows, load = run(lambda: plan(planned("closed", load=1, requests=3), [Transport([])], read=read))
    assert [row["status"] for row in rows] == ["malformed"] * 3
    assert "KeyError" in rows[0]["error"]
    assert load.window.failed == {"malformed": 3}


def test_a_model_in_this_process_answers_without_a_wire_one_at_a_time() -> None:
    running: list[int] = []

    def answer(ask: Ask) -> Answer:
        running.append(1)
        assert len(running) == 1
        now = time.monotonic_ns()
        running.pop()
        if ask.prompt == "1":
            raise ValueError("does not fit")
        return Answer(status="ok", chunk_ns=[now], chunk_kind=[1], chunk_chars=[2], text="hi", tokens_out=1)

    def make(number: int, history: Sequence[Json]) -> Made:
        return Made(Prompt(text=str(number)), Ask(task="chat", model="m", prompt=str(number)), None)

    rows, _ = run(lambda: plan(planned("closed", load=2, requests=4), [InProcess(answer)], make=make))
    rows.sort(key=lambda row: row["request"])
    assert [row["status"] for row in rows] == ["ok", "error", "ok", "ok"]
    assert {row["transport"] for row in rows} == {"process"}
    assert rows[1]["error"] == "ValueError: does not fit"
    for row in rows:
        assert row["sent_ns"] <= (row["first_token_ns"] or row["sent_ns"]) <= row["done_ns"]


def test_a_model_that_is_still_answering_when_the_load_ends_has_timed_out_and_what_waited_for_it_was_not_sent() -> None:
    asked, over = threading.Event(), threading.Event()

    def answer(ask: Ask) -> Answer:
        asked.set()
        over.wait(PROCESS_S)
        return Answer(status="ok")

    read = catalog.load("traffic.backends", "process").read
    rows, _ = run(lambda: plan(planned("closed", load=2, requests=2), [InProcess(answer)], read=read, drain_ns=NS // 10))
    over.set()
    assert asked.is_set()
    assert sorted(row["status"] for row in rows) == ["timeout", "unsent"]
    (late,) = [row for row in rows if row["status"] == "timeout"]
    assert late["error"] == "not finished 0.1 s after the last request was due"


@pytest.mark.slow
def test_many_requests_that_are_due_at_once_all_go_out() -> None:
    sent: list[int] = []
    schedule = planned("offline", requests=3000, duration_s=1.0)
    rows, _ = run(lambda: plan(schedule, [Transport(sent)]))
    assert sorted(sent) == sorted(row["request"] for row in rows) == list(range(len(schedule)))


def test_a_request_bound_to_a_replica_goes_there() -> None:
    schedule = planned("closed", load=1, requests=6)
    bound = Schedule(**{**vars(schedule), "replica": np.array([0, 2, 1, 1, 2, 0], np.int32)})
    rows, _ = run(lambda: plan(bound, [Transport([]) for _ in range(3)]))
    assert [row["replica"] for row in sorted(rows, key=lambda row: row["request"])] == [0, 2, 1, 1, 2, 0]


def test_turns_of_a_conversation_stay_on_one_replica_where_that_is_asked_for() -> None:
    schedule = planned("closed", load=2, requests=12, prompts={"turns": 3})
    rows, _ = run(lambda: plan(schedule, [Transport([]) for _ in range(3)], balance="session"))
    by_session: dict[int, set[int]] = {}
    for row in rows:
        by_session.setdefault(row["session"], set()).add(row["replica"])
    assert len(by_session) == 4
    assert all(len(replicas) == 1 for replicas in by_session.values())


def refuse(*_: Any) -> Any:
    raise AssertionError("nothing is sent in this test")


def test_what_follows_an_answer_and_had_no_turn_yet_when_the_load_was_stopped_is_unsent() -> None:
    """Twelve streams end together; the load is stopped before anything that follows them was sent."""
    sent: list[int] = []
    batches: list[pa.RecordBatch] = []

    async def whole() -> Load:
        loop = asyncio.get_running_loop()
        made = plan(planned("closed", load=12, requests=36), [Transport(sent)])
        load = Load(made, RequestLog(launch=0, client=0, put=batches.append), loop)

        def follow() -> None:  # its turn comes, and with it the end; a slow machine sends the twelve in several turns
            load.stop() if len(load._following) == 12 else loop.call_soon(follow)

        load._follow_all = follow  # type: ignore[method-assign]
        await load.run(time.monotonic_ns())
        load.finish()
        return load

    load = uvloop.run(whole())
    rows = [row for batch in batches for row in batch.to_pylist()]
    assert sorted(sent) == sorted(row["request"] for row in rows if row["status"] == "reset")
    assert len(sent) == 12
    assert [row["status"] for row in rows].count("unsent") == 12
    assert load.window.due == load.window.done == 24


def test_what_was_due_and_not_yet_sent_when_the_load_was_stopped_is_unsent() -> None:
    """Ten requests at 10/s, begun 0.55 s ago by a loop that has had no turn since: six were due, none was sent."""
    schedule = planned("constant", load=10.0, duration_s=1.0)
    plan = Plan(
        schedule=schedule,
        agenda=Agenda(schedule, arrivals.mine(schedule, 0, 1), arrivals.predecessors(schedule)),
        make=refuse,
        after=refuse,
        read=lambda *_: Answer(status="ok"),
        transports=(),
        lasts_ns=S,
        noted=memoryview(bytearray(8 * 11)).cast("q"),
    )
    batches: list[pa.RecordBatch] = []
    begun = 0

    async def late() -> None:
        nonlocal begun
        load = Load(plan, RequestLog(launch=0, client=0, put=batches.append), asyncio.get_running_loop())
        begun = time.monotonic_ns() - 550_000_000
        running = asyncio.create_task(load.run(begun))
        await asyncio.sleep(0)
        load.stop()
        load.stop()
        with contextlib.suppress(AssertionError):  # on a machine slower than that it was sent, and could not be made
            await running
        load.finish()
        assert load.window.due == load.window.failed["unsent"] == load.window.done

    asyncio.run(late())
    rows = pa.Table.from_batches(batches).to_pylist()
    dues = [begun + due for due in schedule.due_ns.tolist()]
    assert [row["request"] for row in rows] == list(range(len(rows)))
    assert len(rows) >= sum(due <= begun + 550_000_000 for due in dues)
    assert {row["status"] for row in rows} == {"unsent"}
    assert [row["scheduled_ns"] for row in rows] == dues[: len(rows)]
    assert all(row["sent_ns"] is None and row["error"] for row in rows)
    assert plan.noted is not None
    assert plan.noted.tolist()[: len(rows)] == dues[: len(rows)]


def test_a_look_between_an_end_and_what_follows_it_does_not_take_the_load_for_over() -> None:
    """Of a stream that goes on, the sweep may see nothing in flight: what ended has a follower that is not sent yet."""

    async def looked() -> tuple[bool, int | None]:
        schedule = planned("closed", load=1, requests=2)
        load = Load(plan(schedule, [Transport([])]), RequestLog(launch=0, client=0, put=lambda _: None), asyncio.get_running_loop())
        running = asyncio.ensure_future(load.run(time.monotonic_ns()))
        while not load._following:
            await asyncio.sleep(0)
        sweeping = asyncio.ensure_future(load._sweep(pause_s=0.0))
        load._follow_all, follow = (lambda: None), load._follow_all  # type: ignore[method-assign]
        for _ in range(5):
            await asyncio.sleep(0)
        seen = bool(load._following), load._over_ns
        sweeping.cancel()
        follow()
        await running
        return seen

    assert asyncio.run(looked()) == (True, None)
