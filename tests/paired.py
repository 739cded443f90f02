"""Records in which every rank has sent to every other, with latencies and bandwidths known beforehand.

Three kinds of pairs: 0 the same island, 1 the same host, 2 across hosts.  Times are noted in picoseconds where the table says
nanoseconds, so that nothing is lost by rounding: everything is read as a thousand times as slow.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import polars as pl

from fireassay.frames.links import pairs
from fireassay.frames.record_data import RecordData
from tests.builders import frame, measured

SIZES = (8, 1 << 21, 1 << 22)
CONFIGURATION = "workers=4"
LATENCY, BANDWIDTH = (5e-6, 9e-6, 25e-6), (200e9, 25e9, 10e9)


def record(
    kind: np.ndarray,
    *,
    hosts: tuple[str, ...] = (),
    noise: float = 0.0,
    seed: int = 0,
    boots: tuple[str, ...] = (),
    wrong: int = 0,
    flat: bool = False,
) -> RecordData:
    """A record of five launches of 4 workers whose ranks exchange messages; more ranks than that are simply there."""
    made, rng = measured(launches=5, levels=(4,), faults=False, steps=5), np.random.default_rng(seed)
    calls, events = [], []
    for launch in range(5):
        for rank, host in enumerate(hosts):
            place = {"host": host, "together": False} | ({"boot": boots[rank]} if boots else {})
            events.append((launch, 1, None, host, rank, 0, "placed", None, None, json.dumps(place)))
        for a in range(len(kind)):
            for b in range(len(kind)):
                if a != b:
                    luck = float(np.exp(noise * rng.standard_normal()))
                    calls += exchanges(launch, a, b, LATENCY[kind[a, b]] * luck, BANDWIDTH[kind[a, b]] / luck, wrong, flat)
    launches = made.tables["launches"].with_columns(pl.lit(len(kind), pl.Int32).alias("workers"))
    own = {"collectives": frame("collectives", calls), "events": frame("events", events), "launches": launches}
    return replace(made, tables={**made.tables, **own})


def exchanges(launch: int, a: int, b: int, latency: float, bandwidth: float, wrong: int, flat: bool) -> list[tuple[object, ...]]:
    """One warm-up that took ten times as long, and three that count, of each size."""
    rows = []
    for size in SIZES:
        took = 2 * latency + (0 if flat else (size - 8) / bandwidth)
        for call, phase in enumerate(("warm_up", "timed", "timed", "timed")):
            end = round(took * 1e12) * (10 if phase == "warm_up" else 1)  # picoseconds: nothing is lost by rounding
            rows.append(
                (launch, a, 0, f"pair {a}-{b}", call, None, "send_recv", 2, size, "uint8", phase, None, 0, end, None, wrong, None, "host")
            )
    return rows


def kinds(hosts: int, islands: int, ranks: int) -> np.ndarray:
    n = hosts * islands * ranks
    island = np.arange(n) // ranks
    host = island // islands
    return np.where(island[:, None] == island, 0, np.where(host[:, None] == host, 1, 2))


def matrix(made: RecordData) -> pairs.Matrix:
    found = pairs.matrix(made, CONFIGURATION)
    assert isinstance(found, pairs.Matrix)
    return found
