"""How fast is the link between each ordered pair of ranks, and which ranks are close?

From rows of `collectives` with op send_recv in a group "pair a-b" (`fireassay.instruments.collectives.pairs`); per launch
    latency    half of the median round-trip time of the smallest message
    bandwidth  (S2 - S1) / (T2 - T1) of the medians of the two largest sizes
and over launches Student t on logarithms, as for every time and rate. Classes of pairs come from `fireassay.stats.groups.topology`, by
latency and by the time of the largest message, which exists even if noise hides the time per byte. Host names, reported by
the ranks (event `placed`), name the classes, and contradictions are reported:

    names known     the level that equals the hosts is "same host"; finer ones are "same island", farther pairs "across hosts"
    not known       the nearest level is "near", others "between", the rest "far": an island cannot be told from a host
Cannot tell: latency of one direction alone; what runs between the hosts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np
import polars as pl

from fireassay.estimates import over_launches
from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.frames import per_launch
from fireassay.frames.record_data import RecordData
from fireassay.printable import some
from fireassay.units import SECONDS

if TYPE_CHECKING:
    from fireassay.stats.groups.topology import Array, Groups, Level, Nesting

OP: Final = "send_recv"
BYTES_PER_SECOND: Final = "B/s"
ISLAND, HOST, ACROSS = "same island", "same host", "across hosts"
NEAR, BETWEEN, FAR = "near", "between", "far"
NO_PAIRS: Final = "no pair of ranks was measured; `assay comm --matrix` does"
_GROUP: Final = r"pair (\d+)-(\d+)"

Pair = tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class Link:
    """One ordered pair: from the sender to the receiver."""

    pair: Pair
    latency: Value  # seconds
    bandwidth: Value  # bytes per second
    large_s: float  # round trip of the largest message, geometric mean over launches
    wrong: int  # bytes that arrived changed, over all exchanges


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """All pairs of a configuration, and the hosts of its ranks."""

    ranks: int
    links: tuple[Link, ...]
    hosts: tuple[str, ...]  # by rank; empty if the ranks did not report them
    together: bool  # pairs without a common rank were measured concurrently
    missing: tuple[Pair, ...] = ()  # pairs without a latency or a bandwidth


@dataclass(frozen=True, kw_only=True)
class Classes:
    """Which ranks are close. `refused`: why there are no classes; `sentences`: remarks on them."""

    kinds: Mapping[Pair, str]
    names: tuple[str, ...]  # the kinds that occur, from the nearest
    sentences: tuple[str, ...]
    refused: str = ""


@dataclass(frozen=True, kw_only=True)
class Pairs:
    """The pairs of one configuration."""

    configuration: str
    matrix: Matrix
    classes: Classes


def of_record(measured: RecordData) -> tuple[Pairs, ...]:
    """The matrices of a record; empty if no pair was measured."""
    pairs = []
    for configuration in measured.configurations:
        pair_matrix = matrix(measured, configuration)
        if not isinstance(pair_matrix, Absent):
            pairs.append(Pairs(configuration=configuration, matrix=pair_matrix, classes=classes(pair_matrix)))
    return tuple(pairs)


# ---- the matrix --------------------------------------------------------------------------------------------------


def matrix(measured: RecordData, configuration: str) -> Matrix | Absent:
    """The pairs of one configuration."""
    values = per_pair(measured)
    launches = measured.timed.filter(pl.col("configuration") == configuration).sort("block")
    rows = values.join(launches.select("launch", "block"), on="launch").sort("block")
    if rows.height == 0:
        return Absent("not_measured", NO_PAIRS)
    links = tuple(_links(rows, measured.confidence))
    ranks = int(launches["workers"][0])
    complete = {link.pair for link in links if isinstance(link.latency, Estimate) and isinstance(link.bandwidth, Estimate)}
    places = _placed(measured, launches["launch"].to_list())
    return Matrix(
        ranks=ranks,
        links=links,
        hosts=_hosts(places, ranks),
        together=any(place.get("together") for place in places.values()),
        missing=tuple((a, b) for a in range(ranks) for b in range(ranks) if a != b and (a, b) not in complete),
    )


def per_pair(measured: RecordData) -> pl.DataFrame:
    """(launch, sender, receiver, latency_s, large_s, bandwidth, wrong, exchanges); null if the times do not determine it."""
    calls = measured.table("collectives").filter(
        (pl.col("op") == OP) & (pl.col("phase") == "timed") & pl.col("group").str.starts_with("pair ") & pl.col("end_ns").is_not_null()
    )
    took = (pl.col("end_ns") - pl.col("begin_ns")).median() / 1e9
    times = calls.group_by("launch", "group", "bytes").agg(took.alias("s"), pl.col("wrong").sum(), pl.len().alias("exchanges"))
    s, size = pl.col("s"), pl.col("bytes")
    each = (
        times.sort("bytes")
        .group_by("launch", "group", maintain_order=True)
        .agg(
            (s.first() / 2).alias("latency_s"),
            s.last().alias("large_s"),
            pl.len().alias("sizes"),
            pl.col("wrong").sum(),
            pl.col("exchanges").sum(),
            ((size.last() - size.slice(-2, 1).first()) / (s.last() - s.slice(-2, 1).first())).alias("bandwidth"),
        )
    )
    determined = (pl.col("sizes") > 2) & (pl.col("bandwidth") > 0) & pl.col("bandwidth").is_finite()
    ranks = pl.col("group").str.extract_groups(_GROUP).struct
    return (
        each.filter(pl.col("group").str.contains(f"^{_GROUP}$"))
        .select(
            "launch",
            ranks.field("1").cast(pl.Int64).alias("sender"),
            ranks.field("2").cast(pl.Int64).alias("receiver"),
            "latency_s",
            "large_s",
            pl.when(determined).then("bandwidth").alias("bandwidth"),
            pl.col("wrong").cast(pl.Int64),
            pl.col("exchanges").cast(pl.Int64),
        )
        .sort("launch", "sender", "receiver")
    )


def _links(values: pl.DataFrame, confidence: float) -> Iterator[Link]:
    """Plain lists: frames of five rows each would cost more than their statistics."""
    per_link = values.group_by("sender", "receiver", maintain_order=True).agg(
        "latency_s", "large_s", "bandwidth", pl.col("wrong").sum(), pl.col("exchanges").sum()
    )
    for row in per_link.sort("sender", "receiver").iter_rows(named=True):
        pair, trials = (row["sender"], row["receiver"]), row["exchanges"]
        named = f"pair {pair[0]}-{pair[1]}"
        yield Link(
            pair=pair,
            wrong=row["wrong"],
            large_s=float(np.exp(np.mean(np.log(row["large_s"])))),
            latency=_value(row["latency_s"], confidence, SECONDS, f"pair_latency|{named}", trials, "half of the median round trip"),
            bandwidth=_value(
                row["bandwidth"],
                confidence,
                BYTES_PER_SECOND,
                f"pair_bandwidth|{named}",
                trials,
                "bytes per second between the two largest sizes",
            ),
        )


def _value(values: Sequence[float | None], confidence: float, unit: str, name: str, trials: int, how: str) -> Value:
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return Absent("undefined", "the larger message took no longer than the smaller one: use larger ones (--matrix 64M)")
    return over_launches.positive(known, confidence, unit=unit, aggregate=how, name=name, n_trials=trials)


def _placed(measured: RecordData, launches: Sequence[int]) -> dict[int, dict[str, object]]:
    """Each rank's reported placement, from the last of these launches that has it."""
    rows = measured.table("events").filter((pl.col("kind") == "placed") & pl.col("launch").is_in(launches)).sort("launch")
    return {
        rank: json.loads(detail) for rank, detail in zip(rows["rank"].to_list(), rows["detail"].to_list(), strict=True) if rank is not None
    }


