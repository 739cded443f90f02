"""Which outcome does each pair of numbers have?

Differences are decided at corrected p-values: Holm over the primaries of all sides, Benjamini-Hochberg over the others of each side.
If quality was not held or a result is wrong, performance and cost are struck out.

Which numbers of two sides are compared, and which pairs are worth showing?

Every metric of performance and cost that has a better direction and a value per configuration, at every compared configuration; the
primary metric at the deciding one always.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import given, percent
from fireassay.metrics.metric import ALL, Metric
from fireassay.stats.comparing.comparison import REASONS, Decision, Difference
from fireassay.stats.comparing.multiplicity import benjamini_hochberg, holm
from fireassay.verdict.comparison.groups import Group, Quality, definition, launch_values
from fireassay.verdict.comparison.phrases import SUSPECTED, direction_word, occasion_of, sentence
from fireassay.verdict.comparison.rules import TESTED, Rules
from fireassay.verdict.comparison.sessions import Found, Judged, found_between, judged
from fireassay.verdict.comparison.types import Change, Outcome
from fireassay.verdict.judge import Judgement


def decided(pairs: Sequence[Pair], rules: Rules) -> tuple[Change, ...]:
    """The change of every pair, in order, at p-values corrected over all of them."""
    adjusted = _adjusted(pairs)
    return tuple(_change(pair, p, rules) for pair, p in zip(pairs, adjusted, strict=True))


def _adjusted(pairs: Sequence[Pair]) -> list[float | None]:
    """Corrected p-values: Holm over the primaries of all sides, Benjamini-Hochberg over the others of each side."""
    adjusted: list[float | None] = [None] * len(pairs)
    primaries = [i for i, pair in enumerate(pairs) if pair.primary and pair.difference is not None]
    families = {
        pair.b.label: [i for i, other in enumerate(pairs) if other.b.label == pair.b.label and not other.primary and other.difference]
        for pair in pairs
    }
    for indices, correct in ((primaries, holm), *((family, benjamini_hochberg) for family in families.values())):
        for index, p in zip(indices, correct([pairs[i].p_value for i in indices]), strict=True):
            adjusted[index] = p
    return adjusted


def _change(pair: Pair, p_adjusted: float | None, rules: Rules) -> Change:
    if pair.found is None:
        return _without(pair, rules)
    difference, relative = pair.found.difference, pair.found.difference.scale == "ratio"
    judgement = judged(
        pair.found,
        better=pair.metric.better,
        margin=rules.equivalence,
        smallest_effect=rules.smallest_effect,
        floor=rules.floor,
        p_adjusted=p_adjusted,
    )
    decision = judgement.decision
    outcome, word, why = _outcome(pair, judgement)
    effect = decision.minimum_detectable_effect
    change = Change(
        metric=pair.metric.name,
        configuration=_place(pair),
        side=pair.b.label,
        outcome=outcome,
        word=word,
        baseline=pair.a.value(pair.metric.name),
        value=pair.b.value(pair.metric.name),
        low=difference.low,
        high=difference.high,
        ratio=difference.value if relative else None,
        difference=None if relative else difference.value,
        p_value=difference.p_value,
        p_adjusted=p_adjusted,
        minimum_detectable_effect=effect if math.isfinite(effect) else None,
        launches_needed=decision.launches_needed,
        primary=pair.primary,
        method=difference.method,
        occasion=occasion_of(pair.found, pair.a, pair.b, rules.varying),
    )
    return replace(change, sentence=sentence(change, pair.metric.title, pair.a.label, exploratory=rules.exploratory, why=why))


def _outcome(pair: Pair, judgement: Judged) -> tuple[Outcome, str, str]:
    """Outcome, its word, and the reason if it is not obvious."""
    decision = judgement.decision
    wrong = [f"{group.label} gives a wrong result ({', '.join(group.wrong())})" for group in (pair.a, pair.b) if group.wrong()]
    if wrong or pair.held.held in ("DEGRADED", "INCONCLUSIVE"):
        return "struck_out", "struck out", "; ".join(wrong) or pair.held.sentence
    if decision.verdict in ("higher", "lower"):
        word = direction_word(pair.metric, decision.verdict)
        plain: Outcome = "higher" if decision.verdict == "higher" else "lower"
        return (decision.change if decision.change != "neither" else plain), word, ""
    if decision.verdict == "equivalent" or nothing_varies(pair):
        return "equivalent", "equivalent", _inside(pair, decision)
    word = "no verdict: too few launches" if decision.verdict == "insufficient" else "inconclusive"
    return "inconclusive", word, SUSPECTED if judgement.suspected else REASONS[decision.reason]


def _inside(pair: Pair, decision: Decision) -> str:
    """The interval that decides equivalence, narrower than the printed one: "the 90 % interval [−2.1 %, 2.8 %] lies inside 3 %"."""
    if pair.difference is None or pair.difference.scale != "ratio" or decision.verdict != "equivalent":
        return ""
    margin = decision.margin or 0.0
    low, high = decision.equivalence_low - 1.0, decision.equivalence_high - 1.0
    ends = f"{percent(low, way='down', beside=(-margin,))}, {percent(high, way='up', beside=(margin,))}"
    sure = given(100.0 * (2.0 * pair.difference.confidence - 1.0), 4)
    return f"the {sure} % interval [{ends}] lies inside {percent(margin, 12)}"


def _without(pair: Pair, rules: Rules) -> Change:
    """The change of an untested pair: a side has no number, or none per launch."""
    change = Change(
        metric=pair.metric.name,
        configuration=_place(pair),
        side=pair.b.label,
        outcome="inconclusive" if pair.untested == "not tested" else "not_measured",
        word=pair.untested or "",
        baseline=pair.a.value(pair.metric.name),
        value=pair.b.value(pair.metric.name),
        primary=pair.primary,
    )
    return replace(change, sentence=sentence(change, pair.metric.title, pair.a.label, exploratory=rules.exploratory, why=pair.reason))


def _place(pair: Pair) -> str:
    return pair.b.configuration


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
                # of the benchmarks of a file each decides: none stands for the others, as a largest level does
                first = name == rules.primary and (row is deciding or bool(row[0].measured.experiment.timing.benchmarks))
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
    """True if it was tested, not comparable, or a primary metric missing on one side; equal exact values are left out."""
    if all(_exact(group.value(pair.metric.name)) for group in (pair.a, pair.b)) and nothing_varies(pair):
        return False
    one_side = isinstance(pair.a.value(pair.metric.name), Absent) != isinstance(pair.b.value(pair.metric.name), Absent)
    return pair.difference is not None or (one_side and pair.metric.primary) or pair.untested == "not compared"


def _exact(value: Value) -> bool:
    return not isinstance(value, Absent) and value.confidence == 1.0


def nothing_varies(pair: Pair) -> bool:
    """True if all launches of both sides gave the same number."""
    values = [*launch_values(pair.a.value(pair.metric.name)), *launch_values(pair.b.value(pair.metric.name))]
    return len(set(values)) == 1 and pair.difference is not None and min(pair.difference.k_a, pair.difference.k_b) >= 3
