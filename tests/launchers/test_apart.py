"""Do two hosts whose clocks are 5 s and 50 ppm apart measure as one host does, and is what a lost or stopped one costs said?

assay runs on the first host; the second is reached over the link between them, as through ssh. Each has a power meter of its own.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import tomli_w

import fireassay
from fireassay.frames.clock_offsets import clock_offsets
from fireassay.frames.costs import energy_gaps, launch_joules
from fireassay.frames.record_data import RecordData
from fireassay.launchers.support import supervisor
from fireassay.record.reader import open_record
from fireassay.verdict.audits.every.hosts import examine_hosts
from tests.launchers import apart
from tests.launchers.helpers import until
from tests.launchers.test_nodes import TRAIN
from tests.limits import PROCESS_S

pytestmark = [pytest.mark.deep]

During = Callable[[tuple[apart.Place, apart.Place], Path], None]
POWER = sum(apart.WATTS.values())


@pytest.fixture(autouse=True)
def possible() -> None:
    if reason := apart.why_not():
        pytest.skip(reason)


def ran(folder: Path, *, steps: int, during: During | None = None, **sections: Any) -> RecordData:
    """The record of a run on both hosts."""
    (folder / "train.py").write_text(TRAIN.replace("range(8)", f"range({steps})"))
    with apart.apart(folder) as places:
        energy = {"source": "prometheus", "endpoint": f"http://127.0.0.1:{apart.METER}/metrics", "metric": "node_power_watts"}
        launcher = {"kind": "nodes", "hosts": [place.host() for place in places], "max_restarts": 2}
        asked = {"name": "apart", "workload": {"script": "train.py"}, "factor": {"levels": [2]}, "launches": {"per_configuration": 1}}
        asked |= {
            "launcher": launcher,
            "energy": {**energy, "sample_every_s": 0.5},
            "limits": {"launch_timeout_s": PROCESS_S, "grace_s": 1.0},
        }
        (folder / "e.toml").write_text(tomli_w.dumps({**asked, **sections}))
        words = [*places[0].words, sys.executable, "-m", "fireassay", "run", "e.toml"]
        process = subprocess.Popen(words, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if during is not None:
                during(places, folder)
            process.wait(PROCESS_S)
        finally:
            process.kill()
            process.wait()
    [path] = (folder / "records").iterdir()
    until(lambda: not supervisor.marked(f"{path.name}."), "the end of all processes")
    return fireassay.open(path)._measured


def begun(folder: Path) -> object:
    """Whether both workers have made a step."""
    return len(list((folder / "records").glob("*/streams/launch=0000/steps.*"))) == 2


def test_joules_and_times_of_hosts_with_other_clocks_are_those_of_the_launch(tmp_path: Path) -> None:
    """200 W in all; the launch's own length is that of one clock. The offset comes out within its bound, by the workers and by the coordinator."""
    measured = ran(tmp_path, steps=300)
    [(begin, end)] = measured.table("launches").select("begin_ns", "end_ns").iter_rows()
    [(_, joules)] = launch_joules(measured).iter_rows()
    # until the meters begin, the supervisors and their connections do
    first = measured.table("telemetry").filter((pl.col("device") == "meter") & (pl.col("host") == "a"))["ns"].min()
    assert POWER * (end - first) / 1e9 * 0.98 <= joules <= POWER * (end - begin) / 1e9
    clock = clock_offsets(measured)[0, "b"]
    assert clock.known
    assert -5.1 < clock.offset / 1e9 < -5.0  # and 50 ppm of the time since the hosts were made
    assert abs(clock.slope + 50e-6) <= clock.slope_bound + 1e-8
    findings = fireassay.open(path_in(tmp_path))._judgement.verdict.findings
    assert [finding for finding in findings if finding.severity == "invalid"] == []


def path_in(folder: Path) -> Path:
    [path] = (folder / "records").iterdir()
    return path


