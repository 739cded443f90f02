"""Does a node's agent meter, note deaths and strike, on processes of its own node only?"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks
from fireassay.faults import slow
from fireassay.launchers.support.node_agent import Agent, usage
from fireassay.record.live.progress import node_of
from fireassay.record.streams import read_stream
from fireassay.spec.sections.energy import Energy
from tests.launchers.helpers import until

MARK = f"test.{os.getpid()}.agent."
PLAN = {"rank": 3, "after_checkpoints": 0, "delay_steps": 0, "signal": "KILL"}


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    agent = Agent()
    common = {"host": "b", "launch": 0, "mark": MARK, "folder": str(tmp_path), "covers": ["b"], "beside": [], "workers": 1}
    assert agent.obey({"do": "begin", "meters": True, "energy": Energy(source="none").model_dump_json(), **common}, 0) == {}
    yield agent
    agent.close()


@pytest.fixture
def worker() -> Iterator[subprocess.Popen[bytes]]:
    variables = {"FIREASSAY_MARK": f"{MARK}b.", "RANK": "3", "PATH": os.environ["PATH"]}
    process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], env=variables, stdin=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def strike(agent: Agent, pid: int, kind: str, **keys: object) -> dict[str, Any]:
    order = {
        "do": "strike",
        "pid": pid,
        "rank": 3,
        "fault": kind,
        "planned": {"kind": kind, **PLAN},
        "log": "x",
        "spec": {"kind": kind, **keys},
    }
    return agent.obey(order, 0)


def state(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    [path] = folder.glob(f"{table}.node=b.*")
    return [row for batch in read_stream(path).batches for row in batch.to_pylist()]


def test_a_worker_is_of_this_node_by_its_mark_and_rank(agent: Agent, worker: subprocess.Popen[bytes]) -> None:
    """On another node of the launch the same pid may be another process, even another rank."""
    until(lambda: agent.obey({"do": "owns", "pid": worker.pid, "rank": 3}, 0) == {"here": True}, "its environment")
    assert agent.obey({"do": "owns", "pid": worker.pid, "rank": 2}, 0) == {"here": False}
    assert agent.obey({"do": "owns", "pid": os.getpid(), "rank": 3}, 0) == {"here": False}
    assert strike(agent, os.getpid(), "kill") == {"gone": f"process {os.getpid()} of rank 3 is gone"}


def test_a_stopped_worker_goes_on_after_the_undo_and_at_the_end_of_the_launch(agent: Agent, worker: subprocess.Popen[bytes]) -> None:
    for end in ("undo", "end"):
        until(lambda: agent.obey({"do": "owns", "pid": worker.pid, "rank": 3}, 0)["here"], "its environment")
        assert strike(agent, worker.pid, "stop")["lasts"]
        until(lambda: state(worker.pid) == "T", "its stop")
        assert "error" not in agent.obey({"do": end}, 0)
        until(lambda: state(worker.pid) == "S", "its going on")


def test_the_death_of_a_worker_is_a_row_with_this_hosts_name(agent: Agent, worker: subprocess.Popen[bytes], tmp_path: Path) -> None:
    until(lambda: agent.obey({"do": "watch", "pid": worker.pid, "rank": 3, "incarnation": 1, "node": 0}, 0)["here"], "its environment")
    assert strike(agent, worker.pid, "kill")["lasts"] is False
    assert worker.wait() == -signal.SIGKILL
    agent.obey({"do": "end"}, 0)
    [row] = rows(tmp_path, "events")
    assert (row["host"], row["rank"], row["incarnation"], row["kind"]) == ("b", 3, 1, "worker_gone")
    assert json.loads(row["detail"]) == {"pid": worker.pid}


def test_a_worker_that_ended_before_the_order_to_watch_it_is_gone_too(
    agent: Agent, worker: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    """Its pid may be no process, a zombie, or another process by now: it is of this node by what its progress says."""
    worker.kill()
    worker.wait()
    order = {"do": "watch", "pid": worker.pid, "rank": 3, "incarnation": 1}
    assert agent.obey({**order, "node": node_of(f"{MARK}a.")}, 0) == {"here": False}
    assert agent.obey({**order, "node": node_of(f"{MARK}b.")}, 0) == {"here": True}
    agent.obey({"do": "end"}, 0)
    [row] = rows(tmp_path, "events")
    assert (row["host"], row["rank"], row["incarnation"], row["kind"]) == ("b", 3, 1, "worker_gone")


def test_a_slow_worker_is_in_a_group_of_its_own_until_the_undo(agent: Agent, worker: subprocess.Popen[bytes]) -> None:
    try:
        slow.check_training(slow.Keys(kind="slow"))
    except EnvironmentLacks as error:
        pytest.skip(str(error))
    before = Path(f"/proc/{worker.pid}/cgroup").read_text()
    until(lambda: agent.obey({"do": "owns", "pid": worker.pid, "rank": 3}, 0)["here"], "its environment")
    assert strike(agent, worker.pid, "slow", share=0.2, signal="KILL", not_of_this_kind=1)["lasts"]
    assert "assay-" in Path(f"/proc/{worker.pid}/cgroup").read_text()
    agent.obey({"do": "undo"}, 0)
    assert Path(f"/proc/{worker.pid}/cgroup").read_text() == before


def test_what_cannot_be_struck_is_an_answer(agent: Agent, worker: subprocess.Popen[bytes]) -> None:
    until(lambda: agent.obey({"do": "owns", "pid": worker.pid, "rank": 3}, 0)["here"], "its environment")
    answer = strike(agent, worker.pid, "throttle", interface="there-is-none")
    assert answer["error"].startswith("OSError: ")


def test_a_launchs_use_is_what_the_supervisors_of_the_machine_counted(agent: Agent, tmp_path: Path) -> None:
    """A worker's last second is nowhere else: the kernel tells only the process that reaped it."""
    (tmp_path / "usage").mkdir()
    (tmp_path / "usage" / "b.json").write_text("[7.5, 30, 2, 100]")
    agent.obey({"do": "end"}, 0)
    last = {row["counter"]: row["value"] for row in rows(tmp_path, "telemetry") if row["device"] == "launch"}
    assert (last["cpu_time"], last["involuntary_switches"], last["major_faults"]) == (7.5, 30.0, 2.0)
    assert {row["host"] for row in rows(tmp_path, "telemetry")} == {"b"}


def test_usage_of_a_node_without_a_report_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("[1.5, 3, 0, 10]")
    (tmp_path / "b").write_text("[2.5, 4")
    assert usage([tmp_path / name for name in "abc"]) == (1.5, 3, 0, 10)
