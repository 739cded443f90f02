"""What does somebody else's table of timings say?  The input of `assay rubric`.

A CSV file with a header; one row for each number of workers.  Columns are found by name, and names are taken
tolerantly (`COLUMNS`): capitals, spaces, dashes and units in brackets do not matter.  Lines that begin with # are
remarks.  Every problem of the file is told at once, with the row as a spreadsheet numbers it (the header is row 1).
"""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import Problem, SpecError
from assay.spec.explain import did_you_mean, shown

SECONDS_PER_HOUR = 3600.0
MOST_WORKERS = 10_000_000

COLUMNS: dict[str, tuple[str, ...]] = {
    "workers": ("workers", "nodes", "p", "n", "gpus", "ranks", "machines", "world_size", "n_workers", "num_workers", "n_nodes"),
    "seconds": ("seconds", "time", "time_s", "s", "t", "wall_s", "wall_seconds", "runtime", "runtime_s", "elapsed_s", "secs"),
    "step_seconds": ("step_seconds", "step_s", "step_time", "step_time_s", "seconds_per_step", "s_per_step"),
    "usd_per_hour": ("price_per_hour", "usd_per_hour", "price", "$/h", "usd/h", "$/hour", "usd_h", "rate", "cost_per_hour"),
    "usd_per_worker_hour": ("usd_per_worker_hour", "price_per_worker_hour", "usd_per_node_hour", "price_per_node_hour"),
    "usd_per_worker_second": ("usd_per_worker_second", "usd_per_node_second", "price_per_node_second", "$/node-second"),
    "quality": ("quality", "accuracy", "score", "acc", "val_accuracy", "test_accuracy"),
    "work": ("work", "items", "samples", "tokens", "images", "n_items"),
    "steps": ("steps", "n_steps", "num_steps"),
}  # fmt: skip
TIMES = ("seconds", "step_seconds")
PRICES = ("usd_per_hour", "usd_per_worker_hour", "usd_per_worker_second")


@dataclass(frozen=True, kw_only=True)
class Timing:
    """One row: a number of workers and what was seen with it. None: not given."""

    row: int  # as a spreadsheet numbers it
    workers: int
    seconds: float
    usd: float | None = None  # of the whole row: all its workers for all its seconds
    quality: float | None = None
    work: float | None = None  # units of useful work done in these seconds
    steps: float | None = None  # training steps done in these seconds


@dataclass(frozen=True, kw_only=True)
class Timings:
    """A table and the words that its header used."""

    source: str
    rows: tuple[Timing, ...]  # by workers, smallest first
    worker_word: str  # "workers" or "nodes"


def read_timings(path: str | Path, *, work: float | None = None) -> Timings:
    """A table from a CSV file. `work`: units of useful work of every row, where the file has no such column.

    Raises:
        SpecError: the file cannot be read or makes no sense; all problems at once.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        found = "a folder" if path.is_dir() else "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise SpecError((Problem(where=str(path), found=found, allowed="a CSV file"),), str(path)) from None
    try:
        # Spreadsheets write a byte-order mark; it says nothing that is not known.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw[: error.start].count(b"\n") + 1
        found = f"the byte 0x{raw[error.start]:02x}"
        mend = 'Save it again as "CSV UTF-8".'
        problem = Problem(where=f"row {row}", found=found, allowed="text in UTF-8", mend=mend)
        raise SpecError((problem,), str(path)) from None
    return parse_timings(text, str(path), work=work)


def parse_timings(text: str, source: str, *, work: float | None = None) -> Timings:
    """A table from the text of a CSV file. Raises SpecError with all problems at once."""
    numbered = _rows(text, source)
    if not numbered:
        raise _one(source, Problem(where="the file", found="no rows", allowed=_NEEDED, mend=_EXAMPLE))
    (_, header), *body = numbered
    columns, problems = _columns(header)
    if problems:
        raise SpecError(tuple(problems), source)
    if not body:
        raise _one(source, Problem(where="the file", found="a header alone", allowed="one row for each worker count"))
    rows = [_timing(number, cells, columns, len(header), work, problems) for number, cells in body]
    timings = [row for row in rows if row is not None]
    problems += [*_twice(timings), *_gaps(timings, columns)]
    if problems:
        raise SpecError(tuple(problems), source)
    word = header[columns["workers"]].strip().lower()
    ordered = tuple(sorted(timings, key=lambda timing: timing.workers))
    return Timings(source=source, rows=ordered, worker_word=word if word in ("workers", "nodes") else "workers")


_NEEDED = "a header with the columns workers and seconds, and perhaps price_per_hour, quality, work, steps"
_EXAMPLE = "For example: workers,seconds,price_per_hour,quality,work"


def _one(source: str, problem: Problem) -> SpecError:
    return SpecError((problem,), source)


def _rows(text: str, source: str) -> list[tuple[int, list[str]]]:
    """Rows that hold something, with their numbers."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows: list[tuple[int, list[str]]] = []
    try:
        for number, cells in enumerate(reader, start=1):
            if any(cell.strip() for cell in cells) and not cells[0].lstrip().startswith("#"):
                rows.append((number, cells))
    except csv.Error as error:
        mend = f"{str(error).capitalize()}: look for a quotation mark without its other half."
        problem = Problem(where=f"row {len(rows) + 1} or later", found="broken CSV", allowed="CSV", mend=mend)
        raise _one(source, problem) from None
    return rows


