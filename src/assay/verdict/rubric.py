"""What does a table of timings from elsewhere amount to: speedup, efficiency, serial fraction, cost, and which row?

    S(p) = T(base)/T(p) on equal work, else the ratio of work per second;  E = S/(p/base);
    Amdahl's s by least squares through (1/S - 1/p) = s (1 - 1/p), p relative to the base;
    contention and coherency by the Universal Scalability Law on the throughput of each row, and the law that AICc prefers;
    a throughput at another p is predicted by that law, but not beyond twice the largest row;
    cost and cost per item and step from the row's own price;
    quality held: |q(p) - q(base)| <= tolerance.  A row that drifted further did other work: it is shown, and left out
    of the fit and of every recommendation, whatever its speedup.

Cannot tell: whether any difference is more than noise.  One number for each row has no interval, so nothing here is a
gate that passed or failed on evidence; `assay run` measures launches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.spec.timings import Timing, Timings
from assay.stats.intervals import Interval
from assay.stats.scaling import amdahl_fit, amdahl_speedup, ceiling, half_efficiency_workers, karp_flatt
from assay.stats.scaling_fits import (
    STRONG,
    WEAK,
    Choice,
    Points,
    Refused,
    choose,
    held_out,
    peak,
    points,
    predict,
)
from assay.stats.scaling_fits import Fit as Law

Mode = Literal["strong", "assumed strong", "weak", "mixed"]
NO_INTERVALS = (
    "This table has one number for each row and no launches, so nothing here has an interval: differences "
    "may be noise. `assay run` measures launches."
)
# Numbers that are equal on paper may differ in the last bit: 0.871 - 0.866 > 0.005 in binary.
CLOSE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What is good enough."""

    tolerance: float = 0.005  # largest drift of quality, in its own unit
    efficiency: float = 0.70
    deadline_s: float | None = None
    budget_usd: float | None = None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table with what follows from it. None: not given, or not defined."""

    workers: int
    seconds: float
    speedup: float
    efficiency: float
    karp_flatt: float | None  # not defined for the base
    amdahl_speedup: float | None  # what the fit expects here
    usd: float | None
    usd_per_item: float | None
    items_per_usd: float | None
    usd_per_step: float | None
    quality: float | None
    drift: float | None  # quality minus the base's
    refused: str  # why the row is left out; empty if it is not


@dataclass(frozen=True, kw_only=True)
class Fit:
    """Amdahl's law fitted to the rows that were not refused. Worker counts are absolute, not relative to the base."""

    serial_fraction: float
    ceiling: float | None  # largest speedup; None: the fit finds none
    half_efficiency_workers: float | None  # where the fit expects E = 0.5
    at_workers: int  # the largest row of the fit ...
    measured_there: float
    expected_there: float


@dataclass(frozen=True, kw_only=True)
class LawRow:
    """One fitted law of throughput; its parameters by name, gamma being the throughput of one worker."""

    law: str
    parameters: dict[str, float]
    on_bound: tuple[str, ...]  # the parameters that the data would have liked below 0
    aicc: float | None  # None: too few rows


@dataclass(frozen=True, kw_only=True)
class Scaling:
    """Which law the throughputs of the rows follow, and what it allows to be said. Worker counts are absolute."""

    per_second: str  # what is counted: "work", "steps", "runs"
    laws: tuple[LawRow, ...]
    chosen: str | None
    why: str
    peak: str  # where throughput is highest, or why no place is named
    held_out_error: float | None  # of predicting the largest row from the others
    held_out: str


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """An answer to --predict; the numbers are None where it is refused, and `sentence` says why."""

    workers: float
    speedup: float | None
    throughput: float | None
    low: float | None  # prediction interval of the throughput, from the scatter of the rows round the curve
    high: float | None
    sentence: str


@dataclass(frozen=True, kw_only=True)
class Pick:
    """A row chosen for a reason; `workers` is None where no row qualifies."""

    goal: str
    workers: int | None
    sentence: str  # what was looked for


