"""Which items of a task are asked, if not all?  Those with the smallest SHA-256 of seed and id, in the file's order.

The first items of a file that is ordered (all capitals first) are another task than the whole.  A hash of the id draws alike on every machine, whatever
the order of the file; a smaller sample is part of a larger one.
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from typing import Final

from fireassay.quality.scoring.items import Task

SEED: Final = 0  # the same in every experiment, so that records compare


def sampled(task: Task, limit: int | None, *, first: bool = False) -> Task:
    """The task with at most that many items, and how they were chosen; `first`: those at the file's beginning."""
    if limit is None or limit >= len(task.items):
        return task
    if first:
        return replace(task, items=task.items[:limit], sample=f"the first {limit} of {len(task.items)}")
    lots = {item.id: sha256(f"{SEED}\n{item.id}".encode("utf-8", "surrogatepass")).digest() for item in task.items}
    drawn = set(sorted(lots, key=lots.__getitem__)[:limit])
    items = tuple(item for item in task.items if item.id in drawn)
    return replace(task, items=items, sample=f"{limit} of {len(task.items)} by SHA-256 of id, seed {SEED}")
