"""Do the published numbers contradict one another, or are they impossible?

A speedup that is not the ratio of the rates beside it, an efficiency that is not speedup / workers, a p50 above its p99, a goodput above
the throughput, a rate per GPU that does not add up to the total; a share above 1, a reduction by 100 % or more, a negative time. 5 % is
allowed for rounding. Records derive every number from one table, so this concerns claims.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from fireassay.estimates.format import count, given
from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import found
from fireassay.verdict.stated import kinds
from fireassay.verdict.stated.gains import LESS, efficiency_as_said, gain, is_efficiency, workers_factor
from fireassay.verdict.stated.names import LEVELS, has_word, metric_name, statistic
from fireassay.verdict.stated.scores import is_bounded
from fireassay.verdict.stated.units import convertible, parse
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number

ROUNDING: Final = 0.05
CENTRAL: Final = (None, "ratio", "mean", "median", "p50", "single")
REMEDY: Final = "publish numbers from the same launches, each derived once from the raw measurements"


def claim(said: Claim) -> tuple[Finding, ...]:
    """Contradictions and impossible values."""
    impossible = [(number, words) for number in said.number if (words := _impossible(number))]
    alone = [
        found("impossible_value", "invalid", number, words, "check for a wrong unit, peak or formula", "launch_values")
        for number, words in impossible
    ]
    checks = (_gains, _efficiencies, _percentiles, _parts, _totals)
    pairs = [(number, words) for check in checks for number, words in check(said)]
    return (
        *alone,
        *_scores(said),
        *(found("numbers_contradict", "invalid", number, words, REMEDY, "launch_values", "base_value") for number, words in pairs),
    )


def _impossible(number: Number) -> str:
    unit, value = kinds.unit_of(number), number.value
    what = f"{number.metric} = {_written(number)}"
    whole = 100.0 if unit.kind in ("percent", "points") else 1.0 if unit.kind == "ratio" else 100.0
    if kinds.is_share(number) and not 0.0 <= value <= whole:
        return f"{what}: a share lies between 0 and {given(whole)}"
    if kinds.is_quality(number) and is_bounded(number.metric) and not 0.0 <= value <= whole:
        return f"{what}: such a score lies between 0 and {given(whole)}"
    if unit.kind == "percent" and has_word(number.metric, (), LESS) and value >= 100.0:
        return f"{what}: nothing can be reduced by 100 % or more"
    if value < 0.0 and unit.kind in ("time", "rate", "energy", "power", "money", "flop"):
        return f"{what}: a {unit.kind} cannot be below 0"
    if number.trials is not None and number.launches is not None and number.trials < number.launches:
        return f"number.trials = {number.trials} counts all launches and is below number.launches = {number.launches}"
    return ""


def _scores(said: Claim) -> list[Finding]:
    quality = said.quality
    if quality is None or not is_bounded(quality.metric):
        return []
    odd = {
        name: score
        for name, score in (("baseline", quality.baseline), ("candidate", quality.candidate))
        if score is not None and not 0.0 <= score <= 100.0
    }
    return [
        found(
            "impossible_value",
            "invalid",
            None,
            f"quality.{name} = {given(score)}: {quality.metric} lies between 0 and 1, or 0 and 100",
            REMEDY,
            "quality",
        )
        for name, score in odd.items()
    ]


def _gains(said: Claim) -> Iterator[tuple[Number, str]]:
    """Ratios, or efficiencies on a number of workers, beside the absolute values that they compare."""
    for number in said.number:
        base, stated = number.baseline, _stated_gain(said, number)
        if stated is None or base is None or base.value is None or base.value <= 0.0 or base.unit is None:
            continue
        ratios = {_written(other): _ratio(other, base.value, base.unit) for other in said.number if _is_side(number, other, base.unit)}
        if ratios and not any(_close(stated, ratio) for ratio in ratios.values()):
            value, ratio = next(iter(ratios.items()))
            beside = f"{value} against baseline.value = {given(base.value)} {base.unit}"
            yield number, f"{number.label} says {given(stated, 3)} times; {beside} is {given(ratio, 3)} times"


def _stated_gain(said: Claim, number: Number) -> float | None:
    """The stated gain of a number without a unit of its own."""
    if is_efficiency(number):
        factor = workers_factor(said, number)
        return efficiency_as_said(number) * factor if factor else None
    unit = kinds.unit_of(number)
    return gain(number) if unit.is_change or unit.kind is None else None


def _written(number: Number) -> str:
    return f"{given(number.value)} {number.unit or ''}".rstrip()


def _is_side(number: Number, other: Number, base_unit: str) -> bool:
    """Whether another number is the absolute value behind a ratio; under weak scaling, times are of more work."""
    same = other.of == number.of and other.workers == number.workers and other is not number and other.conditions == number.conditions
    timed = kinds.is_speed(other) and not kinds.is_wait(other) and (number.scaling != "weak" or kinds.is_rate(other))
    central = statistic(other) in CENTRAL and statistic(number) in CENTRAL
    return same and timed and central and convertible(kinds.unit_of(other), parse(base_unit))


def _ratio(other: Number, base: float, unit: str) -> float:
    ratio = other.value * kinds.unit_of(other).factor / (base * parse(unit).factor)
    return 1.0 / ratio if kinds.lower_is_better(other) and ratio > 0.0 else ratio


def _efficiencies(said: Claim) -> Iterator[tuple[Number, str]]:
    """Efficiencies beside the speedup on the same workers."""
    for number in filter(is_efficiency, said.number):
        factor, stated = workers_factor(said, number), efficiency_as_said(number)
        for other in said.number:
            speedup = gain(other) if has_word(other.metric, ("speedup", "speed_up")) else None
            beside = (other.of, other.workers) == (number.of, number.workers)
            if speedup is not None and beside and factor and not _close(stated, speedup / factor):
                words = f"{other.label} of {given(speedup, 3)} on {given(factor)} times the workers is {given(speedup / factor, 3)}"
                yield number, f"{number.label} is {given(stated, 3)}; {words}"


def _percentiles(said: Claim) -> Iterator[tuple[Number, str]]:
    """Percentiles of one distribution that decrease with their level."""
    ranked = [(number, LEVELS[name]) for number in said.number if (name := statistic(number)) is not None and name in LEVELS]
    for number, level in ranked:
        for other, higher in ranked:
            if level < higher and _one_distribution(number, other) and _base(number) > _base(other) * (1.0 + 1e-9):
                yield number, f"{number.label} = {_written(number)} is above {other.label} = {_written(other)}"


def _one_distribution(first: Number, other: Number) -> bool:
    units = kinds.unit_of(first), kinds.unit_of(other)
    return (
        metric_name(first.metric) == metric_name(other.metric)
        and (first.of, first.workers, first.run, first.conditions) == (other.of, other.workers, other.run, other.conditions)
        and (convertible(*units) or first.unit == other.unit)
    )


def _base(number: Number) -> float:
    return number.value * kinds.unit_of(number).factor


def _parts(said: Claim) -> Iterator[tuple[Number, str]]:
    """A goodput above its throughput."""
    for number in said.number:
        for other in said.number:
            pair = has_word(number.metric, ("goodput",)) and has_word(other.metric, ("throughput",)) and _beside(number, other)
            if pair and convertible(kinds.unit_of(number), kinds.unit_of(other)) and _base(number) > _base(other):
                yield (number, f"{number.label} = {_written(number)} is above {other.label} = {_written(other)}, of which it is a part")


def _beside(first: Number, other: Number) -> bool:
    return (first.of, first.workers, first.conditions) == (other.of, other.workers, other.conditions) and (
        first.run == other.run or None in (first.run, other.run)
    )


def _totals(said: Claim) -> Iterator[tuple[Number, str]]:
    """A per-worker rate that does not add up to the total beside it."""
    for number in said.number:
        unit = kinds.unit_of(number)
        if unit.kind != "rate" or unit.per != "worker" or number.workers is None:
            continue
        for other in said.number:
            whole = kinds.unit_of(other)
            alike = (whole.kind, whole.per, whole.noun) == ("rate", None, unit.noun) and metric_name(other.metric) == metric_name(
                number.metric
            )
            if alike and _beside(number, other) and not _close(_base(number) * number.workers, _base(other)):
                total = f"add up to {given(number.value * number.workers, 6)}; the published total is {_written(other)}"
                yield number, f"{_written(number)} on {count(number.workers, 'workers')} {total}"


def _close(first: float, other: float) -> bool:
    return abs(first - other) <= ROUNDING * max(abs(first), abs(other))


AUDIT = Audit(
    name="arithmetic",
    title="contradictory numbers",
    question="Are the published numbers contradictory or impossible?",
    examine=claims_only,
    claim=claim,
)