@dataclass(frozen=True, kw_only=True)
class Rubric:
    """Everything that follows from a table."""

    source: str
    worker_word: str
    mode: Mode
    base_workers: int
    limits: Limits
    rows: tuple[Row, ...]
    fit: Fit | None
    scaling: Scaling | None
    predicted: Predicted | None  # None: not asked for
    largest_drift: float | None  # over all rows
    quality_held: bool | None  # None: no quality was given
    picks: tuple[Pick, ...]
    notes: tuple[str, ...]

    @property
    def recommended(self) -> int | None:
        """The largest worker count that meets everything."""
        return self.picks[0].workers


def rubric(timings: Timings, limits: Limits, *, predict_at: float | None = None) -> Rubric:
    """Judge a table. The rows are in the order of their workers; the first is the base.

    `predict_at`: a number of workers, of at least 1, whose throughput is wanted.
    """
    base = timings.rows[0]
    mode = _mode(timings.rows)
    speedups = [_speedup(base, timing, mode) for timing in timings.rows]
    refusals = [_refusal(base, timing, limits, timings.worker_word) for timing in timings.rows]
    fit = _fit(base, timings.rows, speedups, refusals) if mode in ("strong", "assumed strong") else None
    rows = tuple(
        _row(base, timing, speedup, refused, fit)
        for timing, speedup, refused in zip(timings.rows, speedups, refusals, strict=True)
    )
    measured = _throughputs(timings.rows, refusals, mode)
    drifts = [abs(row.drift) for row in rows if row.drift is not None]
    return Rubric(
        source=timings.source, worker_word=timings.worker_word, mode=mode, base_workers=base.workers, limits=limits,
        rows=rows, fit=fit, scaling=_scaling(measured, timings.rows, mode),
        predicted=None if predict_at is None else _predicted(measured, base, mode, predict_at), largest_drift=max(drifts) if drifts else None,
        quality_held=not any(refusals) if drifts else None,
        picks=_picks(rows, limits), notes=_notes(rows, mode, base, fit, timings.worker_word),
    )  # fmt: skip


# ---- one row -----------------------------------------------------------------------------------------------------


def _mode(rows: Sequence[Timing]) -> Mode:
    """Strong or weak scaling, from the work that the rows did, never from a flag."""
    works = [row.work if row.work is not None else row.steps for row in rows]
    known = [work for work in works if work is not None]
    if len(known) < len(rows):
        return "assumed strong"
    if all(math.isclose(work, known[0], rel_tol=CLOSE) for work in known):
        return "strong"
    per_worker = [work / row.workers for work, row in zip(known, rows, strict=True)]
    return "weak" if all(math.isclose(one, per_worker[0], rel_tol=0.01) for one in per_worker) else "mixed"


def _speedup(base: Timing, timing: Timing, mode: Mode) -> float:
    if mode in ("strong", "assumed strong"):
        return base.seconds / timing.seconds
    return (_work(timing) / timing.seconds) / (_work(base) / base.seconds)


def _work(timing: Timing) -> float:
    return timing.work if timing.work is not None else timing.steps or 1.0


def _refusal(base: Timing, timing: Timing, limits: Limits, word: str) -> str:
    """Why this row is no answer to the question, or nothing."""
    if timing.quality is None or base.quality is None:
        return ""
    drift = abs(timing.quality - base.quality)
    if _at_most(drift, limits.tolerance):
        return ""
    return (
        f"quality {timing.quality:.6g} at {timing.workers} {word} differs by {drift:.3g} from {base.quality:.6g} "
        f"at {base.workers}, more than the tolerance {limits.tolerance:g}"
    )


def _row(base: Timing, timing: Timing, speedup: float, refused: str, fit: Fit | None) -> Row:
    p = timing.workers / base.workers
    usd, work = timing.usd, timing.work
    return Row(
        workers=timing.workers, seconds=timing.seconds, speedup=speedup, efficiency=speedup / p,
        karp_flatt=karp_flatt(speedup, p) if p > 1 and fit else None,
        amdahl_speedup=amdahl_speedup(fit.serial_fraction, p) if fit else None,
        usd=usd,
        usd_per_item=usd / work if usd is not None and work else None,
        items_per_usd=work / usd if usd and work else None,
        usd_per_step=usd / timing.steps if usd is not None and timing.steps else None,
        quality=timing.quality,
        drift=timing.quality - base.quality if timing.quality is not None and base.quality is not None else None,
        refused=refused,
    )  # fmt: skip


