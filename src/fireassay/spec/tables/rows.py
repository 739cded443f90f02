"""Which numbers do the rows of an external table hold, in base units, without gaps, one row per worker count?

If a table holds several series, the user chooses; rows with equal counts in one series are repetitions.

Which columns of an external table count, and what does a row of it hold?

One per meaning; if several mean the same, the user chooses.  GPUs take precedence over nodes.  A speedup or an efficiency counts
only if there is neither a time nor a throughput.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final, Literal

from fireassay.errors import Problem
from fireassay.spec.explain import did_you_mean, shown
from fireassay.spec.tables.cells import UNITS, Heading, Marks, Number, Table, heading, marks, missing, number, plain

# One of these is required, best first; the last two are relative to a row that is not shown.
MEASURED: Final = ("seconds", "step_seconds", "rate", "speedup", "efficiency")
PRICES: Final = ("usd", "usd_per_hour")
ENERGIES: Final = ("joules", "watts")
FILLED: Final = (*PRICES, *ENERGIES, "quality", "work", "steps", "batch", "accumulation")


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column that counts."""

    place: int
    name: str
    heading: Heading


Columns = dict[str, Column]


def named(name: str, other: str) -> bool:
    """True if a heading or cell matches the user's name for it."""
    return plain(name).casefold() == other.strip().casefold()


def columns_of(table: Table, asked: Stated) -> tuple[Columns, list[Problem]]:
    """The position of each known column. Ignores unknown columns if the required ones exist."""
    problems = [
        Problem("--use", name, ", ".join(h.strip() for h in table.header if heading(h)), "Write a heading as it stands in the table.")
        for name in asked.use
        if not any(named(h, name) and heading(h) for h in table.header)
    ]
    every = [
        Column(place=index, name=name, heading=known) for index, name in enumerate(table.header) if (known := heading(name)) is not None
    ]
    columns: Columns = {}
    for meaning in dict.fromkeys(column.heading.meaning for column in every):
        same = [column for column in every if column.heading.meaning == meaning]
        meant = [column for column in same if any(named(column.name, name) for name in asked.use)] or same
        first, *others = _finer(meant)
        columns[meaning] = first
        problems += [_same_meaning(first.name, other.name, _SAID.get(meaning, meaning)) for other in others]
    if "other_money" in columns:
        problems.append(Problem("row 1", columns["other_money"].name.strip(), "prices in US dollars", "Convert them, and write USD."))
    problems += [*_missing(table, columns), *_only_one_of(columns, asked)]
    for meaning in MEASURED:  # take the best, the rest is derived from it
        if any(better in columns for better in MEASURED[: MEASURED.index(meaning)]) and meaning in ("speedup", "efficiency"):
            columns.pop(meaning, None)
    return columns, problems


_SAID: Final = {"rate": "the throughput", "seconds": "the time", "step_seconds": "the time", "usd_per_hour": "the price", "usd": "the cost"}
_BIG: Final = ("node", "machine", "server", "instance", "host")


def _finer(columns: Sequence[Column]) -> list[Column]:
    """The GPU column if it is the only one besides nodes, else all."""
    if columns[0].heading.meaning != "workers" or len(columns) < 2:
        return list(columns)
    fine = [column for column in columns if not any(word in column.heading.word for word in _BIG)]
    fine = [
        column
        for column in fine
        if any(word in column.heading.word for word in ("gpu", "device", "accelerator", "rank", "core", "chip", "tpu", "gcd"))
    ]
    return fine if len(fine) == 1 else list(columns)


def _missing(table: Table, columns: Mapping[str, Column]) -> Iterator[Problem]:
    header = [name for name in table.header if name.strip()]
    known = (("workers", ("workers",)), ("seconds", MEASURED))
    for needed, meanings in known:
        if not any(meaning in columns for meaning in meanings):
            close = [did_you_mean(name.strip().lower(), _NAMES[needed]) for name in header if heading(name) is None]
            remedy = next((sentence.replace("you mean", "one column mean") for sentence in close if sentence), "")
            yield Problem("row 1", ", ".join(name.strip() for name in header), f"a column named {' or '.join(_NAMES[needed][:3])}", remedy)


