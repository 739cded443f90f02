"""How many times better than its baseline does a number claim to be, and on how many times the workers?

gain: above 1 is better in any form: a ratio, a change in percent, a reduction, or an absolute value beside its base's. efficiency: the
gain over the factor in workers; under weak scaling a step that does more work in the same time has gained by the work.
Cannot tell: forms that it does not parse (None).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from fireassay.spec.claim import Baseline, Claim, Fact, Number
from fireassay.spec.scores import has_word, words
from fireassay.verdict.claims.stated import kinds
from fireassay.verdict.claims.stated.kinds import metric_name, statistic
from fireassay.verdict.claims.stated.units import convertible, parse

MORE: Final = ("improvement", "gain", "increase", "faster", "higher", "acceleration", "speedup", "speed_up", "more")
LESS: Final = ("reduction", "saving", "saved", "decrease", "lower", "cheaper", "fewer", "less")
SCALED: Final = ("efficienc",)
COUNTS: Final = words(
    "workers worker gpus gpu_count n_gpus num_gpus ngpus devices world_size nodes num_nodes replicas ranks processes machines "
    "accelerators chips cards"
)
OF_A_STEP: Final = ("step", "iteration", "iter", "batch")
UNMARKED_PERCENT: Final = 2.0  # an efficiency above this is taken as percent
MAX_AS_RATIO: Final = 10.0  # the same if labelled a ratio (`units` reports it)


def is_efficiency(number: Number) -> bool:
    """True if it is a parallel efficiency: "scaling efficiency", not "energy efficiency"."""
    return (
        has_word(number.metric, (), SCALED)
        and not has_word(number.metric, kinds.OTHER_EFFICIENCIES)
        and kinds.unit_of(number).kind in (None, "ratio", "percent", "points")
    )


def efficiency_as_said(number: Number, value: float | None = None) -> float:
    """An efficiency as a fraction; a value above 2 without a unit is taken as percent."""
    amount = number.value if value is None else value
    kind = kinds.unit_of(number).kind
    percent = kind in ("percent", "points") or number.value > (UNMARKED_PERCENT if kind is None else MAX_AS_RATIO)
    return amount / 100.0 if percent else amount


def gain(number: Number, value: float | None = None) -> float | None:
    """Claimed gain over the baseline of the number, or of `value` in its place."""
    amount = number.value if value is None else value
    if kinds.is_quality(number) or kinds.is_share(number) or is_efficiency(number):
        return None
    unit = kinds.unit_of(number)
    if unit.is_change or (unit.kind is None and kinds.is_relative(number) and not _base_in_kind(number)):
        return _of_change(number, amount, percent=unit.kind == "percent")
    return _of_absolute(number, amount)


def _base_in_kind(number: Number) -> bool:
    """True if a number without unit has a base of the same metric, so that it is no ratio itself."""
    return number.baseline is not None and number.baseline.value is not None and number.baseline.unit is None


def _of_change(number: Number, amount: float, *, percent: bool) -> float | None:
    share = amount / 100.0 if percent else amount
    if has_word(number.metric, (), LESS):
        left = 1.0 - share if percent or abs(amount) < 1.0 else 1.0 / amount if amount > 0.0 else 0.0
        return 1.0 / left if left > 0.0 else None
    if has_word(number.metric, (), ("overhead", "slow")):
        times = 1.0 + share if percent or has_word(number.metric, (), ("overhead",)) else share
        return 1.0 / times if times > 0.0 else None
    if percent and has_word(number.metric, (), MORE):
        return 1.0 + share
    if "ratio" in number.metric.casefold() and kinds.lower_is_better(number):
        return 1.0 / share if share > 0.0 else None
    return share if kinds.is_relative(number) else None


def _of_absolute(number: Number, amount: float) -> float | None:
    base = number.baseline
    if base is None or base.value is None or base.value <= 0.0 or amount <= 0.0 or not kinds.is_speed(number):
        return None
    return between(number, amount, kinds.unit_of(number).factor, base.value, base_factor(number, base))


def base_factor(number: Number, base: Baseline) -> float | None:
    """The factor of the base's unit, or None if it measures something else."""
    if base.unit is None:
        return kinds.unit_of(number).factor
    unit = parse(base.unit)
    return unit.factor if convertible(unit, kinds.unit_of(number)) or base.unit == number.unit else None