def _fit(base: Timing, rows: Sequence[Timing], speedups: Sequence[float], refusals: Sequence[str]) -> Fit | None:
    """Amdahl's law through the rows that were not refused; the base alone says nothing."""
    points = [
        (row.workers / base.workers, speedup)
        for row, speedup, refused in zip(rows, speedups, refusals, strict=True)
        if not refused
    ]
    if len(points) < 2:
        return None
    s = amdahl_fit([p for p, _ in points], [speedup for _, speedup in points])
    p, measured = points[-1]
    half = half_efficiency_workers(s)
    return Fit(
        serial_fraction=s, ceiling=_finite(ceiling(s)), half_efficiency_workers=_finite(half * base.workers),
        at_workers=round(p * base.workers), measured_there=measured, expected_there=amdahl_speedup(s, p),
    )  # fmt: skip


# ---- the law of the throughputs ----------------------------------------------------------------------------------


def _throughputs(rows: Sequence[Timing], refusals: Sequence[str], mode: Mode) -> Points | None:
    """Work, steps or runs per second of the rows that were not refused; None where the rows did incomparable work."""
    kept = [row for row, refused in zip(rows, refusals, strict=True) if not refused]
    if mode == "mixed":
        return None
    return points([float(row.workers) for row in kept], [_work(row) / row.seconds for row in kept])


def _counted(rows: Sequence[Timing]) -> str:
    return "work" if rows[0].work is not None else "steps" if rows[0].steps is not None else "runs"


def _choice(measured: Points, mode: Mode) -> Choice | Refused:
    return choose(measured, WEAK if mode == "weak" else STRONG)


def _scaling(measured: Points | None, rows: Sequence[Timing], mode: Mode) -> Scaling | None:
    choice = None if measured is None else _choice(measured, mode)
    if measured is None or choice is None or isinstance(choice, Refused):
        return None
    usl = next((law for law in choice.fits if law.law == "usl"), None)
    held = held_out(measured, laws=WEAK if mode == "weak" else STRONG)
    per_second = _counted(rows)
    return Scaling(
        per_second=per_second, laws=tuple(_law_row(law) for law in choice.fits), chosen=choice.chosen.law,
        why=choice.sentence, peak=_peak_words(usl, measured),
        held_out_error=None if isinstance(held, Refused) else held.error.value,
        held_out=held.sentence if isinstance(held, Refused) else
        f"p = {held.workers:g}: predicted {held.predicted:.4g}, measured {held.measured:.4g} {per_second}/s ({held.error.value:+.1%})",
    )  # fmt: skip


def _law_row(law: Law) -> LawRow:
    return LawRow(
        law=law.law, parameters={p.name: p.value for p in law.parameters},
        on_bound=tuple(p.name for p in law.parameters if p.on_bound), aicc=_finite(law.aicc),
    )  # fmt: skip


def _peak_words(usl: Law | None, measured: Points) -> str:
    if usl is None:
        return f"no peak up to N = {measured.levels[-1]:g}: the Universal Scalability Law needs at least 4 rows"
    found = peak(usl, measured)
    return found.sentence if isinstance(found, Refused) else f"N = {found.workers.value:.4g}: {found.sentence}"


def _predicted(measured: Points | None, base: Timing, mode: Mode, workers: float) -> Predicted:
    if measured is None:
        answer: Choice | Refused = Refused(reason="refused", sentence="the rows did different amounts of work")
    else:
        answer = _choice(measured, mode)
    found = answer if measured is None or isinstance(answer, Refused) else predict(answer.chosen, measured, workers)
    if isinstance(found, (Choice, Refused)):
        sentence = found.sentence if found.sentence.startswith("no prediction") else (
            f"no prediction for N = {workers:g}: {found.sentence}"
        )  # fmt: skip
        return Predicted(workers=workers, speedup=None, throughput=None, low=None, high=None, sentence=sentence)
    return _answered(found.throughput, _work(base) / base.seconds, base.workers, workers)


def _answered(throughput: Interval, of_base: float, base_workers: int, workers: float) -> Predicted:
    speedup = throughput.value / of_base
    low, high = throughput.low / of_base, throughput.high / of_base
    return Predicted(
        workers=workers, speedup=speedup, throughput=throughput.value, low=throughput.low, high=throughput.high,
        sentence=f"predicted at p = {workers:g}: S = {speedup:.2f} relative to {base_workers} (by the scatter of the rows "
        f"round the curve: {low:.2f} to {high:.2f})",
    )  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _at_most(value: float, limit: float) -> bool:
    return value <= limit or math.isclose(value, limit, rel_tol=CLOSE)