_NAMES: Final = {"workers": ("workers", "nodes", "GPUs"), "seconds": ("seconds", "step_seconds", "samples/s")}


def _only_one_of(columns: Columns, asked: Stated) -> Iterator[Problem]:
    """Report several columns of one meaning; drops those that --use does not name."""
    for pair, quantity in ((("seconds", "step_seconds"), "the time"), (PRICES, "the price"), (ENERGIES, "the energy")):
        present = [meaning for meaning in pair if meaning in columns]
        chosen = [meaning for meaning in present if any(named(columns[meaning].name, name) for name in asked.use)]
        for meaning in present if len(chosen) == 1 else ():
            if meaning not in chosen:
                del columns[meaning]
        if len(present) > 1 and len(chosen) != 1:
            yield _same_meaning(columns[present[0]].name, columns[present[1]].name, quantity)


def _same_meaning(first: str, second: str, meaning: str) -> Problem:
    both = f"{first.strip()} and {second.strip()}, which both say {meaning}"
    return Problem("row 1", both, "one of them", f'Leave one out. Or say which is meant: --use "{first.strip()}".')


def unused(table: Table, columns: Mapping[str, Column]) -> Iterator[str]:
    used = {column.place for column in columns.values()}
    rest = [name.strip() for index, name in enumerate(table.header) if index not in used and name.strip()]
    if rest:
        yield f"Not used: {', '.join(rest)}."


def unit_notes(columns: Mapping[str, Column]) -> Iterator[str]:
    for meaning, unit in (
        ("seconds", "seconds"),
        ("step_seconds", "seconds"),
        ("joules", "joules"),
        ("watts", "watts"),
        ("rate", "work per second"),
    ):
        if meaning in columns and not columns[meaning].heading.unit_said:
            yield f"{columns[meaning].name.strip()} has no unit: it is taken to be {unit}."


