"""Do all launches run on the pods of one Kubernetes Job, which is gone whatever happens?  Against a fake that runs pods as processes."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks, Interrupted, SpecError
from fireassay.launchers import kubernetes
from fireassay.launchers.support import kubernetes_job
from fireassay.record.reader import open_record
from fireassay.runners.experiment.run import resume, run
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.faults import Fault
from fireassay.spec.sections.workload import Host, Kubernetes
from tests.launchers import clusters, kubernetes_cluster, quick_torchrun
from tests.launchers.clusters import LONG, RANKS, alive
from tests.launchers.helpers import until
from tests.launchers.kubernetes_api import Refused, Store
from tests.launchers.kubernetes_cluster import NAMESPACE, Cluster, Node
from tests.launchers.test_nodes import TRAIN
from tests.limits import PROCESS_S

needs_pods = pytest.mark.skipif(bool(kubernetes_cluster.why_not()), reason=kubernetes_cluster.why_not() or "pods can be run")
needs_client = pytest.mark.skipif(
    not importlib.util.find_spec("kubernetes"), reason="not installed: kubernetes (pip install 'fireassay[kubernetes]')"
)
IMAGE = Kubernetes(image="lab/train:3")


def experiment(*, levels: tuple[int, ...] = (1, 2), wanted: Kubernetes = IMAGE, **launcher: object) -> Experiment:
    return clusters.experiment("kubernetes", levels=levels, kubernetes=wanted, **launcher)


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    with kubernetes_cluster.cluster(tmp_path / "cluster") as found:
        monkeypatch.setenv("KUBECONFIG", str(found.kubeconfig))
        yield found


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hosts": (Host(name="a", address="a"),)}, "Kubernetes chooses them"),
        ({"pin": "spread"}, "launcher.pin"),
        ({"workers_per_node": 2, "levels": (3,)}, "at most 2, or a multiple of it"),
        ({"wanted": Kubernetes()}, "launcher.kubernetes.image"),
        ({"wanted": Kubernetes(image="i", claim="c")}, "a claim and its mount together"),
    ],
)
def test_what_kubernetes_cannot_do_is_refused(changed: dict[str, object], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        kubernetes.check(experiment(**changed))  # type: ignore[arg-type]


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(EnvironmentLacks, match=r"pip install 'fireassay\[kubernetes\]'"):
        kubernetes.check(experiment())


def test_the_workers_of_a_node_are_its_gpus() -> None:
    assert kubernetes.per_node_of(experiment(wanted=Kubernetes(image="i", resources={"nvidia.com/gpu": "8"}))) == 8
    assert kubernetes.per_node_of(experiment(wanted=Kubernetes(image="i", resources={"nvidia.com/gpu": "8"}), workers_per_node=4)) == 4
    assert kubernetes.per_node_of(experiment()) == 1


@pytest.mark.parametrize(
    ("taint", "toleration"),
    [
        ("nvidia.com/gpu:NoSchedule", {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}),
        ("pool=lab:NoExecute", {"key": "pool", "operator": "Equal", "value": "lab", "effect": "NoExecute"}),
        ("pool", {"key": "pool", "operator": "Exists"}),
    ],
)
def test_a_toleration_is_written_as_kubectl_writes_a_taint(taint: str, toleration: dict[str, str]) -> None:
    assert kubernetes.toleration(taint) == toleration


def test_further_fields_of_the_pod_are_merged_in() -> None:
    more = {"hostNetwork": True, "volumes": [{"name": "v", "emptyDir": {}}], "containers": [{"resources": {"limits": {"rdma/ib": "1"}}}]}
    wanted = Kubernetes(image="i", claim="c", mount="/w", resources={"cpu": "8"}, pod=more)
    job = kubernetes.job_of(experiment(wanted=wanted, levels=(8, 16), workers_per_node=8), "lab", "assay-x")
    pod = job["spec"]["template"]["spec"]
    assert (job["spec"]["completions"], job["spec"]["parallelism"], pod["hostNetwork"]) == (2, 2, True)
    assert [volume["name"] for volume in pod["volumes"]] == ["shm", "shared", "v"]
    assert pod["containers"][0]["resources"] == {"requests": {"cpu": "8"}, "limits": {"cpu": "8", "rdma/ib": "1"}}
    assert pod["containers"][0]["image"] == "i"


@needs_client
def test_the_manifests_have_only_fields_of_the_published_schema() -> None:
    import yaml

    wanted = Kubernetes(
        image="i", claim="c", mount="/w", namespace="lab", tolerations=("pool=lab:NoExecute",), node_selector={"gpu": "h100"}
    )
    store = Store()
    job = store.create("jobs", "lab", kubernetes.job_of(experiment(wanted=wanted), "lab", "assay-x"))
    printed = list(yaml.safe_load_all(kubernetes.by_hand(experiment(wanted=wanted), ["run", "e f.toml"])))
    assert [document["kind"] for document in printed] == ["ServiceAccount", "Role", "RoleBinding", "Job"]
    run_all = store.create("jobs", "lab", printed[3])
    assert run_all["spec"]["template"]["spec"]["containers"][0]["command"] == [sys.executable, "-m", "fireassay", "run", "e f.toml"]
    job["spec"]["template"]["spec"]["containers"][0]["imagePulPolicy"] = "Always"
    with pytest.raises(Refused, match='unknown field "spec.template.spec.containers\\[0\\].imagePulPolicy"'):
        store.create("jobs", "lab", job)


@needs_client
def test_a_watch_continues_from_a_version_ends_with_a_bookmark_and_refuses_one_that_is_too_old() -> None:
    store = Store(kept=3)
    first = store.create("leases", "lab", {"metadata": {"name": "a"}})
    store.create("leases", "lab", {"metadata": {"name": "b"}})
    since = int(first["metadata"]["resourceVersion"])
    added, bookmark = store.changes("leases", "lab", since, 0.0)
    assert (added["type"], added["object"]["metadata"]["name"], bookmark["type"]) == ("ADDED", "b", "BOOKMARK")
    for name in "cdef":
        store.create("leases", "lab", {"metadata": {"name": name}})
    [error] = store.changes("leases", "lab", since, 0.0)
    assert (error["object"]["code"], error["object"]["reason"]) == (410, "Expired")


def pod(*conditions: dict[str, str], phase: str = "Pending", **status: object) -> dict[str, object]:
    metadata = {"name": "assay-x-0-abcde"}
    return {"metadata": metadata, "spec": {"nodeName": "n1"}, "status": {"phase": phase, "conditions": list(conditions), **status}}


def container(**state: object) -> dict[str, object]:
    return {"containerStatuses": [{"name": "node", "state": state}]}


@pytest.mark.parametrize(
    ("found", "words", "hopeless"),
    [
        (
            pod(
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "reason": "Unschedulable",
                    "message": "0/3 nodes are available: 3 Insufficient cpu.",
                }
            ),
            "Unschedulable: 0/3 nodes are available: 3 Insufficient cpu.",
            False,
        ),
        (pod(**container(waiting={"reason": "ContainerCreating"})), "", False),
        (pod(**container(waiting={"reason": "ErrImagePull", "message": "not found"})), "ErrImagePull: not found", False),
        (pod(**container(waiting={"reason": "ImagePullBackOff", "message": "Back-off"})), "ImagePullBackOff: Back-off", True),
        (
            pod(phase="Failed", **container(terminated={"reason": "Error", "exitCode": 1, "message": "/w is not in the pod"})),
            "pod assay-x-0-abcde on n1: Error: /w is not in the pod",
            True,
        ),
        (
            pod(phase="Failed", reason="Evicted", message="The node was low on resource: memory."),
            "pod assay-x-0-abcde on n1: Evicted: The node was low on resource: memory.",
            True,
        ),
    ],
)
def test_what_a_pod_waits_for_is_said_in_the_words_of_the_api(found: dict[str, object], words: str, hopeless: bool) -> None:
    assert kubernetes_job.pending([found], []) == (words, hopeless)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (pod({"type": "Ready", "status": "True"}, phase="Running", **container(running={})), ""),
        (
            pod({"type": "Ready", "status": "False", "reason": "NodeStatusUnknown"}, phase="Running", **container(running={})),
            "not ready (NodeStatusUnknown)",
        ),
        (
            pod({"type": "DisruptionTarget", "status": "True", "reason": "PreemptionByScheduler", "message": "preempting"}, phase="Failed"),
            "PreemptionByScheduler: preempting",
        ),
        (pod(phase="Failed", **container(terminated={"reason": "OOMKilled", "exitCode": 137})), "OOMKilled"),
    ],
)
def test_why_a_pod_is_lost_is_said(found: dict[str, object], words: str) -> None:
    assert kubernetes_job.ended(found) == (f"pod assay-x-0-abcde on n1: {words}" if words else "")


def test_the_image_is_that_of_the_nodes_and_not_of_an_injected_sidecar() -> None:
    both = [{"name": "node", "imageID": "lab/train@sha256:1"}, {"name": "istio-proxy", "imageID": "istio@sha256:2"}]
    assert kubernetes_job.images([pod(containerStatuses=both), pod()], "node") == {"assay-x-0-abcde": "lab/train@sha256:1"}


@needs_pods
@pytest.mark.slow
def test_all_launches_share_one_job_and_a_level_takes_the_nodes_that_it_fills(fake: Cluster, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(RANKS.format(node="FIREASSAY_HOST"))
    record = open_record(run(experiment(), folder=tmp_path, root=tmp_path / "records"))
    found = record.manifest["environment"]["before"]["allocation"]
    assert (record.state, found["engine"], found["namespace"], found["hosts"]) == ("complete", "kubernetes", NAMESPACE, ["n1", "n2"])
    assert found["image_id"].startswith("lab/train@sha256:")
    assert found["nodes"]["n2"] == {"kubelet": "v1.33.0", "kubernetes.io/hostname": "n2", "topology.kubernetes.io/zone": "z1"}
    assert set(record.manifest["environment"]["before"]["nodes"]["n2"]) >= {"host.kernel", "cpu.model"}
    said = clusters.logs(record)
    assert "rank 0 of 1 n1 n1" in said[1]
    assert {line.split("of 2")[1] for line in said[2].splitlines() if "of 2" in line} == {" n1 n1", " n2 n2"}
    until(lambda: not fake.live(), "the end of the Job")


def asked(wanted: Kubernetes = IMAGE, levels: tuple[int, ...] = (2,)) -> str:
    """Why there are no nodes."""
    with pytest.raises(EnvironmentLacks) as error:
        kubernetes.allocate(experiment(levels=levels, wanted=wanted), lambda _: False)
    return str(error.value)


@needs_pods
@pytest.mark.slow
@pytest.mark.parametrize(("verb", "resource"), [("create", "jobs"), ("list", "pods"), ("get", "pods/exec")])
def test_a_right_that_is_missing_is_said_in_the_words_of_the_api(fake: Cluster, verb: str, resource: str) -> None:
    fake.store.forbidden.add((verb, resource))
    assert f'cannot {verb} resource "{resource}" in API group' in asked()
    until(lambda: not fake.live(), "the end of the Job")


@needs_pods
@pytest.mark.slow
def test_an_image_that_does_not_exist_ends_the_wait(fake: Cluster) -> None:
    assert 'ImagePullBackOff: Back-off pulling image "lab/none"' in asked(Kubernetes(image="lab/none"))
    until(lambda: not fake.live(), "the end of the Job")


@needs_pods
@pytest.mark.slow
def test_a_shared_folder_that_is_missing_in_the_pods_is_named(fake: Cluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(kubernetes.supervisor, "__file__", str(tmp_path / "none"))
    assert f"Error: {tmp_path / 'none'} is not in the pod: the shared folder must be mounted there at the same path" in asked()


@needs_pods
@pytest.mark.slow
def test_what_the_scheduler_and_a_quota_say_is_shown_while_the_nodes_are_awaited(fake: Cluster) -> None:
    words = "Unschedulable: 0/2 nodes are available: 2 Insufficient nvidia.com/gpu."
    gpus = {"image": "lab/train:3", "resources": {"cpu": "1", "nvidia.com/gpu": "8"}}
    with pytest.raises(Interrupted, match="a request to stop while waiting for Kubernetes"):
        kubernetes.allocate(experiment(levels=(16,), wanted=Kubernetes(**gpus)), lambda why: why == f"Kubernetes: {words}")  # type: ignore[arg-type]
    until(lambda: not fake.live(), "the end of the Job")
    assert f"{words} (waited 1 s: launcher.kubernetes.wait_s)" in asked(Kubernetes(**gpus, wait_s=1.0), (16,))  # type: ignore[arg-type]
    fake.quota["pods"] = 1
    assert "is forbidden: exceeded quota: compute, requested: pods=1, used: pods=1, limited: pods=1" in asked(
        Kubernetes(image="lab/train:3", wait_s=1.0)
    )


@needs_pods
@pytest.mark.slow
def test_two_pods_share_a_node_only_if_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kubernetes_cluster.cluster(
        tmp_path, [Node("n1"), Node("n2", taints=({"key": "pool", "value": "lab", "effect": "NoSchedule"},))]
    ) as fake:
        monkeypatch.setenv("KUBECONFIG", str(fake.kubeconfig))
        why = asked(Kubernetes(image="lab/train:3", wait_s=1.0))
        assert "1 node(s) didn't match pod anti-affinity rules, 1 node(s) had untolerated taint {pool: lab}" in why
        shared = kubernetes.allocate(experiment(wanted=Kubernetes(image="lab/train:3", share_nodes=True)), lambda _: False)
        assert [host.name.rsplit("-", 1)[0][-1] for host in shared.hosts] == ["0", "1"]  # their own names
        shared.release()
        apart = kubernetes.allocate(experiment(wanted=Kubernetes(image="lab/train:3", tolerations=("pool",))), lambda _: False)
        assert [host.name for host in apart.hosts] == ["n1", "n2"]
        apart.release()


@needs_pods
@pytest.mark.slow
def test_a_busy_api_is_asked_again(fake: Cluster) -> None:
    fake.store.answers += [("POST", 500, 1), ("GET", 429, 2), ("DELETE", 503, 1)]
    kubernetes.allocate(experiment(), lambda _: False).release()
    until(lambda: not fake.live(), "the end of the Job")


@needs_pods
@pytest.mark.slow
def test_a_command_gets_its_input_and_the_end_of_it(fake: Cluster) -> None:
    found = kubernetes.allocate(experiment(levels=(1,)), lambda _: False)
    sent = b"x" * 300_000
    ran = subprocess.run([*found.hosts[0].prefix, "wc", "-c"], input=sent, capture_output=True, timeout=PROCESS_S, check=True)
    assert ran.stdout == b"300000\n"
    ran = subprocess.run([*found.hosts[0].prefix, "cat"], input=sent, capture_output=True, timeout=PROCESS_S, check=True)
    assert ran.stdout == sent
    found.release()


class OneThread:
    """A socket that may be used by one thread only, as OpenSSL has it."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner, self.threads = inner, set[int]()

    def __getattr__(self, name: str) -> Any:
        self.threads.add(threading.get_ident())
        return getattr(self.inner, name)


