"""Which numbers do the rows of an external table hold, in base units, without gaps, one row per worker count?

If a table holds several series, the user chooses; rows with equal counts in one series are repetitions.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

from fireassay.errors import Problem
from fireassay.printable import some
from fireassay.spec.explain import shown
from fireassay.spec.sections.prices import Prices
from fireassay.spec.tables.cells import (
    Marks,
    Number,
    Table,
    count_in,
    either_number,
    is_short,
    is_wordy,
    lengthened,
    marks,
    missing,
    number,
)
from fireassay.spec.tables.columns import ENERGIES, FILLED, MEASURED, OWN, PARTS, PRICES, Column, Scaling, Stated, named, scores
from fireassay.spec.tables.headings import UNITS, Heading, heading

MAX_NAMED: Final = 30  # headings or cells in a message


def unit_notes(columns: Mapping[str, Column]) -> Iterator[str]:
    """Which columns have no unit, and what is taken for it."""
    for meaning, unit in (
        ("seconds", "seconds"),
        ("step_seconds", "seconds"),
        ("joules", "joules"),
        ("watts", "watts"),
        ("rate", "work per second"),
    ):
        if meaning in columns and not columns[meaning].heading.unit_said:
            yield f"{columns[meaning].name.strip()} has no unit: it is taken to be {unit}."


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One row: a number of workers and its measurements. None: not given."""

    row: int  # spreadsheet row number
    workers: int
    seconds: float  # 1 in a table of throughputs
    usd: float | None = None  # of the whole row: all workers, all seconds, and the parts below
    parts: tuple[tuple[str, float], ...] = ()  # of it, where they are known apart: ("compute", 1.0), ("storage", 0.05)
    scores: tuple[float | None, ...] = ()  # in the order of `Timings.scores`
    work: float | None = None  # units of useful work done in these seconds
    steps: float | None = None  # training steps done in these seconds
    joules: float | None = None  # of all its workers in these seconds
    own_speedup: float | None = None  # as the table says, beside times
    own_efficiency: float | None = None
    own_usd: float | None = None  # where the table has a price and a time
    own_usd_per_step: float | None = None
    own_usd_per_item: float | None = None
    own_items_per_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Score:
    """A column of quality. Percent is stored as a fraction."""

    name: str  # as in the header; "quality": the only one
    heading: str
    percent: bool = False
    lower: bool = False  # a lower one is better: a loss, an error rate
    tolerance: float | None = None  # None: that of `Limits`


@dataclass(frozen=True, kw_only=True)
class Timings:
    """A table and the wording of its header."""

    source: str
    rows: tuple[Timing, ...]  # by workers, smallest first
    worker_word: str  # "workers" or "nodes"
    rate: str = ""  # unit counted per second, if the table has no times
    scores: tuple[Score, ...] = ()
    scaling: Scaling = ""  # as stated by the user, if the table does not
    repeated: bool = False  # some rows are medians of several
    doubts: tuple[str, ...] = ()  # what may weaken the verdict
    notes: tuple[str, ...] = ()
    prices: Prices | None = None  # as the user gave them
    grams_per_kwh: float | None = None  # likewise


MAX_WORKERS: Final = 10_000_000
MAX_NUMBER: Final = 1e30  # of any number, with its inverse as the smallest: ratios stay finite
Values = dict[str, float | None]
Row = tuple[int, tuple[str, ...]]
Read = tuple[int, tuple[str, ...], Values]


def chosen(table: Table, asked: Stated, problems: list[Problem]) -> list[Row]:
    """The rows selected by --where."""
    rows = list(table.rows)
    for name, text in asked.where:
        index = next((index for index, head in enumerate(table.header) if named(head, name)), None)
        if index is None:
            problems.append(Problem("--where", name, some((h.strip() for h in table.header), MAX_NAMED), "Write COLUMN=CELL."))
            continue
        values = list(dict.fromkeys(cells[index].strip() for _, cells in rows if index < len(cells)))
        rows = [row for row in rows if index < len(row[1]) and named(row[1][index], text)]
        if not rows:
            problems.append(Problem("--where", f"{name}={text}", some(values, MAX_NAMED), "Write a cell as it stands in the table."))
    return rows


