"""Trials of a timing written down by hand."""

from __future__ import annotations

from collections.abc import Sequence

from tests.handmade import Handmade, S


def trials(
    made: Handmade,
    launch: int,
    seconds: Sequence[float],
    *,
    warm_up: int = 0,
    calls: int = 1,
    user_s: float | None = 0.0,
    system_s: float | None = 0.0,
    rss: int | None = None,
) -> None:
    """Consecutive trials of a launch, the first `warm_up` of them marked; times are those of one call."""
    now = made.begin[launch]
    for place, duration in enumerate(seconds):
        end = now + round(duration * calls * S)
        cpu = [None if part is None else round(part * calls * S) for part in (user_s, system_s)]
        made.rows["trials"].append((launch, place, now, end, calls, int(place < warm_up), 0, *cpu, rss, 0))
        now = end


def timing(*launches: Sequence[float], warm_up: int = 0, calls: int = 1) -> Handmade:
    """One launch per list of seconds."""
    made = Handmade(levels=(1,), blocks=len(launches))
    workload = made.experiment.workload.model_copy(update={"runner": "command", "script": "work"})
    made.experiment = made.experiment.model_copy(update={"workload": workload})
    for block, seconds in enumerate(launches):
        trials(made, made.launch(workers=1, block=block), seconds, warm_up=warm_up, calls=calls)
    return made
