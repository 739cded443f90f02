"""Is every request that became due accounted for, also by a load that is stopped while it is late?"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

import pyarrow as pa

from assay.traffic.arrivals import mine, predecessors
from assay.traffic.base import Answer
from assay.traffic.due import Agenda
from assay.traffic.load import Load, Plan
from assay.traffic.log import RequestLog
from tests.traffic.planned import S, planned


def refuse(*_: Any) -> Any:
    raise AssertionError("nothing is sent in this test")


def test_what_was_due_and_not_yet_sent_when_the_load_was_stopped_is_unsent() -> None:
    """Ten requests at 10/s, begun 0.55 s ago by a loop that has had no turn since: six were due, none was sent."""
    schedule = planned("constant", load=10.0, duration_s=1.0)
    plan = Plan(
        schedule=schedule, agenda=Agenda(schedule, mine(schedule, 0, 1), predecessors(schedule)), make=refuse, after=refuse,
        read=lambda *_: Answer(status="ok"), transports=(), lasts_ns=S, noted=memoryview(bytearray(8 * 11)).cast("q"),
    )  # fmt: skip
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
