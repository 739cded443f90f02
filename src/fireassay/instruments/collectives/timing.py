"""How long do back-to-back calls take on this rank?

A loop begins when every rank has passed a barrier and makes its calls without a pause, as nccl-tests does. The end of a call is the
begin of the next, so k calls cost k + 1 clock readings. On the host a call ends when it returns; on a GPU events in its stream mark
the ends and are read after the loop. Data are written before a loop and checked after it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

Now = Callable[[], int]


def on_host(calls: Sequence[Callable[[], Any]], now: Now = time.monotonic_ns) -> list[int]:
    """The loop's start and each call's return time."""
    stamps = [0] * (len(calls) + 1)
    stamps[0] = now()
    for index, call in enumerate(calls, 1):
        call()
        stamps[index] = now()
    return stamps


def on_gpu(torch: Any, calls: Sequence[Callable[[], Any]], now: Now = time.monotonic_ns) -> list[int]:
    """The same from events in the current stream, offset by the host's time at the start."""
    events = [torch.cuda.Event(enable_timing=True) for _ in range(len(calls) + 1)]
    torch.cuda.synchronize()
    begin = now()
    events[0].record()
    for index, call in enumerate(calls, 1):
        call()
        events[index].record()
    torch.cuda.synchronize()
    return [begin + round(events[0].elapsed_time(event) * 1e6) for event in events]


def loops(seconds_of_a_call: float, *, slots: int, most: int, seconds: float, least: int) -> tuple[int, int]:
    """(loops, calls per loop) so that a cell takes about `seconds`, in at least `least` loops."""
    call_s = max(seconds_of_a_call, 1e-9)
    calls = max(1, min(slots, most, int(seconds / least / call_s)))
    return max(least, min(int(seconds / (calls * call_s)), 100 * least)), calls
