"""Which seconds, work, cost and energy does a row of an external table imply, from whichever it has?"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Final

from fireassay.errors import Problem
from fireassay.spec.tables.columns import Column
from fireassay.spec.tables.rows import Values
from fireassay.spec.tables.types import Scaling, Stated, Timing

SECONDS_PER_HOUR: Final = 3600.0
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
    return Timing(
        row=at,
        workers=int(workers),
        seconds=seconds,
        usd=_usd(values, workers, seconds, columns),
        quality=values.get("quality"),
        work=work,
        steps=steps,
        joules=_joules(values, workers, seconds, columns),
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


def batches(rows: Sequence[Values], columns: Mapping[str, Column], asked: Stated, problems: list[Problem]) -> Scaling:
    """Scaling mode from batches if no work is given: one batch for all is strong, one per worker weak."""
    batches = [(_batch(values, values["workers"] or 1.0, columns), values["workers"] or 1.0) for values in rows]
    totals = [batch for batch, _ in batches if batch is not None]
    per_worker = [batch / workers for batch, workers in batches if batch is not None]
    kind: Scaling = "" if len(totals) < max(2, len(rows)) else "strong" if _equal(totals) else "weak" if _equal(per_worker) else ""
    if asked.scaling and kind and asked.scaling != kind:
        contradiction = f"{asked.scaling}, but the batches of the table are those of {kind} scaling"
        problems.append(Problem("--scaling", contradiction, kind, "Leave it out."))
    return asked.scaling or kind


def _equal(values: Sequence[float]) -> bool:
    return all(math.isclose(value, values[0], rel_tol=0.01) for value in values)


def rate_word(columns: Mapping[str, Column], asked: Stated) -> str:
    """The unit counted per second by a table without times."""
    if any(name in columns for name in ("seconds", "step_seconds", "work")) or asked.work is not None:
        return ""
    return columns["rate"].heading.word if "rate" in columns else "of the base"


def _usd(values: Values, workers: float, seconds: float, columns: Mapping[str, Column]) -> float | None:
    """Cost of the row: a price per hour covers all workers of the row, unless stated per worker."""
    if (cost := values.get("usd")) is not None:
        return cost
    if (hour := values.get("usd_per_hour")) is None:
        return None
    return hour * (workers if columns["usd_per_hour"].heading.per_worker else 1.0) * seconds / SECONDS_PER_HOUR


def _joules(values: Values, workers: float, seconds: float, columns: Mapping[str, Column]) -> float | None:
    """Energy of the row, given directly or as mean power."""
    for name, time in (("joules", 1.0), ("watts", seconds)):
        if (value := values.get(name)) is not None:
            return value * time * (workers if columns[name].heading.per_worker else 1.0)
    return None