# ---- the header --------------------------------------------------------------------------------------------------


def _columns(header: Sequence[str]) -> tuple[dict[str, int], list[Problem]]:
    """Where each known column stands. Unknown columns are left alone, if what is needed is there."""
    places: dict[str, int] = {}
    problems: list[Problem] = []
    for place, name in enumerate(header):
        meaning = _meaning(name)
        if meaning in places:
            problems.append(_same_meaning(header[places[meaning]], name, meaning))
        elif meaning:
            places[meaning] = place
    problems += _missing(header, places)
    problems += [*_only_one_of(header, places, TIMES), *_only_one_of(header, places, PRICES)]
    return places, problems


def _meaning(name: str) -> str:
    plain = re.sub(r"[\s-]+", "_", re.sub(r"[\[(].*?[\])]", "", name).strip().lower()).strip("_")
    return next((meaning for meaning, names in COLUMNS.items() if plain in {_flat(n) for n in names}), "")


def _flat(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name)


def _missing(header: Sequence[str], places: Mapping[str, int]) -> Iterator[Problem]:
    found = ", ".join(name.strip() for name in header)
    if len(header) == 1 and (separator := next((sign for sign in ";\t|" if sign in header[0]), None)):
        what = {";": "semicolons", "\t": "tabs", "|": "bars"}[separator]
        mend = "Save it with commas between the columns, and a point in numbers."
        yield Problem(where="row 1", found=f"{what} between the columns", allowed="commas", mend=mend)
        return
    for needed, names in (("workers", COLUMNS["workers"]), ("seconds", COLUMNS["seconds"] + COLUMNS["step_seconds"])):
        if needed not in places and not (needed == "seconds" and "step_seconds" in places):
            close = [did_you_mean(name.strip().lower(), names) for name in header if not _meaning(name)]
            mend = next((sentence.replace("you mean", "one column mean") for sentence in close if sentence), "")
            yield Problem(where="row 1", found=found, allowed=f"a column named {' or '.join(names[:3])}", mend=mend)


def _only_one_of(header: Sequence[str], places: Mapping[str, int], meanings: Sequence[str]) -> Iterator[Problem]:
    there = [meaning for meaning in meanings if meaning in places]
    for other in there[1:]:
        yield _same_meaning(
            header[places[there[0]]], header[places[other]], "the price" if meanings is PRICES else "the time"
        )


def _same_meaning(first: str, second: str, meaning: str) -> Problem:
    found = f"{first.strip()} and {second.strip()}, which both say {meaning}"
    return Problem(where="row 1", found=found, allowed="one of them", mend="Leave one out.")


# ---- the rows ----------------------------------------------------------------------------------------------------


