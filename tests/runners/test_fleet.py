"""Does a round hold every node's rates, does a node that fails cost only itself, and is a throttled node named?"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from fireassay.errors import SpecError, WorkloadError
from fireassay.frames.fleet import fleet, link_rates, ring_rates
from fireassay.frames.record_data import from_record
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.runners.fleet import GIVEN_UP, HUNG, check, run_tests
from fireassay.spec.experiment import Experiment, Factor, Gates, Launches
from fireassay.spec.sections.workload import Host, Launcher, Noise, Workload
from fireassay.verdict.judge import judge
from tests.limits import PROCESS_S

pytestmark = pytest.mark.slow
STUTTER = """
import signal, subprocess, sys, time
child = subprocess.Popen(sys.argv[1:])
while child.poll() is None:  # stopped for nine tenths of the time
    child.send_signal(signal.SIGSTOP); time.sleep(0.045); child.send_signal(signal.SIGCONT); time.sleep(0.005)
sys.exit(child.returncode)
"""


HOLDER = "import sys, time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\nsys.stdin.read()"


def experiment(*hosts: Host, tests: tuple[str, ...] = ("memory",), rounds: int = 1) -> Experiment:
    return Experiment(
        name="fleet",
        workload=Workload(runner="fleet", script="fleet", arguments=tests),
        launcher=Launcher(kind="nodes", hosts=hosts),
        factor=Factor(levels=(1,)),
        launches=Launches(per_configuration=rounds),
        gates=Gates(efficiency=None),
        noise=Noise(sentinel_s=0.0),
    )


def host(name: str, *prefix: str) -> Host:
    return Host(name=name, address="127.0.0.1", prefix=prefix)


def test_a_throttled_node_is_named_and_a_dead_one_costs_only_itself(tmp_path: Path) -> None:
    script = tmp_path / "stutter.py"
    script.write_text(STUTTER)
    hosts = (*map(host, "abc"), host("slow", sys.executable, str(script)), host("dead", "false"))
    record = open_record(run(experiment(*hosts, rounds=3), root=tmp_path))
    found = fleet(from_record(record))
    assert record.table("launches")["status"].to_list() == ["ok"] * 3
    assert found.silent == {"dead": {"memory": "exit code 1: no output"}}
    assert found.tests["memory"].nodes["slow"].slower > 0.5
    assert max(found.tests["memory"].nodes[name].slower for name in "abc") < found.tests["memory"].nodes["slow"].slower


def test_every_round_has_an_order_of_its_own(tmp_path: Path) -> None:
    names = [f"n{number}" for number in range(6)]
    answers = tmp_path / "answers.sh"
    answers.write_text('#!/bin/sh\necho \'{"memory": {"rate": 5.0}, "disk": {"lack": "none"}}\'\n')
    answers.chmod(0o755)
    hosts = [host(name, str(answers)) for name in names]
    record = open_record(run(experiment(*hosts, tests=("memory", "disk"), rounds=3), root=tmp_path))
    orders = [json.loads(placement)["order"] for placement in record.table("launches")["placement"]]
    assert all(sorted(order) == names for order in orders)
    assert len({tuple(order) for order in orders}) > 1
    rates = record.table("telemetry").filter(pl.col("counter") == "fleet_memory")
    assert rates.height == 18
    assert record.table("events").filter(pl.col("kind") == "fleet_lack").height == 18


def test_a_round_without_any_answer_has_failed(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="none of 1 nodes answered"):
        run(experiment(host("a", "false")), root=tmp_path)


@pytest.mark.parametrize(
    ("prefix", "why"),
    [
        (("/nowhere/ssh",), "/nowhere/ssh: No such file or directory"),
        (("sh", "-c", "echo refused >&2; exit 255"), "exit code 255: refused"),
        (("echo", "nonsense"), "exit code 0: no output"),
        (("echo", "[1]"), "exit code 0: no output"),
    ],
)
def test_a_node_that_fails_says_why(prefix: tuple[str, ...], why: str) -> None:
    assert run_tests(host("a", *prefix), ["memory"]) == ({}, why)


def test_a_node_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fireassay.runners.fleet.PATIENCE_S", 2.0)
    monkeypatch.setattr("fireassay.runners.experiment.node_agents.LIMIT_S", 0.5)
    answer = json.dumps({"memory": {"rate": 5.0}})
    tried = tmp_path / "tried"
    hosts = (
        host("a", "sh", "-c", f"echo '{answer}'"),
        host("hung", "sh", "-c", f"case $* in *node_tests*) echo >> {tried};; esac; exec sleep {PROCESS_S}", "sh"),
    )
    record = open_record(run(experiment(*hosts, rounds=4), root=tmp_path))
    lacks = record.table("events").filter(pl.col("kind") == "fleet_lack")["detail"]
    whys = [json.loads(detail)["why"] for detail in lacks]
    assert tried.read_text() == "\n" * GIVEN_UP
    assert whys == [HUNG] * GIVEN_UP + [f"not tried again: no answer in {GIVEN_UP} rounds"] * 2


def test_a_nodes_variables_are_set(tmp_path: Path) -> None:
    names = tmp_path / "names"
    node = Host(name="a", address="x", prefix=("sh", "-c", f'echo "$@" > {names}; false', "sh"), environment={"OMP_NUM_THREADS": "1"})
    run_tests(node, ["memory"])
    assert names.read_text().split()[:2] == ["env", "OMP_NUM_THREADS=1"]


def test_nodes_are_named_once(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="a unique name"):
        check(experiment(host("a"), host("a")), tmp_path)
    with pytest.raises(SpecError, match="no node"):
        check(experiment(), tmp_path)


def test_nothing_but_the_tests_runs_on_a_node_and_counts_as_the_launch(tmp_path: Path) -> None:
    """Not the agents that say what the nodes are like, which have ended, nor what holds the nodes that an engine lends."""
    with subprocess.Popen([sys.executable, "-c", HOLDER], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        record = open_record(run(experiment(*map(host, "abcd"), rounds=2), root=tmp_path))
    measured = from_record(record)
    assert list(measured.before["nodes"]) == list("abcd")
    assert not [finding for finding in judge(measured).verdict.findings if finding.severity == "invalid"]


def test_pairs_and_the_ring_are_tested_and_a_dead_node_costs_only_its_own(tmp_path: Path) -> None:
    tests = ("bandwidth", "latency", "ring", "pairs=all")
    record = open_record(run(experiment(*map(host, "abc"), host("dead", "false"), tests=tests, rounds=2), root=tmp_path))
    assert record.table("launches")["status"].to_list() == ["ok"] * 2
    measured = from_record(record)
    links = link_rates(measured, "bandwidth")
    assert set(links) == {(one, other) for one in "abc" for other in "abc" if one != other}
    assert all(None not in values for values in links.values())
    assert set(link_rates(measured, "latency")) == {("a", "b"), ("a", "c"), ("b", "c")}
    found = fleet(measured)
    assert (list(found.silent), found.cut) == (["dead"], {})
    assert found.silent["dead"]["bandwidth"].endswith("dead: exit code 1: no output")
    assert ring_rates(measured, "ring") == []  # a ring without one of them is another ring


def test_disjoint_pairs_at_once_give_the_same_links(tmp_path: Path) -> None:
    tests = ("latency", "pairs=all", "parallel=yes")
    record = open_record(run(experiment(*map(host, "abcd"), tests=tests), root=tmp_path))
    assert len(link_rates(from_record(record), "latency")) == 6


def test_one_node_has_no_links(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="two nodes or more"):
        check(experiment(host("a"), tests=("latency",)), tmp_path)


def test_a_launcher_that_lends_no_nodes_is_refused(tmp_path: Path) -> None:
    asked = experiment().model_copy(update={"launcher": Launcher(kind="local")})
    with pytest.raises(SpecError, match="slurm"):
        check(asked, tmp_path)
