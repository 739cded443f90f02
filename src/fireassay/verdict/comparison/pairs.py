"""Which numbers of two sides are compared, and which pairs are worth showing?

Every metric of performance and cost that has a better direction and a value per configuration, at every compared configuration; the
primary metric at the deciding one always.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from fireassay.estimates.estimate import Absent, Value
from fireassay.metrics.metric import ALL, Metric
from fireassay.stats.comparing.comparison import Difference
from fireassay.verdict.comparison.groups import Group, Quality, definition, launch_values
from fireassay.verdict.comparison.rules import TESTED, Rules
from fireassay.verdict.comparison.sessions import Found, found_between
from fireassay.verdict.judge import Judgement

NOT_THE_WORKLOADS: Final = frozenset({"instrument_overhead"})
Untested = Literal["not measured", "not compared", "not tested"]


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One metric of a side and of the baseline at one configuration, not yet decided."""

    metric: Metric
    a: Group
    b: Group
    held: Quality
    found: Found | None
    primary: bool
    untested: Untested | None = None  # no difference: a side lacks a number or values per launch, or definitions differ
    reason: str = ""  # why

    @property
    def difference(self) -> Difference | None:
        """The difference that decides."""
        return None if self.found is None else self.found.difference

    @property
    def p_value(self) -> float:
        """P-value of no difference; 1 if nothing was tested."""
        return 1.0 if self.difference is None else self.difference.p_value


def pairs_of(
    groups: Sequence[Sequence[Group]], deciding: Sequence[Group], held: Mapping[tuple[str, str], Quality], rules: Rules
) -> list[Pair]:
    """All pairs, the primary metric at the deciding configuration first."""
    pairs = []
    for row in groups:
        for group in row[1:]:
            for name, metric in _tested(row[0].side.judgement, rules.primary).items():
                first = name == rules.primary and row is deciding
                pair = pair_of(metric, row[0], group, held[group.label, row[0].configuration], rules, primary=first)
                pairs += [pair] if first or _worth_showing(pair) else []
    return sorted(pairs, key=lambda pair: (not pair.primary, pair.a.configuration != deciding[0].configuration))


def _tested(judgement: Judgement, primary: str) -> dict[str, Metric]:
    return {
        name: metric
        for name, metric in judgement.metrics.items()
        if name == primary
        or (
            metric.dimension in TESTED
            and metric.better != "neither"
            and name not in NOT_THE_WORKLOADS
            and ALL not in judgement.results.get(name, {ALL: None})
        )
    }


def pair_of(metric: Metric, a: Group, b: Group, held: Quality, rules: Rules, *, primary: bool) -> Pair:
    """One metric of two groups, tested where both have values per launch."""
    ours, theirs = a.value(metric.name), b.value(metric.name)
    untested, reason = _incomparable_values(a, b, ours, theirs)
    result = (
        None
        if untested
        else found_between(a, b, metric.name, confidence=rules.confidence, smallest_effect=rules.smallest_effect, days=rules.days)
    )
    if result is None and not untested:
        untested, reason = "not tested", "no value per launch, so it is listed but not tested"
    return Pair(metric=metric, a=a, b=b, held=held, found=result, primary=primary, untested=untested, reason=reason)


def _incomparable_values(a: Group, b: Group, ours: Value, theirs: Value) -> tuple[Untested | None, str]:
    """What prevents a test, and why."""
    for group, value in ((a, ours), (b, theirs)):
        if isinstance(value, Absent):
            return "not measured", f"not measured on {group.label}: {value.detail}"
    if a.side is b.side:
        return None, ""
    first, second = definition(ours), definition(theirs)
    unlike = sorted(key for key in first.keys() & second.keys() if first[key] != second[key])
    if not unlike:
        return None, ""
    return "not compared", f"defined differently ({', '.join(f'{k}: {first[k]} / {second[k]}' for k in unlike)})"


def _worth_showing(pair: Pair) -> bool:
    """Whether it was tested, not comparable, or a primary metric missing on one side; equal exact values are left out."""
    if all(_exact(group.value(pair.metric.name)) for group in (pair.a, pair.b)) and nothing_varies(pair):
        return False
    one_side = isinstance(pair.a.value(pair.metric.name), Absent) != isinstance(pair.b.value(pair.metric.name), Absent)
    return pair.difference is not None or (one_side and pair.metric.primary) or pair.untested == "not compared"


def _exact(value: Value) -> bool:
    return not isinstance(value, Absent) and value.confidence == 1.0


def nothing_varies(pair: Pair) -> bool:
    """Whether all launches of both sides gave the same number."""
    values = [*launch_values(pair.a.value(pair.metric.name)), *launch_values(pair.b.value(pair.metric.name))]
    return len(set(values)) == 1 and pair.difference is not None and min(pair.difference.k_a, pair.difference.k_b) >= 3
