"""Which laws do the rows of an external table follow, and what do they predict?

Amdahl's law for strong scaling, Gustafson's for weak, and for throughputs the law that AICc prefers (`stats/models/scaling_laws.py`); refused
rows are excluded. A fit with a negative serial fraction and superlinear rows is no fit: no law here covers that.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from fireassay.estimates.format import bracketed
from fireassay.spec.timings import Timing
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.models.scaling import amdahl_fit, amdahl_speedup, ceiling, gustafson, half_efficiency_workers
from fireassay.stats.models.scaling_laws import STRONG, WEAK, Choice, Points, Refused, choose, points
from fireassay.stats.models.scaling_laws import Fit as Law
from fireassay.stats.models.scaling_predictions import held_out, peak, predict
from fireassay.verdict.claims.rubric.types import Fit, Gustafson, LawRow, Mode, Predicted, Scaling


def fitted(base: Timing, rows: Sequence[Timing], speedups: Sequence[float], kept: Sequence[bool], *, superlinear: bool) -> Fit | None:
    """Amdahl's law through the rows that were not refused; None for the base alone or superlinear speedup."""
    pairs = [(row.workers / base.workers, speedup) for row, speedup, good in zip(rows, speedups, kept, strict=True) if good]
    if len(pairs) < 2:
        return None
    s = amdahl_fit([p for p, _ in pairs], [speedup for _, speedup in pairs])
    if s < 0 and superlinear:
        return None
    p, measured = pairs[-1]
    half = half_efficiency_workers(s)
    return Fit(
        serial_fraction=s,
        ceiling=_finite(ceiling(s)),
        half_efficiency_workers=_finite(half * base.workers),
        at_workers=round(p * base.workers),
        measured_there=measured,
        expected_there=amdahl_speedup(s, p),
    )


def gustafson_fit(base: Timing, rows: Sequence[Timing], speedups: Sequence[float], kept: Sequence[bool]) -> Gustafson | None:
    """Serial share by least squares of p - S = s (p - 1), through the origin."""
    pairs = [(row.workers / base.workers, speedup) for row, speedup, good in zip(rows, speedups, kept, strict=True) if good]
    weight = sum((p - 1.0) ** 2 for p, _ in pairs)
    if weight == 0.0:
        return None
    s = sum((p - 1.0) * (p - speedup) for p, speedup in pairs) / weight
    p, measured = pairs[-1]
    return Gustafson(serial_share=s, at_workers=round(p * base.workers), measured_there=measured, expected_there=gustafson(s, p))


def throughputs(rows: Sequence[Timing], kept: Sequence[bool], mode: Mode) -> Points | None:
    """Work, steps or runs per second of the rows that were not refused; None if their work is not comparable."""
    good = [row for row, keep in zip(rows, kept, strict=True) if keep]
    if mode == "mixed":
        return None
    return points([float(row.workers) for row in good], [_work(row) / row.seconds for row in good])


def _work(timing: Timing) -> float:
    return timing.work if timing.work is not None else timing.steps or 1.0


def _counted(rows: Sequence[Timing], rate: str) -> str:
    return rate or ("work" if rows[0].work is not None else "steps" if rows[0].steps is not None else "runs")


def _choice(measured: Points, mode: Mode) -> Choice | Refused:
    return choose(measured, WEAK if mode == "weak" else STRONG)


def laws(measured: Points | None, rows: Sequence[Timing], mode: Mode, rate: str) -> Scaling | None:
    """Fitted laws that the throughputs could contradict; None with too few rows."""
    choice = None if measured is None else _choice(measured, mode)
    if measured is None or choice is None or isinstance(choice, Refused):
        return None
    usl = next((law for law in choice.fits if law.law == "usl"), None)
    held = held_out(measured, laws=WEAK if mode == "weak" else STRONG)
    per_second = _counted(rows, rate)
    return Scaling(
        per_second=per_second,
        laws=tuple(_law_row(law) for law in choice.fits),
        chosen=choice.chosen.law,
        why=choice.sentence,
        peak=_peak_words(usl, measured),
        held_out_error=None if isinstance(held, Refused) else held.error.value,
        held_out=held.sentence
        if isinstance(held, Refused)
        else f"p = {held.workers:g}: predicted {held.predicted:.4g}, measured {held.measured:.4g} {per_second}/s ({held.error.value:+.1%})",
    )


def _law_row(law: Law) -> LawRow:
    return LawRow(
        law=law.law,
        parameters={p.name: p.value for p in law.parameters},
        on_bound=tuple(p.name for p in law.parameters if p.on_bound),
        aicc=_finite(law.aicc),
    )


def _peak_words(usl: Law | None, measured: Points) -> str:
    if usl is None:
        return f"no peak up to N = {measured.levels[-1]:g}: the Universal Scalability Law needs at least 4 rows"
    result = peak(usl, measured)
    return result.sentence if isinstance(result, Refused) else f"N = {result.workers.value:.4g}: {result.sentence}"


def predicted(measured: Points | None, base: Timing, mode: Mode, workers: float, *, superlinear: Sequence[int] = ()) -> Predicted:
    """Predicted throughput at a number of workers, or why there is none."""
    if measured is None:
        answer: Choice | Refused = Refused(reason="refused", sentence="the rows did different amounts of work")
    elif superlinear:
        counts = ", ".join(str(count) for count in superlinear)
        answer = Refused(reason="refused", sentence=f"the speedup at {counts} is superlinear, which no scaling law covers")
    else:
        answer = _choice(measured, mode)
    result = answer if measured is None or isinstance(answer, Refused) else predict(answer.chosen, measured, workers)
    if isinstance(result, (Choice, Refused)):
        sentence = (
            result.sentence if result.sentence.startswith("no prediction") else (f"no prediction for N = {workers:g}: {result.sentence}")
        )
        return Predicted(workers=workers, speedup=None, throughput=None, low=None, high=None, sentence=sentence)
    return _answered(result.throughput, _work(base) / base.seconds, base.workers, workers)


def _answered(throughput: Interval, of_base: float, base_workers: int, workers: float) -> Predicted:
    speedup = throughput.value / of_base
    text, ends = bracketed(speedup, throughput.low / of_base, throughput.high / of_base)
    return Predicted(
        workers=workers,
        speedup=speedup,
        throughput=throughput.value,
        low=throughput.low,
        high=throughput.high,
        sentence=f"predicted at p = {workers:g}: S = {text} relative to {base_workers} (by the scatter of the rows "
        f"around the curve: {ends})",
    )


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
