"""What does marking a step cost on this machine?

Measured before the training begins and stored in the record: a loop of fully marked steps against the same loop bare. The cost per
step is the median over chunks, so that a single interruption does not count. The rows go to memory and are discarded; the cost of
writing is measured separately, as the CPU time of the flushing thread. No random number is drawn.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

from fireassay.instruments.recorder.inactive import Probe
from fireassay.instruments.recorder.phases import NAMES

CHUNKS = 10
STEPS_PER_CHUNK = 100


def cost_per_step(recorder: Probe, *, now: Callable[[], int] = time.monotonic_ns) -> tuple[float, int]:
    """(nanoseconds per marked step, number of steps measured) of a probe that records into memory."""
    differences = [(_marked(recorder, now) - _bare(now)) / STEPS_PER_CHUNK for _ in range(CHUNKS)]
    return max(0.0, median(differences)), CHUNKS * STEPS_PER_CHUNK


def _marked(recorder: Probe, now: Callable[[], int]) -> int:
    begin = now()
    for _ in recorder.steps(range(STEPS_PER_CHUNK)):
        for name in NAMES:
            with recorder.phase(name):
                pass
        recorder.samples((0, 1, 2, 3))
        recorder.log(loss=0.0, grad_norm=0.0)
    return now() - begin


def _bare(now: Callable[[], int]) -> int:
    begin = now()
    for _ in range(STEPS_PER_CHUNK):
        pass
    return now() - begin