@pytest.mark.parametrize("size", [1, 200, 70_000])
def test_one_thread_carries_a_stream_both_ways(size: int) -> None:
    """Two in one TLS connection end it after some ten thousand messages: an agent's orders and answers cross so."""
    websocket = pytest.importorskip("websocket")
    abnf = websocket.ABNF
    (far, near), (caller, ours) = socket.socketpair(), socket.socketpair()
    stream, far_end = websocket.WebSocket(), websocket.WebSocket()
    recorded = OneThread(near)
    stream.sock, far_end.sock = recorded, far
    cluster = SimpleNamespace(exec=lambda _: stream)
    relay = threading.Thread(target=kubernetes_job._relay, args=(cluster, ["pod-0"], ours), daemon=True)
    relay.start()
    caller.sendall(json.dumps({"node": 0, "words": ["cat"]}).encode() + b"\n")
    assert json.loads(far_end.recv()[5:]) == ["cat"]
    for number in range(20):
        sent = bytes([number]) * size
        caller.sendall(sent)
        echo = b""
        while len(echo) < size:  # a read may split what was sent at once
            echo += far_end.recv()[5:]
        assert echo == sent
        half = size // 2  # a message may come in two frames, with a ping between them
        for frame in (
            abnf.create_frame(b"\1" + echo[:half], abnf.OPCODE_BINARY, fin=0),
            abnf.create_frame(b"?", abnf.OPCODE_PING),
            abnf.create_frame(echo[half:], abnf.OPCODE_CONT, fin=1),
            abnf.create_frame(b"\2 an error", abnf.OPCODE_BINARY),
        ):
            far.sendall(frame.format())
        back = b""
        while len(back) < size:
            back += caller.recv(1 << 16)
        assert back == sent
    caller.shutdown(socket.SHUT_WR)
    assert far_end.recv() == b"\0\0\0\0\0"
    far.sendall(abnf.create_frame(b"\1last", abnf.OPCODE_BINARY).format() + abnf.create_frame(b"\x03\xe8", abnf.OPCODE_CLOSE).format())
    assert caller.recv(100) == b"last"
    relay.join(PROCESS_S)
    assert not relay.is_alive()
    assert recorded.threads == {relay.ident}
    for one in (far, caller):
        one.close()