def _timing(
    number: int,
    cells: Sequence[str],
    columns: Mapping[str, int],
    width: int,
    work: float | None,
    problems: list[Problem],
) -> Timing | None:
    """One row, or None after its problems were noted."""
    if len(cells) > width:
        found = f"{len(cells)} cells"
        mend = "Write numbers with a point and without thousands separators."
        problems.append(Problem(where=f"row {number}", found=found, allowed=f"{width}, as in the header", mend=mend))
        return None
    before = len(problems)
    values = {name: _number(number, name, cells, place, problems) for name, place in columns.items()}
    if len(problems) > before:
        return None
    workers, seconds = values["workers"], values.get("seconds") or values.get("step_seconds")
    if workers is None or seconds is None:  # an empty cell was noted as a problem above
        return None
    return Timing(
        row=number, workers=int(workers), seconds=seconds, usd=_usd(values, workers, seconds), quality=values.get("quality"),
        work=values.get("work", work), steps=1.0 if "step_seconds" in values else values.get("steps"),
    )  # fmt: skip


def _number(row: int, name: str, cells: Sequence[str], place: int, problems: list[Problem]) -> float | None:
    """The number in a cell; None if it is empty and may be."""
    text = cells[place].strip() if place < len(cells) else ""
    allowed = _ALLOWED.get(name, "a number above 0")
    if not text and name in (
        "usd_per_hour",
        "usd_per_worker_hour",
        "usd_per_worker_second",
        "quality",
        "work",
        "steps",
    ):
        return None
    try:
        value = float(text)
    except ValueError:
        found = shown(text) if text else "an empty cell"
        problems.append(Problem(where=f"row {row}, column {name}", found=found, allowed=allowed, mend=_mend(text)))
        return None
    if not _fits(name, value):
        problems.append(Problem(where=f"row {row}, column {name}", found=text, allowed=allowed))
        return None
    return value


_ALLOWED = {
    "workers": f"a whole number from 1 to {MOST_WORKERS}",
    "quality": "a number",
    **dict.fromkeys(PRICES, "a number of at least 0"),
}


def _fits(name: str, value: float) -> bool:
    if not math.isfinite(value):
        return False
    if name == "workers":
        return value.is_integer() and 1 <= value <= MOST_WORKERS
    return name == "quality" or value > 0 or (value == 0 and name in PRICES)


def _mend(text: str) -> str:
    plain = re.sub(r"[$€%\s_']", "", text)
    if re.fullmatch(r"-?\d+,\d+", plain):
        return "Write a point, and no thousands separators."
    number = re.fullmatch(r"(-?\d+(?:\.\d+)?)(?:[a-zA-Z/]{1,8})?", plain)
    return f"Write {number[1]}, without the unit." if number else ""


def _usd(values: Mapping[str, float | None], workers: float, seconds: float) -> float | None:
    """What the row cost: a price per hour is that of all the row's workers together."""
    if (row_hour := values.get("usd_per_hour")) is not None:
        return row_hour * seconds / SECONDS_PER_HOUR
    if (worker_hour := values.get("usd_per_worker_hour")) is not None:
        return worker_hour * workers * seconds / SECONDS_PER_HOUR
    if (worker_second := values.get("usd_per_worker_second")) is not None:
        return worker_second * workers * seconds
    return None


def _twice(timings: Sequence[Timing]) -> Iterator[Problem]:
    first: dict[int, Timing] = {}
    for timing in timings:
        if timing.workers in first:
            found = f"{timing.workers} again, as in row {first[timing.workers].row}"
            mend = "Give one row each; `assay run` measures repeated launches, with intervals."
            yield Problem(where=f"row {timing.row}, column workers", found=found, allowed="every count once", mend=mend)
        first.setdefault(timing.workers, timing)


def _gaps(timings: Sequence[Timing], columns: Mapping[str, int]) -> Iterator[Problem]:
    """A column that is there must be filled: rows are compared with one another."""
    for name in (*PRICES, "quality", "work", "steps"):
        field = "usd" if name in PRICES else name
        empty = [timing.row for timing in timings if getattr(timing, field) is None]
        if name in columns and empty:
            where = f"row{'s' if len(empty) > 1 else ''} {', '.join(map(str, empty))}, column {name}"
            mend = "Fill it in, or leave the whole column out."
            yield Problem(where=where, found="an empty cell", allowed=_ALLOWED.get(name, "a number above 0"), mend=mend)
