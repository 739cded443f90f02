"""How many joules, or which power, does an exporter show?

A page in Prometheus' text format at `energy.endpoint`, and on it the metric `energy.metric`: of joules (Kepler's
kepler_node_platform_joules_total) a counter, of watts (node_exporter's node_hwmon_power_average_watt) a power.  The unit is that of the
name, else `energy.unit`.  Each series is a device; `energy.labels` selects among them, so that nothing counts twice.  A container that
restarts begins at 0.  Cannot tell: what the exporter itself guesses; Kepler models where it has no counter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from http.client import HTTPException
from typing import Final

from fireassay.instruments.engines.exposition import Series, parse
from fireassay.instruments.machine.energy.support.accumulator import HOST_WATTS
from fireassay.instruments.machine.energy.support.source import Around, Found, JouleCounter, Source, WattMeter
from fireassay.record.machine import Unread

UNITS: Final = {"J": 1.0, "mJ": 1e-3, "uJ": 1e-6, "kWh": 3.6e6, "W": 1.0, "mW": 1e-3}
POWERS: Final = ("W", "mW")
DELAY_S: Final = 10.0  # exporters collect every few seconds
MAX_DEVICES: Final = 64
_OF_NAME: Final = (
    (re.compile(r"milli_?joules?(_total)?$|_mj(_total)?$"), "mJ"),
    (re.compile(r"micro_?joules?(_total)?$|_uj(_total)?$"), "uJ"),
    (re.compile(r"joules?(_total)?$"), "J"),
    (re.compile(r"(kilowatt_?hours?|kwh)(_total)?$"), "kWh"),
    (re.compile(r"milli_?watts?$|_mw$"), "mW"),
    (re.compile(r"watts?$"), "W"),
)


def find(around: Around) -> Found:
    """Every series of the metric."""
    energy = around.energy
    if not energy.endpoint or not energy.metric:
        return Found(absence="no exporter: energy.endpoint and energy.metric are both needed")
    unit = energy.unit or unit_of(energy.metric)
    if unit is None:
        return Found(absence=f"no exporter: the name {energy.metric} says neither joules nor watts; give energy.unit")
    try:
        series = _series(around)
    except (OSError, HTTPException, ValueError) as error:
        return Found(absence=f"no exporter: {str(error)[:160] or type(error).__name__}")
    if not series or len(series) > MAX_DEVICES:
        what = f"{len(series)} series" if series else "no series"
        return Found(absence=f"no exporter: the page has {what} of {energy.metric} with these labels, and 1 to {MAX_DEVICES} are read")
    page = _Page(around)
    meters = (_meter(name, page.reader(name, UNITS[unit]), unit) for name in series)
    return Found(counters=tuple(meters))


def _meter(name: str, read: Callable[[], float], unit: str) -> JouleCounter | WattMeter:
    device = f"host-{name}"
    if unit in POWERS:
        return WattMeter(device=device, read=read)
    return JouleCounter(device=device, read=read, max_range=None, delay_s=DELAY_S, step=UNITS[unit], max_watts=HOST_WATTS)


def unit_of(metric: str) -> str | None:
    """The unit that a metric's name says."""
    return next((unit for pattern, unit in _OF_NAME if pattern.search(metric.lower())), None)


def _series(around: Around) -> dict[str, float]:
    """Device -> value, of the series with the wanted labels. Raises OSError, HTTPException."""
    energy = around.energy
    page = parse(around.fetch(energy.endpoint or "", {}), (energy.metric or "", f"{energy.metric}_total"))
    chosen = [series for series in page if all(series.labels.get(name) == value for name, value in energy.labels.items())]
    common = {name for name in (chosen[0].labels if chosen else {}) if len({series.labels.get(name) for series in chosen}) == 1}
    return {_name(series, common): series.value for series in chosen}


def _name(series: Series, common: set[str]) -> str:
    """The metric with the labels that distinguish its series."""
    own = [f"{name}={value}" for name, value in sorted(series.labels.items()) if name not in common]
    return f"{series.name}{'{' + ','.join(own) + '}' if own else ''}"[:120]


class _Page:
    """One page for all series of a reading: it is fetched again when a series is read twice."""

    def __init__(self, around: Around) -> None:
        self._around = around
        self._values: Mapping[str, float] = {}
        self._read: set[str] = set()

    def reader(self, name: str, scale: float) -> Callable[[], float]:
        """A reader of one series. It raises Unread where the page lacks it."""

        def read() -> float:
            if not self._values or name in self._read:
                self._values, self._read = {}, set()
                self._values = _series(self._around)
            self._read.add(name)
            if name not in self._values:
                raise Unread(f"the page has no {name}")
            return self._values[name] * scale

        return read


SOURCE: Final = Source(name="prometheus", covers=frozenset({"host"}), automatic=False, find=find)
