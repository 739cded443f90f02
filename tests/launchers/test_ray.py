"""Do all launches run on nodes that one placement group of Ray holds, which is freed whatever happens?"""

from __future__ import annotations

import importlib.util
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.launchers import ray
from fireassay.launchers.support import ray_group
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import run
from fireassay.spec.sections.workload import Host, Ray
from tests.launchers.clusters import RANKS, alive, ended, experiment, logs
from tests.launchers.helpers import until
from tests.limits import PROCESS_S

WHY_NOT = "" if importlib.util.find_spec("ray") else "not installed: ray (pip install 'fireassay[ray]')"
needs_ray = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT or "Ray is here")
# Two nodes of one CPU each; it answers "groups" with the states of all placement groups, and ends them at the end of its input.
CLUSTER = """
import sys, ray
from ray.cluster_utils import Cluster
node = {"num_cpus": 1, "object_store_memory": 80_000_000}
cluster = Cluster(initialize_head=True, head_node_args={**node, "include_dashboard": False})
other = cluster.add_node(**node)
ray.init(address=cluster.address, log_to_driver=False)
print(cluster.address, flush=True)
for line in sys.stdin:
    if line == "kill\\n":
        cluster.remove_node(other, allow_graceful=False)
    print(*(group["state"] for group in ray.util.placement_group_table().values()), flush=True)
ray.shutdown()
cluster.shutdown()
"""


class Cluster:
    """The cluster's process."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.address = self._line().strip()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def groups(self, order: str = "groups") -> set[str]:
        """States of the placement groups."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{order}\n")
        self.process.stdin.flush()
        return set(self._line().split())


def two_nodes() -> Iterator[Cluster]:
    """A cluster until the generator ends."""
    variables = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_DISABLE_IMPORT_WARNING": "1"}
    words, pipe = [sys.executable, "-c", CLUSTER], subprocess.PIPE
    with subprocess.Popen(words, env=variables, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        yield Cluster(process)
        assert process.stdin is not None
        process.stdin.close()
        process.wait(PROCESS_S)


cluster = pytest.fixture(scope="module")(two_nodes)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hosts": (Host(name="a", address="a"),)}, "Ray chooses them"),
        ({"pin": "spread"}, "launcher.pin"),
        ({"workers_per_node": 2, "levels": (3,)}, "at most 2, or a multiple of it"),
        ({"ray": Ray(address="ray://a:10001")}, "host:port"),
    ],
)
def test_what_ray_cannot_do_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ray.check(experiment("ray", **changed))  # type: ignore[arg-type]


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentLacks, match=r"pip install 'fireassay\[ray\]'"):
        ray.check(experiment("ray"))


def node(name: str, key: str, **resources: float) -> dict[str, object]:
    return {"NodeName": name, "NodeID": key, "Resources": resources}


def test_a_bundle_has_the_gpus_and_threads_of_the_workers_of_a_node() -> None:
    nodes = [node("a", "1" * 56, CPU=8), node("b", "2" * 56, CPU=64, GPU=8), node("c", "3" * 56, CPU=64, GPU=4)]
    asked = {"most": 16, "per_node": None, "threads": 2, "resources": {"ib": 1.0}}
    assert ray_group.bundle_of(asked, nodes) == (4, {"CPU": 8.0, "GPU": 4.0, "ib": 1.0})
    assert ray_group.bundle_of({**asked, "most": 2, "per_node": 8}, nodes[:1]) == (8, {"CPU": 4.0, "ib": 1.0})
    assert ray_group.fitting(nodes, {"CPU": 8.0, "GPU": 4.0}) == nodes[1:]


def test_nodes_with_the_same_name_go_by_their_ids() -> None:
    assert ray_group.names_of([node("a", "1" * 56), node("b", "2" * 56)]) == ["a", "b"]
    assert ray_group.names_of([node("a", "1" * 56), node("a", "2" * 56)]) == ["11111111", "22222222"]


@needs_ray
@pytest.mark.slow
def test_all_launches_share_one_group_and_a_level_takes_the_nodes_that_it_fills(cluster: Cluster, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS.format(node="FIREASSAY_HOST"))
    record = open_record(run(experiment("ray", ray=Ray(address=cluster.address)), folder=tmp_path, root=tmp_path / "records"))
    found = record.manifest["environment"]["before"]["allocation"]
    first, second = found["hosts"]
    assert (record.state, found["engine"], found["bundle"]) == ("complete", "ray", {"CPU": 1.0})
    assert first != second
    said = logs(record)
    assert {first in said[1], second in said[1]} == {True, False}
    assert {line.split("of 2")[1] for line in said[2].splitlines() if "of 2" in line} == {f" {name} {name}" for name in (first, second)}
    until(lambda: "CREATED" not in cluster.groups(), "the end of the group")


@needs_ray
@pytest.mark.slow
def test_a_cluster_with_too_few_nodes_is_refused_at_once(cluster: Cluster) -> None:
    with pytest.raises(EnvironmentLacks, match="needed are 3 nodes with 1 CPU each; 2 of its 2 nodes have that"):
        ray.allocate(experiment("ray", levels=(3,), ray=Ray(address=cluster.address)), lambda _: False)


@needs_ray
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_neither_process_nor_group_is_left_when_assay_is_ended(cluster: Cluster, tmp_path: Path, how: signal.Signals) -> None:
    ended(tmp_path, how, {"kind": "ray", "ray": {"address": cluster.address}}, (tmp_path / "begun").exists)
    until(lambda: not alive(tmp_path), "the end of all processes")
    until(lambda: "CREATED" not in cluster.groups(), "the end of the group")


@needs_ray
@pytest.mark.slow
def test_a_node_that_dies_is_named_as_the_reason(cluster: Cluster) -> None:
    found = ray.allocate(experiment("ray", levels=(2,), ray=Ray(address=cluster.address)), lambda _: False)
    assert found.lost(0.0) is None
    cluster.groups("kill")
    lost = found.lost(PROCESS_S)
    assert lost is not None
    why = lost.words
    found.release()
    assert why in {f"the end of Ray's placement group (its node {host.name} died)" for host in found.hosts}
