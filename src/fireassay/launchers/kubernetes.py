"""How does one experiment run on nodes of a Kubernetes cluster?

    [launcher]
    kind = "kubernetes"
    workers_per_node = 8
    kubernetes = { image = "lab/train:3", claim = "shared", mount = "/work", resources = { "nvidia.com/gpu" = "8" } }

One Indexed Job holds the nodes of the largest worker count for all launches, a pod on each.  `launchers/support/kubernetes_job.py` holds it;
`held_exec.py` is the prefix that runs a command in a pod by exec, and each launch is one of `launchers/nodes.py`.
However assay ends, the Job goes: it is deleted, or its deadline, which is moved while assay lives, passes.
A pod that is evicted, preempted or lost stops the run; `assay resume` asks for others.
Requirements as for `nodes`: a shared folder (a claim, mounted at the same path).
Rights in the namespace: create, patch, delete and get jobs; list and watch pods, list events; get and create pods/exec.
Source: https://kubernetes.io/docs/concepts/workloads/controllers/job/
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import re
import secrets
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from fireassay.errors import EnvironmentLacks, Problem, refuse_any
from fireassay.launchers import nodes
from fireassay.launchers.support import kubernetes_job, supervisor
from fireassay.launchers.support.base import Allocation, Launcher, Waiting
from fireassay.launchers.support.held import Held
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.workload import Kubernetes

NAMESPACE_FILE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
ACCOUNT, WIDTH = "assay", 78  # of the manifest that is printed
RULES = (
    {"apiGroups": ["batch"], "resources": ["jobs"], "verbs": ["create", "get", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["pods", "events"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["get", "create"]},
)
GPU = "/gpu"  # end of a resource's name: nvidia.com/gpu, amd.com/gpu


def check(experiment: Experiment) -> None:
    """Check that Kubernetes can be asked.

    Raises:
        EnvironmentLacks: no client or no torch here.
        SpecError: no image; hosts or pinning; or a worker count that does not fill its nodes evenly.
    """
    settings = experiment.launcher
    wanted = settings.kubernetes or Kubernetes()
    problems = [*nodes.unsupported(experiment, "Kubernetes chooses them."), *nodes.uneven(experiment, per_node_of(experiment))]
    if not wanted.image:
        fix = 'In the file of the experiment, or of --launcher: kubernetes = { image = "lab/train:3", claim = "shared", mount = "/work" }.'
        problems.append(Problem("launcher.kubernetes.image", "none", "the image of the pods", fix))
    if bool(wanted.claim) != bool(wanted.mount):
        fix = "The shared folder is mounted at the same path on this machine and in the pods."
        problems.append(Problem("launcher.kubernetes.mount", repr(wanted.mount), "a claim and its mount together", fix))
    refuse_any(problems)
    if importlib.util.find_spec("kubernetes") is None:
        raise EnvironmentLacks(f"kubernetes is not installed for {sys.executable}: pip install 'fireassay[kubernetes]'.")
    nodes.check_torch(experiment)


def per_node_of(experiment: Experiment) -> int:
    """Workers of each node: as given, else its GPUs, else 1."""
    settings = experiment.launcher
    resources = settings.kubernetes.resources if settings.kubernetes else {}
    gpus = [int(amount) for name, amount in resources.items() if name.endswith(GPU) and amount.isdigit()]
    return settings.workers_per_node or max(1, min(gpus, default=1))


def toleration(taint: str) -> dict[str, str]:
    """A taint as kubectl writes it: key=value:Effect, key:Effect or key."""
    rest, _, effect = taint.partition(":")
    key, equals, value = rest.partition("=")
    return {
        "key": key,
        "operator": "Equal" if equals else "Exists",
        **({"value": value} if equals else {}),
        **({"effect": effect} if effect else {}),
    }


def merged(base: Any, extra: Any) -> Any:
    """`extra` over `base`: tables key by key, containers one by one, other lists one after the other."""
    if isinstance(base, dict) and isinstance(extra, dict):
        both = {**base, **{key: merged(base[key], value) if key in base else value for key, value in extra.items()}}
        if "containers" in base and "containers" in extra:
            pairs = [merged(*pair) for pair in zip(base["containers"], extra["containers"], strict=False)]
            longer = max(base["containers"], extra["containers"], key=len)
            both["containers"] = [*pairs, *longer[len(pairs) :]]
        return both
    return [*base, *extra] if isinstance(base, list) and isinstance(extra, list) else extra


def job_of(experiment: Experiment, namespace: str, name: str) -> dict[str, Any]:
    """The Job whose pods are the nodes."""
    wanted, per_node = experiment.launcher.kubernetes or Kubernetes(), per_node_of(experiment)
    count = -(-max(experiment.factor.levels) // per_node)
    threads = str(min(per_node, max(experiment.factor.levels)) * experiment.launcher.threads_per_worker)
    same = {"app.kubernetes.io/instance": name}
    apart = {"labelSelector": {"matchLabels": same}, "topologyKey": "kubernetes.io/hostname"}
    container = {
        "name": "node",
        "command": [sys.executable, "-I", "-S", "-c", kubernetes_job.KEEP, supervisor.__file__],
        "resources": {"requests": {"cpu": threads, **wanted.resources}, **({"limits": wanted.resources} if wanted.resources else {})},
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "nodeSelector": wanted.node_selector,
        "tolerations": [toleration(taint) for taint in wanted.tolerations],
        "containers": [container],
    }
    if not wanted.share_nodes:
        pod["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [apart]}}
    labels = {"app.kubernetes.io/name": "fireassay", **same, **wanted.labels}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {
            "completions": count,
            "parallelism": count,
            "completionMode": "Indexed",
            "backoffLimit": 0,
            "activeDeadlineSeconds": kubernetes_job.LEASE_S,
            "ttlSecondsAfterFinished": kubernetes_job.KEPT_S,
            "template": {"metadata": {"labels": labels}, "spec": _completed(pod, wanted)},
        },
    }


def _completed(pod: dict[str, Any], wanted: Kubernetes) -> dict[str, Any]:
    """With an image, the shared folder, memory to share between processes, and the user's own fields."""
    volumes: list[dict[str, Any]] = [{"name": "shm", "emptyDir": {"medium": "Memory"}}]  # an engine's default of 64 MB ends data loaders
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
    if wanted.claim:
        volumes.append({"name": "shared", "persistentVolumeClaim": {"claimName": wanted.claim}})
        mounts.append({"name": "shared", "mountPath": wanted.mount})
    account = {"serviceAccountName": wanted.service_account} if wanted.service_account else {}
    whole = merged({**pod, **account, "volumes": volumes}, {"containers": [{"image": wanted.image, "volumeMounts": mounts}]})
    return dict(merged(whole, wanted.pod))


