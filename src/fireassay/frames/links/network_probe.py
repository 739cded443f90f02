"""What do the rounds of a network probe say about each host?

From `telemetry` with the device `to HOST` (`fireassay.runners.network`), the interface counters of the same launches, and the events
`network_lack` (what could not be measured) and `network_way` (through which interface). Metric keys are the hosts as given,
with " back" for the reverse direction. Cannot tell: anything about a host that did not answer.

How fast is a collective, in the published definitions of nccl-tests?

`algbw` = S / t and `busbw` = algbw x factor, in bytes per second, displayed as decimal GB/s. S is the amount as nccl-tests
counts it: the whole result of a gather, the whole input of a scatter or an exchange, otherwise one rank's tensor.
n is the size of the group, not of the job. The factor converts the algorithm's bandwidth to that of a flat ring's links: what
each link carries unless the network reduces in transit (NVLS, SHARP), where it may exceed the link's speed; it is therefore never
called utilisation. Source: nccl-tests, doc/PERFORMANCE.md and src/*.cu.

`rounds` and `share` describe the same operations in the alpha-beta model (Hockney 1994), for rings: T = rounds alpha + share S beta.
Cannot tell: which algorithm an engine really used.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.over_launches import positive
from fireassay.frames.record_data import RecordData
from fireassay.stats.models.affine_fit import Affine

LACK, WAY = "network_lack", "network_way"
BACK: Final = " back"
SECONDS: Final = "seconds="
BY: Final = ("ping", "connect")  # echo methods, the better one first

COUNTERS: Final = ("received_bytes", "sent_bytes", "errors", "dropped")  # of interfaces, whose increase is reported


@dataclass(frozen=True, kw_only=True)
class Interface:
    """An interface that leads to some of the hosts: its settings, and the increase of its counters."""

    name: str
    to: tuple[str, ...]
    settings: Mapping[str, Any]
    grew: Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Network:
    """What reports show of a network probe besides its metrics."""

    hosts: tuple[str, ...]
    interfaces: tuple[Interface, ...]


def hosts(measured: RecordData) -> tuple[str, ...]:
    """The requested hosts, as given."""
    return tuple(word for word in measured.experiment.workload.arguments if not word.startswith(SECONDS))


def readings(measured: RecordData, host: str, counter: str) -> pl.DataFrame:
    """(launch, block, value) of a counter in the timed launches, in order."""
    rows = measured.table("telemetry").filter((pl.col("device") == f"to {host}") & (pl.col("counter") == counter))
    return rows.join(measured.timed.select("launch", "block"), on="launch").sort("block", "ns").select("launch", "block", "value")


def lacks(measured: RecordData) -> list[Mapping[str, Any]]:
    """What could not be measured, each once: to, what, why, mend, and in how many rounds."""
    gaps: dict[tuple[str, str, str], dict[str, Any]] = {}
    for detail in _details(measured, LACK):
        known = gaps.setdefault((detail["to"], detail["what"], detail["why"]), {**detail, "rounds": set()})
        known["rounds"].add(detail["launch"])
    return [{**gap, "rounds": len(gap["rounds"])} for gap in gaps.values()]


def ways(measured: RecordData) -> dict[str, Mapping[str, Any]]:
    """The interface through which each host is reached, and its settings, as of the last round."""
    return {detail["to"]: detail for detail in _details(measured, WAY)}


def _details(measured: RecordData, kind: str) -> list[dict[str, Any]]:
    rows = measured.table("events").filter(pl.col("kind") == kind).sort("launch", "ns")
    return [{**json.loads(detail), "launch": launch} for launch, detail in rows.select("launch", "detail").iter_rows()]


def by(measured: RecordData, host: str) -> str:
    """How its echoes were requested: ping, connect, or empty if none came back."""
    return next((way for way in BY if readings(measured, host, f"{way}_rtt").height), "")


def medians(measured: RecordData, host: str, counter: str, *, unit: str, name: str, missing: str) -> Value:
    """Student t on the logarithms of each round's median."""
    rows = readings(measured, host, counter)
    if rows.height == 0:
        return Absent("not_measured", missing)
    values = rows.group_by("block", maintain_order=True).agg(pl.col("value").median())["value"].to_list()
    if min(values) <= 0:
        return Absent("undefined", f"{counter} was 0 in a round")
    return positive(values, measured.confidence, unit=unit, aggregate="median of the round", name=name, n_trials=rows.height)


