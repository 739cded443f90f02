"""Which rules decide a comparison?

The baseline's experiment sets metric, confidence and margins. Confidence is raised if launches were added until intervals were narrow
(`fireassay.stats.comparing.multiplicity`); the floor is the larger of the sides' values from `assay doctor`, for interleaved or separate launches.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fireassay.errors import refuse
from fireassay.metrics.metric import ALL
from fireassay.metrics.results import deciding_metrics
from fireassay.metrics.serving.throughput import OUTPUT_THROUGHPUT
from fireassay.stats.comparing.multiplicity import comparison_confidence
from fireassay.verdict.comparison.groups import Group, in_turn, launch_values
from fireassay.verdict.comparison.sessions import Days

TESTED: Final = ("performance", "cost")  # dimensions; quality has its own test, and faults are injected once


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Decision rules from the baseline's experiment."""

    primary: str
    confidence: float
    equivalence: float
    smallest_effect: float
    floor: float
    exploratory: bool
    varying: tuple[str, ...]  # studied conditions
    days: Days  # variation between sessions


def rules_of(deciding: Sequence[Group], primary: str | None, *, exploratory: bool, varying: tuple[str, ...], days: Days) -> Rules:
    """Rules for the sides at the deciding configuration, the baseline first.

    Raises:
        SpecError: the primary metric is unknown, or has no better direction.
    """
    base = deciding[0]
    spec = base.measured.experiment.comparison
    return Rules(
        primary=_primary(primary or spec.primary, deciding),
        confidence=_confidence(deciding),
        equivalence=spec.equivalence,
        smallest_effect=spec.smallest_effect,
        exploratory=exploratory,
        days=days,
        varying=varying,
        floor=max(_floor(group, base) for group in deciding),
    )


def _without_values(names: Sequence[str]) -> str:
    """The metric to name if none has a value: throughput for a load, else the last resort."""
    return OUTPUT_THROUGHPUT.name if OUTPUT_THROUGHPUT.name in names else names[-1]


def _confidence(deciding: Sequence[Group]) -> float:
    """The baseline's confidence, raised if records stopped at narrow intervals: their spread is underestimated."""
    base = deciding[0].measured
    with_looks = {id(group.measured) for group in deciding if group.measured.looks}
    return max(base.confidence, comparison_confidence(base.experiment.launches.confidence, len(with_looks)))


def _floor(group: Group, base: Group) -> float:
    """Smallest difference that the machine resolves; larger for separate records than for interleaved launches."""
    together = group is base or in_turn(group, base)
    return (group.measured.noise_floor if together else group.measured.noise_floor_apart) or 0.0


def _primary(name: str, deciding: Sequence[Group]) -> str:
    known = deciding[0].side.judgement.metrics
    if name == "auto":
        kind = deciding[0].measured.kind
        names = deciding_metrics(kind)
        complete = [candidate for candidate in names if all(launch_values(group.value(candidate)) for group in deciding)]
        partial = [
            candidate for candidate in names if candidate in known and any(launch_values(group.value(candidate)) for group in deciding)
        ]
        return (*complete, *partial, _without_values(names))[0]
    if name in known and ALL not in deciding[0].side.judgement.results.get(name, {}) and known[name].better != "neither":
        return name
    testable = [candidate for candidate, metric in known.items() if metric.dimension in TESTED and metric.better != "neither"]
    close = difflib.get_close_matches(name, testable, n=1)
    remedy = f"Did you mean {close[0]}?" if close else ""
    raise refuse(
        "--primary",
        repr(name),
        fix=remedy,
        allowed="a metric that has a value for every configuration and a better direction; docs/reference/metrics.md lists them",
        source="the comparison",
    )