Scaling = Literal["", "strong", "weak"]


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One row: a number of workers and its measurements. None: not given."""

    row: int  # spreadsheet row number
    workers: int
    seconds: float  # 1 in a table of throughputs
    usd: float | None = None  # of the whole row: all workers, all seconds
    quality: float | None = None
    work: float | None = None  # units of useful work done in these seconds
    steps: float | None = None  # training steps done in these seconds
    joules: float | None = None  # of all its workers in these seconds


@dataclass(frozen=True, kw_only=True)
class Timings:
    """A table and the wording of its header."""

    source: str
    rows: tuple[Timing, ...]  # by workers, smallest first
    worker_word: str  # "workers" or "nodes"
    rate: str = ""  # unit counted per second, if the table has no times
    percent: bool = False  # quality was given in percent; stored as a fraction
    quality_name: str = ""  # as in the header
    scaling: Scaling = ""  # as stated by the user, if the table does not
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Stated:
    """What the user states beside the table."""

    work: float | None = None  # units of useful work of every row
    use: tuple[str, ...] = ()  # headings to use where several mean the same
    where: tuple[tuple[str, str], ...] = ()  # heading and cell of the selected rows
    scaling: Scaling = ""


# ---- columns ---------------------------------------------------------------------------------------------------------


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
            problems.append(Problem("--where", name, ", ".join(h.strip() for h in table.header), "Write COLUMN=CELL."))
            continue
        values = list(dict.fromkeys(cells[index].strip() for _, cells in rows if index < len(cells)))
        rows = [row for row in rows if index < len(row[1]) and named(row[1][index], text)]
        if not rows:
            problems.append(Problem("--where", f"{name}={text}", ", ".join(values), "Write a cell as it stands in the table."))
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
        if index < len(cells) and missing(cells[index]):
            notes.append(f"Row {at} is left out: its {columns[meaning].name.strip()} is {shown(cells[index].strip())}.")
            return None
    before = len(problems)
    values = {meaning: _value(at, meaning, cells, column, found, problems) for meaning, column in columns.items()}
    if len(problems) > before or any(values[meaning] is None for meaning in needed):
        return None
    return values


def _value(at: int, meaning: str, cells: Sequence[str], column: Column, decimal_marks: Marks, problems: list[Problem]) -> float | None:
    """The number in a cell, in base units; None if allowed to be empty."""
    text = cells[column.place].strip() if column.place < len(cells) else ""
    if meaning in FILLED and (not text or missing(text)):
        return None
    where, allowed = f"row {at}, column {_TOLD.get(meaning, meaning)}", _ALLOWED.get(meaning, "a number above 0")
    read = number(text, decimal_marks.decimal)
    if read is None:
        bare = text.lower().lstrip("+-") in ("nan", "inf", "infinity")
        problems.append(Problem(where, text if bare else shown(text) if text else "an empty cell", allowed))
        return None
    factor = _factor(meaning, read, column.heading)
    if factor is None:
        problems.append(Problem(where, shown(text), allowed, f"Write {read.value:g}, with the unit in the heading."))
        return None
    value = read.value * factor
    if not _fits(meaning, value):
        problems.append(Problem(where, text, allowed))
        return None
    return value


_TOLD: Final = {"rate": "throughput"}
_ALLOWED = {
    "workers": f"a whole number from 1 to {MAX_WORKERS}",
    "quality": "a number",
    **dict.fromkeys((*PRICES, *ENERGIES), "a number of at least 0"),
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
        return 1.0 if unit[0].isalpha() and not unit.removeprefix("x").strip()[:1].isdigit() else None
    if meaning in UNITS:
        return UNITS[meaning].get(unit)
    if meaning == "rate":
        rate = heading(read.unit)
        return rate.factor if rate is not None and rate.meaning == "rate" else None
    if meaning in PRICES:
        return head.factor if unit in ("$", "usd", "$/h", "usd/h", "$/hr") else None
    return 1.0 if meaning in ("work", "steps", "batch", "accumulation") and unit.isalpha() and len(unit) > 2 else None


def _fits(meaning: str, value: float) -> bool:
    if not math.isfinite(value) or (value and not 1.0 / MAX_NUMBER <= abs(value) <= MAX_NUMBER):
        return False
    if meaning == "workers":
        return value.is_integer() and 1 <= value <= MAX_WORKERS
    return meaning == "quality" or value > 0 or (value == 0 and meaning in (*PRICES, *ENERGIES))


def is_percent(rows: Sequence[Read], column: Column | None) -> bool:
    if column is None:
        return False
    return column.heading.percent or any("%" in cells[column.place] for _, cells, _ in rows if column.place < len(cells))


def gaps(rows: Sequence[Read], columns: Mapping[str, Column]) -> Iterator[Problem]:
    """A column must be complete and in one unit, since rows are compared."""
    for name in FILLED:
        empty = [at for at, _, values in rows if name in columns and values.get(name) is None]
        if empty:
            remedy = "Fill it in, or leave the whole column out."
            yield Problem(_rows(empty, name), "an empty cell", _ALLOWED.get(name, "a number above 0"), remedy)
    column = columns.get("quality")
    if column is not None and not column.heading.percent:
        signed = [at for at, cells, _ in rows if column.place < len(cells) and "%" in cells[column.place]]
        bare = [at for at, cells, _ in rows if at not in signed and column.place < len(cells) and cells[column.place].strip()]
        if signed and bare:
            yield Problem(_rows(bare, "quality"), "no percent sign, as other rows have it", "one unit", "Write % in all rows or in none.")


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
                remedy = f'Say which rows are meant: --where "{name.strip()}={before}".'
                yield Problem(f"row {at}, column workers", difference, "one series", remedy)
                return


def _looks_measured(first: str, second: str) -> bool:
    """True if cells differ like measurements: fractions do, whole numbers and words are settings."""
    read = [number(text) for text in (first, second)]
    return all(value is not None and not float(value.value).is_integer() for value in read)


def medians(rows: Sequence[Read], notes: list[str]) -> Iterator[tuple[int, Values]]:
    """One row per count: the median of its repetitions."""
    for count in dict.fromkeys(values["workers"] for _, _, values in rows):
        same = [(at, values) for at, _, values in rows if values["workers"] == count]
        if len(same) > 1:
            notes.append(f"{count:g} workers stand in {len(same)} rows ({', '.join(str(at) for at, _ in same)}): their medians are taken.")
        yield same[0][0], {name: _median([values[name] for _, values in same]) for name in same[0][1]}


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if len(known) == len(values) else None
