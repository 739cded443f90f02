"""Where did the ranks wait when a launch had to be ended, or when the first of them left the others?"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fireassay.errors import RecordError
from fireassay.record.live.progress import Progress
from fireassay.record.unsealed import read_launch

KIND: Final = "step_pending"  # of the event that a rank leaves
LEFT: Final = ("Connection closed by peer", "Connection reset by peer")  # gloo's words for a rank that is gone
PASSES: Final = ("forward", "backward")
EVEN: Final = (
    "Give every rank equally many batches: a sampler that divides evenly, drop_last, an equal number of items per rank of a stream, "
    "or torch.distributed.algorithms.join.Join."
)
OTHERWISE: Final = "Make every rank call the same collectives in the same order."


def places(record: Path, launch: int, ranks: Mapping[int, Progress]) -> str:
    """Where each rank waits, and what to change; "" if fewer than two ranks are known to wait, or all in the same call."""
    return _sentence(_waiting(record, launch, ranks))


def deadlock(record: Path, launch: int, ranks: Mapping[int, Progress]) -> str:
    """The same of a running launch, only if every rank waits in a collective, and not all in the same: such a launch cannot go on."""
    waiting = _waiting(record, launch, ranks)
    return _sentence(waiting) if len(waiting) == len(ranks) and all(_in_a_call(row["detail"]) for row in waiting.values()) else ""


def _in_a_call(detail: Mapping[str, Any]) -> bool:
    """True if it waits for others: in a collective, or idle in a pass, whose reduction the hooks may not see."""
    return bool(detail.get("calls")) or (detail.get("inside") in PASSES and detail.get("state") == "S")


def _waiting(record: Path, launch: int, ranks: Mapping[int, Progress]) -> dict[int, dict[str, Any]]:
    """The last note of each rank that has made no step since."""
    table = None
    with suppress(RecordError, OSError, ValueError):  # the launch's own reason is reported anyway
        table, _ = read_launch(record, launch, "events")
    rows = [] if table is None else table.select(["rank", "kind", "step", "detail"]).to_pylist()
    last = {row["rank"]: row for row in rows if row["kind"] == KIND}
    still = {rank: row for rank, row in sorted(last.items()) if rank in ranks and row["step"] == ranks[rank].steps}
    return {rank: {**row, "detail": json.loads(row["detail"])} for rank, row in still.items()}


def _sentence(waiting: Mapping[int, Mapping[str, Any]]) -> str:
    places = {rank: _place(row["detail"]) for rank, row in waiting.items()}
    steps = {row["step"] for row in waiting.values()}
    if len(waiting) < 2 or (len(set(places.values())) == 1 and len(steps) == 1):
        return ""
    lines = {rank: f" (at {row['detail']['stack'][0]})" if row["detail"].get("stack") else "" for rank, row in waiting.items()}
    each = ", ".join(f"rank {rank} in {places[rank]} after {row['step']} steps{lines[rank]}" for rank, row in waiting.items())
    training = {row["detail"].get("inside") in PASSES for row in waiting.values()}  # or they have left the loop
    remedy = f"Uneven batches do this. {EVEN}" if len(steps) > 1 or len(training) > 1 else OTHERWISE
    return f"The ranks wait in different places, each for a call that the others do not make: {each}. {remedy}"


def left_behind(output: str, ranks: Mapping[int, Progress]) -> str:
    """The same for a rank that ended while others still communicated with it; "" if there is none."""
    steps = {rank: progress.steps for rank, progress in sorted(ranks.items())}
    if len(set(steps.values())) < 2 or not any(words in output for words in LEFT):
        return ""
    fewest = min(steps, key=lambda rank: steps[rank])
    return f"; rank {fewest} ended after {steps[fewest]} steps, others made up to {max(steps.values())}. {EVEN}"


def _place(detail: Mapping[str, Any]) -> str:
    calls, inside = detail.get("calls") or [], str(detail.get("inside") or "")
    if calls:
        first = calls[0]
        size = f" of {first['bytes']:,} bytes" if first["bytes"] else ""
        return f"{first['op']}{size}{f' of its {inside} pass' if inside in PASSES else ''}"
    if inside in PASSES and detail.get("state") == "S":
        return f"a collective of its {inside} pass"
    return {"": "no collective", "data": "its wait for a batch"}.get(inside, f"its {inside} pass")
