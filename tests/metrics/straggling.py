"""Data-parallel training simulated step by step, with the waiting that it really has, so that which rank is slow is known.

Every rank works for itself but for one thing: a bucket's all_reduce begins when the last rank has asked for it and the one before is
over, and ends everywhere at once.  So a rank that is 50 ms late makes the others' backward passes 50 ms longer, and not its own.
Times of a phase vary by 10 %, one in fifty is delayed by up to 40 ms by somebody else, and all ranks drift together by 5 %.
Each rank has a clock of its own, seconds apart: who compares moments of two ranks gets nonsense.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from tests.handmade import Handmade

MS = 1_000_000
PHASES = ("data", "forward", "backward", "optimizer", "communication")
USUAL_MS = {"data": 4.0, "forward": 20.0, "backward": 40.0, "optimizer": 6.0, "between": 1.0}
BUCKETS, TRANSFER_MS = 4, 5.0


@dataclass(frozen=True, kw_only=True)
class Training:
    """What is simulated; `late`: (rank, phase) -> milliseconds in each step, or in those that `when` names."""

    ranks: int
    seed: int = 0
    steps: int = 40
    late: Mapping[tuple[int, str], float] = field(default_factory=dict)
    when: Sequence[int] | None = None
    usual_ms: Mapping[str, float] = field(default_factory=lambda: USUAL_MS)
    jitter: float = 0.1
    spikes: float = 0.02


def add(made: Handmade, number: int, training: Training, *, leave_out: tuple[str, ...] = ()) -> None:
    """The rows of a launch: steps, collectives, waits, communication by DDP's logging; some of the tables may be left out."""
    rng = np.random.default_rng(training.seed)
    ranks, now = training.ranks, np.zeros(training.ranks)
    clock = rng.uniform(-5e12, 5e12, ranks)  # nanoseconds that each rank's clock is off
    drift = 1.0 + 0.05 * np.sin(np.arange(training.steps) / 7.0)
    rows: dict[str, list[tuple[object, ...]]] = {name: made.rows[name] for name in ("steps", "collectives", "waits", "communication")}
    kept = {name: (list[tuple[object, ...]]() if name in leave_out else found) for name, found in rows.items()}
    for step in range(training.steps):
        took = {phase: _took(training, rng, phase, step, drift[step]) for phase in (*USUAL_MS, "communication")}
        begin = now.copy()
        forward_end = begin + took["data"] + took["forward"]
        gradient, free, asked, over = forward_end, 0.0, [], []
        for bucket in range(BUCKETS):
            gradient = gradient + took["backward"] / BUCKETS
            asked.append(gradient)
            asking = 0.02 * MS + (took["communication"] if bucket == 1 else 0.0)
            gradient = gradient + asking  # the thread that computes asks
            free = max(float(gradient.max()), free) + TRANSFER_MS * MS * rng.lognormal(0.0, 0.1)
            over.append(free)
        backward_end = np.maximum(gradient, over[-1]) + 0.05 * MS
        now = backward_end + took["optimizer"] + took["between"]
        for rank in range(ranks):

            def at(time: float, rank: int = rank) -> int:
                return round(float(made.begin[number] + clock[rank] + time))

            backward, tail = backward_end[rank] - forward_end[rank], backward_end[rank] - gradient[rank]
            phases = [round(x) for x in (took["data"][rank], took["forward"][rank], backward, took["optimizer"][rank])]
            kept["steps"].append((number, rank, 0, step, at(begin[rank]), at(now[rank]), *phases, None, None, 8.0, "monotonic"))
            asking = BUCKETS * 0.02 * MS + took["communication"][rank]
            kept["waits"].append((number, rank, 0, step, "backward", round(asking), round(tail)))
            kept["communication"].append((number, rank, 0, step, "ddp_logging", None, round(tail), None, None))
            for bucket in range(0 if "collectives" in leave_out else BUCKETS):
                where = (number, rank, 0, "0", step * BUCKETS + bucket, step, "all_reduce", ranks, 1_000_000, "float32")
                kept["collectives"].append((*where, "", 1, at(asked[bucket][rank]), at(over[bucket]), None, None, None, "host"))


def _took(training: Training, rng: np.random.Generator, phase: str, step: int, drift: float) -> np.ndarray:
    """Nanoseconds that each rank works in a phase of a step."""
    usual = training.usual_ms.get(phase, 0.0) * drift * rng.lognormal(0.0, training.jitter, training.ranks)
    spike = rng.uniform(0.0, 40.0, training.ranks) * (rng.random(training.ranks) < training.spikes) * (usual > 0)
    late = [
        training.late.get((rank, phase), 0.0) if training.when is None or step in training.when else 0.0 for rank in range(training.ranks)
    ]
    return np.asarray((usual + spike + late) * MS)


def record(training: Training, *, launches: int = 1, leave_out: tuple[str, ...] = ()) -> Handmade:
    """A record of one configuration."""
    made = Handmade(levels=(training.ranks,), blocks=launches)
    for block in range(launches):
        number = made.launch(workers=training.ranks, block=block)
        add(made, number, Training(**{**training.__dict__, "seed": 1000 * training.seed + block}), leave_out=leave_out)
    return made
