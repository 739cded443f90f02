"""How many grams of CO2 equivalent does a kilowatt-hour of this grid cause?

The section [carbon]: a value, or a file by hour whose hours enter the record, so that it can be judged again when the file is gone.  An
unknown grid has no default: averages of a country or of the world are not this machine's hour.

A file is a CSV with a column of times and one of g/kWh, as grid operators and Electricity Maps publish them.  A row holds from its time
until the next one, at most an hour.  Times carry an offset (2026-03-29T02:00+02:00, Z), or the heading says UTC; a local time without
one is refused, for an hour of it exists twice a year.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from fireassay.errors import Problem, SpecError, refuse
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.model import Model, Words
from fireassay.spec.sections.prices import iso_date
from fireassay.spec.user_file import content

MAX_HOURS: Final = 20_000  # two years, or one by half hours
MAX_INTENSITY: Final = 5000.0  # g/kWh; oil is at 1000
MAX_FILE: Final = 4 << 20
HOUR_S: Final = 3600
_TIME: Final = re.compile(r"\b(?:date ?time|timestamp|time|hour|date|from|start|begin)\b", re.IGNORECASE)
_VALUE: Final = re.compile(r"intensity|g ?(?:co2?[₂2]?(?:e|eq)?)? ?(?:/|per) ?kwh", re.IGNORECASE)
Intensity = Annotated[float, Field(ge=0.0, le=MAX_INTENSITY)]


class Carbon(Model):
    """The grid, and what else a run causes."""

    intensity_g_per_kwh: Intensity | None = Field(None, description="Grams of CO2 equivalent per kilowatt-hour of the grid.")
    intensity_file: str | None = Field(
        None, max_length=2000, description="Instead: a CSV by hour, with times in UTC or with offsets. Its hours are kept in the record."
    )
    intensity_column: str | None = Field(None, max_length=200, description="The heading of its column of g/kWh, if it has several.")
    hours: Words = Field((), description="Written by assay: the hours of the file, each its begin in UTC and its g/kWh.")
    zone: str = Field("", max_length=200, description="Name of the grid's zone: DE, US-CAL-CISO ...")
    source: str = Field(min_length=1, max_length=500, description="Source of the intensity: a publisher, a contract, an assumption.")
    as_of: Annotated[date | None, BeforeValidator(iso_date)] = Field(
        None, description="The date, or the year's first day, that a single value is of.", alias="date"
    )
    pue: float = Field(
        1.0, ge=1.0, le=10.0, description="Power usage effectiveness of the site: its energy over that of its machines. 1: not counted."
    )
    embodied_g_per_worker_hour: float | None = Field(
        None,
        ge=0.0,
        le=1e9,
        description="Share of making the machine, grams of CO2 equivalent for one worker and hour. Default: not counted.",
    )

    model_config = Model.model_config | {"populate_by_name": True}


def carbon_is_known(carbon: Carbon) -> Iterator[Problem]:
    """Report a grid that is given twice or not at all, and hours that are none."""
    by_hour = carbon.intensity_file is not None or bool(carbon.hours)
    if carbon.intensity_g_per_kwh is None and not by_hour:
        fix = "Add intensity_g_per_kwh = ... below [carbon], or intensity_file. Leave [carbon] out if the grid is unknown."
        yield Problem("carbon.intensity_g_per_kwh", NOTHING, "a number of g/kWh", fix)
    if carbon.intensity_g_per_kwh is not None and by_hour:
        yield Problem("carbon.intensity_file", "a file beside a single value", "one of them", "Remove one of the two.")
    if carbon.intensity_g_per_kwh is not None and carbon.as_of is None and not carbon.source.startswith(GIVEN):
        yield Problem("carbon.date", NOTHING, "the date of the value", "A grid changes by the year: add date = 2026-01-01.")
    if carbon.intensity_file is not None and not carbon.hours:
        fix = "Run from the experiment's file, or give --carbon FILE."
        yield Problem("carbon.hours", NOTHING, "the hours of carbon.intensity_file", fix)
    try:
        intensities(carbon)
    except ValueError as error:
        yield Problem("carbon.hours", shown(str(error)), 'hours such as "2026-11-30T09:00Z 312.5"')


GIVEN: Final = "given as --carbon"


def intensities(carbon: Carbon) -> tuple[tuple[int, float], ...]:
    """(begin, g/kWh) of every hour, begins in seconds since 1970, ascending. Raises ValueError with a wrong one."""
    found = []
    for text in carbon.hours:
        begin, _, value = text.partition(" ")
        try:
            moment, grams = datetime.fromisoformat(begin), float(value)
        except ValueError:
            raise ValueError(text[:60]) from None
        if moment.tzinfo is None or not 0.0 <= grams <= MAX_INTENSITY:
            raise ValueError(text[:60])
        found.append((round(moment.timestamp()), grams))
    if any(later[0] <= earlier[0] for earlier, later in pairwise(found)):
        raise ValueError("hours that do not ascend")
    return tuple(found)


def with_hours(data: Mapping[str, Any], folder: Path) -> Mapping[str, Any]:
    """The keys of an experiment with the hours of its intensity file. Raises SpecError: the file cannot be read."""
    carbon = data.get("carbon")
    if not isinstance(carbon, Mapping) or not isinstance(file := carbon.get("intensity_file"), str) or "hours" in carbon:
        return data
    column = carbon.get("intensity_column")
    return {**data, "carbon": {**carbon, "hours": read_hours(folder / file, column if isinstance(column, str) else None)}}


def of_flag(text: str) -> dict[str, Any]:
    """--carbon: g/kWh, or a file by hour. Raises SpecError: the file cannot be read."""
    try:
        return {"intensity_g_per_kwh": float(text), "source": GIVEN}
    except ValueError:
        return {"intensity_file": text, "hours": read_hours(Path(text)), "source": f"{GIVEN} {Path(text).name}"[:500]}


def read_hours(path: Path, column: str | None = None) -> list[str]:
    """The hours of a CSV, "2026-11-30T09:00Z 312.5", ascending.

    Raises:
        SpecError: it cannot be read, lacks a column, or has a time without offset; with the row of the spreadsheet.
    """
    try:
        text = content(path, MAX_FILE).decode("utf-8-sig")
    except (OSError, ValueError) as error:
        state = getattr(error, "strerror", None) or "no text in UTF-8"
        raise refuse("carbon.intensity_file", f"{path.name}: {state}", "a CSV with times and g/kWh", source=str(path)) from None
    try:
        rows = list(csv.reader(text.splitlines(), delimiter=";" if text.count(";") > text.count(",") else ","))
    except csv.Error as error:
        raise refuse("carbon.intensity_file", str(error), "a CSV", source=str(path)) from None
    rows = [row for row in rows if any(cell.strip() for cell in row)]
    if len(rows) < 2 or len(rows) > MAX_HOURS:
        raise refuse("carbon.intensity_file", f"{max(0, len(rows) - 1)} hours", f"1 to {MAX_HOURS} hours below a header", source=str(path))
    when, which = _columns(rows[0], column, path)
    problems: list[Problem] = []
    hours = _hours(rows, when, which, problems)
    if problems:
        raise SpecError(tuple(problems[:5]), str(path))
    if not hours:
        raise refuse("carbon.intensity_file", "no hour with a value", "a value in g/kWh in some row", source=str(path))
    return [f"{datetime.fromtimestamp(begin, UTC):%Y-%m-%dT%H:%MZ} {hours[begin]:.10g}" for begin in sorted(hours)]


def _columns(header: list[str], column: str | None, path: Path) -> tuple[int, int]:
    """The columns of times and of g/kWh."""
    times = [place for place, name in enumerate(header) if _TIME.search(name)]
    values = [place for place, name in enumerate(header) if (_VALUE.search(name) if column is None else name.strip() == column.strip())]
    if not times:
        raise refuse("row 1", ", ".join(header)[:200], "a column of times, such as time (UTC)", source=str(path))
    if len(values) != 1:
        found = " and ".join(header[place].strip() for place in values) or ", ".join(header)[:200]
        raise refuse("row 1", found, "one column of g/kWh", 'Name it: intensity_column = "..." below [carbon].', source=str(path))
    return next((place for place in times if "utc" in header[place].lower()), times[0]), values[0]


def _hours(rows: list[list[str]], when: int, which: int, problems: list[Problem]) -> dict[int, float]:
    """Begin -> g/kWh; an empty cell is an hour that is not known."""
    hours: dict[int, float] = {}
    in_utc = "utc" in rows[0][when].lower()
    for at, row in enumerate(rows[1:], 2):
        cell, value = (row[place].strip() if place < len(row) else "" for place in (when, which))
        if not value:
            continue
        moment, grams = _moment(cell, in_utc=in_utc), _number(value)
        if moment is None:
            allowed = "a time with its offset (2026-11-30T09:00+01:00, ...Z)"
            problems.append(Problem(f"row {at}", shown(cell), allowed, 'Or write UTC into the heading, "time (UTC)", if it is.'))
        elif grams is None:
            problems.append(Problem(f"row {at}", shown(value), f"a number from 0 to {MAX_INTENSITY:g} g/kWh"))
        elif hours.setdefault(moment, grams) != grams:
            problems.append(Problem(f"row {at}", f"{shown(cell)} again, with {value}", "each hour once"))
    return hours


def _moment(text: str, *, in_utc: bool) -> int | None:
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            if not in_utc:
                return None
            moment = moment.replace(tzinfo=UTC)
        return round(moment.timestamp())
    except (ValueError, OverflowError):
        return None


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and 0.0 <= value <= MAX_INTENSITY else None
