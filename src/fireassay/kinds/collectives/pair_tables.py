"""How is the matrix of pairs shown in tables?  A row for each class of pairs, then the pairs, the slowest first.

With up to four ranks, every ordered pair has a row with its intervals; with more, as many of the slowest do. The record holds all pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, count, show
from fireassay.frames.links.pairs import Link, Pairs
from fireassay.reports.page import Cell, Head, Table, Words, number

MICROSECONDS: Final = Scale(factor=1e6, after=" µs")
GIGABYTES: Final = Scale(factor=1e-9, after=" GB/s")
MOST_ROWS: Final = 12


def tables(several: Sequence[Pairs]) -> tuple[Table, ...]:
    """Classes and pairs of every configuration."""
    return tuple(table for position, pairs in enumerate(several, 1) for table in _of(pairs, position))


def _of(pairs: Pairs, position: int) -> tuple[Table, ...]:
    seen, ranks = pairs.classes, count(pairs.matrix.ranks, "workers")
    where = tuple(Head(text=text) for text in ("latency, µs", "bandwidth, GB/s"))
    refused = (f"Pairs are not classified: {seen.refused}.",) if seen.refused else ()
    rows = tuple(_class_row(pairs, name) for name in seen.names)
    by_class = Table(
        inline=True,
        name=f"pair-classes-{position}",
        title=f"Classes of pairs, {ranks}",
        stub=2,
        rows=rows,
        notes=(*seen.sentences, *refused, *_wrong(pairs)),
        heads=(Head(text="Pairs"), Head(text="ordered pairs"), *(Head(text=f"{head.text}, slowest and fastest") for head in where)),
    )
    links = sorted(pairs.matrix.links, key=_slowness)[:MOST_ROWS]
    left = len(pairs.matrix.links) - len(links)
    notes = (f"{count(left, 'pairs')} more were faster; the record holds all.",) if left else ()
    why = dict.fromkeys(link.bandwidth.detail for link in links if isinstance(link.bandwidth, Absent))
    by_pair = Table(
        inline=True,
        name=f"pairs-{position}",
        title=f"Pairs, {ranks}",
        stub=2,
        notes=(*notes, *(f"No bandwidth where {reason}." for reason in why)),
        heads=(Head(text="From, to"), Head(text="class"), *where),
        rows=tuple(_pair_row(pairs, link) for link in links),
    )
    return by_class, by_pair


def _slowness(link: Link) -> tuple[float, float]:
    """Sorts what has no bandwidth first, then by bandwidth ascending."""
    bandwidth = link.bandwidth.value if isinstance(link.bandwidth, Estimate) else 0.0
    return bandwidth, -(link.latency.value if isinstance(link.latency, Estimate) else 0.0)


def _class_row(pairs: Pairs, name: str) -> tuple[Cell, ...]:
    links = [link for link in pairs.matrix.links if pairs.classes.kinds[link.pair] == name]
    latencies = _ends([link.latency for link in links], slowest_is_high=True)
    bandwidths = _ends([link.bandwidth for link in links], slowest_is_high=False)
    return (Words(text=name), Words(text=str(len(links))), _range(latencies, MICROSECONDS), _range(bandwidths, GIGABYTES))


def _ends(values: Sequence[Value], *, slowest_is_high: bool) -> tuple[Estimate, ...]:
    """The slowest and the fastest."""
    known = sorted((value for value in values if isinstance(value, Estimate)), key=lambda value: value.value)
    if not known:
        return ()
    return (known[-1], known[0]) if slowest_is_high else (known[0], known[-1])


def _range(ends: tuple[Estimate, ...], scale: Scale) -> Cell:
    texts = dict.fromkeys(show(end, scale).text.removesuffix(scale.after) for end in ends)
    return Words(text=" to ".join(texts) or "–", tone="plain" if ends else "absent")


def _pair_row(pairs: Pairs, link: Link) -> tuple[Cell, ...]:
    kind = pairs.classes.kinds.get(link.pair, "–")
    return (
        Words(text=f"{link.pair[0]} → {link.pair[1]}"),
        Words(text=kind),
        number(link.latency, MICROSECONDS, bare=True),
        number(link.bandwidth, GIGABYTES, bare=True),
    )


def _wrong(pairs: Pairs) -> tuple[str, ...]:
    bad = [f"{link.pair[0]} → {link.pair[1]} ({count(link.wrong, 'bytes')})" for link in pairs.matrix.links if link.wrong]
    return (f"WRONG DATA arrived on {', '.join(bad)}.",) if bad else ()
