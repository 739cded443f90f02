"""How many grams of CO2 equivalent did a launch cause?

    g = sum over hours of kWh x PUE x intensity(hour)  +  embodied share x workers x hours

The joules of each device are divided at the hours' ends by interpolation between two readings; the wall clock is that of the launch's
begin plus monotonic time.  An hour without an intensity makes the launch unknown, whatever its share.
Cannot tell: marginal emissions; what a contract with a supplier changes.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent
from fireassay.frames.costs import energy_readings
from fireassay.frames.record_data import RecordData
from fireassay.spec.sections.carbon import HOUR_S, Carbon, intensities
from fireassay.units import JOULES_PER_KWH, NS_PER_S, SECONDS_PER_HOUR

NO_GRID: Final = Absent(
    "not_measured", "the carbon intensity of the grid is not given; add [carbon] intensity_g_per_kwh, source and date (--carbon)"
)


def launch_grams(measured: RecordData, spans: pl.DataFrame, *, covered: bool = False) -> tuple[pl.DataFrame, str]:
    """(launch, value): grams between begin_ns and end_ns of each launch in `spans`, and why others have none ("": all do).

    `spans`: (launch, begin_ns, end_ns). `covered`: a launch whose readings do not enclose its span has no value; else they are its span.
    """
    carbon = measured.experiment.carbon
    rows, why = list[tuple[int, float]](), ""
    if carbon is None:
        return pl.DataFrame(rows, schema=_SCHEMA, orient="row"), NO_GRID.detail
    launches = measured.table("launches").select("launch", "workers", "begin_utc", launch_ns="begin_ns")
    readings = {int(part["launch"][0]): part for part in energy_readings(measured).partition_by("launch")}
    for launch, begin, end, workers, utc, launch_ns in spans.select("launch", "begin_ns", "end_ns").join(launches, on="launch").iter_rows():
        if (own := readings.get(launch)) is None:
            continue
        anchor = _seconds(utc)
        if anchor is None and carbon.hours:
            why = "the record does not say at which hour its launches ran"
            continue
        grid = _Grid(carbon, (anchor or 0.0) - launch_ns / NS_PER_S)
        devices = own.partition_by("host", "device")
        if covered and not all(device["ns"].min() <= begin < end <= device["ns"].max() for device in devices):
            why = "no energy reading before and after the window"
            continue
        grams = [grid.grams(device, begin, end) for device in devices]
        known = [value for value in grams if value is not None]
        if len(known) < len(grams):
            why = grid.missing
            continue
        embodied = (carbon.embodied_g_per_worker_hour or 0.0) * workers * (end - begin) / NS_PER_S / SECONDS_PER_HOUR
        rows.append((launch, sum(known) * carbon.pue + embodied))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row"), why


_SCHEMA: Final = {"launch": pl.Int32, "value": pl.Float64}


def _seconds(utc: str) -> float | None:
    try:
        moment = datetime.fromisoformat(utc)
    except ValueError:
        return None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


class _Grid:
    """The intensity of a grid over one launch. `offset` makes seconds since 1970 of monotonic seconds."""

    def __init__(self, carbon: Carbon, offset: float) -> None:
        self._flat, self._offset = carbon.intensity_g_per_kwh, offset
        hours = intensities(carbon)
        self._begins = np.array([begin for begin, _ in hours], dtype=float)
        self._values = np.array([value for _, value in hours])
        self.missing = ""

    def grams(self, device: pl.DataFrame, begin_ns: int, end_ns: int) -> float | None:
        """Grams of one device's joules in a span, before PUE; None: an hour is missing, or the readings do not reach it."""
        ordered = device.sort("ns")
        ns, joules = ordered["ns"].to_numpy(), ordered["value"].to_numpy()
        first, last = max(begin_ns, int(ns[0])), min(end_ns, int(ns[-1]))
        if last < first:
            return None
        times = (ns - first) / NS_PER_S  # small numbers, so that no second is lost to rounding
        cuts = self._cuts(first, last)
        drawn = np.diff(np.interp(cuts, times, joules))
        middles = (cuts[1:] + cuts[:-1]) / 2.0 + first / NS_PER_S + self._offset
        total = 0.0
        for used, middle in zip(drawn, middles, strict=True):
            intensity = self._at(float(middle))
            if intensity is None:
                return None
            total += float(used) / JOULES_PER_KWH * intensity
        return max(0.0, total)

    def _cuts(self, first: int, last: int) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        """The span's ends and the ends of hours in it, seconds after `first`."""
        begin = first / NS_PER_S + self._offset
        length = (last - first) / NS_PER_S
        edges = np.unique(np.concatenate((self._begins, self._begins + HOUR_S))) - begin
        return np.concatenate(([0.0], edges[(edges > 0.0) & (edges < length)], [length]))

    def _at(self, moment: float) -> float | None:
        if self._flat is not None:
            return self._flat
        place = int(np.searchsorted(self._begins, moment, side="right")) - 1
        if place < 0 or moment >= self._begins[place] + HOUR_S:
            self.missing = f"the intensity of {datetime.fromtimestamp(moment, UTC):%Y-%m-%d %H:00} UTC is not in the file"
            return None
        return float(self._values[place])


def grid_words(measured: RecordData) -> str:
    """The grid in words: "350 g/kWh, PUE 1.2 (DE, 2026-01-01, publisher)"."""
    carbon = measured.experiment.carbon
    assert carbon is not None
    what = f"{carbon.intensity_g_per_kwh:g} g/kWh" if carbon.intensity_g_per_kwh is not None else f"by {len(carbon.hours)} hours"
    pue = f"PUE {carbon.pue:g}" if carbon.pue != 1.0 else "PUE not counted"
    embodied = f", {carbon.embodied_g_per_worker_hour:g} g embodied per worker-hour" if carbon.embodied_g_per_worker_hour else ""
    date = carbon.as_of.isoformat() if carbon.as_of else ""
    return f"{what}, {pue}{embodied} ({', '.join(part for part in (carbon.zone, date, carbon.source) if part)})"
