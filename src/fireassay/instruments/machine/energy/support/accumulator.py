"""How many joules did a meter show between its first reading and its last, and by how much can that be off?

A counter: the sum of its rises, with wraps and resets.  Between two good readings a device uses at least nothing and at most
`max_watts` x (seconds + delay); what else the readings allow is the bound:

    rise        0, or (largest possible - rise) if the counter is so young that a reset may hide in it, or whole ranges that fit into it
    wrap        what the counter had left to its end, for it may have been a reset; or largest possible - counted, if that is more
    reset       largest possible - counted
    both ends   max_watts x delay + one step of the counter

A sampled power: trapezoids.  Its bound is seconds x (highest - lowest reading), which holds as long as the power between two readings
stays within that range; a meter that averages over less than the gap may miss a peak.

`accumulate` avoids known pitfalls of wraps, resets and failed reads (CodeCarbon issues 322, 309, 1309, 1321).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from fireassay.units import NS_PER_S

# No single package or GPU draws more. Separates a wrap from a reset, and bounds the number of possible wraps.
MAX_WATTS: Final = 2000.0
HOST_WATTS: Final = 20_000.0  # nor a whole host
# Delay of a counter: NVML updates about every 0.1 s, some boards slower.
LATENCY_S: Final = 1.0


# ---- the accumulator (pure) --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Raw:
    """A reading: time, and joules since the counter's origin; None if it could not be read."""

    ns: int
    joules: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Accumulated:
    """Joules used between the first and the last reading, with wraps and doubts."""

    joules: float = 0.0
    wraps: int = 0
    doubts: int = 0  # intervals that may lack energy: a reset, a jump, or long enough for several wraps
    errors: int = 0
    last: Raw | None = None  # the last good reading
    between: float = field(default=0.0, compare=False)  # joules by which the sum over intervals can be off
    ends: float = field(default=0.0, compare=False)  # and by the delay and the step of the first and the last reading

    @property
    def lower_bound(self) -> bool:
        """True if the true energy may be higher."""
        return self.doubts > 0

    @property
    def bound(self) -> float:
        """Joules by which the true energy can differ at most."""
        return self.between + self.ends


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """What a counter can show."""

    max_range: float | None = None  # joules at which it wraps to zero; None: never
    max_watts: float = MAX_WATTS  # a higher power between two readings is a fault of the counter, not energy
    delay_s: float = LATENCY_S  # by how much a value can be old
    step: float = 0.0  # joules by which it rises at least


def accumulate(readings: Iterable[Raw], max_range: float | None, *, max_watts: float = MAX_WATTS) -> Accumulated:
    """Joules between the first and the last reading of one counter, in time order.

    Never negative, and never lower after one more reading. A failed reading is skipped and never taken for a wrap.
    """
    state, limits = Accumulated(), Limits(max_range=max_range, max_watts=max_watts)
    for reading in readings:
        state = step(state, reading, limits)
    return state


def step(state: Accumulated, reading: Raw, limits: Limits) -> Accumulated:
    """Add one reading."""
    if not _good(reading, limits.max_range):
        return replace(state, errors=state.errors + 1)
    if state.last is None:
        return replace(state, last=reading)
    used = _used(state.last, reading, limits)
    return Accumulated(
        joules=state.joules + used.joules,
        wraps=state.wraps + used.wrapped,
        doubts=state.doubts + used.doubt,
        errors=state.errors,
        last=reading,
        between=state.between + used.bound,
        ends=limits.max_watts * limits.delay_s + limits.step,
    )


def _good(reading: Raw, max_range: float | None) -> bool:
    value = reading.joules
    return value is not None and math.isfinite(value) and 0 <= value <= (math.inf if max_range is None else max_range)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Used:
    """Between two good readings: joules, by how much they can be off, whether the counter wrapped, whether energy may be missing."""

    joules: float
    bound: float
    wrapped: bool = False
    doubt: bool = False


def _used(before: Raw, now: Raw, limits: Limits) -> _Used:
    assert before.joules is not None
    assert now.joules is not None
    seconds = max(0, now.ns - before.ns) / NS_PER_S
    possible = limits.max_watts * (seconds + max(LATENCY_S, limits.delay_s))
    max_range, rise = limits.max_range, now.joules - before.joules
    ambiguous = max_range is not None and limits.max_watts * seconds >= max_range
    if 0 <= rise <= possible:
        young = now.joules <= possible  # it may have begun again within this interval
        return _Used(joules=rise, bound=possible - rise if young else _hidden(rise, possible, max_range), doubt=ambiguous)
    if max_range is not None and rise < 0 and rise + max_range <= possible:
        wrapped = rise + max_range
        bound = max(max_range - before.joules, possible - wrapped)  # a reset instead, or after the wrap
        return _Used(joules=wrapped, bound=bound, wrapped=True, doubt=ambiguous)
    if rise < 0 and now.joules <= possible:  # reset: the present value was used since
        return _Used(joules=now.joules, bound=possible - now.joules, doubt=True)
    return _Used(joules=0.0, bound=possible, doubt=True)  # a reset, or a jump, to what no device can have drawn


def _hidden(rise: float, possible: float, max_range: float | None) -> float:
    """Joules of whole wraps that a rise may hide."""
    return 0.0 if max_range is None else max_range * max(0, math.floor((possible - rise) / max_range))


# ---- sampled power ----


@dataclass(frozen=True, kw_only=True, slots=True)
class Sampled:
    """The integral of a power between its first and its last reading."""

    joules: float = 0.0
    errors: int = 0
    seconds: float = 0.0
    lowest: float = math.inf
    highest: float = -math.inf
    last: Raw | None = None  # its `joules` are watts here

    @property
    def bound(self) -> float:
        """Joules by which the integral can be off, if the power stays in the range of its readings."""
        return self.seconds * (self.highest - self.lowest) if self.last is not None else 0.0


def sample(state: Sampled, reading: Raw, *, max_watts: float = HOST_WATTS) -> Sampled:
    """Add one reading of a power in watts; a failed or impossible one is skipped."""
    watts = reading.joules
    if watts is None or not math.isfinite(watts) or not 0.0 <= watts <= max_watts:
        return replace(state, errors=state.errors + 1)
    lowest, highest = min(state.lowest, watts), max(state.highest, watts)
    if state.last is None or state.last.joules is None:
        return replace(state, last=reading, lowest=lowest, highest=highest)
    seconds = max(0, reading.ns - state.last.ns) / NS_PER_S
    joules = state.joules + seconds * (watts + state.last.joules) / 2.0
    return Sampled(joules=joules, errors=state.errors, seconds=state.seconds + seconds, lowest=lowest, highest=highest, last=reading)