def test_neither_side_waits_for_the_other_to_read() -> None:
    """A command may write more than its caller reads before it has sent all of its input, and the other way round."""
    websocket = pytest.importorskip("websocket")
    abnf = websocket.ABNF
    (far, near), (caller, ours) = socket.socketpair(), socket.socketpair()
    stream = websocket.WebSocket()
    stream.sock = near
    cluster = SimpleNamespace(exec=lambda _: stream)
    threading.Thread(target=kubernetes_job._relay, args=(cluster, ["pod-0"], ours), daemon=True).start()
    caller.sendall(json.dumps({"node": 0, "words": ["cat"]}).encode() + b"\n")
    much = bytes(1 << 22)
    output = abnf.create_frame(b"\1" + much, abnf.OPCODE_BINARY).format()
    writers = [threading.Thread(target=one.sendall, args=(data,), daemon=True) for one, data in ((far, output), (caller, much))]
    for writer in writers:
        writer.start()
    got = 0
    while got < len(much):
        got += len(caller.recv(1 << 16))
    far_end = websocket.WebSocket()
    far_end.sock, sent = far, 0
    far_end.recv()
    while sent < len(much):
        sent += len(far_end.recv()) - 5
    for writer in writers:
        writer.join(PROCESS_S)
        assert not writer.is_alive()
    far.close()
    caller.close()


