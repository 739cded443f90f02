"""Which rank do the others wait for, in which phase is it then, and does the job move at all?

In a synchronous training all ranks have equal step times, so the slow one is the one that does not wait in the collective.
waiting share of a rank = its blocked share (1 - on a processor - runnable, from the kernel's counters, exact)
                          x the share of its idle stacks that wait for others, + its share of busy stacks in a collective
The rank with the smallest share is compared with the median of the others. It is accused if the difference is above `LEAST` of the time
and above its error: between six windows of time (t), and of the sampled composition (binomial), at 5 % divided by the number of ranks.
Its phase is the one in which it is more often than the median of the others, outside of waiting.
A phase stalls the whole job if the lower 97.5 % bound (Wilson) of its share of the looks is above `STALL` on the median rank.
A hang: no main thread has used a processor for `HANG_S` and every look finds a rank where the first one did, at least one of them waiting.
Without stacks all blocked time counts as waiting, except what the kernel calls sleep or disk: weaker, and without a phase.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import Final, TypeVar

from fireassay.instruments.watching.processes import Reading
from fireassay.instruments.watching.sampler import Look, Samples
from fireassay.instruments.watching.stacks import CHECKPOINT, DATA, START, Place, place_of

LEAST: Final = 0.10
STALL: Final = 0.20
WINDOWS: Final = 6
HANG_S: Final = 10.0
IDLE: Final = 0.005  # of a processor: a thread that only waits wakes up now and then
FEW_S: Final = 5.0
ERROR: Final = 0.05
Z: Final = 1.96


@dataclass(frozen=True, kw_only=True)
class RankState:
    """One rank over the watched time; shares of it."""

    rank: int
    running: float
    queued: float
    waiting: float
    waiting_error: float
    phases: Mapping[str, float]  # of the looks that do not wait; empty without stacks
    looks: int
    last: Place | None
    stack: tuple[str, ...] = ()  # of the last look, innermost first
    mib_read_per_s: float | None = None


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """What is wrong, if anything."""

    kind: str  # slow_rank, stall, hang, none, starting or unknown
    seconds: float
    ranks: tuple[RankState, ...]
    rank: int | None = None
    phase: str = ""
    share: float | None = None  # of the time: the others wait for the rank, or the job is in the phase
    error: float | None = None
    place: str = ""


def diagnose(samples: Samples) -> Diagnosis:
    """The most serious finding."""
    readings, seen = _by_rank(samples.readings), _by_rank(samples.looks)
    seconds = max((of_rank[-1].ns - of_rank[0].ns for of_rank in readings.values()), default=0) / 1e9  # nodes differ in their clocks
    by_rank = {rank: of_rank for rank, of_rank in sorted(readings.items()) if len(of_rank) > WINDOWS}
    if seconds < FEW_S or not by_rank:
        return Diagnosis(kind="unknown", seconds=seconds, ranks=())
    looks = {rank: [(look, place_of(look.frames, look.active)) for look in seen.get(rank, ())] for rank in by_rank}
    waits = {rank: _waiting(by_rank[rank], looks[rank]) for rank in by_rank}
    ranks = tuple(_state(rank, by_rank[rank], looks[rank], waits[rank]) for rank in by_rank)
    if _starting(ranks):
        return Diagnosis(kind="starting", seconds=seconds, ranks=ranks)
    if _hangs(by_rank, looks, seconds):
        return Diagnosis(kind="hang", seconds=seconds, ranks=ranks)
    return _slow(waits, looks, ranks, seconds) or _stall(ranks, looks, seconds) or Diagnosis(kind="none", seconds=seconds, ranks=ranks)


Looks = Sequence[tuple[Look, Place]]
Seen = TypeVar("Seen", Reading, Look)


@dataclass(frozen=True, kw_only=True)
class _Waiting:
    windows: tuple[float, ...]
    error: float  # of the composition

    @property
    def mean(self) -> float:
        return sum(self.windows) / len(self.windows)


def _by_rank(items: Iterable[Seen]) -> dict[int, list[Seen]]:
    found: dict[int, list[Seen]] = {}
    for item in items:
        found.setdefault(item.rank, []).append(item)
    return found


def _waiting(readings: Sequence[Reading], looks: Looks) -> _Waiting:
    """Share of the time in which a rank waits for others, per window, and the error of the sampled composition."""
    idle = [place.waits for look, place in looks if not look.active]
    busy = sum(look.active and place.waits for look, place in looks) / len(looks) if looks else 0.0
    blocked = [reading for reading in readings if reading.state in "SD"]
    if looks:
        composed, n = (sum(idle) / len(idle) if idle else 1.0), len(idle)
    else:
        composed = sum(reading.blocked_in == "" for reading in blocked) / len(blocked) if blocked else 1.0
        n = len(blocked)
    edges = [readings[round(index * (len(readings) - 1) / WINDOWS)] for index in range(WINDOWS + 1)]
    shares = [_blocked(first, last) for first, last in itertools.pairwise(edges)]
    likely = (composed * n + 1) / (n + 2)  # of few looks, "all" is not certain: Agresti and Coull (1998)
    spread = math.sqrt(likely * (1 - likely) / (n + 2))
    return _Waiting(windows=tuple(share * composed + busy for share in shares), error=spread * sum(shares) / len(shares))


def _blocked(first: Reading, last: Reading) -> float:
    span = last.ns - first.ns
    used = last.run_ns - first.run_ns + last.queue_ns - first.queue_ns
    return min(1.0, max(0.0, 1.0 - used / span)) if span > 0 else 0.0


def _state(rank: int, readings: Sequence[Reading], looks: Looks, waits: _Waiting) -> RankState:
    first, last = readings[0], readings[-1]
    span = max(1, last.ns - first.ns)
    busy = Counter(place.phase for _, place in looks if not place.waits)
    read = None if first.read_bytes is None or last.read_bytes is None else (last.read_bytes - first.read_bytes) / span * 1e9 / 2**20
    return RankState(
        rank=rank,
        running=(last.run_ns - first.run_ns) / span,
        queued=(last.queue_ns - first.queue_ns) / span,
        waiting=waits.mean,
        waiting_error=waits.error,
        phases={phase: number / len(looks) for phase, number in busy.most_common()},
        looks=len(looks),
        last=looks[-1][1] if looks else None,
        stack=tuple(frame.short for frame in looks[-1][0].frames) if looks else (),
        mib_read_per_s=read,
    )


def _starting(ranks: Sequence[RankState]) -> bool:
    return any(rank.phases.get(START, 0.0) > 0.5 for rank in ranks)


# ---- a slow rank -----------------------------------------------------------------------------------------------------


def _slow(waits: Mapping[int, _Waiting], looks: Mapping[int, Looks], ranks: Sequence[RankState], seconds: float) -> Diagnosis | None:
    if len(waits) < 2:
        return None
    slow = min(waits, key=lambda rank: waits[rank].mean)
    others = [rank for rank in waits if rank != slow]
    apart = [median(waits[rank].windows[index] for rank in others) - waits[slow].windows[index] for index in range(WINDOWS)]
    mean = sum(apart) / WINDOWS
    between = math.sqrt(sum((value - mean) ** 2 for value in apart) / (WINDOWS - 1) / WINDOWS)
    error = math.hypot(
        _t(len(waits)) * between, _z(len(waits)) * math.hypot(waits[slow].error, median(waits[rank].error for rank in others))
    )
    if mean - error <= LEAST:
        return None
    state = next(rank for rank in ranks if rank.rank == slow)
    phase = _excess(state, [rank for rank in ranks if rank.rank != slow])
    place = _usual(looks[slow], phase)
    return Diagnosis(kind="slow_rank", seconds=seconds, ranks=tuple(ranks), rank=slow, phase=phase, share=mean, error=error, place=place)


def _excess(state: RankState, others: Sequence[RankState]) -> str:
    """The phase in which it is more often than the others."""
    more = {phase: share - median(rank.phases.get(phase, 0.0) for rank in others) for phase, share in state.phases.items()}
    return max(more, key=lambda name: more[name], default="")


def _usual(looks: Looks, phase: str) -> str:
    """Where in the script it is most often in this phase."""
    places = Counter(place.script for _, place in looks if place.phase == phase and place.script)
    return places.most_common(1)[0][0] if places else ""


def _z(ranks: int) -> float:
    return NormalDist().inv_cdf(1 - ERROR / ranks)


def _t(ranks: int, free: int = WINDOWS - 1) -> float:
    """Student's t from the normal quantile, 1 % too small at most here; scipy's import would cost the watched job more than all samples.

    Source: Cornish and Fisher (1937); Abramowitz and Stegun 26.7.5.
    """
    z = _z(ranks)
    terms: tuple[float, ...] = (z**3 + z, (5 * z**5 + 16 * z**3 + 3 * z) / 24, (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 96)
    return z + math.fsum(term / (4 * free**power) for power, term in enumerate(terms, start=1))


# ---- a stall of all, a hang ------------------------------------------------------------------------------------------


def _stall(ranks: Sequence[RankState], looks: Mapping[int, Looks], seconds: float) -> Diagnosis | None:
    n = sum(rank.looks for rank in ranks)
    for phase in (DATA, CHECKPOINT):
        share = median(rank.phases.get(phase, 0.0) for rank in ranks)
        least = _wilson(share, n)
        if least > STALL:
            place = _usual([look for seen in looks.values() for look in seen], phase)
            return Diagnosis(kind="stall", seconds=seconds, ranks=tuple(ranks), phase=phase, share=share, error=share - least, place=place)
    return None


def _wilson(share: float, n: int) -> float:
    """Lower bound of a share of n. Source: Wilson (1927)."""
    if not n:
        return 0.0
    centre, spread = share + Z * Z / (2 * n), Z * math.sqrt(share * (1 - share) / n + Z * Z / (4 * n * n))
    return (centre - spread) / (1 + Z * Z / n)


def _hangs(by_rank: Mapping[int, Sequence[Reading]], looks: Mapping[int, Looks], seconds: float) -> bool:
    if seconds < HANG_S or any(1.0 - _blocked(readings[0], readings[-1]) > IDLE for readings in by_rank.values()):
        return False
    places = {rank: {(place.phase, place.call, place.script) for _, place in seen} for rank, seen in looks.items()}
    waits = [place.waits for seen in looks.values() for _, place in seen]
    return bool(waits) and all(len(found) == 1 for found in places.values()) and any(waits)
