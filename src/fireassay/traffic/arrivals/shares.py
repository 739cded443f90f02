"""Which client process sends a request, and which request must end first?"""

from __future__ import annotations

import numpy as np

from fireassay.traffic.arrivals.schedule import COLD, NONE, Ints, Schedule


def mine(schedule: Schedule, k: int, n: int) -> Ints:
    """Numbers of the requests that client process `k` of `n` sends, ascending; shape [requests of this client].

    All cold requests belong to process 0.  A request belongs to the same process as its predecessor.
    """
    if not 0 <= k < n:
        raise ValueError(f"no client process {k} of {n}")
    return np.flatnonzero(_owners(schedule, n) == k)


def predecessors(schedule: Schedule) -> Ints:
    """Each request's predecessor, -1 where it has its own due time; shape [requests].

    With `together` it is the last request of the previous group, all of which must have ended.
    """
    previous = np.full(len(schedule), NONE, dtype=np.int64)
    cold = schedule.phase == COLD
    _chain(previous, np.where(cold, 0, NONE))
    _chain(previous, np.where(cold, NONE, schedule.stream))
    later = _chain(np.full_like(previous, NONE), schedule.session)
    previous = np.where((schedule.session >= 0) & (schedule.turn > 0), later, previous)
    if schedule.together:
        positions = np.arange(len(schedule)) - int(cold.sum())
        group = positions // schedule.together
        previous = np.where(cold, previous, group * schedule.together - 1 + int(cold.sum()))
    return np.where(schedule.due_ns == NONE, previous, NONE)


def _owners(schedule: Schedule, n: int) -> Ints:
    if schedule.together:
        return np.zeros(len(schedule), dtype=np.int64)
    key = np.where(schedule.session >= 0, schedule.session, np.arange(len(schedule), dtype=np.int64))
    key = np.where(schedule.stream >= 0, schedule.stream, key)
    return np.where(schedule.phase == COLD, 0, key % n)


def _chain(previous: Ints, keys: Ints) -> Ints:
    """Write into `previous` the nearest earlier number with the same key, for non-negative keys."""
    order = np.argsort(keys, kind="stable")
    order = order[keys[order] >= 0]
    same = keys[order[1:]] == keys[order[:-1]]
    previous[order[1:][same]] = order[:-1][same]
    return previous
