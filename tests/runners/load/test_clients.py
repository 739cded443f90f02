"""Is a load by clients on several hosts the load of one client, on one clock, whatever happens to a host?

The hosts are time namespaces: their monotonic clocks are hours apart, and the kernel knows by how much.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fireassay.errors import SpecError, WorkloadError
from fireassay.frames.hosts import host_uses
from fireassay.frames.record_data import RecordData, from_record
from fireassay.frames.serving.client_clocks import client_clocks
from fireassay.launchers.support import supervisor
from fireassay.record.reader import Record, open_record
from fireassay.record.seal import verify
from fireassay.reports.build_view import build
from fireassay.reports.hosts_table import hosts_table
from fireassay.runners.experiment.run import run
from fireassay.spec.load import from_mapping
from fireassay.verdict.judge import judge
from tests.launchers import slurm_commands
from tests.limits import PROCESS_S
from tests.runners.test_serving import left_over

SERVER = [sys.executable, "-m", "fireassay.instruments.reference_server", "--port", "{port}", "--first-s", "0.01", "--next-s", "0.001"]
APART_S = {"a": 5000, "b": -50, "c": 700}


def prefix(host: str) -> list[str]:
    return ["unshare", "--time", "--fork", "--kill-child", "--monotonic", str(APART_S[host])]


@cache
def why_not() -> str:
    try:
        done = subprocess.run([*prefix("a"), "true"], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"unshare: {error}"
    return done.stderr.strip() if done.returncode else ""


needs_hosts = pytest.mark.skipif(bool(why_not()), reason=f"no time namespaces: {why_not()}")


def load(root: Path, hosts: str = "", *, processes: int = 1, prefixes: dict[str, list[str]] | None = None, **serving: Any) -> Record:
    """One launch of the same load, by clients on these hosts, or on those that an engine lends."""
    engine = serving.pop("engine", None)
    prefixes = prefixes or {}
    target = {"name": "reference", "command": SERVER, "replicas": 1, **serving.pop("target", {})}
    data: dict[str, Any] = {
        "name": "hosts",
        "workload": {"runner": "serving", "work": "tokens"},
        "serving": {
            "model": "reference",
            "scenarios": ["D(10,8)"],
            "rate": [60.0],
            "targets": [target],
            "arrivals": {"process": "poisson", "duration_s": 2.0, "warm_up_s": 0.2, "drain_s": 5.0},
            "prompts": {"cache": "as_is"},
            "client": {"processes": processes},
            **serving,
        },
        "launches": {"per_configuration": 1},
        "noise": {"sentinel_s": 0.0},
        "limits": {"grace_s": 2.0},
    }
    if engine:
        data["launcher"] = engine
    if hosts:
        names = [{"name": name, "address": name, "prefix": prefixes.get(name, prefix(name))} for name in hosts]
        data["launcher"] = {"kind": "nodes", "hosts": names}
    return open_record(run(from_mapping(data), root=root / "records", folder=root))


def sent(record: Record) -> dict[str, Any]:
    return dict(record.manifest["schedules"]["0"]["sent"])


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return load(tmp_path_factory.mktemp("alone"))


@pytest.fixture(scope="module")
def split(tmp_path_factory: pytest.TempPathFactory) -> Record:
    return load(tmp_path_factory.mktemp("split"), "abc", processes=5)


@pytest.fixture(scope="module")
def judged(split: Record) -> RecordData:
    return from_record(split)


@needs_hosts
@pytest.mark.slow
def test_five_clients_on_three_hosts_send_what_one_client_sends(alone: Record, split: Record) -> None:
    assert verify(split.path) == ()
    assert split.table("launches")["status"].to_list() == ["ok"]
    assert split.manifest["schedules"]["0"]["sha256"] == alone.manifest["schedules"]["0"]["sha256"]
    assert sent(split) == {**sent(alone), "others": []}
    assert sent(split)["requests"] == split.manifest["schedules"]["0"]["requests"] == split.table("requests")["request"].n_unique()
    assert split.table("requests")["client"].n_unique() == 5
    assert left_over(split.path) == []


@needs_hosts
@pytest.mark.slow
def test_each_hosts_clock_is_known_within_its_bound(judged: RecordData) -> None:
    clocks = client_clocks(judged.tables)
    assert {host for _, host in clocks} == set(APART_S)
    for (_, host), clock in clocks.items():
        assert abs(clock.offset_ns + APART_S[host] * 1_000_000_000) <= clock.bound_ns < 1e9
        assert not clock.trouble


@needs_hosts
@pytest.mark.slow
def test_every_request_is_due_at_the_common_begin_plus_its_offset_to_the_nanosecond(judged: RecordData) -> None:
    begin = judged.table("events").filter(pl.col("kind") == "load_begin")["ns"][0]
    rows = judged.table("requests").join(judged.table("arrivals").drop_nulls("due_ns"), on=["launch", "request"])
    assert rows.height > 50
    assert (rows["scheduled_ns"] - rows["due_ns"]).unique().to_list() == [begin]
    assert judged.served.apart == frozenset()
    assert judged.served.windows["seconds"].null_count() == 0


@needs_hosts
@pytest.mark.slow
def test_the_hosts_are_described_in_the_record(split: Record, judged: RecordData) -> None:
    assert set(judged.before["nodes"]) == set(APART_S)
    used = split.table("events").filter(pl.col("kind") == "client_use")["detail"].str.json_path_match("$.client_host")
    assert sorted(used.to_list()) == ["a", "a", "b", "b", "c"]


@needs_hosts
@pytest.mark.slow
def test_each_hosts_processors_network_and_clock_are_in_the_table_of_hosts(judged: RecordData) -> None:
    uses = {use.host: use for use in host_uses(judged)}
    assert {host: use.ranks for host, use in uses.items()} == {"a": (0, 3), "b": (1, 4), "c": (2,)}
    for host, use in uses.items():
        assert use.processors is not None
        assert use.processors > 0.0
        assert use.sent_per_s is not None
        assert use.clock_s is not None
        assert use.clock_bound_s is not None
        assert abs(use.clock_s - APART_S[host]) <= use.clock_bound_s
    table = hosts_table(build(judged, judge(judged)))[0]
    assert [row[:2] for row in table.rows] == [("a", "0, 3"), ("b", "1, 4"), ("c", "2")]
    assert "clients" in [head.text for head in table.heads]


@needs_hosts
@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [
        {"rate": [], "concurrency": [6], "arrivals": {"process": "closed", "duration_s": 1.5, "warm_up_s": 0.2}},
        {
            "rate": [],
            "concurrency": [4],
            "prompts": {"turns": 3, "cache": "as_is"},
            "arrivals": {"process": "users", "duration_s": 1.5, "warm_up_s": 0.2},
        },
        {"rate": [], "arrivals": {"process": "offline", "requests": 40, "duration_s": 1.0, "warm_up_s": 0.0}},
    ],
)
def test_every_kind_of_schedule_is_split(tmp_path: Path, more: dict[str, Any]) -> None:
    record = load(tmp_path, "ab", processes=2, **more)
    requests = record.table("requests").filter(pl.col("phase") != "cold")
    assert record.table("launches")["status"].to_list() == ["ok"]
    assert sorted(requests["client"].unique().to_list()) == [0, 1]
    assert sent(record)["others"] == []
    for series in ("stream", "session"):  # each stays with one client
        assert set(requests.drop_nulls(series).group_by(series).agg(pl.col("client").n_unique())["client"].to_list()) <= {1}


def _kill_host(name: str, root: Path) -> None:
    """End everything of a host at once, as a power cut does, once the load has begun."""
    deadline = time.monotonic() + PROCESS_S
    while not list(root.glob("records/*/streams/*/load/begin")) and time.monotonic() < deadline:
        time.sleep(0.02)
    seen = [0]
    while len(seen) < 4 and time.monotonic() < deadline:  # rows of its client reach the disk, so that something was measured
        size = sum(path.stat().st_size for path in root.glob("records/*/streams/launch=0000/*client-1*"))
        seen += [size] if size > seen[-1] else []
        time.sleep(0.02)
    words = ("--monotonic", str(APART_S[name]))
    for pid in (int(entry) for entry in os.listdir("/proc") if entry.isdigit()):
        try:
            found = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if found[0] == b"unshare" and all(word.encode() in found for word in words):
            inside = supervisor.descendants(pid)
            supervisor.send([*inside, pid], signal.SIGKILL)


@needs_hosts
@pytest.mark.slow
def test_a_host_that_dies_costs_its_own_requests_and_ends_the_window(tmp_path: Path) -> None:
    killer = threading.Thread(target=_kill_host, args=("b", tmp_path))
    killer.start()
    arrivals = {"process": "poisson", "duration_s": 8.0, "warm_up_s": 0.0, "drain_s": 5.0}
    record = load(tmp_path, "ab", processes=2, arrivals=arrivals)
    killer.join()
    requests = record.table("requests")
    assert record.table("launches")["status"].to_list() == ["ok"]
    assert requests.filter(pl.col("client") == 0)["status"].unique().to_list() == ["ok"]
    lost = requests.filter(pl.col("status") == "lost")
    assert lost.height > 0
    assert lost["client"].unique().to_list() == [1]
    assert requests.height == record.table("arrivals").height  # one outcome for each that was due
    measured = from_record(record)
    counted = measured.served.requests.filter("counted")
    assert counted["status"].unique().to_list() == ["ok"]
    rules = {finding.rule: finding for finding in judge(measured).verdict.findings}
    assert "b died" in rules["client_host_lost"].evidence
    assert not {"client_died", "requests_lost", "error_rate", "requests_twice"} & set(rules)
    assert left_over(record.path) == []


@needs_hosts
@pytest.mark.slow
def test_a_key_reaches_the_host_but_no_argument_and_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOSTS_KEY", "sk-very-secret-4711")
    heard = tmp_path / "words"
    listening = ["sh", "-c", f'echo "$@" >> {heard}; exec "$@"', "sh"]
    record = load(tmp_path, "a", prefixes={"a": listening}, target={"api_key_env": "HOSTS_KEY"})
    assert record.table("launches")["status"].to_list() == ["ok"]
    assert "supervisor.py" in heard.read_text()
    assert "4711" not in heard.read_text()
    assert not [path for path in record.path.rglob("*") if path.is_file() and b"4711" in path.read_bytes()]


@pytest.mark.slow
def test_a_host_that_cannot_be_reached_is_named_with_its_words(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError) as caught:
        load(tmp_path, "a", prefixes={"a": ["sh", "-c", "echo no route to a >&2; exit 7"]})
    assert "a was not reached or was lost" in str(caught.value)
    assert "it said: no route to a" in str(caught.value)


@pytest.mark.parametrize(("hosts", "processes", "where"), [("ab", 1, "serving.client.processes"), ("aa", 2, "launcher.hosts")])
def test_every_host_has_a_name_and_a_client(tmp_path: Path, hosts: str, processes: int, where: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(tmp_path, hosts, processes=processes)
    assert [problem.where for problem in caught.value.problems] == [where]


def _on_lent_nodes(root: Path) -> Record:
    return load(root, processes=4, engine={"kind": "slurm", "workers_per_node": 2})


def _lent(record: Record) -> None:
    placement = json.loads(record.table("launches")["placement"][0])
    assert placement["client_hosts"] == ["n1", "n2", "n1", "n2"]
    assert record.manifest["environment"]["before"]["allocation"]["hosts"] == ["n1", "n2"]
    assert record.table("launches")["status"].to_list() == ["ok"]
    assert record.table("requests").filter(pl.col("phase") != "cold")["client"].n_unique() == 4
    assert sent(record)["others"] == []


@pytest.mark.slow
def test_nodes_that_slurm_lends_run_the_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = slurm_commands.faked(tmp_path)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.delenv("SLURM_JOB_ID", raising=False)
    _lent(_on_lent_nodes(tmp_path))
    assert "--nodes=2" in (jobs / "asked").read_text()


@pytest.mark.deep
@pytest.mark.skipif(bool(slurm_commands.why_not()), reason=slurm_commands.why_not() or "Slurm is here")
def test_nodes_of_a_real_slurm_run_the_clients(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with slurm_commands.two_nodes(tmp_path / "cluster") as conf:
        monkeypatch.setenv("SLURM_CONF", str(conf))
        monkeypatch.delenv("SLURM_JOB_ID", raising=False)
        _lent(_on_lent_nodes(tmp_path))