def with_long_times(rows: Sequence[Row], columns: Mapping[str, Column]) -> list[Row]:
    """The rows with times in minutes and seconds as seconds, where their column shows that they are."""
    rows = list(rows)
    for place in (columns[meaning].place for meaning in ("seconds", "step_seconds") if meaning in columns):
        having = [index for index, (_, cells) in enumerate(rows) if place < len(cells)]
        for index, cell in zip(having, lengthened([rows[index][1][place] for index in having]), strict=True):
            at, cells = rows[index]
            rows[index] = (at, (*cells[:place], cell, *cells[place + 1 :]))
    return rows


def decimal(table: Table, rows: Sequence[Row], columns: Mapping[str, Column], problems: list[Problem]) -> Marks:
    cells = [cells[column.place] for _, cells in rows for column in columns.values() if column.place < len(cells)]
    used = marks(cells)
    if used.point is not None and used.comma is not None:
        problems.append(
            Problem("the numbers", f"{shown(used.point)} and {shown(used.comma)}", "one decimal mark", "Write a point in all of them.")
        )
    elif used.doubtful is not None and table.separator == ";" and used.comma is None and used.point is None:
        problems.append(
            Problem(
                "the numbers",
                shown(used.doubtful),
                "a number that can be read in one way",
                "Write it with a point, or without thousands separators.",
            )
        )
    return used


def grouped(found: Marks) -> Iterator[str]:
    if found.doubtful is not None and found.decimal == "point":
        yield f"{found.doubtful} is read with thousands separators."


def values(
    at: int, cells: Sequence[str], columns: Mapping[str, Column], width: int, found: Marks, problems: list[Problem], notes: list[str]
) -> Values | None:
    """One row; None if it states no value, or after noting its problems."""
    if len(cells) > width and any(cell.strip() for cell in cells[width:]):
        remedy = 'Write numbers with a point and without thousands separators, or between quotation marks: "1,234".'
        problems.append(Problem(f"row {at}", f"{len(cells)} cells", f"{width}, as in the header", remedy))
        return None
    needed = ["workers", *[meaning for meaning in MEASURED if meaning in columns]]
    for meaning in needed:
        index = columns[meaning].place
        text = cells[index].strip() if index < len(cells) else "absent"
        if missing(text) or (not text and meaning != "workers"):
            notes.append(f"Row {at} is left out: its {columns[meaning].name.strip()} is {shown(text) if text else 'empty'}.")
            return None
    before = len(problems)
    if _uncounted(at, cells, columns["workers"], notes):
        return None
    values = {
        meaning: _own(cells, column, found) if meaning in OWN.values() else _value(at, meaning, cells, column, found, problems)
        for meaning, column in columns.items()
    }
    if len(problems) > before or any(values[meaning] is None for meaning in needed):
        return None
    return values


def _uncounted(at: int, cells: Sequence[str], column: Column, notes: list[str]) -> bool:
    """True if a row names no number of workers ("Sequential", "automatic"); it is left out, and that is said."""
    text = cells[column.place].strip() if column.place < len(cells) else ""
    if not text or not is_wordy(text):
        return False
    notes.append(f"Row {at} ({shown(text)}) is left out: it gives no number of workers.")
    return True


def _is_base(text: str) -> bool:
    """True if a speedup or an efficiency is given as that of the baseline, in words."""
    return text.lower().strip("() ") in ("baseline", "base", "reference", "ref", "ref.")


def _own(cells: Sequence[str], column: Column, decimal_marks: Marks) -> float | None:
    """The table's own speedup or efficiency; None where it is no number."""
    read = number(cells[column.place], decimal_marks.decimal) if column.place < len(cells) else None
    if read is None and column.place < len(cells) and _is_base(cells[column.place]):
        return 1.0
    if read is None or read.unit.lower() not in ("", "x"):
        return None
    percent = read.percent or column.heading.percent
    return read.value * (0.01 if percent else 1.0)


