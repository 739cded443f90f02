"""Which nodes of a fleet are slow or silent, and how slow a node would have been found?

From the rates in `telemetry` and the events `fleet_lack` of the timed rounds (`fireassay.runners.fleet`). The record's error (1 -
confidence) is shared equally by the tests, within a test by all nodes (`fireassay.stats.groups.slow_nodes`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.spec.fleet import COUNTER, NO_TEST, device_of, fleet_arguments
from fireassay.stats.groups.slow_nodes import MIN_NODES, MIN_ROUNDS, slow_nodes


@dataclass(frozen=True, kw_only=True)
class NodeResult:
    """A node in one test."""

    slower: float  # share of the fleet's rate; negative: faster
    ordinary: float  # a node up to this share slower is ordinary
    p_value: float
    slow: bool


@dataclass(frozen=True, kw_only=True)
class FleetTest:
    """One test of all nodes; `undecided`: why it decides nothing."""

    nodes: Mapping[str, NodeResult]
    findable: float | None  # the smallest slowness that it would have found
    undecided: str = ""


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """All tests. `silent`: node -> test -> why it never gave a rate."""

    nodes: tuple[str, ...]
    tests: Mapping[str, FleetTest]
    silent: Mapping[str, Mapping[str, str]]
    find: float

    def slow(self, node: str) -> dict[str, NodeResult]:
        """The tests in which a node is slow, the worst first."""
        found = [(test, result.nodes[node]) for test, result in self.tests.items() if node in result.nodes and result.nodes[node].slow]
        return dict(sorted(found, key=lambda item: -item[1].slower))

    @property
    def drained(self) -> tuple[str, ...]:
        """The nodes to drain: slow in a test, or without any answer to one that others answered."""
        return tuple(node for node in self.nodes if self.slow(node) or node in self.silent)

    @property
    def open(self) -> tuple[str, ...]:
        """Why a fleet without slow nodes is not known to be fit."""
        return tuple(
            f"{test}: {result.undecided or f'only a node {100.0 * (result.findable or 1.0):.2g} % slower would be found, not one of {100.0 * self.find:.2g} %'}"
            for test, result in self.tests.items()
            if result.undecided or result.findable is None or result.findable > self.find
        )


def rates(measured: RecordData, test: str) -> Mapping[str, list[float | None]]:
    """node -> its rate in every timed round, in order."""
    rows = measured.table("telemetry").filter(pl.col("counter") == f"{COUNTER}{test}")
    found = {(device, launch): value for device, launch, value in rows.select("device", "launch", "value").iter_rows()}
    rounds = measured.timed.sort("block")["launch"].to_list()
    return {host.name: [found.get((device_of(host.name), launch)) for launch in rounds] for host in measured.experiment.launcher.hosts}


def fleet(measured: RecordData) -> Fleet:
    """The nodes of a record, judged by every test."""
    tests, find = fleet_arguments(measured.experiment.workload.arguments)
    found = {test: rates(measured, test) for test in tests}
    alpha = (1.0 - measured.experiment.launches.confidence) / len(tests)
    return Fleet(
        nodes=tuple(host.name for host in measured.experiment.launcher.hosts),
        tests={test: _tested(found[test], alpha) for test in tests},
        silent=_silent(measured, found),
        find=find,
    )


def _tested(found: Mapping[str, list[float | None]], alpha: float) -> FleetTest:
    enough = {node: values for node, values in found.items() if len(values) - values.count(None) >= MIN_ROUNDS}
    few = [node for node, values in found.items() if node not in enough and any(values)]
    if len(enough) < MIN_NODES:
        why = f"{len(enough)} of {len(found)} nodes have the {MIN_ROUNDS} rounds that it needs, and it needs {MIN_NODES} nodes to compare"
        return FleetTest(nodes={}, findable=None, undecided=why)
    result = slow_nodes(np.array(list(enough.values()), dtype=np.float64), alpha=alpha)
    columns = (result.slower.tolist(), result.band.tolist(), result.p_values.tolist(), result.slow.tolist())
    nodes = {
        node: NodeResult(slower=slower, ordinary=ordinary, p_value=p, slow=slow)
        for node, slower, ordinary, p, slow in zip(enough, *columns, strict=True)
    }
    return FleetTest(nodes=nodes, findable=result.findable, undecided=f"fewer than {MIN_ROUNDS} rounds of {', '.join(few)}" if few else "")


def _silent(measured: RecordData, found: Mapping[str, Mapping[str, list[float | None]]]) -> dict[str, dict[str, str]]:
    """Reasons of tests that a node never answered, and some other node did."""
    rows = (
        measured.table("events").filter(pl.col("kind") == NO_TEST).join(measured.timed.select("launch"), on="launch").sort("launch", "ns")
    )
    silent: dict[str, dict[str, str]] = {}
    for detail in map(json.loads, rows["detail"]):
        answers = found.get(detail["test"], {})
        if detail["node"] in answers and not any(answers[detail["node"]]) and any(map(any, answers.values())):
            silent.setdefault(detail["node"], {})[detail["test"]] = detail["why"]
    return silent
