"""The fault `kill` sends the planned signal to the victim."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from fireassay.faults import kill
from fireassay.faults.support.base import Victim
from fireassay.spec.plan import PlannedFault
from tests.faults.loaded import at_once, kinds, one_replica, row, struck_at
from tests.launchers.helpers import until, wait_until_gone


def planned(name: str) -> PlannedFault:
    return PlannedFault(kind="kill", rank=0, after_checkpoints=0, delay_steps=1, signal=name)


@pytest.mark.parametrize("name", ["KILL", "TERM", "ABRT", "SEGV"])
def test_the_victim_gets_the_signal(name: str) -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    kill.strike(Victim(pid=process.pid, rank=0), planned(name))
    process.communicate()
    assert process.returncode == -signal.Signals[f"SIG{name}"]


def test_a_victim_that_is_gone_is_told() -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", "pass"])
    process.wait()
    with pytest.raises(ProcessLookupError):
        kill.strike(Victim(pid=process.pid, rank=0), planned("KILL"))


def test_a_replica_is_killed_with_its_family_and_comes_back(tmp_path: Path) -> None:
    with one_replica(tmp_path, "children=1") as (one, heard):
        until(lambda: len(one.pids(0)) == 2, "the child")
        family = one.pids(0)
        with at_once("kill", struck_at(one), heard, for_s=0.1) as strike:
            until(strike.done.is_set, "the fault's end")
        wait_until_gone(family)
        until(lambda: one.state(0) == "ready", "the replica")
        assert one.pids(0)
        assert not set(one.pids(0)) & set(family)
    order = [row[0] for row in sorted(heard.rows, key=lambda row: row[1])]
    begun, ended, again = order[:3], order[3:5], order[5:]
    assert begun == ["server_start", "server_ready", "fault"]
    assert sorted(ended) == ["fault_end", "server_exit"]  # a thread for each: the machine decides which is first
    assert again == ["server_start", "server_ready", "server_exit"]
    assert row(heard, "fault")[3]["signal"] == "KILL"


def test_a_replica_is_not_started_again_for_a_load_that_is_over(tmp_path: Path) -> None:
    with one_replica(tmp_path) as (one, heard):
        strike = at_once("kill", struck_at(one), heard)
        until(lambda: one.state(0) == "exited", "the exit")
        strike.close()
        assert one.pids(0) == ()
    assert kinds(heard) == ["fault", "fault_end"]