def _value(at: int, meaning: str, cells: Sequence[str], column: Column, decimal_marks: Marks, problems: list[Problem]) -> float | None:
    """The number in a cell, in base units; None if allowed to be empty."""
    text = cells[column.place].strip() if column.place < len(cells) else ""
    where, meaning = f"row {at}, column {_TOLD.get(meaning, meaning)}", meaning if meaning in OWN else column.heading.meaning
    if meaning in FILLED and (not text or missing(text)):
        return None
    allowed = _ALLOWED.get(meaning, "a number above 0")
    read = number(text, decimal_marks.decimal)
    if meaning == "workers" and (read is None or _factor(meaning, read, column.heading) is None) and (count := count_in(text)) is not None:
        read = Number(value=float(count))
    if read is None and meaning in OWN and _is_base(text):
        read = Number(value=1.0)
    if read is None:
        bare = text.lower().lstrip("+-") in ("nan", "inf", "infinity")
        problems.append(Problem(where, text if bare else shown(text) if text else "an empty cell", allowed))
        return None
    factor = _factor(meaning, read, column.heading)
    if factor is None and is_short(text) and meaning in ("seconds", "step_seconds"):
        remedy = "Is it minutes and seconds, or hours and minutes? Write h:mm:ss in every row, as in 0:45:00."
        problems.append(Problem(where, shown(text), "a time that can be read in one way", remedy))
        return None
    if factor is None:
        problems.append(Problem(where, shown(text), allowed, "Write one number in one unit, with the unit in the heading."))
        return None
    value = read.value * factor
    if not _fits(meaning, value):
        problems.append(Problem(where, text, allowed))
        return None
    return value


_TOLD: Final = {"rate": "throughput"}
_ALLOWED = {
    "workers": f"a whole number from 1 to {MAX_WORKERS}",
    "quality": "a number, or nothing where it was not measured",
    **dict.fromkeys((*PRICES, *PARTS, *ENERGIES), "a number of at least 0"),
}


def _factor(meaning: str, read: Number, head: Heading) -> float | None:
    """Multiplier of the number; None: unknown unit."""
    unit = read.unit.lower()
    if meaning in ("quality", "efficiency"):
        return (0.01 if read.percent or head.percent else 1.0) if not unit else None
    if read.percent:
        return None
    if not unit or (meaning == "speedup" and unit == "x"):
        return head.factor
    if meaning == "workers":
        product = unit.removeprefix("x").strip()[:1].isdigit() or re.search(r"\b(?:node|machine|server|host)s?\b.*\d", unit)
        return 1.0 if unit[0].isalpha() and not product else None
    if meaning in UNITS:
        return UNITS[meaning].get(unit)
    if meaning in ("rate", "work", "steps") and (scaled := _THOUSANDS.fullmatch(read.unit)) is not None:
        rest = _factor(meaning, Number(value=read.value, unit=scaled[2].strip()), head)
        return None if rest is None else rest * _MULTIPLES[scaled[1].lower()]
    if meaning == "rate":
        rate = heading(read.unit)
        return rate.factor if rate is not None and rate.meaning == "rate" else None
    if meaning in (*PRICES, *PARTS):
        by_hour = re.fullmatch(r"(?:\$|usd)?(?:/ ?gpu)?/ ?h(?:r|our)?", unit) is not None and meaning == "usd_per_hour"
        return head.factor if by_hour or unit in ("$", "usd") else None
    return 1.0 if meaning in ("work", "steps", "batch", "accumulation") and unit.isalpha() and len(unit) > 2 else None


_THOUSANDS: Final = re.compile(r"([kKMGB])(?![A-Za-z/])\s*(.*)", re.DOTALL)
_MULTIPLES: Final = {"k": 1e3, "m": 1e6, "g": 1e9, "b": 1e9}


def _fits(meaning: str, value: float) -> bool:
    if not math.isfinite(value) or (value and not 1.0 / MAX_NUMBER <= abs(value) <= MAX_NUMBER):
        return False
    if meaning == "workers":
        return value.is_integer() and 1 <= value <= MAX_WORKERS
    return meaning == "quality" or value > 0 or (value == 0 and meaning in (*PRICES, *PARTS, *ENERGIES))


def is_percent(rows: Sequence[Read], column: Column) -> bool:
    return column.heading.percent or any("%" in cells[column.place] for _, cells, _ in rows if column.place < len(cells))


