"""Which columns of an external table count, and what does a row of it hold?

One per meaning; if several mean the same, the user chooses.  GPUs take precedence over nodes.  A speedup or an efficiency counts
only if there is neither a time nor a throughput.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fireassay.errors import Problem
from fireassay.spec.explain import did_you_mean
from fireassay.spec.tables.cells import Table, plain
from fireassay.spec.tables.headings import Heading, heading

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