def _hosts(places: Mapping[int, Mapping[str, object]], ranks: int) -> tuple[str, ...]:
    """The host of every rank, if all reported it. Machines or namespaces of equal name are distinguished by identity."""
    if len(places) != ranks:
        return ()
    reported = [(str(place["host"]), str(place.get("boot", "")), str(place.get("network", ""))) for _, place in sorted(places.items())]
    machines: dict[str, set[tuple[str, str]]] = {}
    for name, boot, network in reported:
        machines.setdefault(name, set()).add((boot, network))
    return tuple(
        name if len(machines[name]) == 1 else f"{name} ({sorted(machines[name]).index((boot, network)) + 1})"
        for name, boot, network in reported
    )


def farthest(measured: RecordData, of_pairs: pl.Expr, *, unit: str, name: str, aggregate: str) -> dict[str, Value]:
    """One number per launch over all its pairs; not applicable if no pairs were requested."""
    values = per_pair(measured)
    if values.height == 0:
        absent = Absent("not_applicable", NO_PAIRS)
        return dict.fromkeys(measured.configurations, absent)
    launch_values = values.group_by("launch").agg(of_pairs.alias("value"), pl.col("exchanges").sum())
    return per_launch.from_frame(
        measured, launch_values, unit=unit, name=name, aggregate=aggregate, missing="no pair has a value", trials="exchanges"
    )


# ---- the classes -------------------------------------------------------------------------------------------------


def classes(found: Matrix) -> Classes:
    """The classes of the pairs, named by hosts if known."""
    from fireassay.stats.groups.topology import nesting

    if found.ranks < 2:
        return _refused("one rank has no pair")
    without = [link.pair for link in found.links if not isinstance(link.latency, Estimate)]
    if without or len(found.links) < found.ranks * (found.ranks - 1):
        return _refused(f"{count(len(found.missing), 'pairs')} without a latency ({_some(found.missing)})")
    nested = nesting({"latency": _array(found, _latency), "the time of a large message": _array(found, lambda link: link.large_s)})
    notes = (*(f"A boundary was dropped: {note}." for note in nested.notes), *_shared(found))
    if found.hosts and len(set(found.hosts)) > 1:
        return _named(found, nested, notes)
    if nested.refused:
        return Classes(kinds={}, names=(), sentences=notes, refused=nested.refused)
    return _unnamed(found, nested, notes)


