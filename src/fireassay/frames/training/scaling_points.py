"""Which throughputs do the scaling laws use, and how does a fitted parameter become an estimate?

One throughput per launch, 1 / (time per unit of work) on the basis of `speedup`, from blocks with every configuration.
Errors are proportional; each block has its own level, so that drift of the machine cancels.
"""

from __future__ import annotations

import math

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.frames.per_launch import in_blocks
from fireassay.frames.record_data import RecordData
from fireassay.frames.training.parallelism import absent
from fireassay.frames.training.work import seconds_per_work, time_basis, wall_per_work
from fireassay.stats.models.scaling_laws import (
    LAW_NAMES,
    PARAMETERS,
    STRONG,
    WEAK,
    Choice,
    Fit,
    Law,
    Parameter,
    Points,
    Refused,
    choose,
    fit,
    points,
)


def laws_of(measured: RecordData) -> tuple[Law, ...]:
    """The laws that may apply to this experiment, simplest first."""
    return WEAK if measured.mode == "weak" else STRONG


def throughputs(measured: RecordData) -> Points | Absent:
    """One throughput per launch of every complete block, in units of work per second."""
    for name in measured.configurations:
        if (reason := absent(measured, name, "speedup")) is not None:
            return reason
    values = seconds_per_work(measured) if time_basis(measured) == "step" else wall_per_work(measured)
    times = {level: in_blocks(measured, values, name) for level, name in zip(measured.levels, measured.configurations, strict=True)}
    shared_blocks = sorted(set.intersection(*(set(seconds) for seconds in times.values())))
    blocks = [block for block in shared_blocks if all(0.0 < seconds[block] < math.inf for seconds in times.values())]
    if not blocks:
        return Absent("insufficient", "no round holds a launch of every configuration")
    rows = [(level, 1.0 / seconds[block], block) for block in blocks for level, seconds in times.items()]
    workers, rates, shared = zip(*rows, strict=True)
    return points(workers, rates, blocks=shared, errors="proportional")


def chosen(measured: RecordData, data: Points) -> Choice | Refused:
    """The law preferred by AICc among those that may apply to this experiment."""
    return choose(data, laws_of(measured), measured.confidence)


def usl(measured: RecordData) -> tuple[Fit, Points] | Absent:
    """The Universal Scalability Law fitted to the launches, or why it cannot be fitted."""
    data = throughputs(measured)
    if isinstance(data, Absent):
        return data
    least = len(PARAMETERS["usl"]) + 1
    if len(data.levels) < least:
        return Absent(
            "insufficient",
            f"{LAW_NAMES['usl']} has {least - 1} parameters: at least {least} worker counts can check it, not {len(data.levels)}",
        )
    return (fit("usl", data, measured.confidence), data)


def bounded(ends: tuple[float, float, float], blocks: int) -> tuple[float, float, float]:
    """Value, low and high; a single block gives no bounds, as its launches share their conditions."""
    return ends if blocks > 1 else (ends[0], -math.inf, math.inf)


def of_parameter(measured: RecordData, found: Fit, data: Points, name: str, *, metric: str, unit: str) -> Value:
    """A parameter of a fit as an estimate, with the scores of all laws in its method."""
    parameter = found.parameter(name)
    return estimate(
        measured,
        found,
        data,
        (parameter.value, parameter.low, parameter.high),
        metric=metric,
        unit=unit,
        how=f"{name} of {LAW_NAMES[found.law]}{_bound(parameter)}",
    )


def estimate(
    measured: RecordData, found: Fit, data: Points, ends: tuple[float, float, float], *, metric: str, unit: str, how: str
) -> Estimate:
    """An estimate derived from a fit; without launch values, because a single block does not support a fit of its own."""
    blocks = data.spent + 1
    value, low, high = bounded(ends, blocks)
    choice = chosen(measured, data)
    preferred = "none" if isinstance(choice, Refused) else choice.chosen.law
    return Estimate(
        value=value,
        low=low,
        high=high,
        unit=unit,
        confidence=found.confidence,
        n_launches=blocks,
        n_trials=found.n,
        method=f"{how}, least squares on the logarithms of {found.n} launches in {count(blocks, 'rounds')}, Student t with "
        f"{found.df} degrees of freedom; preferred: {choice.sentence}",
        signature=f"{metric}|law:{found.law}|preferred:{preferred}|basis:{time_basis(measured)}|ci:t|k:{blocks}"
        f"|conf:{found.confidence:g}|v:1",
    )


def _bound(parameter: Parameter) -> str:
    if not parameter.on_bound:
        return ""
    return f" (on its bound {parameter.value:g}, so it has no standard error; the interval is that of the profile)"


def refusal(refused: Refused) -> Absent:
    """A refusal of the fit as a typed absence."""
    return Absent(reason=refused.reason, detail=refused.sentence)
