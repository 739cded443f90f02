"""Records of a fleet's tests with rates known beforehand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.spec.experiment import Experiment, Factor, Gates, Launches
from fireassay.spec.fleet import TESTS, link_device
from fireassay.spec.sections.workload import Host, Launcher, Workload
from tests.builders import frame, measured

S = 1_000_000_000
Rates = Mapping[str, Sequence[float | None]]  # node -> a rate per round


def drawn(
    nodes: int, *, rounds: int = 7, spread: float = 0.005, slow: Mapping[str, float] | None = None, seed: int = 1
) -> dict[str, list[float]]:
    """Rates of nodes n0, n1, ... around 1e9; `slow`: node -> the share that it is slower."""
    rng = np.random.default_rng(seed)
    level = 1e9 * np.exp(spread * rng.standard_normal((nodes, 1)) + 0.002 * rng.standard_normal((nodes, rounds)))
    return {f"n{node}": ((1.0 - (slow or {}).get(f"n{node}", 0.0)) * level[node]).tolist() for node in range(nodes)}


Link = tuple[str, str]


def links_drawn(
    nodes: int,
    *,
    rounds: int = 7,
    spread: float = 0.005,
    slow: Mapping[Link, float] | None = None,
    slow_nodes: Mapping[str, float] | None = None,
    none: Sequence[Link] = (),
    seed: int = 5,
) -> dict[Link, list[float | None]]:
    """Rates of all directed links between n0, n1, ...; `slow`, `slow_nodes`: shares that they are slower; `none`: without any rate."""
    rng = np.random.default_rng(seed)
    found: dict[Link, list[float | None]] = {}
    for link in ((f"n{a}", f"n{b}") for a in range(nodes) for b in range(nodes) if a != b):
        level = 1e9 * np.exp(spread * rng.standard_normal() + 0.002 * rng.standard_normal(rounds)) * (1.0 - (slow or {}).get(link, 0.0))
        for name in link:
            level *= 1.0 - (slow_nodes or {}).get(name, 0.0)
        found[link] = [None] * rounds if link in none else level.tolist()
    return found


def fleet_record(
    tests: Mapping[str, Rates],
    *,
    find: float = 0.05,
    why: str = "Connection refused",
    links: Mapping[str, Mapping[Link, Sequence[float | None]]] | None = None,
    switches: Mapping[str, str] | None = None,
) -> RecordData:
    """A record of these tests of nodes and of links; None is a round without a rate, for the reason `why`."""
    every = [*(links or {}).values()]
    names = list(next(iter(tests.values()))) if tests else sorted({name for link in every[0] for name in link})
    rounds = len(next(iter(next(iter(tests.values())).values()))) if tests else len(next(iter(every[0].values())))
    experiment = Experiment(
        name="fleet",
        factor=Factor(levels=(1,)),
        launches=Launches(per_configuration=rounds),
        gates=Gates(efficiency=None),
        workload=Workload(runner="fleet", script="fleet", arguments=(*tests, *(links or {}), f"find={find:g}")),
        launcher=Launcher(kind="nodes", hosts=tuple(Host(name=name, address=name) for name in names)),
    )
    made = measured(launches=rounds, levels=(1,), faults=False, steps=5)
    telemetry: list[tuple[Any, ...]] = []
    events: list[tuple[Any, ...]] = []
    for test, rates in tests.items():
        for node, values in rates.items():
            for launch, value in enumerate(values):
                at = (launch + 1) * 100 * S
                if value is None:
                    detail = json.dumps({"node": node, "test": test, "why": why})
                    events.append((launch, at, None, "here", None, None, "fleet_lack", None, None, detail))
                else:
                    telemetry.append((launch, at, "here", f"node {node}", f"fleet_{test}", value, "B/s", "self"))
    for test, of_links in (links or {}).items():
        for link, values in of_links.items():
            for launch, value in enumerate(values):
                at, device = (launch + 1) * 100 * S, link_device(*link, directed=TESTS[test].of == "direction")
                if value is None:
                    events.append(
                        (
                            launch,
                            at,
                            None,
                            "here",
                            None,
                            None,
                            "fleet_lack",
                            None,
                            None,
                            json.dumps({"link": link, "test": test, "why": why}),
                        )
                    )
                else:
                    telemetry.append((launch, at, "here", device, f"fleet_{test}", value, TESTS[test].unit, "self"))
    own = {"telemetry": frame("telemetry", telemetry), "events": frame("events", events)}
    empty = {name: made.tables[name].clear() for name in ("steps", "examples", "samples", "fingerprints")}
    placement = json.dumps({"order": names, "switches": dict(switches or {})})
    launches = made.tables["launches"].with_columns(placement=pl.lit(placement))
    return replace(made, experiment=experiment, tables={**made.tables, **empty, **own, "launches": launches})