@pytest.mark.parametrize("kind", ["kill", "stop"])
def test_a_fault_strikes_on_the_node_of_the_worker(tmp_path: Path, kind: str) -> None:
    fault = {"kind": kind, "rank": 1, "at_step": 20, "for_s": 1.0}
    measured = ran(tmp_path, steps=60, faults=[fault])
    events = measured.table("events")
    assert events.filter(pl.col("kind") == "fault_missed").height == 0
    assert events.filter(pl.col("kind") == "fault")["rank"].to_list() == [1]
    launch = measured.table("launches").filter(pl.col("role") == "fault").row(0, named=True)
    assert (launch["status"], launch["reason"], launch["restarts"]) == ("ok", "", int(kind == "kill"))
    deaths = events.filter((pl.col("kind") == "worker_gone") & (pl.col("launch") == launch["launch"]))
    assert set(deaths["host"]) == {"a", "b"}  # each by its own clock
    ended = events.filter(pl.col("kind") == "fault_end")
    assert ended.height == int(kind != "kill")
    if kind == "kill":
        assert set(deaths.filter(pl.col("incarnation") == 0)["rank"]) == {0, 1}
        assert set(measured.table("steps").filter(pl.col("incarnation") == 1)["rank"]) == {0, 1}


def test_a_stopped_host_stands_still_and_loses_nothing_else(tmp_path: Path) -> None:
    def stop(places: tuple[apart.Place, apart.Place], folder: Path) -> None:
        until(lambda: begun(folder), "both workers")
        namespace = places[1].words[3]
        pids = [int(pid) for pid in subprocess.run(["ip", "netns", "pids", namespace], capture_output=True, check=True).stdout.split()]
        supervisor.send(pids, signal.SIGSTOP)
        times = [path.stat().st_mtime_ns for path in _streams(folder)]
        until(lambda: _silent(folder, times), "a time without readings")
        supervisor.send(pids, signal.SIGCONT)

    measured = ran(tmp_path, steps=1500, during=stop)
    [finding] = examine_hosts(measured, {})
    assert finding.rule == "host_stood_still"
    assert re.match(r"b stood still for \d+\.\d s in launch 0", finding.evidence)
    assert measured.table("launches")["status"].to_list() == ["ok"]
    assert energy_gaps(measured) == {}


def test_an_unplugged_host_costs_its_last_seconds_and_is_named(tmp_path: Path) -> None:
    def pull(places: tuple[apart.Place, apart.Place], folder: Path) -> None:
        until(lambda: begun(folder), "both workers")
        apart.unplug(places[1])

    measured = ran(tmp_path, steps=1_000_000, during=pull)
    [launch] = measured.table("launches").iter_rows(named=True)
    assert launch["status"] == "failed"
    assert "node b was lost: the connection to it failed or broke" in launch["reason"]
    [finding] = examine_hosts(measured, {})
    assert finding.rule == "host_lost"
    assert finding.evidence.startswith("b was last heard of ")
    assert energy_gaps(measured)[0].startswith("joules of 1 of 2 hosts: b was last heard of")
    hosts = measured.table("telemetry").filter(pl.col("device") == "meter").group_by("host").len()
    assert set(hosts["host"]) == {"a", "b"}  # what it had read until then is there
    assert open_record(path_in(tmp_path)).sealed


def _streams(folder: Path) -> list[Path]:
    return sorted((folder / "records").glob("*/streams/launch=0000/telemetry.node=a.*"))


def _silent(folder: Path, before: list[int]) -> bool:
    """Whether the other host's meter has written for so long."""
    from fireassay.frames.hosts import SILENT_S

    now = [path.stat().st_mtime_ns for path in _streams(folder)]
    return bool(now) and max(now) - max(before) > (SILENT_S + 2.0) * 1e9


def test_the_hosts_of_a_test_are_gone_afterwards() -> None:
    assert not [name for name in os.listdir("/run/netns") if name.startswith(f"assay-{os.getpid()}clk")]