def by_hand(experiment: Experiment, words: Sequence[str]) -> str:
    """A manifest for kubectl create, which runs the whole experiment in the cluster. `words`: assay's command line."""
    wanted = experiment.launcher.kubernetes or Kubernetes()
    node = job_of(experiment, namespace_of(wanted), "assay-run")
    pod, where = node["spec"]["template"]["spec"], {"name": ACCOUNT, "namespace": node["metadata"]["namespace"]}
    container = pod["containers"][0]
    program = {
        "name": "assay",
        "image": container["image"],
        "command": [sys.executable, "-m", "fireassay", *words],
        "workingDir": os.getcwd(),
        "volumeMounts": container["volumeMounts"],
    }
    spec = {"serviceAccountName": ACCOUNT, "restartPolicy": "Never", "containers": [program], "volumes": pod["volumes"]}
    rights = {"apiVersion": "rbac.authorization.k8s.io/v1"}
    subject = {"kind": "ServiceAccount", **where}
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ACCOUNT}
    job = {"metadata": {**where, "name": f"assay-{slug(experiment)}"}, "spec": {"backoffLimit": 0, "template": {"spec": spec}}}
    documents = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": where},
        {**rights, "kind": "Role", "metadata": where, "rules": RULES},
        {**rights, "kind": "RoleBinding", "metadata": where, "subjects": [subject], "roleRef": role},
        {"apiVersion": "batch/v1", "kind": "Job", **job},
    ]
    yaml = importlib.import_module("yaml")  # the client's own
    plain = json.loads(json.dumps(documents))  # equal parts are no aliases
    return str(yaml.safe_dump_all(plain, sort_keys=False, width=WIDTH))


def slug(experiment: Experiment) -> str:
    """Its name, of characters that a name may have."""
    return re.sub(r"[^a-z0-9]+", "-", experiment.name.lower())[:40].strip("-") or "run"


def name_of(experiment: Experiment) -> str:
    """A name that no other Job has."""
    return f"assay-{slug(experiment)}-{secrets.token_hex(4)}"


def namespace_of(wanted: Kubernetes) -> str:
    """As given, else the context's, else that of the pod that runs assay, else default."""
    from kubernetes import config

    if wanted.namespace:
        return wanted.namespace
    try:
        contexts, active = config.list_kube_config_contexts(os.environ.get("KUBECONFIG"))
    except config.ConfigException:
        return NAMESPACE_FILE.read_text().strip() if NAMESPACE_FILE.is_file() else "default"
    chosen = next((context for context in contexts if context["name"] == wanted.context), active)
    return str(chosen["context"].get("namespace") or "default")


def allocate(experiment: Experiment, waiting: Waiting) -> Allocation:
    """The nodes for all launches.

    Raises:
        EnvironmentLacks: Kubernetes refused; its own words.
        Interrupted: given up while waiting.
    """
    wanted = experiment.launcher.kubernetes or Kubernetes()
    job = job_of(experiment, namespace_of(wanted), name_of(experiment))
    order = {"context": wanted.context, "job": job, "wait_s": wanted.wait_s}
    tried = ["kubectl", "create", f"--namespace={job['metadata']['namespace']}", "job", job["metadata"]["name"], f"--image={wanted.image}"]
    held = Held("Kubernetes", [sys.executable, "-I", kubernetes_job.__file__], tried, order)
    answer = held.answer(waiting)
    return Allocation(
        hosts=held.hosts(answer),
        workers_per_node=per_node_of(experiment),
        facts={"engine": "kubernetes", **answer["facts"]},
        lost=partial(held.lost, "a node of Kubernetes"),
        release=held.release,
    )


LAUNCHER = Launcher(name="kubernetes", check=check, start=nodes.start, describe=nodes.describe, allocate=allocate, by_hand=by_hand)
