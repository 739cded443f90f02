"""A fault launch written by hand: two workers, checkpoint after 4 of 7 steps, rank 1 killed at 10 s."""

from __future__ import annotations

from tests.handmade import Handmade


def struck(*, recovers: bool = True, workers: int = 2) -> Handmade:
    """Steps 0-6 from 3 s, one a second; kill at 10.0; peers stopped at 10.5; up at 14; training from step 4 at 15 s.

    Lost: steps 4, 5 and 6; regained at 18 s; then step 7 until 19 s; the launch ends at 20 s.
    """
    made = Handmade(levels=(workers,), blocks=1)
    number = made.launch(workers=workers, role="fault", wall_s=20.0)
    victim = workers - 1
    for rank in range(workers):
        made.steps(number, rank=rank, seconds=[1.0] * 7, start_s=3.0)
    made.event(number, "fault", 10.0, rank=victim, incarnation=0, step=7)
    for rank in range(workers):
        made.event(number, "worker_gone", 10.1 if rank == victim else 10.5, rank=rank, incarnation=0)
    if recovers:
        for rank in range(workers):
            made.event(number, "worker_start", 13.0 + rank, rank=rank, incarnation=1)
            made.steps(number, rank=rank, seconds=[1.0] * 4, first=4, start_s=15.0, incarnation=1)
    return made
