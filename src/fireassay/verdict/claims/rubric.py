"""Which speedup, efficiency, serial fraction, cost, energy and choice follow from an external table of timings or throughputs?

    S(p) = T(base)/T(p) on equal work, else the ratio of work per second;  E = S/(p/base), for weak scaling T(base)/T(p);
    strong: Amdahl's s by least squares through (1/S - 1/p) = s (1 - 1/p);  weak: Gustafson's s through S = p - s (p - 1), p relative to
    the base; contention and coherency by the Universal Scalability Law on each row's throughput, and the law that AICc prefers;
    cost and joules per item and step from the row's own price, energy or power;  cost of effective work: cost of a step or item / E;
    quality held: every score q(p) is worse than q(base) by at most its tolerance; the worst decides. A row that lost more did other work: it is shown, but left
    out of the fit and of every recommendation, whatever its speedup; so is one without a quality, beside a base that has one.
Superlinear speedup is reported and no law is fitted to it, since none of them covers it.

Cannot tell: whether any difference exceeds noise. One number per row has no interval, so no gate passes or fails on evidence here;
`assay run` measures launches.

Which row of an external table is recommended, cheapest, fastest, and best under a deadline or a budget?

Which laws do the rows of an external table follow, and what do they predict?

Amdahl's law for strong scaling, Gustafson's for weak, and for throughputs the law that AICc prefers (`stats/models/scaling_laws.py`); refused
rows are excluded. Superlinear rows have no law here.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from fireassay.errors import Problem, SpecError, refuse
from fireassay.estimates.format import bracketed
from fireassay.estimates.price_words import price_words
from fireassay.spec.timings import Score, Timing, Timings
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.models.scaling_laws import STRONG, WEAK, Choice, Points, Refused, choose, points
from fireassay.stats.models.scaling_laws import Fit as Law
from fireassay.stats.models.scaling_predictions import (
    SUPERLINEAR,
    amdahl_fit,
    amdahl_speedup,
    band,
    ceiling,
    gustafson,
    half_efficiency_workers,
    held_out,
    karp_flatt,
    peak,
    predict,
)
from fireassay.units import JOULES_PER_KWH
from fireassay.verdict.claims.own_costs import costs_of_work, own_costs
from fireassay.verdict.claims.own_numbers import CLOSE, at_most, beside, better, limit_text, own_numbers, tolerance_of
from fireassay.verdict.claims.rubric_notes import notes
from fireassay.verdict.claims.rubric_types import (
    CHECKED,
    Fit,
    Gustafson,
    JudgedScore,
    LawRow,
    Limits,
    Mode,
    Pick,
    Predicted,
    RowScore,
    Rubric,
    RubricRow,
    Scaling,
)


def fitted(base: Timing, rows: Sequence[Timing], speedups: Sequence[float], kept: Sequence[bool], *, superlinear: bool) -> Fit | None:
    """Amdahl's law through the rows that were not refused; None for the base alone or superlinear speedup."""
    pairs = [(row.workers / base.workers, speedup) for row, speedup, good in zip(rows, speedups, kept, strict=True) if good]
    if len(pairs) < 2 or superlinear:
        return None
    s = amdahl_fit([p for p, _ in pairs], [speedup for _, speedup in pairs])
    p, measured = pairs[-1]
    half = half_efficiency_workers(s)
    foretells = s <= 1.0 and len(pairs) >= CHECKED  # above 1 it would be below the base
    return Fit(
        serial_fraction=s,
        ceiling=_finite(ceiling(s)) if foretells else None,
        half_efficiency_workers=_finite(half * base.workers) if foretells else None,
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


def rubric(timings: Timings, limits: Limits, *, predict_at: float | None = None) -> Rubric:
    """Judge a table. Rows are in order of workers; the first is the base.

    `predict_at`: number of workers, at least 1, at which to predict throughput.

    Raises:
        SpecError: a deadline or budget for a table without times, a base at the floor of quality, or a scaling mode that
        contradicts the work.
    """
    mode, given = _mode(timings)
    _askable(timings, limits)
    base = given[0]
    _above_nothing(base, timings, limits)
    speedups = [_speedup(base, timing, mode) for timing in given]
    held = [_scores(base, timing, limits, timings) for timing in given]
    refusals = [_refusal(scores, timings) for scores in held]
    kept = [not refused for refused in refusals]
    above = [speedup * base.workers / timing.workers > SUPERLINEAR for speedup, timing in zip(speedups, given, strict=True)]
    superlinear = tuple(timing.workers for timing, is_superlinear, good in zip(given, above, kept, strict=True) if is_superlinear and good)
    fit = fitted(base, given, speedups, kept, superlinear=bool(superlinear)) if mode in ("strong", "assumed strong") else None
    rows = tuple(
        _row(base, timing, speedup, fit, mode, timings, scores) for timing, speedup, scores in zip(given, speedups, held, strict=True)
    )
    measured = throughputs(given, kept, mode)
    lawless = bool(superlinear) and mode != "weak"
    result = Rubric(
        source=timings.source,
        worker_word=timings.worker_word,
        mode=mode,
        rate=timings.rate,
        base_workers=base.workers,
        limits=limits,
        repeated=timings.repeated,
        rows=rows,
        superlinear=superlinear,
        fit=fit,
        gustafson=gustafson_fit(base, given, speedups, kept) if mode == "weak" else None,
        scaling=None if lawless else laws(measured, given, mode, timings.rate),
        predicted=None if predict_at is None else predicted(measured, base, mode, predict_at, superlinear=superlinear if lawless else ()),
        scores=tuple(_judged(place, score, rows, limits) for place, score in enumerate(timings.scores)),
        quality_held=not any(refusals) if timings.scores else None,
        picks=picks(rows, limits),
        priced="" if timings.prices is None else price_words(timings.prices),
        doubts=(*timings.doubts, *_fleet(timings), *better(rows, limits, timings), *own_numbers(rows, timings), *own_costs(timings, mode)),
        notes=(),
    )
    return replace(result, notes=notes(result, timings))


def _fleet(timings: Timings) -> Iterator[str]:
    """Rows whose workers are not those that a fleet's prices pay for."""
    paid = None if timings.prices is None else timings.prices.fleet_workers
    others = [str(row.workers) for row in timings.rows if row.workers != paid]
    if paid is not None and others:
        yield (
            f"Every row is paid as a fleet of {paid} {timings.worker_word}, the roles of the prices, also those with {', '.join(others)}: "
            "compare no costs unless the fleet is the same in all; else price each row in a column."
        )


def _askable(timings: Timings, limits: Limits) -> None:
    requested = [
        name
        for name, value in (("--deadline", limits.deadline_s), ("--budget", limits.budget_usd), ("--joules", limits.joules))
        if value is not None
    ]
    if timings.rate and requested:
        remedy = "Use --work N, the units of work of a whole run."
        problems = tuple(Problem(name, "a table of throughputs", "a table with the time of each row", remedy) for name in requested)
        raise SpecError(problems, timings.source)


def _above_nothing(base: Timing, timings: Timings, limits: Limits) -> None:
    """Raise SpecError if a score of the base is at most the tolerance: no row could show a loss."""
    for score, value in zip(timings.scores, base.scores, strict=True):
        tolerance = tolerance_of(score, limits)
        if score.lower or value is None or not 0.0 <= value <= tolerance:
            continue
        factor = 100.0 if score.percent else 1.0
        raise refuse(
            f"row {base.row}, column {score.name}",
            f"{factor * value:.6g}, the {score.name} of the base row",
            f"more than the tolerance, {factor * tolerance:g}: otherwise no loss can be detected",
            "Check how it was scored, or use a smaller --tolerance.",
            source=timings.source,
        )


def _mode(timings: Timings) -> tuple[Mode, tuple[Timing, ...]]:
    """Strong or weak scaling, from the rows' work; if unknown, as stated by the user or the batches."""
    rows = timings.rows
    if timings.rate:
        return ("throughput" if not timings.scaling else timings.scaling), rows
    works = [row.work if row.work is not None else row.steps for row in rows]
    known = [work for work in works if work is not None]
    if len(known) < len(rows) or all(row.work is None for row in rows):
        return _stated_mode(timings, rows)
    mode: Mode = "mixed"
    if all(math.isclose(work, known[0], rel_tol=CLOSE) for work in known):
        mode = "strong"
    else:
        per_worker = [work / row.workers for work, row in zip(known, rows, strict=True)]
        mode = "weak" if all(math.isclose(share, per_worker[0], rel_tol=0.01) for share in per_worker) else "mixed"
    if timings.scaling and timings.scaling != mode:
        conflict = f"{timings.scaling}, but the work of the rows is that of {mode} scaling"
        raise refuse("--scaling", conflict, mode, "Leave it out: the work decides.", source=timings.source)
    return mode, rows


def _stated_mode(timings: Timings, rows: tuple[Timing, ...]) -> tuple[Mode, tuple[Timing, ...]]:
    """Work that the table does not give: equal in all rows, or proportional to workers for weak scaling."""
    if timings.scaling == "weak":
        return "weak", tuple(replace(row, work=float(row.workers)) for row in rows)
    return ("strong" if timings.scaling == "strong" or all(row.steps is not None for row in rows) else "assumed strong"), rows


def _speedup(base: Timing, timing: Timing, mode: Mode) -> float:
    if mode in ("strong", "assumed strong") and timing.work == base.work:
        return base.seconds / timing.seconds
    return (_work(timing) / timing.seconds) / (_work(base) / base.seconds)


def _work(timing: Timing) -> float:
    return timing.work if timing.work is not None else timing.steps or 1.0


def _scores(base: Timing, timing: Timing, limits: Limits, timings: Timings) -> tuple[RowScore, ...]:
    """Each score of a row against the base row's."""
    pairs = zip(timings.scores, base.scores, timing.scores, strict=True)
    return tuple(
        _against(score, first, value, timing, (base, tolerance_of(score, limits), timings.worker_word)) for score, first, value in pairs
    )


MOST_LOST: Final = 1e6  # tolerances: a value that is missing, or any loss without a tolerance


def _against(score: Score, first: float | None, value: float | None, timing: Timing, about: tuple[Timing, float, str]) -> RowScore:
    base, tolerance, workers = about
    unit, points, factor = (" %", " points", 100.0) if score.percent else ("", "", 1.0)
    if first is None or value is None:
        lost = "" if first is None else f"its {score.name} is not given, and that of the base row is {first:.6g}"
        return RowScore(value=value, drift=None, lost=lost, weight=MOST_LOST)
    drift = value - first
    loss = drift if score.lower else -drift
    weight = loss / max(tolerance, abs(loss) / MOST_LOST) if loss else 0.0
    if at_most(loss, tolerance):
        return RowScore(value=value, drift=drift, lost="", weight=weight)
    shown = f"{factor * loss:.3g}"
    if float(shown) <= factor * tolerance:
        shown = beside(factor * loss, factor * tolerance, 3)
    lost = (
        f"{score.name} {factor * value:.6g}{unit} at {timing.workers} {workers} differs by {shown}{points} from "
        f"{factor * first:.6g}{unit} at {base.workers}, more than the tolerance {factor * tolerance:g}{points}"
    )
    return RowScore(value=value, drift=drift, lost=lost, weight=weight)


def _deciding(scores: Sequence[RowScore]) -> int:
    """The place of the score that lost most of its tolerance."""
    return max(range(len(scores)), key=lambda place: (bool(scores[place].lost), scores[place].weight))


def _refusal(scores: Sequence[RowScore], timings: Timings) -> str:
    """Why this row cannot be chosen, by its worst score, or ""."""
    lost = [place for place, score in enumerate(scores) if score.lost]
    if not lost:
        return ""
    worst = _deciding(scores)
    others = [timings.scores[place].name for place in lost if place != worst]
    also = f"; {' and '.join(others)} {'is' if len(others) == 1 else 'are'} not held either" if others else ""
    return f"{scores[worst].lost}{also}"


def _judged(place: int, score: Score, rows: Sequence[RubricRow], limits: Limits) -> JudgedScore:
    drifts = [abs(drift) for row in rows if (drift := row.scores[place].drift) is not None]
    return JudgedScore(
        name=score.name,
        percent=score.percent,
        lower=score.lower,
        tolerance=tolerance_of(score, limits),
        largest_drift=max(drifts) if drifts else None,
    )


def _share(value: float) -> float | None:
    """A serial share; None above 1, where the row is slower than the base and no share explains it."""
    return value if value <= 1.0 else None


def _row(
    base: Timing, timing: Timing, speedup: float, fit: Fit | None, mode: Mode, timings: Timings, scores: tuple[RowScore, ...]
) -> RubricRow:
    p, timed, refused = timing.workers / base.workers, not timings.rate, _refusal(scores, timings)
    deciding = _deciding(scores) if scores else None
    usd, joules, work, efficiency = timing.usd, timing.joules, timing.work, speedup / p
    per_item, per_usd = costs_of_work(timing)
    per_step = usd / timing.steps if usd is not None and timing.steps else timing.own_usd_per_step
    effective = per_step if per_step is not None else per_item
    return RubricRow(
        workers=timing.workers,
        seconds=timing.seconds if timed else None,
        per_second=None if work is None else work / timing.seconds,
        steps_per_second=timing.steps / timing.seconds if timed and timing.steps else None,
        speedup=speedup,
        efficiency=efficiency,
        band="" if p == 1 or refused else band(efficiency),
        karp_flatt=_share(karp_flatt(speedup, p)) if p > 1 and fit else None,
        serial_share=_share((p - speedup) / (p - 1)) if p > 1 and mode == "weak" else None,
        amdahl_speedup=amdahl_speedup(fit.serial_fraction, p) if fit else None,
        usd=usd if timed else None,
        usd_of=dict(timing.parts) if timed else {},
        usd_per_item=per_item,
        items_per_usd=per_usd,
        usd_per_step=per_step if timed else None,
        usd_per_effective_work=None if effective is None else effective / efficiency,
        joules=joules if timed else None,
        joules_per_item=joules / work if joules is not None and work else None,
        joules_per_step=joules / timing.steps if timed and joules is not None and timing.steps else None,
        co2_g=joules / JOULES_PER_KWH * timings.grams_per_kwh
        if timed and joules is not None and timings.grams_per_kwh is not None
        else None,
        quality=None if deciding is None else scores[deciding].value,
        drift=None if deciding is None else scores[deciding].drift,
        decides="" if deciding is None else timings.scores[deciding].name,
        scores=scores,
        refused=refused,
    )


def picks(rows: Sequence[RubricRow], limits: Limits) -> tuple[Pick, ...]:
    """The recommended, cheapest and fastest row, and those under the deadline and the budget."""
    held = [row for row in rows if not row.refused]
    efficient = [row for row in held if at_most(limits.efficiency, row.efficiency)]
    in_time = [row for row in held if limits.deadline_s is None or (row.seconds is not None and at_most(row.seconds, limits.deadline_s))]
    paid = [row for row in held if limits.budget_usd is None or (row.usd is not None and at_most(row.usd, limits.budget_usd))]
    frugal = [row for row in held if limits.joules is None or (row.joules is not None and at_most(row.joules, limits.joules))]
    meets_all = [row for row in efficient if row in in_time and row in paid and row in frugal]
    chosen = [
        _pick("recommended", meets_all, lambda row: -row.workers, f"the most workers with {_conditions(rows, limits)}"),
        _pick("cheapest", [row for row in held if row.priced], _price, "the lowest cost of the same work"),
        _pick("fastest", held, lambda row: -row.speedup, f"the largest speedup{' with quality held' if len(held) < len(rows) else ''}"),
    ]
    if limits.deadline_s is not None:
        goal = f"within {limits.deadline_s:g} s"
        chosen.append(_pick("under deadline", in_time, _price, f"{_cheapest_or_fewest(rows)} {goal}"))
    if limits.budget_usd is not None:
        chosen.append(_pick("under budget", paid, lambda row: -row.speedup, f"the fastest for at most ${limits.budget_usd:g}"))
    return tuple(chosen)


def _pick(goal: str, among: Sequence[RubricRow], best: Callable[[RubricRow], float], reason: str) -> Pick:
    if not among:
        return Pick(goal=goal, workers=None, sentence=reason)
    chosen = min(among, key=lambda row: (best(row), row.workers))
    return Pick(goal=goal, workers=chosen.workers, sentence=reason)


def _price(row: RubricRow) -> float:
    """Cost of equal work; without prices the worker count."""
    for price in (row.usd_per_item, row.usd_per_step, row.usd):
        if price is not None:
            return price
    return float(row.workers)


def _cheapest_or_fewest(rows: Sequence[RubricRow]) -> str:
    return "the cheapest" if any(row.usd is not None for row in rows) else "the fewest workers"


def _conditions(rows: Sequence[RubricRow], limits: Limits) -> str:
    conditions = ["quality held"] if rows[0].scores else []
    conditions.append(f"efficiency of at least {limit_text(limits.efficiency)}")
    if limits.deadline_s is not None:
        conditions.append(f"at most {limits.deadline_s:g} s")
    if limits.budget_usd is not None:
        conditions.append(f"at most ${limits.budget_usd:g}")
    if limits.joules is not None:
        conditions.append(f"at most {limits.joules:g} J")
    return " and ".join([*([", ".join(conditions[:-1])] if conditions[1:] else []), conditions[-1]])