def why_not(measured: RecordData, host: str, *whats: str) -> str:
    """Why something is missing for a host, in the words of the tool."""
    gaps = [gap for gap in lacks(measured) if gap["to"] == host and gap["what"] in (*whats, "way")]
    return "; ".join(dict.fromkeys(gap["why"] for gap in gaps)) or f"{host} was not probed"


def grown(measured: RecordData, device: str, counter: str) -> float:
    """The increase of a counter over all timed launches; 0 if it was not read twice."""
    rows = measured.table("telemetry").filter((pl.col("device") == device) & (pl.col("counter") == counter))
    timed = rows.join(measured.timed.select("launch"), on="launch", how="semi").sort("launch", "ns")
    increases = timed.group_by("launch").agg((pl.col("value").last() - pl.col("value").first()).alias("grew"))
    return float(increases["grew"].sum() or 0.0)


def network(measured: RecordData) -> Network:
    """The network of a record."""
    way_of_host = ways(measured)
    names = dict.fromkeys(way["interface"] for way in way_of_host.values() if way.get("interface"))
    return Network(
        hosts=hosts(measured),
        interfaces=tuple(
            Interface(
                name=name,
                to=tuple(to for to, way in way_of_host.items() if way.get("interface") == name),
                settings=next(way for way in way_of_host.values() if way.get("interface") == name),
                grew={counter: grown(measured, f"net-{name}", counter) for counter in COUNTERS},
            )
            for name in names
        ),
    )


# operations whose S is the amount of all ranks together: count x element size x n
WHOLE: Final = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
OPERATIONS: Final = ("all_reduce", *WHOLE, "broadcast", "reduce", "send_recv")


def factor(op: str, n: int) -> float:
    """busbw / algbw of an operation in a group of n ranks.

    Raises:
        ValueError: unknown operation, or an empty group.
    """
    if n < 1:
        raise ValueError(f"a group has at least one rank, not {n}")
    if op == "all_reduce":
        return 2.0 * (n - 1) / n
    if op in WHOLE:
        return (n - 1) / n
    if op in OPERATIONS:
        return 1.0
    raise ValueError(f"no operation {op!r}; there are {', '.join(OPERATIONS)}")


def algbw(nbytes: float, seconds: float) -> float:
    """Bytes per second of the algorithm."""
    return nbytes / seconds


def busbw(op: str, n: int, nbytes: float, seconds: float) -> float:
    """Bytes per second of a flat ring's links."""
    return algbw(nbytes, seconds) * factor(op, n)


def rounds(op: str, n: int) -> float:
    """Number of sequential latencies in a ring (in a tree for one-to-all operations)."""
    if op == "all_reduce":
        return 2.0 * (n - 1)
    if op in ("broadcast", "reduce"):
        return float(math.ceil(math.log2(n))) if n > 1 else 0.0
    return float(n - 1) if op in WHOLE else 1.0


def share(op: str, n: int) -> float:
    """Fraction of S that passes each link."""
    return factor(op, n)


def alpha_beta(op: str, n: int, fitted: Affine) -> tuple[float, float]:
    """(alpha in seconds, beta in seconds per byte) of one link, from T(S) = a + b S fitted to an operation of n ranks.

    Raises:
        ValueError: a group of one has no link.
    """
    if n < 2:
        raise ValueError("a group of one rank has no link to fit")
    return fitted.fixed / rounds(op, n), fitted.per_unit / share(op, n)


def predicted(op: str, n: int, nbytes: float, alpha: float, beta: float) -> float:
    """Seconds of an operation by the model; 0 in a group of one, which sends nothing."""
    return 0.0 if n == 1 else rounds(op, n) * alpha + share(op, n) * nbytes * beta
