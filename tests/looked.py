"""Records of a look at the network with numbers known beforehand: three rounds, hosts with echoes and transfers.

look({"a": Seen(rtt_s=1e-4, there=1e8, back=1e8)}, interface={"mtu": 1500})
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Experiment, Factor, Gates, Launches
from fireassay.spec.sections.workload import Workload
from tests.builders import frame, measured

S = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What each round saw of a host; None: nothing."""

    rtt_s: float | None = 100e-6
    by: str = "ping"
    sent: int = 10
    answered: int = 10
    there: float | None = 100e6  # bytes per second
    back: float | None = 100e6
    again: int = 0
    unbroken: float | None = 1.0
    busy: float = 0.1
    scatter: float = 0.0  # rates of the rounds differ by so much to either side
    lacks: tuple[Mapping[str, str], ...] = ()
    way: Mapping[str, Any] = field(default_factory=lambda: {"interface": "eth0", "mtu": 1500, "duplex": "full"})


def look(seen: Mapping[str, Seen], *, rounds: int = 3, grew: Mapping[str, float] | None = None, seconds: int = 2) -> RecordData:
    """A record of rounds to these hosts; `grew`: by how much eth0's counters grew in each."""
    experiment = Experiment(
        name="network",
        factor=Factor(levels=(1,)),
        launches=Launches(per_configuration=rounds),
        gates=Gates(efficiency=None),
        workload=Workload(runner="network", script="network", arguments=(*seen, f"seconds={seconds}")),
    )
    made = measured(launches=rounds, levels=(1,), faults=False, steps=5)
    telemetry: list[tuple[Any, ...]] = []
    events: list[tuple[Any, ...]] = []
    for launch in range(rounds):
        begin = (launch + 1) * 100 * S
        for counter, value in {"errors": 0.0, "dropped": 0.0, **(grew or {})}.items():
            telemetry += [(launch, begin + at, "here", "net-eth0", counter, 1000.0 + at * value, "count", "counter") for at in (0, 1)]
        for host, one in seen.items():
            telemetry += [
                (launch, begin, "here", f"to {host}", counter, value, unit, "sampled")
                for counter, value, unit in _rows(one, launch, rounds)
            ]
            events.append((launch, begin, None, "here", None, None, "network_way", None, None, json.dumps({"to": host, **one.way})))
            events += [
                (launch, begin, None, "here", None, None, "network_lack", None, None, json.dumps({"to": host, **lack}))
                for lack in one.lacks
            ]
    own = {"telemetry": frame("telemetry", telemetry), "events": frame("events", events)}
    empty = {name: made.tables[name].clear() for name in ("steps", "examples", "samples", "fingerprints")}
    return replace(made, experiment=experiment, tables={**made.tables, **empty, **own})


def _rows(one: Seen, launch: int, rounds: int) -> list[tuple[str, float, str]]:
    luck = 1.0 + one.scatter * (2 * launch / max(rounds - 1, 1) - 1)
    rows = [(f"{one.by}_sent", float(one.sent), "count"), (f"{one.by}_answered", float(one.answered), "count")]
    if one.rtt_s is not None:
        rows += [(f"{one.by}_rtt", one.rtt_s * factor, "s") for factor in (0.5, 1.0, 4.0)]  # the median is the one in the middle
    if one.unbroken is not None:
        rows.append(("path_unbroken", one.unbroken, "flag"))
    for way, rate in (("there", one.there), ("back", one.back)):
        if rate is not None:
            rows += [(f"{way}_{what}", rate * luck, "B/s") for what in ("sent", "received")]
            rows += [(f"{way}_sent_again", float(one.again), "count"), (f"{way}_host_busy", one.busy, "fraction")]
    return rows
