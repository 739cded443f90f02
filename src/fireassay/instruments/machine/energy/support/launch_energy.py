"""How many joules did each device of this host use in a launch?

One process of a host reads its meters, whatever the number of ranks there; a device is read once.  `find` chooses the sources: those
that the experiment names, in that order, or all that need no address.  A source whose devices another one covers already, such as a
meter of the whole host after RAPL, is not read, and the record says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPException
from itertools import pairwise

from fireassay import catalog
from fireassay.clock import Clock
from fireassay.instruments.machine.energy.support.accumulator import LATENCY_S, Accumulated, Limits, Raw, Sampled, sample, step
from fireassay.instruments.machine.energy.support.source import Around, Found, JouleCounter, Source, WattMeter
from fireassay.instruments.machine.reading import Method, Reading
from fireassay.record.machine import Unread
from fireassay.units import NS_PER_S


def find(around: Around) -> tuple[tuple[JouleCounter | WattMeter, ...], dict[str, str]]:
    """The meters that the experiment requests, and why others are missing: "energy" if there is none at all."""
    energy = around.energy
    sources: dict[str, Source] = {name: catalog.load(PACKAGE, name) for name in energy.sources}
    if energy.source == "auto":
        sources = {name: source for name, source in catalog.load_all(PACKAGE).items() if source.automatic}
    found: dict[str, Found] = {}
    for name, source in sources.items():
        rival = next((other for other, result in found.items() if result.counters and _overlap(sources[other], source)), "")
        found[name] = source.find(around) if not rival else Found(absence=f"not read beside {rival}, which has the same devices")
    counters: dict[str, JouleCounter | WattMeter] = {}
    for result in found.values():
        for counter in result.counters:
            if isinstance(counter, JouleCounter) and energy.max_watts is not None:
                counter = replace(counter, max_watts=energy.max_watts)
            counters.setdefault(counter.device, counter)
    absences = {f"energy_{name}": result.absence for name, result in found.items() if result.absence}
    if energy.source == "none":
        absences["energy"] = 'not requested: energy.source = "none"'
    elif energy.source != "modelled" and not counters:
        absences["energy"] = "; ".join(absences.values()) or "no source of energy readings"
    return tuple(counters.values()), absences


PACKAGE = "instruments.machine.energy"


def _overlap(first: Source, second: Source) -> bool:
    return "host" in first.covers | second.covers or bool(first.covers & second.covers)


class LaunchEnergy:
    """The joules of one launch on this host, by device, each device once."""

    def __init__(self, counters: tuple[JouleCounter | WattMeter, ...]) -> None:
        self._counters = counters
        self._states: dict[str, Accumulated | Sampled] = {
            meter.device: Accumulated() if isinstance(meter, JouleCounter) else Sampled() for meter in counters
        }

    def read(self, clock: Clock) -> Iterator[Reading]:
        """Joules since the first reading of this launch; nothing for a device that was never read."""
        for meter in self._counters:
            before, raw = self._states[meter.device], _raw(meter, clock)
            if isinstance(meter, JouleCounter):
                assert isinstance(before, Accumulated)
                stale = meter.delay_s > LATENCY_S and before.last is not None and raw.joules == before.last.joules
                after: Accumulated | Sampled = before if stale else step(before, raw, limits_of(meter))
            else:
                assert isinstance(before, Sampled)
                after, stale = sample(before, raw), False
            self._states[meter.device] = after
            if not stale:
                yield from _readings(meter, after)


def _readings(meter: JouleCounter | WattMeter, state: Accumulated | Sampled) -> Iterator[Reading]:
    method: Method = "counter" if isinstance(meter, JouleCounter) else "sampled"
    if state.last is not None:
        yield Reading(meter.device, "energy", state.joules, "J", method)
        yield Reading(meter.device, "energy_bound", state.bound, "J", method)
    if isinstance(state, Accumulated) and state.lower_bound:
        yield Reading(meter.device, "energy_doubts", float(state.doubts), "count")
    if state.errors:
        yield Reading(meter.device, "energy_errors", float(state.errors), "count")


def limits_of(counter: JouleCounter) -> Limits:
    """What a counter can show."""
    return Limits(max_range=counter.max_range, max_watts=counter.max_watts, delay_s=counter.delay_s, step=counter.step)


def _raw(meter: JouleCounter | WattMeter, clock: Clock) -> Raw:
    try:
        return Raw(clock.now_ns(), meter.read())
    except (Unread, ValueError, OSError, HTTPException):
        return Raw(clock.now_ns(), None)


def modelled(watts_per_worker: float, workers: int, seconds: float) -> Reading:
    """Joules by assumption: watts x workers x time. Labelled as modelled, not measured."""
    return Reading("workers", "energy", watts_per_worker * workers * seconds, "J", "modelled")


def update_period_s(
    counter: JouleCounter | WattMeter, clock: Clock, stopped: Callable[[], bool], *, limit_s: float = 1.0, poll_s: float = 0.002
) -> float | None:
    """The counter's update period in seconds: the median gap between changes, from at most `limit_s` of polling.

    None after fewer than three changes. A window shorter than 20 update periods is unreliable. The result is at least the polling interval.
    """
    begin, changes, before = clock.now_ns(), list[int](), _raw(counter, clock).joules
    while not stopped() and len(changes) < 12 and clock.now_ns() - begin < limit_s * NS_PER_S:
        clock.sleep(poll_s)
        now = _raw(counter, clock)
        if now.joules is not None and now.joules != before:
            changes.append(now.ns)
            before = now.joules
    gaps = sorted(later - earlier for earlier, later in pairwise(changes))
    return gaps[len(gaps) // 2] / NS_PER_S if len(gaps) >= 2 else None
