"""What does an external table of timings or throughputs say?

The input of `assay rubric`.  One row per number of workers; columns are found by name (`tables/headings.py`), cells are read as
people write them (`tables/cells.py`).  `use` chooses between columns that mean the same, `where` between
several series.  Rows with equal counts are repetitions, replaced by their medians.  All problems are reported at once, with
spreadsheet row numbers (the header is row 1).
Seconds, work, cost and energy of a row follow from whichever of them it has.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from fireassay.errors import Problem, refuse, refuse_any
from fireassay.printable import some
from fireassay.spec.scores import has_own_scale, lower_is_better
from fireassay.spec.tables.cells import read_table
from fireassay.spec.tables.columns import Column, Scaling, columns_of, named, other_base, scores, unused
from fireassay.spec.tables.columns import Stated as Stated
from fireassay.spec.tables.costs import Billed, row_cost
from fireassay.spec.tables.headings import says_same_work
from fireassay.spec.tables.rows import Score as Score
from fireassay.spec.tables.rows import Timing as Timing
from fireassay.spec.tables.rows import Timings as Timings
from fireassay.spec.tables.rows import (
    Values,
    chosen,
    decimal,
    gaps,
    grouped,
    is_percent,
    medians,
    series,
    unit_notes,
    values,
    with_long_times,
)
from fireassay.spec.user_file import MAX_TABLE, MIB, content, similar_file


def read_timings(path: str | Path, *, work: float | None = None, asked: Stated | None = None) -> Timings:
    """A table from a file. `work`: units of useful work per row, if the file has no such column.

    Raises:
        SpecError: the file cannot be read or is invalid; all problems at once.
    """
    path = Path(path)
    try:
        raw = content(path, MAX_TABLE)
    except (OSError, ValueError) as error:
        state = (
            "a folder"
            if path.is_dir()
            else "no such file"
            if isinstance(error, FileNotFoundError)
            else getattr(error, "strerror", None) or str(error)
        )
        raise refuse(str(path), state, "a table: CSV, TSV or Markdown", similar_file(path), source=str(path)) from None
    return decoded_timings(raw, str(path), work=work, asked=asked)


def decoded_timings(raw: bytes, source: str, *, work: float | None = None, asked: Stated | None = None) -> Timings:
    """A table from bytes in UTF-8. Raises SpecError: they are none, or too many, or the table is invalid."""
    if len(raw) > MAX_TABLE:
        raise refuse(source, f"more than {MAX_TABLE // MIB} MiB", "a table: CSV, TSV or Markdown", source=source)
    try:
        # Spreadsheets write a byte-order mark, which carries no information.
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        row = raw[: error.start].count(b"\n") + 1
        state = f"the byte 0x{raw[error.start]:02x}"
        remedy = 'Save it again as "CSV UTF-8".'
        raise refuse(f"row {row}", state, "text in UTF-8", remedy, source=source) from None
    return parse_timings(text, source, work=work, asked=asked)


def parse_timings(text: str, source: str, *, work: float | None = None, asked: Stated | None = None) -> Timings:
    """A table from a text. Raises SpecError with all problems at once."""
    asked = asked or Stated(work=work)
    table = read_table(text, source)
    if table is None:
        raise refuse("the file", "no rows", _NEEDED, _EXAMPLE, source=source)
    columns, problems, doubts = columns_of(table, asked)
    rows = [] if problems else chosen(table, asked, problems)
    _stop(problems, source)
    if not rows:
        raise refuse("the file", "a header alone", "one row for each worker count", source=source)
    rows = with_long_times(rows, columns)
    marks = decimal(table, rows, columns, problems)
    notes, left_out = [*grouped(marks)], list[str]()
    read = [(at, cells, values(at, cells, columns, len(table.header), marks, problems, left_out)) for at, cells in rows]
    kept = [(at, cells, row_values) for at, cells, row_values in read if row_values is not None]
    weakening, others = unused(table, columns, [at for at, _, _ in kept])
    doubts, notes = [*table.doubts, *doubts, *left_out, *weakening], [*others, *table.notes, *notes]
    if kept:
        base = min(kept, key=lambda row: row[2].get("workers") or 0.0)[0]
        doubts = [*other_base(table, columns, [at for at, _, _ in kept], base), *doubts]
    if left_out and all(row_values["workers"] != 1.0 for _, _, row_values in kept):
        doubts.append("No row has 1 worker: if a row that is left out is the same program on one worker, write 1 in it.")
    problems += [*gaps(kept, columns), *series(table, kept, columns)]
    _stop(problems, source)
    if not kept:
        raise refuse("the file", "no row with a value", "one row for each worker count", source=source)
    once = list(medians(kept, notes))
    timings = [timing(at, row_values, asked, columns, problems) for at, row_values in once]
    scaling = batches([row_values for _, row_values in once], columns, asked, problems, doubts)
    doubts += _either_price([row_values for _, row_values in once], columns)
    doubts += _either_batch([row_values for _, row_values in once], columns, problems)
    _stop(problems, source)
    word = columns["workers"].name.strip().lower()
    found = Timings(
        source=source,
        rows=tuple(sorted(timings, key=lambda row: row.workers)),
        worker_word=word if word in ("workers", "nodes") else "workers",
        rate=rate_word(columns, asked),
        scores=tuple(_score(key, column, percent=is_percent(kept, column)) for key, column in scores(columns)),
        scaling=scaling,
        repeated=len(once) < len(kept),
        doubts=tuple(doubts),
        notes=(*notes, *unit_notes(columns)),
        prices=asked.prices,
        grams_per_kwh=asked.grams_per_kwh,
    )
    return _with_base(found, by_efficiency="speedup" not in columns)


def _with_base(timings: Timings, *, by_efficiency: bool) -> Timings:
    """Speedups or efficiencies alone, relative to a base that the table lacks: the rows with that base added, one worker with a speedup of 1."""
    first = timings.rows[0]
    own = (first.work or 1.0) / (first.workers if by_efficiency else 1)
    if timings.rate != OF_BASE or first.workers == 1 or math.isclose(own, 1.0, rel_tol=OWN_BASE):
        return timings
    rows = (Timing(row=0, workers=1, seconds=1.0, work=1.0), *timings.rows)
    doubts = [f"The base of the speedups is not in the table: taken as 1 of the {timings.worker_word}, of which no time is given."]
    if timings.scores:
        doubts.append(f"{some(score.heading for score in timings.scores)}: not judged, as the base is not in the table.")
    return replace(timings, rows=tuple(replace(row, scores=()) for row in rows), scores=(), doubts=(*doubts, *timings.doubts))


def _stop(problems: list[Problem], source: str) -> None:
    refuse_any(problems, source)


OF_BASE: Final = "of the base"  # a table of speedups or efficiencies alone
OWN_BASE: Final = 0.02  # of a speedup or an efficiency of 1: the row is the base of its own table
_NEEDED = "a header with the columns workers and seconds, and perhaps price_per_hour, quality, work, steps"
_EXAMPLE = "For example: workers,seconds,price_per_hour,quality,work"


# ---- quality and its tolerance -----------------------------------------------------------------------------------

TOLERANCE: Final = 0.005


def _score(key: str, column: Column, *, percent: bool) -> Score:
    return Score(name=key, heading=column.name.strip(), percent=percent, lower=lower_is_better(column.name))


def with_tolerance(timings: Timings, text: str | None) -> Timings:
    """Give each score its largest tolerated loss, in its own unit: "0.5%" is half a point, "loss=0.05, accuracy=0.5%" one for each.

    Raises:
        SpecError: a score and its tolerance differ in unit, or one tolerance is to hold for scores of different units.
    """
    given = tolerances(text or "")
    unknown = [name for name in given if name and not any(named(score.heading, name) for score in timings.scores)]
    if unknown:
        names = ", ".join(score.heading for score in timings.scores) or "no score"
        raise refuse("--tolerance", unknown[0], names, "Write a heading as it stands in the table.", source="the flags")
    units = {_unit(timings, place) for place in range(len(timings.scores))}
    if "" in given and len(units) > 1 and not (units == {"fraction", "percent"} and given[""].endswith("%")):
        remedy = f'Write --tolerance "{timings.scores[0].heading}=Q,{timings.scores[1].heading}=Q".'
        raise refuse("--tolerance", given[""], "a tolerance for each score, as their units differ", remedy, source="the flags")
    for place, score in enumerate(timings.scores):
        timings = _tolerating(timings, place, next((q for name, q in given.items() if not name or named(score.heading, name)), None))
    return timings


def tolerances(text: str) -> dict[str, str]:
    """--tolerance by the names of scores; "": of all."""
    if "=" not in text:
        return {"": text.strip()} if text.strip() else {}
    pairs = [part.rpartition("=") for part in text.split(",")]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _largest(timings: Timings, place: int) -> float:
    return max((abs(value) for row in timings.rows if (value := row.scores[place]) is not None), default=0.0)


def _unit(timings: Timings, place: int) -> str:
    return "percent" if timings.scores[place].percent else "own" if _largest(timings, place) > 1.0 else "fraction"


def _tolerating(timings: Timings, place: int, text: str | None) -> Timings:
    """The tolerance of one score."""
    percent = text is not None and text.endswith("%")
    value = TOLERANCE if text is None else float(text.removesuffix("%")) * (0.01 if percent else 1.0)
    score, largest = timings.scores[place], _largest(timings, place)
    name = score.heading
    as_said = "" if len(timings.scores) == 1 else f"{name}="
    if score.percent and text is not None and not percent:
        remedy = f"Write --tolerance {as_said}{text}% for {text} points of a hundred, or {as_said}{float(text) * 100:g}% for a fraction of {float(text):g}."
        raise refuse("--tolerance", text, f"percent, as {name} is", remedy, source="the flags")
    if largest > 1.0 and not score.percent:
        if has_own_scale(name) and (text is None or percent):
            some = f'"{as_said}{largest / 100.0:.1g}"' if as_said else f"{largest / 100.0:.1g}"
            remedy = f"Say how much worse it may get: --tolerance {some}."
            raise refuse(f"column {name}", f"{largest:g}", "a tolerance in the unit of the score", remedy, source=timings.source)
        if text is None:
            half, own = ("0.5%", "0.5") if not as_said else (f'"{as_said}0.5%"', f'"{as_said}0.5"')
            remedy = (
                f'If it is percent, write "{name} (%)" in the header or say --tolerance {half}; if it has a scale of its own, such as BLEU or a loss, '
                f"say --tolerance in its unit, for example --tolerance {own}."
            )
            allowed = "a fraction of at most 1, or a unit"
            raise refuse(f"column {name}", f"{largest:g}", allowed, f"Points or percent? {remedy}", source=timings.source)
        if percent:
            score = replace(score, percent=True)
            timings = replace(timings, rows=tuple(replace(row, scores=_hundredth(row.scores, place)) for row in timings.rows))
    scores = (*timings.scores[:place], replace(score, tolerance=value), *timings.scores[place + 1 :])
    return replace(timings, scores=scores)


def _hundredth(scores: tuple[float | None, ...], place: int) -> tuple[float | None, ...]:
    return tuple(value / 100.0 if at == place and value is not None else value for at, value in enumerate(scores))


SECONDS_PER_HOUR: Final = 3600.0
SUPERLINEAR: Final = 1.01  # times as fast on as many times the work: beyond rounding
AGREE: Final = 0.02  # tolerated disagreement of time, rate and work: published numbers are rounded


def timing(at: int, values: Values, asked: Stated, columns: Mapping[str, Column], problems: list[Problem]) -> Timing:
    """Seconds, work, cost and energy of a row, from whichever of them it has."""
    workers = values["workers"] or 1.0
    rate, work = _rate(values, workers, columns), values.get("work", asked.work)
    seconds, steps = values.get("seconds") or values.get("step_seconds"), values.get("steps")
    if "step_seconds" in values:
        steps, work = 1.0, work if work is not None else _batch(values, workers, columns)
    if seconds is None and rate is not None:
        seconds, work = (work / rate, work) if work is not None else (1.0, rate)
    elif rate is not None and seconds is not None:
        if work is not None and abs(rate * seconds / work - 1.0) > AGREE and "step_seconds" not in values:
            contradiction = f"{rate:.6g} a second for {seconds:.6g} s, which is not {work:.6g}"
            problems.append(
                Problem(f"row {at}", contradiction, "a time, a throughput and a work that agree", "Leave one of the three columns out.")
            )
        work = work if work is not None else rate * seconds
    assert seconds is not None
    timed = "seconds" in values or (rate is not None and work is not None and not (rate == work and seconds == 1.0))
    parts = row_cost(at, values, Billed(workers=workers, seconds=seconds, whole_run=timed, steps=steps), (columns, asked.prices), problems)
    return Timing(
        row=at,
        workers=int(workers),
        seconds=seconds,
        usd=math.fsum(dollars for _, dollars in parts) if parts else None,
        parts=parts if len(parts) > 1 else (),
        scores=tuple(values.get(key) for key, _ in scores(columns)),
        work=work,
        steps=steps,
        joules=_joules(values, Billed(workers=workers, seconds=seconds, whole_run=timed, steps=steps), columns),
        own_speedup=values.get("own_speedup"),
        own_efficiency=values.get("own_efficiency"),
        own_usd=values.get("own_usd"),
        own_usd_per_step=values.get("own_usd_per_step"),
        own_usd_per_item=values.get("own_usd_per_item"),
        own_items_per_usd=values.get("own_items_per_usd"),
    )


def _rate(values: Values, workers: float, columns: Mapping[str, Column]) -> float | None:
    """Work per second of all workers; for speedups or efficiencies, in units of their base row."""
    if (rate := values.get("rate")) is not None:
        return rate * workers if columns["rate"].heading.per_worker else rate
    if (efficiency := values.get("efficiency")) is not None and "speedup" not in values:
        return efficiency * workers
    return values.get("speedup")


def _batch(values: Values, workers: float, columns: Mapping[str, Column]) -> float | None:
    """Units of work per step."""
    batch = values.get("batch")
    if batch is None:
        return None
    if not columns["batch"].heading.per_worker:
        return batch
    return batch * workers * (values.get("accumulation") or 1.0)


def batches(rows: Sequence[Values], columns: Mapping[str, Column], asked: Stated, problems: list[Problem], doubts: list[str]) -> Scaling:
    """Scaling mode from batches if no work is given: one batch for all is strong, one per worker weak, unless the times are of the same work."""
    batches = [(_batch(values, values["workers"] or 1.0, columns), values["workers"] or 1.0) for values in rows]
    totals = [batch for batch, _ in batches if batch is not None]
    per_worker = [batch / workers for batch, workers in batches if batch is not None]
    kind: Scaling = "" if len(totals) < max(2, len(rows)) else "strong" if _equal(totals) else "weak" if _equal(per_worker) else ""
    if kind == "weak" and "seconds" in columns:
        if asked.scaling or says_same_work(columns["seconds"].name):
            return asked.scaling or "strong"  # a larger batch takes fewer steps for it
        kind = _weak_or_strong(rows, columns["batch"].name.strip(), doubts)
    if asked.scaling and kind and asked.scaling != kind:
        contradiction = f"{asked.scaling}, but the batches of the table are those of {kind} scaling"
        problems.append(Problem("--scaling", contradiction, kind, "Leave it out."))
    return asked.scaling or kind


def _weak_or_strong(rows: Sequence[Values], batch: str, doubts: list[str]) -> Scaling:
    """Whether more workers did more work in these times: not if it would take them less time than the base took for its own."""
    base = min(rows, key=lambda values: values["workers"] or 1.0)
    faster = any((values["seconds"] or 0.0) * SUPERLINEAR < (base["seconds"] or 0.0) for values in rows)
    kind: Scaling = "strong" if faster else "weak"
    taken, other, instead = ("the same work in every row", "it grows with the workers", "weak")
    if not faster:
        taken, other, instead = "more work with more workers", "each time is that of the same work, such as all epochs", "strong"
    doubts.append(
        f"{batch} grows with the workers, and the times are taken as those of {taken} ({kind} scaling). If {other}: --scaling {instead}."
    )
    return kind


def _either_batch(rows: Sequence[Values], columns: Mapping[str, Column], problems: list[Problem]) -> list[str]:
    """A batch beside step times, of all workers or of each: a problem if it changes, else what is assumed."""
    column = columns.get("batch")
    if column is None or not column.heading.either or len(rows) < 2:
        return []
    name, batches = column.name.strip(), [values.get("batch") or 0.0 for values in rows]
    if _equal(batches):
        taken = f"{name} is {batches[0]:g} in every row and is taken as that of all workers together"
        return [f'{taken}. If each worker has it, speedups are larger: --use batch_per_worker="{name}".']
    remedy = f'Say which: --use global_batch="{name}" or --use batch_per_worker="{name}".'
    found = f"{name} from {batches[0]:g} to {batches[-1]:g} beside times of a step: of all workers together, or of each?"
    problems.append(Problem("row 1", found, "a batch whose meaning is known, as the work of a step depends on it", remedy))
    return []


def _either_price(rows: Sequence[Values], columns: Mapping[str, Column]) -> list[str]:
    """A price by the hour that is the same for all worker counts: of all of them together, or of each?"""
    column = columns.get("usd_per_hour")
    if column is None or column.heading.per_worker or len(rows) < 2:
        return []
    name, prices = column.name.strip(), [values.get("usd_per_hour") or 0.0 for values in rows]
    if not prices[0] or not _equal(prices):
        return []
    taken = f"{name} is {prices[0]:g} in every row and is taken as the price of all workers together"
    return [f'{taken}. If each costs that, costs are larger: --use price_per_worker_hour="{name}".']


def _equal(values: Sequence[float]) -> bool:
    return all(math.isclose(value, values[0], rel_tol=0.01) for value in values)


def rate_word(columns: Mapping[str, Column], asked: Stated) -> str:
    """The unit counted per second by a table without times."""
    if any(name in columns for name in ("seconds", "step_seconds", "work")) or asked.work is not None:
        return ""
    return columns["rate"].heading.word if "rate" in columns else OF_BASE


def _joules(values: Values, of: Billed, columns: Mapping[str, Column]) -> float | None:
    """Energy of the row, given directly, by the step, or as mean power."""
    for name, times in (("joules", 1.0), ("watts", of.seconds)):
        if (value := values.get(name)) is not None:
            heading = columns[name].heading
            times *= of.workers if heading.per_worker else 1.0
            return value * times * (of.steps or 1.0 if heading.word == "step" else 1.0)
    return None
