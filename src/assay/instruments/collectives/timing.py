"""How long do calls take that are made one after the other, as this rank sees them?

A loop begins when every rank has passed a barrier, and holds calls without a pause: what nccl-tests times.  The end of a call is the
begin of the next one, so that a loop of k calls costs k + 1 readings of the clock.  On the host a call has ended when it returns; on
a GPU events in its stream say so, and are read after the loop.  Data are written before a loop and checked after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

Now = Callable[[], int]


def on_host(calls: Sequence[Callable[[], Any]], now: Now = time.monotonic_ns) -> list[int]:
    """When the loop began, and when each call had returned."""
    stamps = [0] * (len(calls) + 1)
    stamps[0] = now()
    for place, call in enumerate(calls, 1):
        call()
        stamps[place] = now()
    return stamps


def on_gpu(torch: Any, calls: Sequence[Callable[[], Any]], now: Now = time.monotonic_ns) -> list[int]:
    """The same from events in the current stream; their times are added to the host's at the begin."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(len(calls) + 1)]
    torch.cuda.synchronize()
    begin = now()
    events[0].record()
    for place, call in enumerate(calls, 1):
        call()
        events[place].record()
    torch.cuda.synchronize()
    return [begin + round(events[0].elapsed_time(event) * 1e6) for event in events]


def loops(seconds_of_a_call: float, *, slots: int, most: int, seconds: float, least: int) -> tuple[int, int]:
    """(loops, calls in each) so that a cell takes about so many seconds, in at least so many loops."""
    each = max(seconds_of_a_call, 1e-9)
    calls = max(1, min(slots, most, int(seconds / least / each)))
    return max(least, min(int(seconds / (calls * each)), 100 * least)), calls
