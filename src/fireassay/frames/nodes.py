"""Was each node of a launch metered to the end?

By the event `node_meters` that the coordinator wrote at the launch's end. Nodes that share a machine are metered by one of them. What a
lost meter had read until then is in the record; sums over the launch are not known.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from fireassay.estimates.format import number
from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record

OTHERS = "only the machine that ran assay was metered"


@dataclass(frozen=True, kw_only=True)
class NodeMeter:
    """One node in one launch."""

    node: str
    metered_by: str  # the node whose agent reads their machine
    absent: str = ""  # why it was not metered at all
    lost: str = ""  # why its meter did not see the end
    before_end_s: float = 0.0  # how long before the end a lost one was last heard of
    of_clients: bool = False  # of a load's clients, which is none of what the load's joules and times are about
    here: bool = False  # read by the coordinator's own meter

    @property
    def trouble(self) -> str:
        """What is missing of it; empty: nothing."""
        if self.lost:
            return f"{self.node} was last heard of {number(self.before_end_s, 1)} s before the end ({self.lost})"
        return f"{self.node} was not metered ({self.absent})" if self.absent else ""


@once_per_record
def node_meters(measured: RecordData) -> Mapping[int, tuple[NodeMeter, ...]]:
    """Launch -> its nodes; without launches of one machine."""
    events = measured.table("events").filter(pl.col("kind") == "node_meters").select("launch", "detail")
    found = {launch: tuple(_meters(read_json(detail).get("nodes"))) for launch, detail in events.iter_rows()}
    for launch, placement in measured.table("launches").select("launch", "placement").iter_rows():
        hosts = read_json(placement).get("hosts")
        if launch not in found and isinstance(hosts, list) and len(hosts) > 1:
            found[launch] = tuple(NodeMeter(node=str(host), metered_by=str(host), absent=OTHERS) for host in hosts)
    return {launch: meters for launch, meters in found.items() if meters}


def worker_meters(measured: RecordData) -> Mapping[int, tuple[NodeMeter, ...]]:
    """The same of launches whose workers ran on these nodes: without loads."""
    return {launch: meters for launch, meters in node_meters(measured).items() if not any(meter.of_clients for meter in meters)}


def client_hosts_metered(measured: RecordData) -> list[str]:
    """The hosts of a load's clients with meters of their own."""
    return sorted({m.node for meters in node_meters(measured).values() for m in meters if m.of_clients and not m.here})


def read_json(text: str | None) -> Mapping[str, Any]:
    """An object in a column; empty if a stranger's record holds something else."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {}
    return value if isinstance(value, Mapping) else {}


def _meters(nodes: Any) -> Iterator[NodeMeter]:
    for node, said in nodes.items() if isinstance(nodes, Mapping) else ():
        if isinstance(said, Mapping):
            words = {name: str(said.get(name, "")) for name in ("absent", "lost")}
            before = said.get("before_end_s")
            known = float(before) if isinstance(before, int | float) else 0.0
            yield NodeMeter(
                node=str(node),
                metered_by=str(said.get("metered_by", node)),
                before_end_s=known,
                of_clients=said.get("of_clients") is True,
                here=said.get("here") is True,
                **words,
            )