@needs_pods
@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])  # SIGTERM stops a run as Ctrl-C does
def test_neither_process_nor_job_is_left_when_assay_is_ended(fake: Cluster, tmp_path: Path, how: signal.Signals) -> None:
    work = tmp_path / "work"
    work.mkdir()
    clusters.ended(work, how, {"kind": "kubernetes", "kubernetes": {"image": "lab/train:3"}}, (work / "begun").exists)
    until(lambda: not alive(work), "the end of all processes")
    until(lambda: not fake.live(), "the end of the Job")


@needs_pods
@pytest.mark.slow
def test_a_job_that_waits_is_gone_when_assay_is_killed(fake: Cluster, tmp_path: Path) -> None:
    wanted = {"image": "lab/train:3", "resources": {"nvidia.com/gpu": "1"}}
    clusters.ended(tmp_path, signal.SIGKILL, {"kind": "kubernetes", "kubernetes": wanted}, fake.live)
    until(lambda: not fake.live(), "the end of the Job")


@needs_pods
@pytest.mark.slow
def test_the_lease_ends_a_job_whose_holder_is_killed(fake: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kubernetes_job, "LEASE_S", 8)
    monkeypatch.setattr(kubernetes_job, "KEPT_S", 1)
    found = kubernetes.allocate(experiment(), lambda _: False)
    holder = found.release.__self__.process  # type: ignore[attr-defined]
    holder.kill()
    until(lambda: not fake.live(), "the end of the Job")
    lost = found.lost(0.0)
    assert lost is None or "SIGKILL" not in lost.words
    found.release()