def _some(pairs: Sequence[Pair]) -> str:
    return some((f"{a} to {b}" for a, b in pairs), 5)


def _refused(reason: str) -> Classes:
    return Classes(kinds={}, names=(), sentences=(), refused=reason)


def _shared(pair_matrix: Matrix) -> tuple[str, ...]:
    if not pair_matrix.together:
        return ()
    return ("Pairs without a common rank were measured at once: pairs on a shared link show their share of it.",)


def _latency(link: Link) -> float:
    assert isinstance(link.latency, Estimate)
    return link.latency.value


def _array(pair_matrix: Matrix, cost: Callable[[Link], float]) -> Array:
    costs = np.ones((pair_matrix.ranks, pair_matrix.ranks))
    for link in pair_matrix.links:
        costs[link.pair] = cost(link)
    return costs


def _unnamed(pair_matrix: Matrix, nested: Nesting, notes: tuple[str, ...]) -> Classes:
    """One host, or unknown host names."""
    everything: Groups = (tuple(range(pair_matrix.ranks)),)
    if len(set(pair_matrix.hosts)) == 1:
        kinds = _kinds(pair_matrix.ranks, [*((level.groups, ISLAND) for level in nested.levels), (everything, HOST)], ACROSS)
        sentences = [_seen(level, "islands of one host") for level in nested.levels]
        return _made(kinds, (*(sentences or ["All pairs of this host are alike."]), *notes))
    if not nested.levels:
        return _made(_kinds(pair_matrix.ranks, [(everything, NEAR)], FAR), ("All pairs are alike within noise.", *notes))
    levels = [(level.groups, BETWEEN if index else NEAR) for index, level in enumerate(nested.levels)]
    kinds = _kinds(pair_matrix.ranks, levels, FAR)
    unknown = "The ranks did not report their hosts: a group may be an island or a host."
    return _made(kinds, (*(_seen(level, "groups") for level in nested.levels), unknown, *notes))


def _named(pair_matrix: Matrix, nested: Nesting, notes: tuple[str, ...]) -> Classes:
    from fireassay.stats.groups.topology import group_list, within

    hosts = _by_name(pair_matrix.hosts)
    if nested.refused:
        kinds = _kinds(pair_matrix.ranks, [(hosts, HOST)], ACROSS)
        return _made(kinds, (f"Only the names distinguish the hosts: {nested.refused}.", *notes))
    finer = [level for level in nested.levels if level.groups != hosts and within(level.groups, hosts)]
    equal = [level for level in nested.levels if level.groups == hosts]
    coarser = [level for level in nested.levels if level.groups != hosts and within(hosts, level.groups)]
    crossing = [level for level in nested.levels if level not in (*finer, *equal, *coarser)]
    sentences = [_seen(level, "the hosts") for level in equal]
    sentences += [_seen(level, "islands within hosts") for level in finer]
    sentences += [_seen(level, "hosts that lie near each other") for level in coarser]
    sentences += [
        f"CONTRADICTION: by {level.feature} the ranks {group_list(level.groups)} belong together, by their hosts' names {group_list(hosts)}; "
        "the names, the order of the ranks or the measurement is wrong"
        for level in crossing
    ]
    if not equal and not crossing:
        sentences.append("Times do not distinguish pairs across hosts from pairs within a host; only the names do.")
    kinds = _kinds(pair_matrix.ranks, [*((level.groups, ISLAND) for level in finer), (hosts, HOST)], ACROSS)
    return _made(kinds, (*(sentence if sentence.endswith(".") else f"{sentence}." for sentence in sentences), *notes))


def _seen(level: Level, noun: str) -> str:
    from fireassay.stats.groups.topology import group_list

    return f"{group_list(level.groups)} are {noun}: by {level.feature} the next pair is {level.ratio:.3g} times as far."


def _by_name(hosts: Sequence[str]) -> Groups:
    members: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        members.setdefault(host, []).append(rank)
    return tuple(sorted(tuple(ranks) for ranks in members.values()))


def _kinds(ranks: int, levels: Sequence[tuple[Groups, str]], outside: str) -> dict[Pair, str]:
    """The kind of every ordered pair: that of the first level with both in one group."""
    homes = [({member: index for index, group in enumerate(groups) for member in group}, name) for groups, name in levels]
    pairs = ((a, b) for a in range(ranks) for b in range(ranks) if a != b)
    return {(a, b): next((name for home, name in homes if home[a] == home[b]), outside) for a, b in pairs}


def _made(kinds: Mapping[Pair, str], sentences: Sequence[str]) -> Classes:
    order = (ISLAND, HOST, ACROSS, NEAR, BETWEEN, FAR)
    return Classes(kinds=kinds, names=tuple(name for name in order if name in kinds.values()), sentences=tuple(sentences))
