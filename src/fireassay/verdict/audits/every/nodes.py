"""Are the nodes of the launches alike?  By what was read on each before the first launch (`runners/experiment/node_agents.py`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.units import MIB
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits()
WORDS: Final = {
    "host.os": "system",
    "host.kernel": "kernel",
    "cpu.model": "processor",
    "cpu.logical": "logical processors",
    "cpu.governors": "frequency governor",
    "memory.total_bytes": "memory",
    "gpu.driver": "GPU driver",
    "gpu.names": "GPUs",
}
SHOWN: Final = len("sha256:") + 12  # characters of a digest
MAX_PODS: Final = 4
ALIKE: Final = 64 * MIB  # of memory: firmware and kernels keep different amounts for themselves


@AUDITS.add("nodes_differ", "Are all nodes alike?", title="nodes that differ")
def examine_nodes(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning per property in which a node differs from most others, which names the node, and one for nodes that could not be read.

    A launch goes at the pace of its slowest node, and worker counts that use other nodes are not compared alone.
    """
    nodes = measured.before.get("nodes") or {}
    if unread := {name: facts["absent"] for name, facts in nodes.items() if set(facts) == {"absent"}}:
        name, why = next(iter(unread.items()))
        yield Finding(
            "nodes_unread",
            "warning",
            None,
            f"{', '.join(unread)} could not be read before the first launch: {why}",
            f"run assay doctor on {name}",
        )
    for word, values, usual in _differences(measured):
        others = [f"{name} has {value}" for name, value in values.items() if value != usual]
        alike = ", ".join(name for name, value in values.items() if value == usual)
        evidence = f"{word}: {'; '.join(others)}; {alike}: {usual}"
        yield Finding("nodes_differ", "warning", None, evidence, "measure on nodes that are alike, or leave the others out")


@AUDITS.blind("nodes_differ")
def blind_nodes(measured: RecordData, _: Results) -> str | None:
    """Blind where the workers ran on this machine."""
    return None if len(measured.before.get("nodes") or {}) > 1 else "all workers ran on one machine"


@AUDITS.add("image", "Did all pods run the same image?", title="pods of different images")
def examine_images(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning that names the pods of each image digest: a tag that moved between two pulls gives nodes different code.

    A tag may also stand for another image on each kind of processor.
    """
    pulled = (measured.before.get("allocation") or {}).get("images")
    pods: dict[str, list[str]] = {}
    for pod, digest in sorted(pulled.items()) if isinstance(pulled, Mapping) else ():
        pods.setdefault(str(digest).rpartition("@")[2], []).append(str(pod))
    if len(pods) > 1:
        evidence = "; ".join(
            f"{digest[:SHOWN]} in {', '.join(names[:MAX_PODS])}{' ...' * (len(names) > MAX_PODS)}" for digest, names in pods.items()
        )
        remedy = "name the image by its digest: image = NAME@sha256:..."
        yield Finding("image", "warning", None, f"pods ran different images: {evidence}", remedy)


def _differences(measured: RecordData) -> Iterator[tuple[str, Mapping[str, str], str]]:
    """The properties in which nodes differ: word, node -> value, the most common value."""
    nodes = measured.before.get("nodes") or {}
    known = {name: _facts(facts) for name, facts in nodes.items() if set(facts) != {"absent"}}
    for key, word in WORDS.items():
        values = {name: facts[key] for name, facts in known.items() if key in facts}
        if len(set(values.values())) > 1:
            yield word, values, Counter(values.values()).most_common(1)[0][0]


def unlike_others(measured: RecordData) -> Mapping[str, list[str]]:
    """Node -> the properties in which it is not as most are."""
    found: dict[str, list[str]] = {}
    for word, values, usual in _differences(measured):
        for node, value in values.items():
            if value != usual:
                found.setdefault(node, []).append(word)
    return found


def _facts(read: Mapping[str, Any]) -> dict[str, str]:
    """What nodes are compared by, as text; without what could not be read."""
    gpu = read.get("gpu.nvidia") or {}
    memory = read.get("memory.total_bytes")
    facts = {**read, "gpu.driver": gpu.get("driver"), "memory.total_bytes": memory and f"{round(memory / ALIKE) * ALIKE / 1e9:.1f} GB"}
    facts["gpu.names"] = ", ".join(
        f"{times} {name}" for name, times in Counter(device["name"] for device in gpu.get("devices") or ()).items()
    )
    return {key: str(facts[key]) for key in WORDS if facts.get(key) and not isinstance(facts[key], Mapping)}
