"""What is the fixed work that `assay doctor` times, again and again?

About a millisecond of whole-number arithmetic in one thread: no memory to speak of, no input or output, no random numbers,
the same in every call.  It shows what the machine does to a processor-bound program; it cannot show what the machine does to
one that waits for memory, disks or a network.
"""

from __future__ import annotations

TURNS = 10_000


def spin() -> int:
    """A linear congruential generator (Numerical Recipes, 7.1) for a fixed number of turns; gives its last state."""
    state = 1
    for _ in range(TURNS):
        state = (1664525 * state + 1013904223) & 0xFFFFFFFF
    return state
