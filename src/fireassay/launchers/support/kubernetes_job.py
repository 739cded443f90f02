"""How are nodes of a Kubernetes cluster held, and commands run on them?

    python -I kubernetes_job.py      input: {"context": ..., "job": {...}, "wait_s": ..., "folder": ...}

One Job, whose pods do nothing but exist; commands enter by exec.  It prints one line of JSON about the pods, then serves `held_exec.py`
until the end of its input, and deletes the Job.
A lease covers what deletes nothing (SIGKILL of this process, a lost machine or network): the Job's activeDeadlineSeconds is always a few
seconds ahead.  Unless it is renewed, the Job's controller ends the pods and ttlSecondsAfterFinished removes the Job.
The channel of an exec that carries input cannot be closed alone (v4.channel.k8s.io), so INNER reads frames in the pod; an empty one is the end.
A command is no child of INNER, which a runtime may kill when the connection breaks: a supervisor must then see the end of its input.
Source: https://kubernetes.io/docs/concepts/workloads/controllers/job/
"""

from __future__ import annotations

import ast
import importlib
import json
import os
import select
import signal
import socket
import ssl
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import chain
from pathlib import Path
from typing import Any

LEASE_S, KEPT_S = 20, 5  # the Job's deadline ahead, and how long a Job is kept once it has failed
MOVED = 5  # times in which the deadline is moved while it passes
POLL_S, QUICK_S = 0.5, 0.1  # of the API, and of what this process knows itself
PING_S = 15.0  # proxies cut streams on which nothing moves
REQUEST_S, WATCH_S = 10.0, 240
CHUNK = 1 << 16
STDIN, STDOUT = 0, 1  # channels of an exec
FULL = 1 << 20  # bytes that one side may be behind
NAME_LABEL, INDEX = "job-name", "batch.kubernetes.io/job-completion-index"  # set by the Job's controller; the label in every version
TOPOLOGY = ("kubernetes.io/hostname", "topology.kubernetes.io/region", "topology.kubernetes.io/zone", "node.kubernetes.io/instance-type")
HOPELESS = ("ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "CreateContainerConfigError", "CreateContainerError")
# A pod's first process. A forked child that nobody waits for is reaped by the kernel.
KEEP = """
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
for path in sys.argv[1:]:
    if not os.path.exists(path):
        sys.exit(f"{path} is not in the pod: the shared folder must be mounted there at the same path")
while True:
    signal.pause()
"""
INNER = """
import json, os, subprocess, sys, threading
source = sys.stdin.buffer
def frame():
    size = source.read(4)
    return source.read(int.from_bytes(size, "big")) if len(size) == 4 else b""
orphaned = 'exec 3<&0; "$@" <&3 3<&- &'
command = subprocess.Popen(["/bin/sh", "-c", orphaned, "sh", *json.loads(frame())], stdin=-1, stdout=-1, start_new_session=True)
def feed():
    try:
        while data := frame():
            command.stdin.write(data)
            command.stdin.flush()
        command.stdin.close()
    except OSError:
        pass
threading.Thread(target=feed, daemon=True).start()
while data := os.read(command.stdout.fileno(), 65536):
    os.write(1, data)
os._exit(0)
"""


def pending(pods: Sequence[Mapping[str, Any]], events: Sequence[Mapping[str, Any]]) -> tuple[str, bool]:
    """What the nodes wait for, in the words of the API, and whether waiting is hopeless."""
    for pod in pods:
        if why := ended(pod):
            return why, True
        for container in _statuses(pod):
            waiting = (container.get("state") or {}).get("waiting") or {}
            if waiting.get("reason") not in (None, "ContainerCreating", "PodInitializing"):
                return _words(waiting), waiting["reason"] in HOPELESS
    refused = [condition for pod in pods for condition in _conditions(pod) if condition["status"] == "False" and condition.get("message")]
    scheduling = [condition for condition in refused if condition["type"] == "PodScheduled"]
    if scheduling:
        return _words(scheduling[0]), False
    warnings = [event for event in events if event.get("type") == "Warning"]
    return (_words(warnings[-1]) if warnings else ""), False


def ended(pod: Mapping[str, Any]) -> str:
    """Why a pod is, or is about to be, no longer there; "" while it lasts."""
    metadata, status = pod["metadata"], pod.get("status") or {}
    node = (pod.get("spec") or {}).get("nodeName") or "no node"
    disrupted = next((_words(found) for found in _conditions(pod) if found["type"] == "DisruptionTarget" and found["status"] == "True"), "")
    if metadata.get("deletionTimestamp") or status.get("phase") in ("Failed", "Succeeded"):
        states = [(container.get("state") or {}).get("terminated") for container in _statuses(pod)]
        containers = [_words(state) for state in states if state]
        said = disrupted or _words(status) or next(iter(containers), "") or ("deleted" if metadata.get("deletionTimestamp") else "ended")
        return f"pod {metadata['name']} on {node}: {said}"
    for condition in _conditions(pod):
        if condition["type"] == "Ready" and condition["status"] != "True" and status.get("phase") == "Running" and _started(pod):
            return f"pod {metadata['name']} on {node}: not ready{f' ({_words(condition)})' if _words(condition) else ''}"
    return ""


def _started(pod: Mapping[str, Any]) -> bool:
    return any((container.get("state") or {}).get("running") is not None for container in _statuses(pod))


def _statuses(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]


def _conditions(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return (pod.get("status") or {}).get("conditions") or []


def _words(found: Mapping[str, Any]) -> str:
    return " ".join(": ".join(part for part in (found.get("reason"), found.get("message")) if part).split())


def ready(pod: Mapping[str, Any]) -> bool:
    """Whether commands can be run in a pod."""
    return any(condition["type"] == "Ready" and condition["status"] == "True" for condition in _conditions(pod))


def in_order(pods: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """By the index in the Job."""
    return sorted(pods, key=lambda pod: (int((pod["metadata"].get("annotations") or {}).get(INDEX, 0)), pod["metadata"]["name"]))


def names_of(pods: Sequence[Mapping[str, Any]]) -> list[str]:
    """A name for each: its node's, or its own where two share a node."""
    nodes = [str(pod["spec"]["nodeName"]) for pod in pods]
    return nodes if len(set(nodes)) == len(nodes) else [str(pod["metadata"]["name"]) for pod in pods]


def said_of(error: Exception) -> str:
    """An error of the API in its own words."""
    with suppress(ValueError, TypeError, AttributeError, KeyError):
        return str(json.loads(error.body)["message"])  # type: ignore[attr-defined]
    text = str(getattr(error, "reason", None) or error)
    answer = text.rpartition(" -+-+- ")[2]  # of a websocket: status, headers and body, as a text or as Python writes bytes
    with suppress(ValueError, TypeError, KeyError, SyntaxError):
        return str(json.loads(ast.literal_eval(answer) if answer.startswith("b") else answer)["message"])
    return " ".join(text.split())


class Cluster:
    """The Job, over the official client."""

    def __init__(self, context: str, job: dict[str, Any]) -> None:
        client, config = importlib.import_module("kubernetes.client"), importlib.import_module("kubernetes.config")
        self.client, self.job, self.configuration = client, job, client.Configuration()
        try:
            config.load_kube_config(context=context or None, client_configuration=self.configuration)
        except config.ConfigException:
            if context and "KUBERNETES_SERVICE_HOST" not in os.environ:  # within a pod the file of its user is elsewhere
                raise
            config.load_incluster_config(client_configuration=self.configuration)
        self.configuration.retries = False
        self.name, self.namespace = job["metadata"]["name"], job["metadata"]["namespace"]
        self.lease_s: int = job["spec"]["activeDeadlineSeconds"]
        self.renew_s = self.lease_s / MOVED
        self.api = client.ApiClient(self.configuration)
        self.began = self.renewed = time.monotonic()
        self.start_time = ""

    def call(self, method: str, path: str, body: object = None, **query: str) -> dict[str, Any]:
        """One request, tried again for as long as the lease holds if the API is not reached, or says that it is busy."""
        deadline = time.monotonic() + self.lease_s - self.renew_s
        while True:
            try:
                return self._once(method, path, body, query)
            except self.client.ApiException as error:
                if (error.status != 429 and error.status < 500) or time.monotonic() > deadline:
                    raise
            except (OSError, importlib.import_module("urllib3").exceptions.HTTPError):
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL_S)

    def _once(self, method: str, path: str, body: object, query: Mapping[str, str]) -> dict[str, Any]:
        """JSON as it is, without the client's models, which drop fields newer than themselves."""
        return dict(json.loads(self._request(method, path, body, query, REQUEST_S).data))

    def _request(self, method: str, path: str, body: object, query: Mapping[str, str], limit_s: float | tuple[float, float]) -> Any:
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.api.call_api(
            *(path, method),
            query_params=list(query.items()),
            header_params={"Accept": "application/json", "Content-Type": kind},
            body=body,
            auth_settings=["BearerToken"],
            _preload_content=False,
            _request_timeout=limit_s,
        )[0]

    @property
    def jobs(self) -> str:
        return f"/apis/batch/v1/namespaces/{self.namespace}/jobs"

    def create(self) -> None:
        self.began = self.renewed = time.monotonic()
        try:
            self.call("POST", self.jobs, self.job)
        except self.client.ApiException as error:
            if error.status != 409:  # an earlier try whose answer was lost: the name is random
                raise

    def renew(self) -> dict[str, Any]:
        """Move the deadline; the Job as it is. Its controller counts from startTime, which a queue sets late and may set again."""
        asked = time.monotonic()
        deadline = int(asked - self.began) + 1 + self.lease_s
        job = self.call("PATCH", f"{self.jobs}/{self.name}", {"spec": {"activeDeadlineSeconds": deadline}})
        if (start := (job.get("status") or {}).get("startTime") or "") != self.start_time:
            self.start_time, self.began = start, self.renewed
        self.renewed = asked
        return job

    def delete(self) -> None:
        self.call("DELETE", f"{self.jobs}/{self.name}", {"propagationPolicy": "Background"})

    def pods(self) -> list[dict[str, Any]]:
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        return in_order(self.call("GET", path, labelSelector=f"{NAME_LABEL}={self.name}")["items"])

    def follow(self, say: Callable[[str], None]) -> None:
        """Say why a pod is lost, as soon as the API knows: an evicted pod, and its reason, exist for a moment only."""
        lines = importlib.import_module("kubernetes.watch.watch").iter_resp_lines
        path = f"/api/v1/namespaces/{self.namespace}/pods"
        query = {"labelSelector": f"{NAME_LABEL}={self.name}"}
        while True:
            with suppress(Exception):  # of the network, or a version that is too old: list them again
                listed = self.call("GET", path, **query)
                found = [{"object": pod} for pod in listed["items"]]
                since = {"resourceVersion": listed["metadata"]["resourceVersion"], "watch": "true", "timeoutSeconds": str(WATCH_S)}
                limits = (REQUEST_S, WATCH_S + REQUEST_S)
                changes = map(json.loads, lines(self._request("GET", path, None, {**query, **since}, limits)))
                for change in chain(found, changes):
                    if change["object"].get("kind", "Pod") == "Pod" and (why := ended(change["object"])):
                        say(why)
            time.sleep(POLL_S)

    def events(self) -> list[dict[str, Any]]:
        """Of the Job and its pods; none where reading them is forbidden."""
        with suppress(self.client.ApiException):
            found = self.call("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
            return [event for event in found if str(event["involvedObject"].get("name", "")).startswith(self.name)]
        return []

    def labels(self, node: str) -> dict[str, str]:
        """Kubelet's version and topology of a node, which not every user may read."""
        try:
            found = self.call("GET", f"/api/v1/nodes/{node}")
        except self.client.ApiException as error:
            return {"absent": said_of(error)}
        labels = found["metadata"].get("labels") or {}
        kubelet = found["status"].get("nodeInfo", {}).get("kubeletVersion", "")
        return {"kubelet": kubelet, **{name: labels[name] for name in TOPOLOGY if name in labels}}

    def exec(self, pod: str) -> Any:
        """A websocket whose other end is INNER in the pod."""
        stream = importlib.import_module("kubernetes.stream").stream
        api = self.client.CoreV1Api(self.client.ApiClient(self.configuration))  # `stream` changes its client while it connects
        container = self.job["spec"]["template"]["spec"]["containers"][0]
        words = [container["command"][0], "-I", "-S", "-c", INNER]
        options = {"container": container["name"], "command": words, "stdin": True, "stdout": True, "stderr": False, "tty": False}
        found = stream(api.connect_get_namespaced_pod_exec, pod, self.namespace, **options, binary=True, _preload_content=False)
        return found.sock


def _ended(wait_s: float = 0.0) -> bool:
    return bool(select.select([0], [], [], wait_s)[0]) and not os.read(0, CHUNK)


def _awaited(cluster: Cluster, count: int, wait_s: float | None) -> list[dict[str, Any]]:
    """The pods, once all are ready."""
    begun, said, job = time.monotonic(), "", cluster.job
    while not _ended(POLL_S):
        pods = cluster.pods()
        if len(pods) == count and all(map(ready, pods)):
            return pods
        why, hopeless = pending(pods, cluster.events())
        why = why or _condition(job, "Suspended") or f"{sum(map(ready, pods))} of {count} pods are ready"
        if hopeless:
            sys.exit(why)
        if wait_s and time.monotonic() - begun > wait_s:
            sys.exit(f"{why} (waited {wait_s:g} s: launcher.kubernetes.wait_s)")
        if why != said:
            print(why, file=sys.stderr, flush=True)
            said = why
        if time.monotonic() - cluster.renewed > cluster.renew_s:
            job = cluster.renew()
            if over := _condition(job, "Failed", "Complete"):
                sys.exit(over)
    sys.exit(0)


def _condition(job: Mapping[str, Any], *types: str) -> str:
    """What a condition of a Job says; "" if it has none of these."""
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((_words(found) or found["type"] for found in conditions if found["type"] in types and found["status"] == "True"), "")


def _checked(cluster: Cluster, count: int) -> str:
    """Renew the lease; why the nodes are lost, or ""."""
    job = cluster.renew()
    status, over = job.get("status") or {}, _condition(job, "Failed", "Complete")
    if not over and not status.get("failed") and status.get("ready") == count:
        return ""
    pods = cluster.pods()
    return next(filter(None, map(ended, pods)), over or ("" if len(pods) == count else f"{len(pods)} of {count} pods are left"))


def _watch(cluster: Cluster, count: int, serve: Callable[[float], None]) -> str:
    """Hold until the end of input; why the nodes are lost."""
    lost: list[str] = []
    threading.Thread(target=cluster.follow, args=(lost.append,), daemon=True).start()
    while not _ended() and not lost:
        serve(QUICK_S)
        if time.monotonic() - cluster.renewed > cluster.renew_s and (why := _checked(cluster, count)):
            lost.append(why)
    return lost[0] if lost else ""


def images(pods: Sequence[Mapping[str, Any]], container: str) -> dict[str, str]:
    """Pod -> the image digest of one container, without those of injected sidecars."""
    read = ((str(pod["metadata"]["name"]), found) for pod in pods for found in _statuses(pod))
    return {pod: str(found["imageID"]) for pod, found in read if found["name"] == container and found.get("imageID")}


def _facts(cluster: Cluster, pods: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    spec = cluster.job["spec"]["template"]["spec"]
    pulled = images(pods, spec["containers"][0]["name"])
    digests = sorted(set(pulled.values()))
    nodes = {str(pod["spec"]["nodeName"]): cluster.labels(str(pod["spec"]["nodeName"])) for pod in pods}
    return {
        "job": cluster.name,
        "namespace": cluster.namespace,
        "server": cluster.call("GET", "/version").get("gitVersion", ""),
        "image": spec["containers"][0]["image"],
        "image_id": ", ".join(digests),
        **({"images": pulled} if len(digests) > 1 else {}),
        "qos": str((pods[0].get("status") or {}).get("qosClass", "")),
        "resources": spec["containers"][0].get("resources", {}),
        "nodes": nodes,
    }


@contextmanager
def _held(cluster: Cluster) -> Iterator[None]:
    try:
        cluster.create()
        yield
    finally:
        with suppress(Exception):  # where it cannot be deleted, the lease ends it
            cluster.delete()


def main(asked: Mapping[str, Any]) -> None:
    """Hold the nodes until the end of input, or until one of them is lost."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        cluster = Cluster(asked["context"], asked["job"])
        with _held(cluster):
            pods = _awaited(cluster, asked["job"]["spec"]["completions"], asked["wait_s"])
            why = _served(cluster, pods, Path(asked["folder"]))
    except Exception as error:  # any of the client's, of urllib3's, of the kubeconfig's
        sys.exit(said_of(error))
    if why:
        sys.exit(why)


def _served(cluster: Cluster, pods: Sequence[Mapping[str, Any]], folder: Path) -> str:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "kubernetes"))
        listener.listen(1000)
        names = [str(pod["metadata"]["name"]) for pod in pods]
        cluster.exec(names[0]).close()  # refused now, in the API's words, rather than at each command
        hosts = [{"name": name, "address": pod["status"]["podIP"]} for name, pod in zip(names_of(pods), pods, strict=True)]
        print(json.dumps({"socket": listener.getsockname(), "hosts": hosts, "facts": _facts(cluster, pods)}), flush=True)

        def serve(wait_s: float) -> None:
            inputs: list[Any] = [0, listener]
            if listener in select.select(inputs, [], [], wait_s)[0]:
                threading.Thread(target=_relay, args=(cluster, names, listener.accept()[0]), daemon=True).start()

        return _watch(cluster, len(pods), serve)


def _relay(cluster: Cluster, names: Sequence[str], connection: socket.socket) -> None:
    """One command, until its output or the connection ends."""
    with connection, suppress(Exception):  # a broken stream is the end of the command: its caller says so
        source = connection.makefile("rb", buffering=0)
        wanted = json.loads(source.readline())
        stream = cluster.exec(names[wanted["node"]])
        try:
            _Pump(connection, stream, json.dumps(wanted["words"]).encode()).run()
        finally:
            stream.shutdown()


class _Pump:
    """Copies both ways in one thread: two in one TLS connection break it (openssl-threads(7): "one thread at a time")."""

    def __init__(self, caller: socket.socket, stream: Any, first: bytes) -> None:
        self.websocket = importlib.import_module("websocket")
        self.caller, self.stream = caller, stream
        self.to_caller, self.to_stream = bytearray(), bytearray()
        self.channel = -1  # of the message that is being read; it may come in several frames
        self.reads, self.read_waits_to_write = True, False  # the caller's input is open; TLS may have to answer first
        self._send(first)
        for one in (caller, stream.sock):
            one.setblocking(False)

    def run(self) -> None:
        """Until the output ends. A side that does not read holds up the other's input, not its own output."""
        while True:
            ready = self._ready()
            if ready is None:
                self._frame(b"", self.websocket.ABNF.OPCODE_PING)
                continue
            if select.POLLIN & ready.get(self.caller.fileno(), 0):
                self._read_caller()
            if ready.get(self.stream.fileno()) and not self._read_stream():
                self.caller.setblocking(True)
                return self.caller.sendall(self.to_caller)
            if self.to_stream:
                self._write(self.stream.sock, self.to_stream)
            if self.to_caller:
                self._write(self.caller, self.to_caller)

    def _ready(self) -> dict[int, int] | None:
        """What can be read or written; None after `PING_S` without anything."""
        poll, room = select.poll(), len(self.to_caller) < FULL
        reads = {self.caller: self.reads and len(self.to_stream) < FULL, self.stream.sock: room}
        writes = {self.caller: self.to_caller, self.stream.sock: self.to_stream or self.read_waits_to_write}
        for one, wanted in reads.items():
            if events := (select.POLLIN if wanted else 0) | (select.POLLOUT if writes[one] else 0):
                poll.register(one, events)
        if room and getattr(self.stream.sock, "pending", int)():  # read from the network already
            return {self.stream.fileno(): select.POLLIN, **dict(poll.poll(0))}
        return dict(poll.poll(PING_S * 1e3)) or None

    def _read_caller(self) -> None:
        if data := self.caller.recv(CHUNK):
            return self._send(data)
        self.reads = False
        self._send(b"")

    def _read_stream(self) -> bool:
        """Take what has come; False at the end."""
        self.read_waits_to_write = False
        try:
            while len(self.to_caller) < FULL:
                frame = self.stream.recv_frame()
                if frame.opcode == self.websocket.ABNF.OPCODE_CLOSE:
                    return False
                if frame.opcode == self.websocket.ABNF.OPCODE_PING:
                    self._frame(frame.data, self.websocket.ABNF.OPCODE_PONG)
                elif frame.opcode != self.websocket.ABNF.OPCODE_PONG:
                    self._take(frame.data, begins=frame.opcode != self.websocket.ABNF.OPCODE_CONT)
        except ssl.SSLWantWriteError:
            self.read_waits_to_write = True
        except (ssl.SSLWantReadError, BlockingIOError):
            pass
        return True

    def _take(self, data: bytes, *, begins: bool) -> None:
        if begins and data:
            self.channel, data = data[0], data[1:]
        if self.channel == STDOUT:
            self.to_caller += data

    def _send(self, data: bytes) -> None:
        self._frame(bytes([STDIN]) + struct.pack(">I", len(data)) + data, self.websocket.ABNF.OPCODE_BINARY)

    def _frame(self, data: bytes, opcode: int) -> None:
        self.to_stream += self.websocket.ABNF.create_frame(data, opcode).format()

    def _write(self, to: Any, rest: bytearray) -> None:
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError, BlockingIOError):
            del rest[: to.send(rest[:CHUNK])]


if __name__ == "__main__":
    main(json.loads(sys.stdin.readline()))