# ---- which row ---------------------------------------------------------------------------------------------------


def _picks(rows: Sequence[Row], limits: Limits) -> tuple[Pick, ...]:
    held = [row for row in rows if not row.refused]
    efficient = [row for row in held if _at_most(limits.efficiency, row.efficiency)]
    in_time = [row for row in held if limits.deadline_s is None or _at_most(row.seconds, limits.deadline_s)]
    paid = [
        row
        for row in held
        if limits.budget_usd is None or (row.usd is not None and _at_most(row.usd, limits.budget_usd))
    ]
    meets_all = [row for row in efficient if row in in_time and row in paid]
    picks = [
        _pick("recommended", meets_all, lambda row: -row.workers, f"the most workers with {_conditions(rows, limits)}"),
        _pick("cheapest", [row for row in held if row.usd is not None], _price, "the lowest cost of the same work"),
        _pick("fastest", held, lambda row: -row.speedup, "the largest speedup"),
    ]
    if limits.deadline_s is not None:
        goal = f"within {limits.deadline_s:g} s"
        picks.append(_pick("under deadline", in_time, _price, f"{_cheapest_or_fewest(rows)} {goal}"))
    if limits.budget_usd is not None:
        picks.append(
            _pick("under budget", paid, lambda row: -row.speedup, f"the fastest for at most ${limits.budget_usd:g}")
        )
    return tuple(picks)


def _pick(goal: str, among: Sequence[Row], best: Callable[[Row], float], reason: str) -> Pick:
    if not among:
        return Pick(goal=goal, workers=None, sentence=reason)
    chosen = min(among, key=lambda row: (best(row), row.workers))
    return Pick(goal=goal, workers=chosen.workers, sentence=reason)


def _price(row: Row) -> float:
    """Cost of the same work; without prices the workers, of which fewer are cheaper."""
    for price in (row.usd_per_item, row.usd_per_step, row.usd):
        if price is not None:
            return price
    return float(row.workers)


def _cheapest_or_fewest(rows: Sequence[Row]) -> str:
    return "the cheapest" if any(row.usd is not None for row in rows) else "the fewest workers"


def _conditions(rows: Sequence[Row], limits: Limits) -> str:
    conditions = ["quality held"] if rows[0].quality is not None else []
    conditions.append(f"efficiency of at least {limits.efficiency:.2f}")
    if limits.deadline_s is not None:
        conditions.append(f"at most {limits.deadline_s:g} s")
    if limits.budget_usd is not None:
        conditions.append(f"at most ${limits.budget_usd:g}")
    return " and ".join([*([", ".join(conditions[:-1])] if conditions[1:] else []), conditions[-1]])


# ---- what must be said -------------------------------------------------------------------------------------------


def _notes(rows: Sequence[Row], mode: Mode, base: Timing, fit: Fit | None, word: str) -> tuple[str, ...]:
    notes = [f"The row with {row.workers} {word} is left out: {row.refused}." for row in rows if row.refused]
    notes.append(NO_INTERVALS)
    if base.workers != 1:
        notes.append(
            f"No row has 1 of {word}: everything is relative to {base.workers}, so losses up to there are not seen."
        )
    notes += [_MODE_NOTES[mode]] if mode in _MODE_NOTES else []
    if base.quality is None:
        notes.append("Quality was not given: whether the result was preserved is not measured.")
    if all(row.usd is None for row in rows):
        notes.append("No prices were given: cost is not measured.")
    if fit is not None and fit.serial_fraction <= 0:
        notes.append("The speedup is more than linear, so Amdahl's law finds no serial work and no ceiling.")
    if len(rows) == 1:
        notes.append("One row has nothing to be compared with.")
    return tuple(notes)


_MODE_NOTES: dict[Mode, str] = {
    "assumed strong": "The work of each row was not given; it is taken to be the same in all of them (strong scaling).",
    "weak": "The work grows with the workers (weak scaling): speedup is work per second, and Amdahl's law does not apply.",
    "mixed": "The rows did different amounts of work: speedup is work per second, and Amdahl's law is not fitted.",
}
