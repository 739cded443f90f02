"""What does an external table of timings or throughputs say?

The input of `assay rubric`.  One row per number of workers; columns are found by name (`tables/headings.py`), cells are read as
people write them (`tables/numbers.py`, `tables/cells.py`).  `use` chooses between columns that mean the same, `where` between
several series.  Rows with equal counts are repetitions, replaced by their medians.  All problems are reported at once, with
spreadsheet row numbers (the header is row 1).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Final

from fireassay.errors import Problem, refuse, refuse_any
from fireassay.spec.tables.cells import read_table
from fireassay.spec.tables.columns import columns_of, unit_notes, unused
from fireassay.spec.tables.rows import chosen, decimal, gaps, grouped, is_percent, medians, series, values
from fireassay.spec.tables.timing import batches, rate_word, timing
from fireassay.spec.tables.types import Stated as Stated
from fireassay.spec.tables.types import Timing as Timing
from fireassay.spec.tables.types import Timings as Timings


def read_timings(path: str | Path, *, work: float | None = None, asked: Stated | None = None) -> Timings:
    """A table from a file. `work`: units of useful work per row, if the file has no such column.

    Raises:
        SpecError: the file cannot be read or is invalid; all problems at once.
    """
    path = Path(path)
    try:
        raw = path.read_bytes()
    except (OSError, ValueError) as error:
        state = "a folder" if path.is_dir() else "no such file" if isinstance(error, FileNotFoundError) else str(error)
        raise refuse(str(path), state, "a CSV file", source=str(path)) from None
    try:
        # Spreadsheets write a byte-order mark, which carries no information.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw[: error.start].count(b"\n") + 1
        state = f"the byte 0x{raw[error.start]:02x}"
        remedy = 'Save it again as "CSV UTF-8".'
        raise refuse(f"row {row}", state, "text in UTF-8", remedy, source=str(path)) from None
    return parse_timings(text, str(path), work=work, asked=asked)


def parse_timings(text: str, source: str, *, work: float | None = None, asked: Stated | None = None) -> Timings:
    """A table from a text. Raises SpecError with all problems at once."""
    asked = asked or Stated(work=work)
    table = read_table(text, source)
    if table is None:
        raise refuse("the file", "no rows", _NEEDED, _EXAMPLE, source=source)
    columns, problems = columns_of(table, asked)
    rows = [] if problems else chosen(table, asked, problems)
    _stop(problems, source)
    if not rows:
        raise refuse("the file", "a header alone", "one row for each worker count", source=source)
    marks = decimal(table, rows, columns, problems)
    notes = [*unused(table, columns), *grouped(marks)]
    read = [(at, cells, values(at, cells, columns, len(table.header), marks, problems, notes)) for at, cells in rows]
    kept = [(at, cells, row_values) for at, cells, row_values in read if row_values is not None]
    problems += [*gaps(kept, columns), *series(table, kept, columns)]
    _stop(problems, source)
    if not kept:
        raise refuse("the file", "no row with a value", "one row for each worker count", source=source)
    once = list(medians(kept, notes))
    timings = [timing(at, row_values, asked, columns, problems) for at, row_values in once]
    scaling = batches([row_values for _, row_values in once], columns, asked, problems)
    _stop(problems, source)
    word, quality = columns["workers"].name.strip().lower(), columns.get("quality")
    return Timings(
        source=source,
        rows=tuple(sorted(timings, key=lambda row: row.workers)),
        worker_word=word if word in ("workers", "nodes") else "workers",
        rate=rate_word(columns, asked),
        percent=is_percent(kept, quality),
        quality_name=quality.name if quality else "",
        scaling=scaling,
        notes=(*notes, *unit_notes(columns)),
    )


def _stop(problems: list[Problem], source: str) -> None:
    refuse_any(problems, source)


_NEEDED = "a header with the columns workers and seconds, and perhaps price_per_hour, quality, work, steps"
_EXAMPLE = "For example: workers,seconds,price_per_hour,quality,work"


# ---- quality and its tolerance -----------------------------------------------------------------------------------

TOLERANCE: Final = 0.005


def with_tolerance(timings: Timings, text: str | None) -> tuple[Timings, float]:
    """Add the largest tolerated drift, in the unit of the rows' quality. "0.5%" is half a percentage point.

    Raises:
        SpecError: quality and tolerance differ in unit.
    """
    percent = text is not None and text.strip().endswith("%")
    value = TOLERANCE if text is None else float(text.strip().removesuffix("%")) * (0.01 if percent else 1.0)
    values = [row.quality for row in timings.rows if row.quality is not None]
    largest, name = max((abs(value) for value in values), default=0.0), timings.quality_name.strip() or "quality"
    if timings.percent and text is not None and not percent:
        remedy = f"Write --tolerance {text.strip()}% for {text.strip()} points of a hundred, or {float(text) * 100:g}% for a fraction of {float(text):g}."
        raise refuse("--tolerance", text, f"percent, as {name} is", remedy, source="the flags")
    if largest > 1.0 and not timings.percent:
        if text is None:
            remedy = (
                f'If it is percent, write "{name} (%)" in the header or say --tolerance 0.5%; if it has a scale of its own, such as BLEU or a loss, '
                "say --tolerance in its unit, for example --tolerance 0.5."
            )
            allowed = "a fraction of at most 1, or a unit"
            raise refuse(f"column {name}", f"{largest:g}", allowed, f"Points or percent? {remedy}", source=timings.source)
        if percent:
            rows = tuple(replace(row, quality=None if row.quality is None else row.quality / 100.0) for row in timings.rows)
            return replace(timings, rows=rows, percent=True), value
    return timings, value
