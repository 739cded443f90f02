"""What is the fixed work that `assay doctor` times repeatedly?

About a millisecond of integer arithmetic in one thread: almost no memory, no I/O, no random numbers, equal in every call. It shows the
machine's effect on a CPU-bound program, not on one that waits for memory, disks or a network.
"""

from __future__ import annotations

TURNS = 10_000


def spin() -> int:
    """A linear congruential generator (Numerical Recipes, 7.1) for a fixed number of rounds; returns its last state."""
    state = 1
    for _ in range(TURNS):
        state = (1664525 * state + 1013904223) & 0xFFFFFFFF
    return state