def between(number: Number, own: float, own_factor: float, base: float, base_unit: float | None) -> float | None:
    """Gain of `own` over `base`, each in its unit."""
    if base_unit is None or own <= 0.0 or base <= 0.0:
        return None
    ratio = (own * own_factor) / (base * base_unit)
    return 1.0 / ratio if kinds.lower_is_better(number) else ratio


def workers(number: Number, side: Mapping[str, Fact]) -> int | None:
    """Its workers: as stated, or from the conditions of its side ("gpus = 8", "8x A100")."""
    if number.workers is not None:
        return number.workers
    for key, value in side.items():
        if key.casefold() in COUNTS and isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    counted = re.match(r"\s*(\d{1,6})\s*[x×]?\s*[A-Za-z]", str(side.get("hardware", "")))
    return int(counted[1]) or None if counted else None


def base_workers(said: Claim, number: Number) -> int | None:
    """The baseline's workers: as stated, or as its kind implies."""
    base = number.baseline
    if base is not None and base.workers is not None:
        return base.workers
    kind = base.kind if base is not None else None
    if kind in ("other_system", "one_node"):
        return None  # as many workers as the candidate; or a node of unknown size
    if kind in ("one_worker", "best_serial"):
        return 1
    known = next((value for key, value in said.conditions.baseline.items() if key.casefold() in COUNTS and isinstance(value, int)), None)
    return known or (1 if "workers" in said.claim.varying else None)


def workers_factor(said: Claim, number: Number) -> float | None:
    """Workers relative to the baseline's; None if unknown or not scaled."""
    candidate, base = workers(number, said.conditions.candidate), base_workers(said, number)
    return candidate / base if candidate and base else None


def efficiency(said: Claim, number: Number, value: float | None = None) -> float | None:
    """The gain over the factor in workers, for numbers on more workers than their base."""
    factor = workers_factor(said, number)
    if is_efficiency(number):
        return efficiency_as_said(number, value) if factor is None or factor > 1.0 else None
    speedup = gain(number, value)
    if (
        speedup is None
        or factor is None
        or factor <= 1.0
        or not kinds.is_speed(number)
        or kinds.is_collective(number)
        or kinds.is_wait(number)
    ):
        return None
    return speedup * _work(number, factor) / factor


def _work(number: Number, factor: float) -> float:
    """Work relative to the base's: for a step under weak scaling, and for a rate or time per worker."""
    unit = kinds.unit_of(number)
    grown = number.scaling == "weak" and unit.kind == "time" and has_word(number.metric, OF_A_STEP)
    return factor if grown or unit.per == "worker" or unit.kind == "worker time" else 1.0


def pairs(said: Claim) -> list[tuple[Number, Number, float]]:
    """(base, number, efficiency) for numbers of one metric and system without own baseline that differ in workers."""
    comparable = []
    for number in said.number:
        base = _smaller(said, number)
        if base is not None and base.workers and number.workers:
            factor = number.workers / base.workers
            units = kinds.unit_of(number), kinds.unit_of(base)
            speedup = between(number, number.value, units[0].factor, base.value, units[1].factor)
            if speedup is not None:
                comparable.append((base, number, speedup * _work(number, factor) / factor))
    return comparable


def _smaller(claim: Claim, number: Number) -> Number | None:
    """The number of the same metric, system and statistic on the fewest workers."""
    if (
        number.baseline is not None
        or not kinds.is_speed(number)
        or kinds.is_collective(number)
        or kinds.is_wait(number)
        or kinds.unit_of(number).is_change
    ):
        return None
    like = [
        other
        for other in claim.number
        if other.baseline is None and other.workers and number.workers and other.workers < number.workers and same_quantity(other, number)
    ]
    return min(like, key=lambda other: other.workers or 0, default=None)


def same_quantity(one: Number, other: Number) -> bool:
    """True if two numbers are the same statistic of the same metric and system, in convertible units."""
    units = kinds.unit_of(one), kinds.unit_of(other)
    return (
        metric_name(one.metric) == metric_name(other.metric)
        and one.of == other.of
        and statistic(one) == statistic(other)
        and one.conditions == other.conditions
        and (convertible(*units) or one.unit == other.unit)
    )
