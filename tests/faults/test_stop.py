"""The fault `stop` stops every process of a replica and lets them go on."""

from __future__ import annotations

from pathlib import Path

from tests.faults.loaded import at_once, one_replica, struck_at
from tests.launchers.helpers import until
from tests.launchers.support.test_servers import pid_at


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def test_the_whole_family_stops_and_goes_on(tmp_path: Path) -> None:
    with one_replica(tmp_path, "children=1") as (one, heard):
        until(lambda: len(one.pids(0)) == 2, "the child")
        family = one.pids(0)
        strike = at_once("stop", struck_at(one), heard)
        until(lambda: [state_of(pid) for pid in family] == ["T", "T"], "the stop")
        strike.close()
        until(lambda: "T" not in [state_of(pid) for pid in family], "the continuation")
        assert pid_at(one.urls[0]) == family[0]
        assert one.state(0) == "ready"


def test_a_stopped_replica_can_still_be_ended(tmp_path: Path) -> None:
    with one_replica(tmp_path) as (one, heard):
        strike = at_once("stop", struck_at(one), heard)
        (pid,) = one.pids(0)
        until(lambda: state_of(pid) == "T", "the stop")
        one.stop()
        strike.close()
        assert one.pids() == ()