@needs_pods
@pytest.mark.slow
@pytest.mark.parametrize("how", ["evict", "preempt", "node", "job"])
def test_nodes_that_are_lost_are_named_with_the_reason(fake: Cluster, how: str) -> None:
    found = kubernetes.allocate(experiment(), lambda _: False)
    assert found.lost(0.0) is None
    first = fake.store.list("pods")[0]["metadata"]["name"]
    preempted = ("PreemptionByScheduler", "kube-scheduler: preempting to accommodate a higher priority pod")
    act, words = {
        "evict": (lambda: fake.evict(NAMESPACE, first), "EvictionByEvictionAPI: Eviction API: evicting"),
        "preempt": (lambda: fake.evict(NAMESPACE, first, *preempted), ": ".join(preempted)),
        "node": (lambda: fake.lose(fake.nodes[0]), "on n1: not ready (NodeStatusUnknown: Kubelet stopped posting node status.)"),
        "job": (lambda: fake.store.remove("jobs", NAMESPACE, first.rsplit("-", 2)[0]), ""),
    }[how]
    act()
    lost = found.lost(PROCESS_S)
    assert lost is not None
    assert lost.again == (how != "job")
    why = lost.words
    found.release()
    assert why.startswith("the end of a node of Kubernetes (")
    assert words in why
    assert how != "job" or re.search(r"deleted|not found", why)
    until(lambda: not fake.live(), "the end of the Job")


