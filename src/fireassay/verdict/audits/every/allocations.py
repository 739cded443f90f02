"""Did the cluster take nodes away, and were all launches made on the same ones?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count, duration
from fireassay.frames.costs import allocations, lost_launches
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits()


@AUDITS.add("allocations_lost", "Did the cluster take nodes away?", title="nodes that were taken away")
def examine_lost(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A note with how each ended and what it cost."""
    every = allocations(measured)
    ends = [str(one.get("end")) for one in every if one.get("lost")]
    if ends:
        waited = sum(float(one["waited_s"]) for one in every if isinstance(one.get("waited_s"), int | float))
        again = count(len(lost_launches(measured)), "launches")
        evidence = f"{len(ends)} of {count(len(every), 'allocations')} ended early ({', '.join(ends)}): {again} made again; {duration(waited)} in the queue"
        yield Finding("allocations_lost", "note", None, evidence, "launcher.resume_on_preemption asks for nodes again by itself")


@AUDITS.add("other_nodes", "Were all launches made on the same nodes?", title="launches on other nodes")
def examine_nodes(measured: RecordData, _: Results) -> Iterator[Finding]:
    """A warning: a difference between launches on different nodes may be one of nodes."""
    hosts = list(dict.fromkeys(", ".join(map(str, one.get("hosts") or ())) for one in allocations(measured)))
    if len(hosts) > 1:
        evidence = f"later allocations had other nodes: {'; then '.join(hosts)}"
        yield Finding("other_nodes", "warning", None, evidence, 'ask for the same nodes: slurm = { options = ["--nodelist=..."] }')


@AUDITS.blind("allocations_lost")
@AUDITS.blind("other_nodes")
def blind(measured: RecordData, _: Results) -> str | None:
    """Blind where no engine lent nodes."""
    return None if allocations(measured) else "no engine of a cluster lent nodes"
