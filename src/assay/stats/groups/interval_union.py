"""How long does at least one of several intervals last, or two kinds of them at once?  Sets of times, not sums of them.

A set of times is a sorted tuple of (begin, end) that neither touch nor overlap; `union` makes one of any intervals.  Durations of
things that run at once must not be added: three kernels of 1 s on three streams keep a device busy for 1 s, not for 3.
Source: the union, intersection and difference of half-open intervals [begin, end).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

Span = tuple[int, int]
Spans = tuple[Span, ...]


def union(intervals: Iterable[Span]) -> Spans:
    """The times in which at least one of the intervals lasts; one that is empty or ends before it begins has none."""
    found: list[Span] = []
    for begin, end in sorted(intervals):
        if end <= begin:
            continue
        if found and begin <= found[-1][1]:
            if end > found[-1][1]:
                found[-1] = (found[-1][0], end)
        else:
            found.append((begin, end))
    return tuple(found)


def both(some: Sequence[Span], others: Sequence[Span]) -> Spans:
    """The times that are in both sets."""
    found: list[Span] = []
    i = j = 0
    while i < len(some) and j < len(others):
        begin, end = max(some[i][0], others[j][0]), min(some[i][1], others[j][1])
        if begin < end:
            found.append((begin, end))
        if some[i][1] <= others[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def without(some: Sequence[Span], others: Sequence[Span]) -> Spans:
    """The times of the first set that are not in the second."""
    found: list[Span] = []
    first = 0
    for begin, end in some:
        while first < len(others) and others[first][1] <= begin:
            first += 1
        now, j = begin, first
        while now < end and j < len(others) and others[j][0] < end:
            if others[j][0] > now:
                found.append((now, others[j][0]))
            now = max(now, others[j][1])
            j += 1
        if now < end:
            found.append((now, end))
    return tuple(found)


def within(some: Sequence[Span], begin: int, end: int) -> Spans:
    """The times of the set inside of a window."""
    return both(some, ((begin, end),)) if begin < end else ()


def length(some: Iterable[Span]) -> int:
    """How long a set of times is."""
    return sum(end - begin for begin, end in some)
