"""Do the claim's units fit the numbers and one another?

Examples: scores in points against a margin in fractions (is 0.5 half a point, or half of the scale?); a total against a rate per GPU;
output tokens against all tokens; a latency in tokens/s; a percent sign on a fraction. Unknown units are not checked. Records give every
estimate its unit, so this concerns claims.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fireassay.estimates.format import given
from fireassay.verdict.audits.support.audit import Audit, claims_only
from fireassay.verdict.evidence.claimed_numbers import found
from fireassay.verdict.stated import kinds
from fireassay.verdict.stated.gains import MOST_AS_RATIO, is_efficiency
from fireassay.verdict.stated.names import has_word
from fireassay.verdict.stated.objective import limited, same_unit
from fireassay.verdict.stated.scores import confusion, of_number
from fireassay.verdict.stated.units import Unit, difference, parse, part_of
from fireassay.verdict.types import Finding

if TYPE_CHECKING:
    from fireassay.spec.claim import Claim, Number


def claim(said: Claim) -> tuple[Finding, ...]:
    """Units that do not fit."""
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
        is_efficiency(number)
        or kinds.is_share(number)
        or (kinds.is_quality(number) and has_word(number.metric, kinds.PROPORTIONS, ("accurac",)))
    )
    if share and unit.kind == "percent" and 0.0 < abs(number.value) <= 1.0 and not has_word(number.metric, ("error",)):
        return f"{given(number.value)} percent is almost nothing; a fraction of 1 is meant"
    if is_efficiency(number) and unit.kind == "ratio" and number.value > MOST_AS_RATIO:
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


AUDIT = Audit(
    name="units", title="confused units", question="Do the units fit the numbers and one another?", examine=claims_only, claim=claim
)