@needs_pods
@pytest.mark.slow
def test_an_eviction_interrupts_the_run_and_resume_asks_for_other_nodes(fake: Cluster, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"import pathlib\nif not pathlib.Path('again').exists(): exec({LONG!r})")

    def evict(_progress: object) -> None:
        if (tmp_path / "begun").exists() and not (tmp_path / "again").exists():
            (tmp_path / "again").touch()
            threading.Thread(target=fake.evict, args=(NAMESPACE, fake.store.list("pods")[0]["metadata"]["name"])).start()

    wanted = experiment(levels=(2,), python=quick_torchrun.python(tmp_path))
    patient = wanted.model_copy(update={"limits": wanted.limits.model_copy(update={"grace_s": 10.0})})  # the other node outlives the news
    with pytest.raises(Interrupted, match="EvictionByEvictionAPI"):
        run(patient, folder=tmp_path, root=tmp_path / "records", on_progress=evict)
    [path] = (tmp_path / "records").iterdir()
    assert [row["status"] for row in open_record(path).table("launches").to_dicts()] == ["aborted"]
    resume(path)
    assert [row["status"] for row in open_record(path).table("launches").to_dicts()] == ["aborted", "ok"]


@needs_pods
@pytest.mark.deep
def test_a_fault_strikes_in_the_pod_of_the_worker(fake: Cluster, tmp_path: Path) -> None:
    slow = "for _ in range(150):\n    time.sleep(0.01)"  # the fault strikes before the end, on an idle machine too
    (tmp_path / "train.py").write_text(f"import time\n{TRAIN.replace('for _ in range(8):', slow)}")
    faults = tuple(Fault(kind=kind, rank=1, at_step=20, for_s=1.0) for kind in ("kill", "stop"))
    wanted = experiment(levels=(2,), max_restarts=2).model_copy(update={"faults": faults})
    record = open_record(run(wanted, folder=tmp_path, root=tmp_path / "records"))
    events = record.table("events")
    meters = [json.loads(detail)["nodes"] for detail in events.filter(kind="node_meters")["detail"]]
    assert [node for nodes in meters for node in nodes.values() if node.keys() & {"lost", "absent"}] == []
    assert events.filter(kind="fault_missed").height == 0
    struck = {row["launch"]: (json.loads(row["detail"])["fault"], row["rank"]) for row in events.filter(kind="fault").to_dicts()}
    assert sorted(struck.values()) == [("kill", 1), ("stop", 1)]
    for launch in record.table("launches").filter(role="fault").to_dicts():
        starts = range(1 + (struck[launch["launch"]][0] == "kill"))
        assert (launch["status"], launch["reason"], launch["restarts"]) == ("ok", "", starts[-1])
        deaths = events.filter(kind="worker_gone", launch=launch["launch"])
        assert set(deaths["host"]) == {"n1", "n2"}
        assert sorted(deaths.select("rank", "incarnation").rows()) == [(rank, again) for rank in (0, 1) for again in starts]
    until(lambda: not fake.live(), "the end of the Job")


@needs_pods
@pytest.mark.deep
def test_the_page_for_users_of_a_cluster_can_be_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, repository: Path) -> None:
    section = (repository / "docs/how-to/run-on-a-cluster.md").read_text().partition("## Kubernetes\n")[2].partition("\n## ")[0]
    [settings] = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)
    [command] = re.findall(r"^assay (run .*)$", section, re.MULTILINE)
    tables = 'name = "page"\n[workload]\nscript = "train.py"\n[factor]\nlevels = [8, 16]\n[launches]\nper_configuration = 1\n[scaling]\ntime = "wall"\n'
    (tmp_path / "e.toml").write_text(f"{tables}{settings}")
    (tmp_path / "train.py").write_text(RANKS.format(node="FIREASSAY_HOST"))
    taints = ({"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},)
    nodes = [Node(name, resources={"cpu": 64, "nvidia.com/gpu": 8}, taints=taints) for name in ("n1", "n2", "n3")]
    with kubernetes_cluster.cluster(tmp_path / "cluster", nodes) as fake:
        monkeypatch.setenv("KUBECONFIG", str(fake.kubeconfig))
        words = [sys.executable, "-m", "fireassay", *command.split()]
        ran = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, timeout=4 * PROCESS_S, check=False)
        [path] = (tmp_path / "records").iterdir()
        record = open_record(path)
        assert record.state == "complete", ran.stderr
        assert record.manifest["environment"]["before"]["allocation"]["hosts"] == ["n1", "n2"]
        assert clusters.logs(record)[16].count(" of 16 ") == 16
        shown = subprocess.run([*words, "--dry-run"], cwd=tmp_path, capture_output=True, text=True, timeout=PROCESS_S, check=True).stdout
        assert "kind: RoleBinding" in shown
        until(lambda: not fake.live(), "the end of the Job")
