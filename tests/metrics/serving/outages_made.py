"""A load of ten requests a second for 25 s on two replicas, of which the second is struck: shared by the metrics of faults."""

from __future__ import annotations

from tests.serving_made import ServingMade


def outage(
    *,
    struck: bool = True,
    struck_s: float = 10.05,
    missing: tuple[float, float] | None = (10.05, 14.55),
    again: tuple[float, float] | None = None,
    down_s: float | None = 10.1,
    up_s: float | None = 14.5,
    undone: bool = True,
    for_s: float | None = None,
    started_s: float | None = None,
) -> ServingMade:
    """Requests due at 0, 0.1 ... 24.9 s take 0.01 s; those of replica 1 (odd ones) due in `missing` are refused. `again`: the
    same in a second fault launch. The prober is sure 0.1 s after `down_s`. `for_s`: after which the replica was to be started again, and
    `started_s`: when its process was there."""
    made = ServingMade(rate=(10.0,), blocks=1, seconds=25.0)
    parts = [missing] if again is None else [missing, again]
    for part in parts if struck else [None]:
        number = made.launch(role="fault", block=1)
        if struck:
            made.event(
                number, "fault", struck_s, value=1, detail={"fault": "kill", "replica": 1, **({} if for_s is None else {"for_s": for_s})}
            )
            if down_s is not None:
                known = made.t0[number] + round((down_s + 0.1) * 1e9)
                made.event(number, "replica_down", down_s, value=1, detail={"known_ns": known})
            if up_s is not None:
                made.event(number, "replica_up", up_s, value=1)
            if started_s is not None:
                started = made.t0[number] + round(started_s * 1e9)
                made.event(number, "server_ready", up_s or 99.0, value=1, detail={"started_ns": started})
            if undone:
                made.event(number, "fault_end", 14.0, value=1, detail={"fault": "kill", "replica": 1})
        for place in range(250):
            due = place / 10
            lost = part is not None and place % 2 == 1 and part[0] <= due < part[1]
            made.request(
                number, due, replica=place % 2, status="refused" if lost else "ok", done_s=0.01, at_s=None if lost else [0.01], tokens_out=1
            )
    return made
