"""Do the published numbers add up, in their units, and relative to what?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count, given
from fireassay.spec.claim import Claim, Number
from fireassay.spec.scores import PROPORTIONS, has_word
from fireassay.verdict.claims.claim import ClaimAudits
from fireassay.verdict.claims.claimed_numbers import found
from fireassay.verdict.claims.stated import kinds
from fireassay.verdict.claims.stated.gains import LESS, MAX_AS_RATIO, base_workers, efficiency_as_said, gain, is_efficiency, workers_factor
from fireassay.verdict.claims.stated.kinds import LEVELS, is_quality, is_relative, is_speed, is_wait, metric_name, statistic, unit_of
from fireassay.verdict.claims.stated.objective import confusion, is_bounded, limited, of_number, same_unit
from fireassay.verdict.claims.stated.units import Unit, convertible, difference, parse, part_of
from fireassay.verdict.types import Finding

AUDITS = ClaimAudits()


# ---- arithmetic ----

ROUNDING: Final = 0.05
CENTRAL: Final = (None, "ratio", "mean", "median", "p50", "single")
ARITHMETIC_REMEDY: Final = "publish numbers from the same launches, each derived once from the raw measurements"


@AUDITS.add("arithmetic", "Are the published numbers contradictory or impossible?", title="contradictory numbers")
def claim_arithmetic(said: Claim) -> tuple[Finding, ...]:
    """Contradictions and impossible values.

    A speedup that is not the ratio of the rates beside it, an efficiency that is not speedup / workers, a p50 above its p99, a goodput
    above the throughput, a rate per GPU that does not add up to the total; a share above 1, a reduction by 100 % or more, a negative time.
    5 % is allowed for rounding. Records derive every number from one table, so this concerns claims.
    """
    impossible = [(number, words) for number in said.number if (words := _impossible(number))]
    alone = [
        found("impossible_value", "invalid", number, words, "check for a wrong unit, peak or formula", "launch_values")
        for number, words in impossible
    ]
    checks = (_gains, _efficiencies, _percentiles, _parts, _totals, _streams)
    pairs = [(number, words) for check in checks for number, words in check(said)]
    return (
        *alone,
        *_scores(said),
        *(
            found("numbers_contradict", "invalid", number, words, ARITHMETIC_REMEDY, "launch_values", "base_value")
            for number, words in pairs
        ),
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
            ARITHMETIC_REMEDY,
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
    """True if another number is the absolute value behind a ratio; under weak scaling, times are of more work."""
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


STREAM_SLACK: Final = 1.2  # the mean of the sequences' rates may exceed the reciprocal of their mean time
TOGETHER: Final = ("batch", "batch_size", "concurrency", "max_concurrency", "streams", "sequences", "users", "num_seqs")


def _streams(said: Claim) -> Iterator[tuple[Number, str]]:
    """Output tokens per second above what the sequences together can generate, each one token per TPOT."""
    for number in said.number:
        unit = kinds.unit_of(number)
        part = unit.part or part_of(number.metric)
        if unit.kind != "rate" or unit.noun != "token" or part in ("input", "total") or statistic(number) not in CENTRAL:
            continue
        for other in said.number:
            timed = metric_name(other.metric) in ("tpot", "itl") and kinds.unit_of(other).kind == "time" and other.value > 0.0
            sequences = 1.0 if unit.per == "user" else _together(number) or _together(other)
            if not timed or not sequences or statistic(other) not in CENTRAL or not _beside(number, other):
                continue
            most = sequences / _base(other)
            if _base(number) * (number.workers or 1 if unit.per == "worker" else 1) > most * STREAM_SLACK:
                words = f"{given(sequences)} sequences with a token each {_written(other)} generate {given(most, 3)} tokens/s"
                yield number, f"{words}; {number.label} is {_written(number)}"


def _together(number: Number) -> float | None:
    """How many sequences it was measured with."""
    given_ = [value for key, value in number.conditions.items() if key.casefold().replace(" ", "_") in TOGETHER]
    known = [float(value) for value in given_ if isinstance(value, int | float) and not isinstance(value, bool) and value > 0]
    return number.global_batch or (known[0] if known else None)


def _close(first: float, other: float) -> bool:
    return abs(first - other) <= ROUNDING * max(abs(first), abs(other))


# ---- units ----


@AUDITS.add("units", "Do the units fit the numbers and one another?", title="confused units")
def claim_units(said: Claim) -> tuple[Finding, ...]:
    """Units that do not fit.

    Examples: scores in points against a margin in fractions (is 0.5 half a point, or half of the scale?); a total against a rate per GPU;
    output tokens against all tokens; a latency in tokens/s; a percent sign on a fraction. Unknown units are not checked. Records give every
    estimate its unit, so this concerns claims.
    """
    findings = [finding for number in said.number for finding in (*_of_its_metric(number), *_of_its_base(number))]
    scores = [said.quality, *(of_number(number) for number in said.number if kinds.is_quality(number))]
    for score in scores:
        if score is None or not (words := confusion(score)):
            continue
        findings.append(
            found(
                "score_scales_differ",
                "invalid",
                None,
                f"{score.metric}: {words}",
                "give quality.baseline, quality.candidate and quality.margin on one scale: all as fractions of 1, or all in points",
                "quality",
            )
        )
    return (*findings, *_of_the_limit(said))


def _of_its_metric(number: Number) -> list[Finding]:
    """A unit that the metric cannot have."""
    unit = kinds.unit_of(number)
    wrong = _unfitting(number, unit)
    if not wrong:
        return []
    evidence = f'{number.metric} = {given(number.value)} with number.unit = "{number.unit}": {wrong}'
    return [found("unit_of_another_metric", "invalid", number, evidence, "give the number in a unit of its metric, as published")]


def _unfitting(number: Number, unit: Unit) -> str:
    timed = has_word(number.metric, ("latency", "ttft", "tpot", "itl", "duration", "runtime")) or number.metric.casefold().endswith("time")
    if timed and unit.kind in ("rate", "money", "energy", "flop"):
        return f"a time is no {unit.kind}"
    if (
        has_word(number.metric, ("throughput", "goodput", "bandwidth"))
        and unit.kind in ("time", "money", "energy")
        and not number.metric.casefold().endswith("time")
    ):
        return f"a rate is no {unit.kind}"
    if has_word(number.metric, ("speedup", "speed_up")) and unit.kind in ("time", "rate", "money", "energy"):
        return f"a speedup is a ratio, no {unit.kind}"
    share = (
        is_efficiency(number) or kinds.is_share(number) or (kinds.is_quality(number) and has_word(number.metric, PROPORTIONS, ("accurac",)))
    )
    if share and unit.kind == "percent" and 0.0 < abs(number.value) <= 1.0 and not has_word(number.metric, ("error",)):
        return f"{given(number.value)} percent is almost nothing; a fraction of 1 is meant"
    if is_efficiency(number) and unit.kind == "ratio" and number.value > MAX_AS_RATIO:
        return "no efficiency is that large; percent is meant"
    return ""


def _of_its_base(number: Number) -> list[Finding]:
    """A base measured in another unit."""
    base, unit = number.baseline, kinds.unit_of(number)
    if base is None or base.unit is None or unit.is_change or unit.kind is None or is_efficiency(number):
        return []
    part = unit.part or (part_of(number.metric) if unit.noun == "token" else None)
    expected = Unit(kind=unit.kind, factor=unit.factor, noun=unit.noun, part=part, per=unit.per)
    why = difference(expected, parse(base.unit))
    if why is None:
        return []
    evidence = f'number.unit = "{number.unit}" is compared with baseline.unit = "{base.unit}": {why}'
    return [found("units_of_sides_differ", "invalid", number, evidence, "give both sides in the same unit", "base_value")]


def _of_the_limit(said: Claim) -> list[Finding]:
    """A limit in a unit that the limited number cannot have."""
    if said.slo is None or said.slo.unit is None:
        return []
    mismatched = [number for number in limited(said) if not same_unit(said.slo, number)]
    return [
        found(
            "limit_in_another_unit",
            "invalid",
            number,
            f'slo.unit = "{said.slo.unit}" limits a number in "{number.unit}"',
            "give the limit in a unit of the number it limits",
            "goodput",
        )
        for number in mismatched[:1]
    ]


# ---- ratio summary ----

RATIO_SUMMARY_REMEDY = "publish the times of every workload on both sides, or the total work over the total time"


@AUDITS.add("ratio_summary", "Were ratios averaged?", title="summary of ratios")
def claim_ratio_summary(said: Claim) -> tuple[Finding, ...]:
    """Means without a meaning.

    The mean of speedups over workloads is not a speedup of anything: average costs arithmetically, take rates as total work over total
    time, and do not average ratios (Hoefler & Belli, SC'15, rules 3 and 4). The same holds for percentages of percentages. assay forms
    every ratio once, from two estimates of one block, and refuses means of ratios, so this concerns claims.
    """
    return tuple(finding for number in said.number if number.summary is not None for finding in _summary(number))


def _summary(number: Number) -> list[Finding]:
    assert number.summary is not None
    of, mean, workloads = number.summary.of, number.summary.mean, number.summary.workloads
    over = f" over {count(workloads, 'workloads')}" if workloads else ""
    if mean == "total" or (of == "times" and mean == "arithmetic") or (of == "rates" and mean == "harmonic"):
        return []
    if of in ("ratios", "percentages") and mean == "geometric":
        words, rule = f"a geometric mean of {of}{over} has no meaning in time or money", "geometric_mean_of_ratios"
        return [found(rule, "warning", number, words, RATIO_SUMMARY_REMEDY, "numerators")]
    rule = "mean_of_ratios" if of in ("ratios", "percentages") else "wrong_mean"
    evidence = f"an {mean} mean of {of}{over}".replace("an geo", "a geo").replace("an har", "a har")
    return [found(rule, "invalid", number, evidence, RATIO_SUMMARY_REMEDY, "numerators")]


# ---- absolute base ----


@AUDITS.add("absolute_base", "What is the ratio relative to, and what is the number's unit?", title="base not given in absolute terms")
def claim_absolute_base(said: Claim) -> Iterator[Finding]:
    """Ratios without the base's own value, numbers without a unit.

    A speedup without the absolute time or rate of its base cannot be checked, and hides a slow base (Hoefler & Belli, SC'15, rule 1). A
    number without a unit is meaningless. Records hold the times of all configurations and every estimate has a unit, so this concerns
    claims.
    """
    for number in said.number:
        if is_relative(number) and not _base_is_known(said, number):
            evidence = "the baseline's own time or rate is not given"
            remedy = "publish baseline.value and baseline.unit with the ratio"
            yield found("base_not_absolute", "warning", number, evidence, remedy, "base_value")
        elif not is_relative(number) and not is_quality(number) and number.unit is None and unit_of(number).kind is None:
            words = f"number.value = {given(number.value)} has no unit"
            yield found("unit_missing", "warning", number, words, "give number.unit")


def _base_is_known(said: Claim, number: Number) -> bool:
    base, unit = number.baseline, unit_of(number)
    if base is not None and base.value is not None:
        return base.unit is not None or is_quality(number) or (unit.kind is not None and not unit.is_change)
    return any(_is_the_base(said, number, other) for other in said.number)


def _is_the_base(said: Claim, number: Number, other: Number) -> bool:
    """True if another published number is the baseline's own time or rate."""
    unit, few = unit_of(other), base_workers(said, number)
    if other is number or not is_speed(other) or unit.kind is None or unit.is_change or is_wait(other) is not is_wait(number):
        return False
    if few is not None and number.workers is not None and few != number.workers:
        return other.workers == few and other.of in (None, number.of)
    return number.of is not None and other.of not in (None, number.of)
