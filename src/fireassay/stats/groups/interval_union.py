"""How long does at least one of several intervals last, or two kinds at once?

Sets of times, represented as a sorted tuple of disjoint half-open [begin, end) that do not touch; `union` makes one from any
intervals.  Durations of concurrent events do not add: three kernels of 1 s on three streams keep a device busy for 1 s, not 3.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]
Spans = tuple[Span, ...]


def union(intervals: Iterable[Span]) -> Spans:
    """Times covered by at least one interval; empty or reversed intervals count for nothing."""
    merged: list[Span] = []
    for begin, end in sorted(intervals):
        if end <= begin:
            continue
        if merged and begin <= merged[-1][1]:
            if end > merged[-1][1]:
                merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return tuple(merged)


def both(some: Sequence[Span], others: Sequence[Span]) -> Spans:
    """Times in both sets."""
    overlaps: list[Span] = []
    i = j = 0
    while i < len(some) and j < len(others):
        begin, end = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if begin < end:
            overlaps.append((begin, end))
        if some[i][1] <= others[j][1]:
            i += 1
        else:
            j += 1
    return tuple(overlaps)


def without(some: Sequence[Span], others: Sequence[Span]) -> Spans:
    """Times in the first set but not in the second."""
    remaining: list[Span] = []
    first = 0
    for begin, end in some:
        while first < len(others) and others[first][1] <= begin:
            first += 1
        now, j = begin, first
        while now < end and j < len(others) and others[j][0] < end:
            if others[j][0] > now:
                remaining.append((now, others[j][0]))
            now = max(now, others[j][1])
            j += 1
        if now < end:
            remaining.append((now, end))
    return tuple(remaining)


def within(some: Sequence[Span], begin: int, end: int) -> Spans:
    """The part of the set inside a window."""
    return both(some, ((begin, end),)) if begin < end else ()


def length(some: Iterable[Span]) -> int:
    """Total length of a set of times."""
    return sum(end - begin for begin, end in some)
