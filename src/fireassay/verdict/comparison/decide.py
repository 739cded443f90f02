"""Which outcome does each pair of numbers have?

Differences are decided at corrected p-values: Holm over the primaries of all sides, Benjamini-Hochberg over the others of each side.
If quality was not held or a result is wrong, performance and cost are struck out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from fireassay.estimates.format import given, percent
from fireassay.stats.comparing.comparison import REASONS, Decision
from fireassay.stats.comparing.multiplicity import benjamini_hochberg, holm
from fireassay.verdict.comparison.pairs import Pair, nothing_varies
from fireassay.verdict.comparison.phrases import SUSPECTED, direction_word, occasion_of, sentence
from fireassay.verdict.comparison.rules import Rules
from fireassay.verdict.comparison.sessions import Judged, judged
from fireassay.verdict.comparison.types import Change, Outcome


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
        sentence="",
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
        ratio=None,
        low=None,
        high=None,
        p_value=None,
        p_adjusted=None,
        minimum_detectable_effect=None,
        launches_needed=None,
        primary=pair.primary,
        method="none",
        sentence="",
    )
    return replace(change, sentence=sentence(change, pair.metric.title, pair.a.label, exploratory=rules.exploratory, why=pair.reason))


def _place(pair: Pair) -> str:
    return pair.b.configuration
