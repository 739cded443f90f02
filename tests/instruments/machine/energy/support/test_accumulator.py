"""Is the truth within the bound? A thousand devices whose power is known, read through counters that wrap, reset, lag and fail."""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from dataclasses import dataclass
from itertools import accumulate as running

import pytest

from fireassay.instruments.machine.energy.support.accumulator import Accumulated, Limits, Raw, Sampled, sample, step

S = 1_000_000_000
PLANTED = 1000


@dataclass(frozen=True)
class Device:
    """A device that draws `watts[i]` from `times[i]` on, and whose counter begins again at each of `resets`."""

    times: list[float]
    watts: list[float]
    drawn: list[float]  # joules until times[i]
    resets: list[float]

    def joules(self, at: float) -> float:
        """The truth, since the beginning."""
        place = bisect_right(self.times, at) - 1
        return self.drawn[place] + self.watts[place] * (at - self.times[place])

    def shown(self, at: float, limits: Limits, period: float, begin: float) -> float:
        """The counter: updated every `period`, in steps, since its last reset, modulo its range."""
        updated = math.floor(at / period) * period if period else at
        last = max((reset for reset in self.resets if reset <= updated), default=None)
        since = begin + self.joules(updated) if last is None else self.joules(updated) - self.joules(last)
        value = math.floor(since / limits.step) * limits.step
        return value if limits.max_range is None else math.fmod(value, limits.max_range)


def device(rng: random.Random, max_watts: float, seconds: float) -> Device:
    lengths = [rng.uniform(0.05, seconds / 3) for _ in range(60)]
    times = [0.0, *running(lengths)]
    watts = [rng.choice([0.0, max_watts, rng.uniform(0.0, max_watts)]) for _ in times]
    drawn = [0.0, *running(power * length for power, length in zip(watts, lengths, strict=False))]
    return Device(times, watts, drawn, sorted(rng.uniform(0.0, seconds) for _ in range(rng.choice([0, 0, 1, 1, 3]))))


def planted(seed: int) -> tuple[Accumulated, float]:
    """What the accumulator says of one device, and the truth between its first and its last good reading."""
    rng = random.Random(seed)
    max_watts, seconds = rng.choice([30.0, 300.0, 2000.0]), rng.choice([3.0, 60.0, 900.0])
    max_range = rng.choice([None, 262_143.0, 65_712.0, rng.uniform(500.0, 5000.0)])
    limits = Limits(max_range=max_range, max_watts=max_watts, delay_s=rng.choice([0.001, 0.1, 1.0]), step=rng.choice([0.001, 1.0, 15.0]))
    made, period = device(rng, max_watts, seconds), rng.choice([0.0, limits.delay_s])
    begin = rng.uniform(0.0, max_range or 1e6)
    state, at, good = Accumulated(), 1.0, list[float]()
    while at < seconds + 1.0:
        fails = rng.random() < 0.1
        value = None if fails else made.shown(at, limits, period, begin)
        state = step(state, Raw(round(at * S), value), limits)
        good += [] if fails else [at]
        at += rng.choice([0.05, 1.0, rng.uniform(0.1, seconds / 4)])
    return state, made.joules(good[-1]) - made.joules(good[0]) if good else 0.0


def test_the_bound_holds_for_every_planted_counter() -> None:
    """Wraps, several wraps between two readings, resets, delays, steps and failed readings: not one of 1,000 is beyond its bound."""
    wrong, kinds = [], {"wraps": 0, "doubts": 0, "errors": 0, "sound": 0}
    for seed in range(PLANTED):
        state, truth = planted(seed)
        if abs(state.joules - truth) > state.bound + 1e-6 * (1.0 + truth):
            wrong.append((seed, state.joules, truth, state.bound))
        for kind in ("wraps", "doubts", "errors"):
            kinds[kind] += bool(getattr(state, kind))
        kinds["sound"] += not (state.wraps or state.doubts or state.errors)
    assert wrong == []
    assert all(count > PLANTED / 20 for count in kinds.values()), kinds  # each kind of trouble is among them, and none of it too


def test_a_sound_counter_has_a_narrow_bound() -> None:
    """RAPL at 100 W for 100 s, far from its end: what is unknown is its delay of 1 ms at 2 kW, and its step."""
    limits = Limits(max_range=262_143.0, delay_s=0.001, step=0.001)
    state = Accumulated()
    for second in range(101):
        state = step(state, Raw(second * S, 100_000.0 + 100.0 * second), limits)
    assert state.joules == pytest.approx(10_000.0)
    assert state.bound == pytest.approx(2.001)


def test_the_bound_of_a_sampled_power_holds_within_its_range() -> None:
    """1,000 powers between a low and a high that both were read: the integral is within seconds x (high - low)."""
    for seed in range(PLANTED):
        rng = random.Random(seed)
        low, high = sorted((rng.uniform(0.0, 500.0), rng.uniform(0.0, 500.0)))
        times = sorted({0.0, 1.0, *(rng.uniform(1.0, 60.0) for _ in range(20))})
        watts = [low, high, *(rng.choice([low, high, rng.uniform(low, high)]) for _ in times[2:])]  # until the next time
        truth = sum(power * (after - before) for power, before, after in zip(watts, times, times[1:], strict=False))
        state = Sampled()
        for time, power in zip(times, watts, strict=True):
            state = sample(state, Raw(round(time * S), power))
        assert abs(state.joules - truth) <= state.bound + 1e-6


def test_a_constant_power_is_exact_and_a_failed_reading_leaves_no_gap() -> None:
    state = Sampled()
    for second, watts in ((0, 120.0), (1, None), (2, 120.0), (3, float("nan")), (4, -1.0), (5, 1e9), (6, 120.0)):
        state = sample(state, Raw(second * S, watts))
    assert (state.joules, state.bound, state.errors) == (720.0, 0.0, 4)
