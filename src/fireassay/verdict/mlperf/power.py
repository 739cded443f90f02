"""Does a power measurement cover the run?  The window of LoadGen inside the meter's log, and the average power in it.

LoadGen logs power_begin and power_end (client's clock, UTC), the meter's program one line a sample: `Time,07-31-2025 21:32:00.100,Watts,812.3,...`
(spl.txt of PTDaemon).  The metric is the mean of the samples inside the window that are above 0 W: watts for Server and Offline, millijoules
a query for SingleStream and MultiStream.  Source: mlcommons/inference b66003e1, check_power_dir; power_measurement.adoc (the window of a
measurement is at least 60 s).  Range settings, session and certificates of PTDaemon are judged by its own checker.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from fireassay.estimates.format import given
from fireassay.record.mllog import Log
from fireassay.verdict.mlperf.types import Rule, rule, unchecked

FORMAT: Final = "%m-%d-%Y %H:%M:%S.%f"
LEAST_S: Final = 60.0
MAX_GAP_S: Final = 10.0  # between samples, and at the ends: the meter samples once a second
SOURCE: Final = "power_measurement.adoc"


@dataclass(frozen=True, kw_only=True)
class Samples:
    """The samples of a meter: (time, watts), in their order; and what could not be read."""

    file: str
    rows: tuple[tuple[datetime, float], ...]
    broken: tuple[int, ...] = ()  # lines


def samples(file: str, lines: Sequence[str]) -> Samples:
    """The samples in the lines of spl.txt; other lines are ignored."""
    rows, broken = [], []
    for number, line in enumerate(lines, start=1):
        if not line.startswith("Time"):
            continue
        parts = line.split(",")
        try:
            moment, watts = datetime.strptime(parts[1].strip(), FORMAT), float(parts[3])
        except (IndexError, ValueError):
            broken.append(number)
            continue
        if math.isfinite(watts):
            rows.append((moment, watts))
        else:
            broken.append(number)
    return Samples(file=file, rows=tuple(rows), broken=tuple(broken))


def power_rules(meter: Samples | None, log: Log | None, scenario: str) -> Iterator[Rule]:
    """The rules of a power measurement; that there is none is no failure: power is optional."""
    if meter is None or log is None:
        yield unchecked("power", "optional", "no spl.txt of a meter beside the run", SOURCE)
        return
    begin, end = (_moment(log.value(key)) for key in ("power_begin", "power_end"))
    if begin is None or end is None or end <= begin:
        yield rule("power: window", False, "power_begin before power_end in the log", "missing or reversed", log.file, SOURCE)
        return
    seconds = (end - begin).total_seconds()
    yield rule("power: window", seconds >= LEAST_S, f">= {LEAST_S:g} s", f"{given(seconds, 6)} s", log.file, SOURCE)
    where = f"{meter.file}:{meter.broken[0]}" if meter.broken else meter.file
    yield rule("power: lines", not meter.broken, "time and watts in every sample", f"{len(meter.broken)} broken", where, SOURCE)
    inside = [(moment, watts) for moment, watts in meter.rows if begin < moment < end and watts > 0.0]
    yield rule("power: samples", bool(inside), "samples inside the window", f"{len(inside)} of {len(meter.rows)}", meter.file, SOURCE)
    if inside:
        moments = [begin, *(moment for moment, _ in inside), end]
        gap = max((after - before).total_seconds() for before, after in itertools.pairwise(moments))
        yield rule("power: gaps", gap <= MAX_GAP_S, f"<= {MAX_GAP_S:g} s without a sample", f"{given(gap, 4)} s", meter.file, SOURCE)
        yield rule(
            "power: average", True, "for the record", _average([watts for _, watts in inside], seconds, log, scenario), meter.file, SOURCE
        )


def _moment(value: object) -> datetime | None:
    try:
        return datetime.strptime(value, FORMAT) if isinstance(value, str) else None
    except ValueError:
        return None


def _average(watts: Sequence[float], seconds: float, log: Log, scenario: str) -> str:
    mean = math.fsum(watts) / len(watts)
    queries = log.value("result_query_count")
    if scenario in ("SingleStream", "MultiStream") and isinstance(queries, int) and queries > 0:
        return f"{given(mean, 5)} W, {given(mean * seconds * 1000 / queries, 5)} mJ/query"
    return f"{given(mean, 5)} W"
