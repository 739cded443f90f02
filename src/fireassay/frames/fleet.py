"""Which nodes and links of a fleet are slow or silent, and how slow a node would have been found?

From the rates in `telemetry` and the events `fleet_lack` of the timed rounds (`fireassay.runners.fleet`). The record's error (1 -
confidence) is shared equally by the tests of nodes and links, within a test by all of them (`fireassay.stats.groups.slow_nodes`,
`slow_links`). A ring of all nodes accuses none: it is for a history.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import polars as pl

from fireassay.frames.record_data import RecordData
from fireassay.frames.record_tables import once_per_record
from fireassay.spec.fleet import COUNTER, NO_TEST, RING, TESTS, device_of, fleet_arguments, nodes_of
from fireassay.stats.groups.slow_links import Links, LinkSlowness, slow_links
from fireassay.stats.groups.slow_nodes import MIN_NODES, MIN_ROUNDS, Slowness, slow_nodes

Link = tuple[str, str]  # sender and receiver; of a test without direction, in order
Rates = Mapping[str, list[float | None]]  # device or node -> its value in every timed round
MAX_TOLD: Final = 8
SAME, OTHER = "same switch", "other switch"


@dataclass(frozen=True, kw_only=True)
class NodeResult:
    """A node or a link in one test."""

    slower: float  # share of the fleet's rate; negative: faster
    ordinary: float  # one up to this share slower is ordinary
    p_value: float
    slow: bool
    side: str = ""  # of a node in a test of links: "sends", "receives", or both
    kind: str = ""  # of a link: its class of topology


@dataclass(frozen=True, kw_only=True)
class FleetResult:
    """One test of all nodes, and of their links if it tests links; `undecided`: why it decides nothing."""

    nodes: Mapping[str, NodeResult]
    findable: float | None  # the smallest slowness that it would have found
    undecided: str = ""
    links: Mapping[Link, NodeResult] = field(default_factory=dict)
    values: Mapping[Link, float] = field(default_factory=dict)  # each link's median


@dataclass(frozen=True, kw_only=True)
class Fleet:
    """All tests. `silent`: node -> test -> why it never gave a rate; `cut`: the same of links whose nodes answer others."""

    nodes: tuple[str, ...]
    tests: Mapping[str, FleetResult]
    silent: Mapping[str, Mapping[str, str]]
    find: float
    cut: Mapping[Link, Mapping[str, str]] = field(default_factory=dict)

    def slow(self, node: str) -> dict[str, NodeResult]:
        """The tests in which a node is slow, the worst first."""
        return _worst((test, result.nodes.get(node)) for test, result in self.tests.items())

    def slow_link(self, link: Link) -> dict[str, NodeResult]:
        """The tests in which a link is slow, the worst first."""
        return _worst((test, result.links.get(link)) for test, result in self.tests.items())

    @property
    def drained(self) -> tuple[str, ...]:
        """The nodes to drain: slow in a test, or without any answer to one that others answered."""
        return tuple(node for node in self.nodes if self.slow(node) or node in self.silent)

    @property
    def bad_links(self) -> tuple[Link, ...]:
        """The links to repair: slow or silent though their nodes are not, the worst first."""
        links = {link: self.slow_link(link) for result in self.tests.values() for link in result.links}
        slow = sorted((link for link, found in links.items() if found), key=lambda link: -next(iter(links[link].values())).slower)
        return (*slow, *(link for link in self.cut if link not in slow))

    @property
    def open(self) -> tuple[str, ...]:
        """Why a fleet without slow nodes is not known to be fit."""
        return tuple(
            f"{test}: {result.undecided or self._missed(test, result.findable or 1.0)}"
            for test, result in self.tests.items()
            if result.undecided or result.findable is None or result.findable > self.find
        )

    def _missed(self, test: str, findable: float) -> str:
        what = "link" if TESTS[test].links else "node"
        return f"only a {what} {100.0 * findable:.2g} % slower would be found, not one of {100.0 * self.find:.2g} %"


def _worst(found: Iterable[tuple[str, NodeResult | None]]) -> dict[str, NodeResult]:
    return dict(sorted(((test, one) for test, one in found if one is not None and one.slow), key=lambda item: -item[1].slower))


def nodes_in_order(found: Fleet) -> tuple[str, ...]:
    """By name, in which n2 comes before n10."""
    return tuple(sorted(found.nodes, key=lambda node: [(len(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", node)]))


# ---- what was measured -----------------------------------------------------------------------------------------------


def nodes_in(measured: RecordData) -> tuple[str, ...]:
    """The nodes: as named, else those that were lent to any round."""
    named = tuple(host.name for host in measured.experiment.launcher.hosts)
    return named or tuple(sorted({name for place in _placements(measured) for name in place.get("order", ())}))


def switches(measured: RecordData) -> Mapping[str, str]:
    """node -> its switch, where that is known."""
    return {name: str(switch) for place in _placements(measured) for name, switch in place.get("switches", {}).items()}


def _placements(measured: RecordData) -> Iterator[Mapping[str, Mapping[str, str]]]:
    yield from map(json.loads, filter(None, measured.table("launches")["placement"]))


def rates(measured: RecordData, test: str) -> Rates:
    """node -> its rate in every timed round, in order."""
    found = _by_device(measured, test)
    nothing: list[float | None] = [None] * measured.timed.height
    return {node: found.get(device_of(node), nothing) for node in nodes_in(measured)}


def ring_rates(measured: RecordData, test: str) -> list[float | None]:
    """The rate of all nodes together in every timed round."""
    return _by_device(measured, test).get(RING, [])


def link_rates(measured: RecordData, test: str) -> Mapping[Link, list[float | None]]:
    """link -> its value in every timed round."""
    return {nodes_of(device): values for device, values in sorted(_by_device(measured, test).items())}


def _by_device(measured: RecordData, test: str) -> dict[str, list[float | None]]:
    place = {launch: number for number, launch in enumerate(measured.timed.sort("block")["launch"].to_list())}
    rows = measured.table("telemetry").filter(pl.col("counter") == f"{COUNTER}{test}").select("device", "launch", "value")
    found: dict[str, list[float | None]] = {}
    for device, launch, value in rows.iter_rows():
        if launch in place:
            found.setdefault(device, [None] * len(place))[place[launch]] = value
    return found


# ---- judging ---------------------------------------------------------------------------------------------------------


@once_per_record
def fleet(measured: RecordData) -> Fleet:
    """The nodes and links of a record, judged by every test."""
    asked = fleet_arguments(measured.experiment.workload.arguments)
    own, shared = asked.of("node"), asked.of("direction", "pair")
    found = {test: rates(measured, test) for test in own}
    links = {test: link_rates(measured, test) for test in shared}
    alpha = (1.0 - measured.experiment.launches.confidence) / max(1, len(own) + len(shared))
    silent, cut = _silent(measured, found, links)
    return Fleet(
        nodes=nodes_in(measured),
        tests={
            **{test: _tested(found[test], alpha) for test in own},
            **{test: _linked(measured, test, links[test], alpha) for test in shared},
        },
        silent=silent,
        find=asked.find,
        cut=cut,
    )


def _tested(found: Rates, alpha: float) -> FleetResult:
    enough = {node: values for node, values in found.items() if len(values) - values.count(None) >= MIN_ROUNDS}
    few = [node for node, values in found.items() if node not in enough and any(values)]
    if len(enough) < MIN_NODES:
        why = f"{len(enough)} of {len(found)} nodes have the {MIN_ROUNDS} rounds that it needs, and it needs {MIN_NODES} nodes to compare"
        return FleetResult(nodes={}, findable=None, undecided=why)
    result = slow_nodes(np.array(list(enough.values()), dtype=np.float64), alpha=alpha)
    nodes = dict(zip(enough, _each(result), strict=True))
    return FleetResult(
        nodes=nodes, findable=result.findable, undecided=f"fewer than {MIN_ROUNDS} rounds of {', '.join(few)}" if few else ""
    )


def _each(result: Slowness, *, side: str = "", kind: str = "") -> Iterator[NodeResult]:
    columns = (result.slower.tolist(), result.band.tolist(), result.p_values.tolist(), result.slow.tolist())
    for slower, ordinary, p_value, slow in zip(*columns, strict=True):
        yield NodeResult(slower=slower, ordinary=ordinary, p_value=p_value, slow=slow, side=side, kind=kind)


def _linked(measured: RecordData, test: str, found: Mapping[Link, list[float | None]], alpha: float) -> FleetResult:
    enough = {link: values for link, values in found.items() if len(values) - values.count(None) >= MIN_ROUNDS}
    few = _few([link for link in found if link not in enough], {name for link in enough for name in link})
    medians = {link: float(np.median([value for value in values if value])) for link, values in enough.items()}
    names = sorted({name for link in enough for name in link})
    if len(names) < MIN_NODES:
        return FleetResult(nodes={}, findable=None, values=medians, undecided=f"links between {len(names)} nodes, and it needs {MIN_NODES}")
    kinds = [_kind(link, switches(measured)) for link in enough]
    classes = sorted(set(kinds))
    place = {name: number for number, name in enumerate(names)}
    first, second = zip(*((place[a], place[b]) for a, b in enough), strict=True)
    shape = Links(len(names), first, second, tuple(map(classes.index, kinds)), TESTS[test].of == "direction")
    values = np.array(list(enough.values()), dtype=np.float64)
    result = slow_links(1.0 / values if TESTS[test].lower else values, shape, alpha=alpha)
    links = dict(_links(list(enough), classes, shape, result))
    untold = [name or "links" for name, part in zip(classes, result.links, strict=True) if part is None]
    parts = [part.findable for part in (*result.links, *result.nodes) if part is not None]
    why = [few] * bool(few) + [f"too few links to compare ({', '.join(untold)})"] * bool(untold)
    return FleetResult(nodes=_ends(names, result), findable=max(parts, default=None), undecided="; ".join(why), links=links, values=medians)


def _few(short: list[Link], enough: set[str]) -> str:
    """Which links have too few rounds: by the nodes that have no other links, as one that died in the middle."""
    lost = sorted({name for link in short for name in link} - enough)
    others = [f"{a} and {b}" for a, b in short if a not in lost and b not in lost]
    return f"fewer than {MIN_ROUNDS} rounds of {', '.join((*lost, *others)[:MAX_TOLD])}" if short else ""


def _kind(link: Link, of: Mapping[str, str]) -> str:
    """The class of a link: whether both nodes are at one switch; "" if that is unknown."""
    first, second = (of.get(name, "") for name in link)
    return "" if not first or not second else SAME if first == second else OTHER


def _links(names: list[Link], classes: list[str], shape: Links, result: LinkSlowness) -> Iterator[tuple[Link, NodeResult]]:
    for kind, members, part in zip(classes, shape.members, result.links, strict=True):
        if part is not None:
            yield from zip((names[member] for member in members.tolist()), _each(part, kind=kind), strict=True)


def _ends(names: list[str], result: LinkSlowness) -> dict[str, NodeResult]:
    """Each node, by the worse of its sides."""
    sides = ("sends", "receives") if len(result.nodes) > 1 else ("",)
    found: dict[str, NodeResult] = {}
    for side, part, which in zip(sides, result.nodes, result.judged_nodes, strict=True):
        for node, mine in zip(which.tolist(), _each(part, side=side), strict=True) if part is not None else ():
            other = found.get(names[node], mine)
            worse = max(other, mine, key=lambda one: (one.slow, one.slower))
            both = other.slow and mine.slow and other is not mine
            found[names[node]] = replace(worse, side="sends and receives") if both else worse
    return found


# ---- silence ---------------------------------------------------------------------------------------------------------

Silence = tuple[dict[str, dict[str, str]], dict[Link, dict[str, str]]]


def _silent(measured: RecordData, found: Mapping[str, Rates], links: Mapping[str, Mapping[Link, list[float | None]]]) -> Silence:
    """Reasons of tests that a node, or a link, never answered, and some other one did."""
    timed = measured.timed.select("launch")
    rows = measured.table("events").filter(pl.col("kind") == NO_TEST).join(timed, on="launch").sort("launch", "ns")
    silent: dict[str, dict[str, str]] = {}
    cut: dict[Link, dict[str, str]] = {}
    for detail in map(json.loads, rows["detail"]):
        test, why = detail["test"], detail["why"]
        if test in links:
            answered = {name for link, values in links[test].items() if any(values) for name in link}
            link = tuple(detail["link"])
            if answered and any(links[test].get(link, ())):
                continue
            for node in {*detail.get("absent", ()), *link} - answered if answered else ():
                silent.setdefault(node, {})[test] = why
            if answered.issuperset(link):
                cut.setdefault((link[0], link[1]), {})[test] = why
        elif test in found:
            answers = found[test]
            if detail["node"] in answers and not any(answers[detail["node"]]) and any(map(any, answers.values())):
                silent.setdefault(detail["node"], {})[test] = why
    return silent, cut