def gaps(rows: Sequence[Read], columns: Mapping[str, Column]) -> Iterator[Problem]:
    """A column must be complete and in one unit, since rows are compared."""
    yield from _mixed_rates(rows, columns.get("rate"))
    fewest = min((values["workers"] or 0.0 for _, _, values in rows), default=0.0)
    for name, filled in columns.items():
        empty = [at for at, _, values in rows if filled.heading.meaning in FILLED and values.get(name) is None]
        if name in OWN.values():
            continue
        if filled.heading.meaning == "quality":  # of another row it is a reason not to choose that row
            empty = [at for at, _, values in rows if at in empty and values["workers"] == fewest]
            if empty:
                yield Problem(_rows(empty, name), "an empty cell", "a number", "Fill it in: every other row is held against the base row.")
        elif empty:
            remedy = "Fill it in, or leave the whole column out."
            yield Problem(_rows(empty, name), "an empty cell", _ALLOWED.get(name, "a number above 0"), remedy)
    for key, column in scores(columns):
        if column.heading.percent:
            continue
        signed = [at for at, cells, _ in rows if column.place < len(cells) and "%" in cells[column.place]]
        bare = [at for at, cells, _ in rows if at not in signed and column.place < len(cells) and cells[column.place].strip()]
        if signed and bare:
            yield Problem(_rows(bare, key), "no percent sign, as other rows have it", "one unit", "Write % in all rows or in none.")


def _mixed_rates(rows: Sequence[Read], column: Column | None) -> Iterator[Problem]:
    """Throughputs of one column in different units."""
    if column is None:
        return
    units = {at: (either_number(cells[column.place]) or Number(value=0.0)).unit for at, cells, _ in rows if column.place < len(cells)}
    words = {at: (scaled[2] if (scaled := _THOUSANDS.fullmatch(unit)) else unit).strip().lower() for at, unit in units.items()}
    if len(set(words.values())) > 1:
        different = list(dict.fromkeys(words.values()))[:2]
        found = " and ".join(shown(word) if word else "no unit" for word in different)
        yield Problem(f"column {column.name.strip()}", found, "one unit", "Convert them, and write the unit in the heading.")


def _rows(numbers: Sequence[int], column: str) -> str:
    return f"row{'s' if len(numbers) > 1 else ''} {', '.join(map(str, numbers))}, column {column}"


def series(table: Table, rows: Sequence[Read], columns: Mapping[str, Column]) -> Iterator[Problem]:
    """Report rows of one count that differ in their settings and so are no repetitions."""
    free = {column.place for meaning, column in columns.items() if meaning not in ("batch", "accumulation")}
    first: dict[float, Read] = {}
    for at, cells, values in rows:
        earlier = first.setdefault(values["workers"] or 0.0, (at, cells, values))
        for index, name in enumerate(table.header):
            before, other = (row[index].strip() if index < len(row) else "" for row in (earlier[1], cells))
            if earlier[0] != at and index not in free and before != other and not _looks_measured(before, other):
                difference = (
                    f"{values['workers']:g} again, with {name.strip()} {shown(other)} instead of {shown(before)} in row {earlier[0]}"
                )
                remedy = f'Say which rows are meant: --where "{name.strip()}={before}". Or delete the other rows.'
                yield Problem(f"row {at}, column workers", difference, "one series", remedy)
                return


def _looks_measured(first: str, second: str) -> bool:
    """True if cells differ like measurements: fractions do, whole numbers and words are settings."""
    read = [either_number(text) for text in (first, second)]
    return all(value is not None and not float(value.value).is_integer() for value in read)


def medians(rows: Sequence[Read], notes: list[str]) -> Iterator[tuple[int, Values]]:
    """One row per count: the median of its repetitions."""
    of_count: dict[float | None, list[tuple[int, Values]]] = {}
    for at, _, values in rows:
        of_count.setdefault(values["workers"], []).append((at, values))
    for count, same in of_count.items():
        if len(same) > 1:
            notes.append(f"{count:g} workers stand in {len(same)} rows ({', '.join(str(at) for at, _ in same)}): their medians are taken.")
        yield same[0][0], {name: _median([values[name] for _, values in same]) for name in same[0][1]}


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if len(known) == len(values) else None
