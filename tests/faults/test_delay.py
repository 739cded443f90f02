"""The fault `delay` holds answers back, and lets them come at once when it ends."""

from __future__ import annotations

import time
from pathlib import Path

from fireassay.faults import delay
from fireassay.spec.sections.faults import Fault as FaultSpec
from tests.faults.loaded import at_once, one_replica, row, struck_at
from tests.launchers.helpers import until
from tests.launchers.support.test_servers import pid_at

DELAY_S = 0.3


def took_s(url: str, pid: int) -> float:
    """Seconds until the answer is there."""
    begin = time.monotonic()
    assert pid_at(url) == pid
    return time.monotonic() - begin


def test_answers_come_late_by_the_delay_at_least(tmp_path: Path) -> None:
    assert delay.FAULT.front is not None
    with one_replica(tmp_path) as (one, heard):
        front = delay.FAULT.front(FaultSpec(kind="delay"), one.target, "", 0)
        try:
            url = front.before(one.urls[0])
            strike = at_once("delay", struck_at(one, front=front, front_url=url), heard, share=1.0, delay_s=DELAY_S)
            until(lambda: any(row[0] == "fault" for row in heard.rows), "the fault")
            until(lambda: took_s(url, one.pids(0)[0]) >= DELAY_S, "the delay")  # the event comes before the act
            strike.close()
            assert pid_at(url) == one.pids(0)[0]
        finally:
            front.close()
    assert row(heard, "fault")[3] == {"fault": "delay", "replica": 0, "for_s": 3600.0, "share": 1.0, "delay_s": DELAY_S}
