"""Was every host of a launch measured from its begin to its end?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count, number
from fireassay.frames.hosts import gaps
from fireassay.frames.nodes import NodeMeter, node_meters
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.evidence.affected import in_launches
from fireassay.verdict.types import Finding

AUDITS: Final = Audits()


@AUDITS.add("hosts", "Was every host measured to the end?", title="hosts that were lost or stood still")
def examine_hosts(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One warning per host that was lost, was never metered, or stood still, with its launches.

    Each node has a meter of its own, and the coordinator pings it while a launch runs. Until a node was lost its readings are in the record; sums
    over all hosts, such as joules, are then absent. A node stood still if its meter read nothing for 5 s and 10 readings: it was stopped,
    suspended, or starved of processor time, and every synchronous training waited for it. Cannot tell: which of these.
    """
    lost: dict[str, list[tuple[int, NodeMeter]]] = {}
    for launch, meters in sorted(node_meters(measured).items()):
        for meter in meters:
            if meter.trouble:
                lost.setdefault(meter.node, []).append((launch, meter))
    for node, members in lost.items():
        launches, first = [launch for launch, _meter in members], members[0][1]
        rule, remedy = ("host_lost", f"find out what happened to {node} then: its log, its link, its scheduler")
        if not first.lost:
            rule, remedy = "host_not_metered", f"let assay's files and Python be at the same paths on {node}, and run assay doctor there"
        yield Finding(rule, "warning", None, f"{first.trouble} ({in_launches(launches)})", remedy)
    for rows in gaps(measured).partition_by("host", maintain_order=True):
        worst = rows.sort("seconds").row(-1, named=True)
        evidence = (
            f"{worst['host']} stood still for {number(worst['seconds'], 1)} s in launch {worst['launch']}: it read no counter "
            f"(in {count(rows.height, 'launches')} in all)"
        )
        remedy = f"find out what stopped {worst['host']} then: a suspended machine, a swap, other programs; repeat the launch"
        yield Finding("host_stood_still", "warning", None, evidence, remedy)


@AUDITS.blind("hosts")
def blind_hosts(measured: RecordData, _: Results) -> str | None:
    """Blind where the workers ran on this machine."""
    return None if node_meters(measured) else "all workers ran on one machine"
