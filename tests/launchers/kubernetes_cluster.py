"""What does the fake Kubernetes do with Jobs and pods?

    with cluster(tmp_path) as fake:
        fake.kubeconfig                  # for KUBECONFIG
        fake.nodes                       # two, of 4 CPUs each
        fake.store.forbidden.add(("create", "jobs"))

Its controllers act as the real ones do: of Jobs (indexes, failures, deadline, time to live), scheduler (CPUs and other resources, selectors,
taints, anti-affinity by host name), kubelet (images, processes, readiness), garbage collector.  A pod is a process in a PID namespace of its own,
so its end is that of everything in it; exec enters that namespace, and what it started is killed alone when the connection breaks.
Images are names in `images`; files are those of this machine.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from tests.launchers.kubernetes_api import TOKEN, Object, Refused, Server, Store, now
from tests.limits import PROCESS_S

TICK_S = 0.05
INDEX = "batch.kubernetes.io/job-completion-index"
NAMESPACE = "lab"
PULL_S = 1.0  # between ErrImagePull and ImagePullBackOff


@cache
def why_not() -> str:
    """Why the fake cannot run pods here; "" if it can."""
    missing = [name for name in ("unshare", "nsenter", "openssl") if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    try:
        import kubernetes  # noqa: F401
    except ImportError:
        return "not installed: kubernetes (pip install 'fireassay[kubernetes]')"
    tried = subprocess.run([*unshared(), "true"], capture_output=True, text=True, timeout=PROCESS_S, check=False)
    return "" if tried.returncode == 0 else f"no PID namespaces here: {tried.stderr.strip()}"


def unshared() -> list[str]:
    """Words that run a command as the first process of a PID namespace."""
    return ["unshare", *(["--user", "--map-root-user"] if os.geteuid() else []), "--pid", "--fork", "--kill-child", "--mount-proc"]


@dataclass
class Node:
    """A machine; `prefix`: words that run a command in its network.

    `address`: by default a loopback one of its own, as torchrun names a participant by address and pid, and pids of namespaces are alike.
    """

    name: str
    address: str = ""
    prefix: tuple[str, ...] = ()
    resources: dict[str, int] = field(default_factory=lambda: {"cpu": 4})
    labels: dict[str, str] = field(default_factory=dict)
    taints: tuple[dict[str, str], ...] = ()
    lost: bool = False


class Cluster:
    """A store, its controllers and the processes of its pods."""

    def __init__(self, folder: Path, nodes: Sequence[Node]) -> None:
        addressed = [replace(node, address=node.address or f"127.0.0.{place}") for place, node in enumerate(nodes, 2)]
        self.server, self.nodes = Server(folder), addressed
        self.store: Store = self.server.store
        self.images = {"lab/train:3"}
        self.quota: dict[str, int] = {}  # pods
        self.pods: dict[str, subprocess.Popen[bytes]] = {}  # by uid
        self.stopping = threading.Event()
        self.server.command, self.server.cut = self._enter, self._cut
        self.server.evict, self.server.delete = self.evict, self._delete
        self.kubeconfig = folder / "kubeconfig"
        self._write()
        for node in nodes:
            labels = {"kubernetes.io/hostname": node.name, "topology.kubernetes.io/zone": "z1", **node.labels}
            body = {"metadata": {"name": node.name, "labels": labels}, "status": {"nodeInfo": NODE_INFO}}
            self.store.create("nodes", "", body)
        self.threads = [threading.Thread(target=self.server.serve_forever, args=(TICK_S,)), threading.Thread(target=self._run)]
        for thread in self.threads:
            thread.start()

    def _write(self) -> None:
        import yaml

        cluster = {"server": self.server.url, "certificate-authority": str(self.server.certificate)}
        context = {"cluster": "fake", "user": "assay", "namespace": NAMESPACE}
        parts: Object = {"clusters": [{"name": "fake", "cluster": cluster}], "users": [{"name": "assay", "user": {"token": TOKEN}}]}
        parts |= {"contexts": [{"name": "fake", "context": context}], "current-context": "fake"}
        self.kubeconfig.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "Config", **parts}))

    def close(self) -> None:
        self.stopping.set()
        self.server.shutdown()
        for thread in self.threads:
            thread.join()
        for process in self.pods.values():
            process.kill()
            process.communicate()
        self.server.server_close()

    # What a test does to it.

    def evict(self, namespace: str, name: str, reason: str = "EvictionByEvictionAPI", message: str = "Eviction API: evicting") -> None:
        """Mark a pod as disrupted, and delete it."""
        condition = {"type": "DisruptionTarget", "status": "True", "reason": reason, "message": message, "lastTransitionTime": now()}
        with self.store.lock:
            pod = self.store.get("pods", namespace, name)
            conditions = [*pod["status"].get("conditions", []), condition]
            self.store.change("pods", namespace, name, {"status": {"conditions": conditions}})
            self._delete("pods", namespace, name)

    def lose(self, node: Node) -> None:
        """The machine dies: its processes are gone, and later the node controller says so."""
        node.lost = True
        for pod in self.store.list("pods"):
            if pod["spec"].get("nodeName") == node.name and (process := self.pods.get(pod["metadata"]["uid"])):
                process.kill()
                message = "Kubelet stopped posting node status."
                self._state(pod, {}, ready=False, reason="NodeStatusUnknown", message=message)

    def live(self) -> list[str]:
        """Names of the Jobs and pods that exist."""
        return [found["metadata"]["name"] for kind in ("jobs", "pods") for found in self.store.list(kind)]

    # Controllers.

    def _run(self) -> None:
        while not self.stopping.wait(TICK_S):
            for act in (self._jobs, self._schedule, self._kubelets, self._collect):
                with suppress(Refused):  # it was deleted meanwhile
                    act()

    def _delete(self, resource: str, namespace: str, name: str) -> None:
        if resource == "pods":
            self.store.change("pods", namespace, name, {"metadata": {"deletionTimestamp": now(), "deletionGracePeriodSeconds": 1}})
        else:
            self.store.remove(resource, namespace, name)

    def _collect(self) -> None:
        jobs = {job["metadata"]["uid"] for job in self.store.list("jobs")}
        for pod in self.store.list("pods"):
            metadata = pod["metadata"]
            owners = {owner["uid"] for owner in metadata.get("ownerReferences") or ()}
            if owners and not owners & jobs and "deletionTimestamp" not in metadata:
                self._delete("pods", metadata["namespace"], metadata["name"])

    def _jobs(self) -> None:
        for job in self.store.list("jobs"):
            metadata, spec, status = job["metadata"], job["spec"], job.get("status") or {}
            if done := next((found for found in status.get("conditions") or () if found["type"] in ("Failed", "Complete")), None):
                if _age(done["lastTransitionTime"]) > spec.get("ttlSecondsAfterFinished", float("inf")):
                    self._delete("jobs", metadata["namespace"], metadata["name"])
                continue
            if spec.get("suspend"):
                continue
            pods = [pod for pod in self.store.list("pods", metadata["namespace"]) if _owner(pod) == metadata["uid"]]
            self._count(job, pods)
            there = {pod["metadata"]["annotations"][INDEX] for pod in pods}
            for index in range(spec.get("completions", 1)):
                if str(index) not in there:
                    self._pod(job, index)

    def _count(self, job: Object, pods: list[Object]) -> None:
        phases = [(pod.get("status") or {}).get("phase") for pod in pods]
        gone = ["deletionTimestamp" in pod["metadata"] for pod in pods]
        failed = sum(phase == "Failed" or end for phase, end in zip(phases, gone, strict=True))
        counts = {
            "active": sum(phase in ("Pending", "Running") and not end for phase, end in zip(phases, gone, strict=True)),
            "ready": sum(map(_is_ready, pods)),
            "failed": failed,
            "succeeded": phases.count("Succeeded"),
        }
        name, space = job["metadata"]["name"], job["metadata"]["namespace"]
        started = (job.get("status") or {}).get("startTime") or now()
        over = None
        if failed > job["spec"].get("backoffLimit", 6):
            over = ("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
        elif _age(started) >= job["spec"].get("activeDeadlineSeconds", float("inf")):
            over = ("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")
        elif counts["succeeded"] == job["spec"].get("completions", 1):
            over = ("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
        conditions = [dict(zip(("type", "reason", "message"), over, strict=True), status="True", lastTransitionTime=now())] if over else []
        self.store.change("jobs", space, name, {"status": {"startTime": started, **counts, **({"conditions": conditions} if over else {})}})
        if over:
            for pod in pods:
                if (pod.get("status") or {}).get("phase") in (None, "Pending", "Running") and "deletionTimestamp" not in pod["metadata"]:
                    self._delete("pods", space, pod["metadata"]["name"])

    def _pod(self, job: Object, index: int) -> None:
        metadata, template = job["metadata"], job["spec"]["template"]
        labels = {**template["metadata"].get("labels", {}), "job-name": metadata["name"], "batch.kubernetes.io/job-name": metadata["name"]}
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": metadata["name"], "uid": metadata["uid"], "controller": True}
        name, space = f"{metadata['name']}-{index}-{os.urandom(3).hex()[:5]}", metadata["namespace"]
        if "pods" in self.quota and len(self.store.list("pods", space)) >= self.quota["pods"]:
            used = f"requested: pods=1, used: pods={self.quota['pods']}, limited: pods={self.quota['pods']}"
            message = f'Error creating: pods "{name}" is forbidden: exceeded quota: compute, {used}'
            self._event(job, "FailedCreate", message)
            return
        body = {"metadata": {"name": name, "labels": labels, "annotations": {INDEX: str(index)}, "ownerReferences": [owner]}}
        self.store.create("pods", space, {**body, "spec": template["spec"], "status": {"phase": "Pending"}})

    def _event(self, found: Object, reason: str, message: str) -> None:
        metadata = found["metadata"]
        about = {"kind": found["kind"], "name": metadata["name"], "namespace": metadata["namespace"], "uid": metadata["uid"]}
        body = {"metadata": {"name": f"{metadata['name']}.{reason.lower()}"}, "involvedObject": about, "type": "Warning"}
        with suppress(Refused):  # said before
            self.store.create("events", metadata["namespace"], {**body, "reason": reason, "message": message, "lastTimestamp": now()})

    def _schedule(self) -> None:
        for pod in self.store.list("pods"):
            if pod["spec"].get("nodeName") or "deletionTimestamp" in pod["metadata"]:
                continue
            why = [self._unfit(pod, node) for node in self.nodes]
            fits = [node for node, words in zip(self.nodes, why, strict=True) if not words]
            place = {"type": "PodScheduled", "status": "True"}
            patch: Object = {"spec": {"nodeName": fits[0].name}} if fits else {}
            if not fits:
                counted = ", ".join(f"{why.count(words)} {words}" for words in sorted(set(why)))
                message = f"0/{len(self.nodes)} nodes are available: {counted}."
                place = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
            self.store.change("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], {**patch, "status": {"conditions": [place]}})

    def _unfit(self, pod: Object, node: Node) -> str:
        spec = pod["spec"]
        labels = self.store.get("nodes", "", node.name)["metadata"]["labels"]
        if node.lost:
            return "node(s) had untolerated taint {node.kubernetes.io/unreachable: }"
        if not (spec.get("nodeSelector") or {}).items() <= labels.items():
            return "node(s) didn't match Pod's node affinity/selector"
        for taint in node.taints:
            if not any(_tolerates(toleration, taint) for toleration in spec.get("tolerations") or ()):
                return f"node(s) had untolerated taint {{{taint['key']}: {taint.get('value', '')}}}"
        there = [other for other in self.store.list("pods") if other["spec"].get("nodeName") == node.name]
        rules = ((spec.get("affinity") or {}).get("podAntiAffinity") or {}).get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        if any(rule["labelSelector"]["matchLabels"].items() <= other["metadata"]["labels"].items() for rule in rules for other in there):
            return "node(s) didn't match pod anti-affinity rules"
        for name, amount in (spec["containers"][0].get("resources", {}).get("requests") or {}).items():
            used = sum(int(other["spec"]["containers"][0]["resources"]["requests"].get(name, 0)) for other in there)
            if name != "memory" and used + int(amount) > node.resources.get(name, 0):
                return f"Insufficient {name}"
        return ""

    def _kubelets(self) -> None:
        lost = {node.name for node in self.nodes if node.lost}
        for pod in self.store.list("pods"):
            if (name := pod["spec"].get("nodeName")) in lost or (not name and "deletionTimestamp" not in pod["metadata"]):
                if (
                    name in lost
                    and "deletionTimestamp" in pod["metadata"]
                    and _owner(pod) not in {j["metadata"]["uid"] for j in self.store.list("jobs")}
                ):
                    self.store.remove("pods", pod["metadata"]["namespace"], pod["metadata"]["name"])  # the pod garbage collector, early
                continue
            self._kubelet(pod)

    def _kubelet(self, pod: Object) -> None:
        metadata, phase = pod["metadata"], (pod.get("status") or {}).get("phase")
        process = self.pods.get(metadata["uid"])
        if "deletionTimestamp" in metadata:
            if process is None or process.poll() is not None:
                self.store.remove("pods", metadata["namespace"], metadata["name"])
            elif _age(metadata["deletionTimestamp"]) > metadata["deletionGracePeriodSeconds"]:
                process.kill()
            else:
                with suppress(OSError):
                    os.kill(_first(process), signal.SIGTERM)
        elif phase == "Pending":
            self._start(pod)
        elif phase == "Running" and process is not None and process.poll() is not None:
            code = process.returncode if process.returncode >= 0 else 128 - process.returncode
            said = (process.stderr.read() if process.stderr else b"").decode()[-2048:]
            ended = {
                "exitCode": code,
                "reason": "Error" if code else "Completed",
                **({"message": said} if said and code else {}),
                "finishedAt": now(),
            }
            self._state(pod, {"terminated": ended}, ready=False, phase="Failed" if code else "Succeeded")

    def _start(self, pod: Object) -> None:
        container = pod["spec"]["containers"][0]
        if container["image"] not in self.images:
            waiting = {"reason": "ErrImagePull", "message": f'failed to pull and unpack image "{container["image"]}": not found'}
            if _age(pod["metadata"]["creationTimestamp"]) > PULL_S:
                waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image "{container["image"]}"'}
            return self._state(pod, {"waiting": waiting}, ready=False, phase="Pending")
        node = next(node for node in self.nodes if node.name == pod["spec"]["nodeName"])
        words = [*node.prefix, *unshared(), *container["command"], *container.get("args", [])]
        environment = {"PATH": os.environ["PATH"], "HOSTNAME": pod["metadata"]["name"], "KUBERNETES_SERVICE_HOST": "127.0.0.1"}
        environment |= {entry["name"]: entry.get("value", "") for entry in container.get("env") or ()}
        started = subprocess.Popen(
            words, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, start_new_session=True
        )
        self.pods[pod["metadata"]["uid"]] = started
        self._state(pod, {"running": {"startedAt": now()}}, ready=True, phase="Running", podIP=node.address)

    def _state(self, pod: Object, state: Object, *, ready: bool, phase: str = "", podIP: str = "", **why: str) -> None:
        before = pod.get("status") or {}
        others = [found for found in before.get("conditions") or () if found["type"] != "Ready"]
        container = pod["spec"]["containers"][0]
        found = {"name": container["name"], "image": container["image"], "ready": ready, "restartCount": 0}
        found |= {"imageID": f"{container['image'].split(':')[0]}@sha256:{'0' * 64}" if phase == "Running" else "", "state": state}
        statuses = {"containerStatuses": [found]} if state else {}
        status = {"conditions": [*others, {"type": "Ready", "status": "True" if ready else "False", **why}], **statuses}
        status |= {"phase": phase} if phase else {}
        status |= {"podIP": podIP, "qosClass": "Burstable"} if podIP else {}
        self.store.change("pods", pod["metadata"]["namespace"], pod["metadata"]["name"], {"status": status})

    # Exec.

    def _enter(self, pod: Object, words: list[str]) -> subprocess.Popen[bytes]:
        process = self.pods[pod["metadata"]["uid"]]
        user = ["--user", "--preserve-credentials"] if os.geteuid() else []
        enter = ["nsenter", f"--target={_first(process)}", *user, "--pid", "--mount", "--net", "--"]
        pipe = subprocess.PIPE
        environment = {"PATH": os.environ["PATH"]}
        return subprocess.Popen(
            [*enter, *words], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, env=environment, start_new_session=True
        )

    def _cut(self, command: subprocess.Popen[bytes]) -> None:
        """The connection is gone: kill the command alone, as a runtime does."""
        for pid in [*_children(command.pid), command.pid]:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        command.wait()


NODE_INFO = {
    "kubeletVersion": "v1.33.0",
    "kernelVersion": "6.1",
    "osImage": "Debian",
    "containerRuntimeVersion": "fake://1",
    "architecture": "amd64",
    "operatingSystem": "linux",
    "bootID": "b",
    "machineID": "m",
    "systemUUID": "s",
    "kubeProxyVersion": "",
}


def _children(pid: int) -> list[int]:
    with suppress(OSError):
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return []


def _first(process: subprocess.Popen[bytes]) -> int:
    """The namespace's first process: the child of `unshare`, which the prefix became by exec."""
    deadline = time.monotonic() + PROCESS_S
    while process.poll() is None and time.monotonic() < deadline:
        if found := _children(process.pid):
            return found[0]
        time.sleep(TICK_S / 10)
    raise ProcessLookupError


def _age(written: str) -> float:
    return (datetime.now(UTC) - datetime.fromisoformat(written)).total_seconds()


def _owner(pod: Object) -> str:
    return next((str(owner["uid"]) for owner in pod["metadata"].get("ownerReferences") or ()), "")


def _is_ready(pod: Object) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(found["type"] == "Ready" and found["status"] == "True" for found in conditions)


def _tolerates(toleration: dict[str, str], taint: dict[str, str]) -> bool:
    same = toleration.get("key") == taint["key"] and toleration.get("effect") in (None, taint["effect"])
    return same and (toleration.get("operator") == "Exists" or toleration.get("value") == taint.get("value"))


@contextmanager
def cluster(folder: Path, nodes: Sequence[Node] = ()) -> Iterator[Cluster]:
    """A cluster until the end of the block."""
    folder.mkdir(parents=True, exist_ok=True)
    found = Cluster(folder, nodes or [Node("n1"), Node("n2")])
    try:
        yield found
    finally:
        found.close()
