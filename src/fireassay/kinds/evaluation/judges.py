"""How far does a judge follow people, what does it follow instead, and what is it worth?

Metrics of records that a model judged.  Those with labels: `judge_worth`, `judge_kappa`, `judge_sensitivity`, `judge_specificity`, `judge_bias` (by side, so
that a judge which favours its own model shows) and `judge_length_bias`.  Of pairs, without labels too: `judge_first` and `judge_consistency`.
Definitions, intervals and sources: `fireassay.stats.people.judges` and `fireassay.stats.people.prediction_powered`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

import numpy as np

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given
from fireassay.frames.evaluation.item_scores import deciding, item_scores, judge_of, paired, tasks
from fireassay.frames.evaluation.judged import Beside, BothOrders, beside_gold, both_orders
from fireassay.frames.evaluation.rated import by_judge
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import powered
from fireassay.kinds.evaluation.powered import worth_words
from fireassay.metrics.metric import Metric, each
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.intervals.item_means import of_items
from fireassay.stats.people import agreement, judges
from fireassay.stats.people.prediction_powered import Judged
from fireassay.units import COUNT, FRACTION, RATIO, SCORE

ABOUT: Final = ("evaluation",)
RANK: Final = 2200
MIN_ITEMS: Final = 2
MAX_WORTHS: Final = 2  # sides and tasks whose worth the first screen shows
UNLABELLED: Final = "no answer of this side has a label of people (--gold)"
REFERENCE: Final = "the first side is what the others are compared with"


def of_judge(measured: RecordData) -> Mapping[str, Metric]:
    """The metrics of this record's judge; none without one."""
    if not by_judge(measured):
        return {}
    return {metric.name: metric for metric in (*OF_LABELS, *(OF_PAIRS if judge_of(measured).pairs else ()))}


def _estimate(interval: Interval, measured: RecordData, items: int, how: str, unit: str) -> Estimate:
    return Estimate.of(
        interval, unit=unit, confidence=measured.confidence, n_launches=1, n_trials=items, method=how, signature=f"{how}|items:{items}|v:1"
    )


def _of_gold(measured: RecordData, configuration: str, *, fold: Callable[[RecordData, Beside], Value]) -> Value:
    """A number of the labelled answers of one side."""
    if judge_of(measured).pairs and configuration == measured.base:
        return Absent("not_applicable", REFERENCE)
    found = measured.once(f"judge beside people at {configuration}", lambda data: beside_gold(data, configuration))
    if len(found.gold) < MIN_ITEMS:
        return Absent("not_measured", UNLABELLED)
    return fold(measured, found)


# ---- with labels -----------------------------------------------------------------------------------------------------


def _kappa(measured: RecordData, found: Beside) -> Value:
    """Of the ratings as steps of the scale, or of lost, tie and won."""
    facts = judge_of(measured)
    low, high = facts.scale
    steps = (
        [np.sign(one - 0.5) for one in (found.judge, found.gold)]
        if facts.pairs
        else [np.floor(one + 0.5) for one in (found.judge, found.gold)]
    )
    declared = np.array([-1.0, 0.0, 1.0]) if facts.pairs else np.arange(low, high + 1.0) if high - low <= 100.0 else np.empty(0)
    items = np.arange(len(found.gold))
    table = agreement.Table.of(np.concatenate(steps), np.tile(items, 2), np.repeat(np.arange(2), len(items)), declared)
    agreed = agreement.weighted_kappa(table, "quadratic", measured.confidence)
    if not math.isfinite(agreed.interval.value):
        return Absent("undefined", "all judgements and labels are equal: agreement cannot be told from a scale that nobody uses")
    return _estimate(
        agreed.interval, measured, len(items), f"quadratic weights over {count(len(items), 'items')}, jackknife over items", RATIO
    )


def _called_good(measured: RecordData, found: Beside, *, good: bool) -> Value:
    facts = judge_of(measured)
    people, judge = ((one > 0.5) if facts.pairs else (one >= facts.good) for one in (found.gold, found.judge))
    wanted = people if good else ~people
    interval = judges.share_called_good(wanted, judge if good else ~judge, found.weights, found.labels, measured.confidence)
    if interval is None:
        what = ("better" if facts.pairs else "good") if good else "anything else"
        return Absent("insufficient", f"people call fewer than two answers {what}")
    return _estimate(interval, measured, int(wanted.sum()), f"share of {count(int(wanted.sum()), 'labelled answers')}", FRACTION)


def _bias(measured: RecordData, found: Beside) -> Value:
    low, high = judge_of(measured).scale
    interval = of_items(found.judge - found.gold, found.weights, found.labels, (low - high, high - low), measured.confidence)
    return _estimate(interval, measured, len(found.gold), f"mean of judge minus people over {count(len(found.gold), 'items')}", SCORE)


def _length(measured: RecordData, found: Beside) -> Value:
    interval = judges.slope(found.judge - found.gold, found.doublings, found.labels, measured.confidence)
    if interval is None:
        return Absent("insufficient", "the labelled answers are too few, or all equally long")
    return _estimate(interval, measured, len(found.gold), "points for each doubling of the length: jackknife over items", SCORE)


def judged_at(measured: RecordData, configuration: str, task: str) -> Judged | None:
    """What was decided, or estimated, at a configuration: of another side the change; None if labels are too few."""
    if configuration == measured.base:
        return powered.of_side(item_scores(measured, configuration, task, deciding(measured, task)))
    return powered.of_pairs(*changed(measured, configuration, task))


def changed(measured: RecordData, configuration: str, task: str) -> tuple[Any, Any]:
    """The items of a configuration beside the first side's, and by how much the judge sees each changed."""
    pairs = paired(measured, configuration, task, deciding(measured, task))
    sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
    return pairs, sign * (pairs.candidate.rows[:, 0] - pairs.reference.rows[:, 0]) if pairs.reference.items else np.empty(0)


def _worth(measured: RecordData, configuration: str) -> Value:
    if judge_of(measured).pairs and configuration == measured.base:
        return Absent("not_applicable", REFERENCE)
    if len(tasks(measured)) != 1:
        return Absent("not_applicable", "labels are worth something for one task: evaluate each alone")
    found = judged_at(measured, configuration, tasks(measured)[0])
    if found is None:
        return Absent("not_measured", f"fewer than {powered.MIN_LABELS} items have labels of people (--gold)")
    how = f"n (1 / (1 - r^2 N / (n + N)) - 1), n = {found.labels}, r = {given(found.correlation, 3)}: jackknife of atanh r"
    return _estimate(found.worth(measured.confidence), measured, found.labels, how, COUNT)


# ---- of pairs, whatever people say -----------------------------------------------------------------------------------


def _of_orders(measured: RecordData, configuration: str, *, fold: Callable[[RecordData, BothOrders], Value]) -> Value:
    """A number of the pairs of one side with the first one."""
    if configuration == measured.base:
        return Absent("not_applicable", REFERENCE)
    found = both_orders(measured, configuration)
    if len(found.ahead) < MIN_ITEMS:
        return Absent("insufficient", "fewer than two pairs were judged in both orders")
    return fold(measured, found)


def _first(measured: RecordData, found: BothOrders) -> Value:
    values = (found.ahead + found.behind) / 2.0 - 0.5
    interval = of_items(values, found.weights, found.labels, (-0.5, 0.5), measured.confidence)
    return _estimate(interval, measured, len(values), f"mean over {count(len(values), 'pairs')} in both orders", SCORE)


def _consistent(measured: RecordData, found: BothOrders) -> Value:
    same = (found.ahead == 1.0 - found.behind).astype(np.float64)
    interval = of_items(same, found.weights, found.labels, (0.0, 1.0), measured.confidence)
    return _estimate(interval, measured, len(same), f"share of {count(len(same), 'pairs')} in both orders", FRACTION)


def _metric(
    name: str, title: str, place: int, words: tuple[str, str, str, str], compute: Callable[[RecordData, str], Value], **more: Any
) -> Metric:
    unit, formula, question, caveat = words
    return Metric(
        name=name,
        title=title,
        unit=unit,
        kind="level",
        dimension="reliability",
        formula=formula,
        compute=each(compute),
        about=ABOUT,
        question=question,
        caveat=caveat,
        rank=RANK + place,
        **{"better": "higher", **more},
    )


OF_LABELS: Final = (
    _metric(
        "judge_worth",
        "Worth of the judge",
        0,
        (
            COUNT,
            "n (1 / (1 - r^2 N / (n + N)) - 1): n labelled items, N others, r the correlation of judge and people",
            "How many labels of people is the judge worth?",
            "Beside as many labels as there are, for the mean, or the change against the first side; of other answers it may be worth less.",
        ),
        _worth,
        primary=True,
    ),
    _metric(
        "judge_kappa",
        "Agreement with people",
        1,
        (
            RATIO,
            "quadratic weighted kappa of judge and people",
            "How far do judge and people agree, beyond chance?",
            "Low where people nearly always say the same.",
        ),
        partial(_of_gold, fold=_kappa),
        primary=True,
    ),
    _metric(
        "judge_sensitivity",
        "Sensitivity",
        2,
        (
            FRACTION,
            "judge calls good and people do / people do",
            "How much of what is good does the judge see?",
            "Good is what the rubric says; of pairs a win over the first side.",
        ),
        partial(_of_gold, fold=partial(_called_good, good=True)),
    ),
    _metric(
        "judge_specificity",
        "Specificity",
        3,
        (
            FRACTION,
            "judge does not call good and people do not / people do not",
            "How much of the rest does the judge not call good?",
            "Ties of pairs are no wins.",
        ),
        partial(_of_gold, fold=partial(_called_good, good=False)),
    ),
    _metric(
        "judge_bias",
        "Bias",
        4,
        (
            SCORE,
            "mean of judge minus people",
            "Does the judge favour this side?",
            "Of the side that the judge's own model made it is the bias to its own style.",
        ),
        partial(_of_gold, fold=_bias),
        better="neither",
    ),
    _metric(
        "judge_length_bias",
        "Bias to length",
        5,
        (
            SCORE,
            "slope of judge minus people on log2 of the length",
            "Does the judge favour longer answers?",
            "Points for each doubling; of pairs of the ratio of lengths.",
        ),
        partial(_of_gold, fold=_length),
        better="neither",
    ),
)
OF_PAIRS: Final = (
    _metric(
        "judge_first",
        "Bias to what is shown first",
        6,
        (
            SCORE,
            "mean of (value of the first in one order + in the other) / 2 - 1/2",
            "Does the judge favour what is shown first?",
            "Both orders are asked, so it favours no side.",
        ),
        partial(_of_orders, fold=_first),
        better="neither",
    ),
    _metric(
        "judge_consistency",
        "Same in both orders",
        7,
        (
            FRACTION,
            "pairs with one outcome in both orders / pairs",
            "Does the order decide?",
            "A judge that says tie of everything is consistent.",
        ),
        partial(_of_orders, fold=_consistent),
    ),
)


# ---- words of the page -----------------------------------------------------------------------------------------------


def judge_words(measured: RecordData) -> str:
    """Who judged, what that is worth beside people's labels, how often nothing was said, and the cost; empty where no model judged."""
    if not by_judge(measured):
        return ""
    notes, facts = measured.before.get("judge"), judge_of(measured)
    said = "; ".join([*_worths(measured), *([", ".join(_took(notes))] if isinstance(notes, Mapping) and notes else [])])
    return f"{facts.model}: {said}" if said else facts.model


def _worths(measured: RecordData) -> Iterator[str]:
    """What the judge is worth at each side, and in each task; those without enough labels are left out."""
    sides = [one for one in measured.varied if one.name != measured.base] or measured.varied
    found = [(side, task, one) for side in sides for task in tasks(measured) if (one := judged_at(measured, side.name, task)) is not None]
    for side, task, one in found[:MAX_WORTHS]:
        words = [side.target] * (len(sides) > 1) + [task] * (len(tasks(measured)) > 1)
        yield f"{', '.join(words)}: {worth_words(one, measured.confidence)}" if words else worth_words(one, measured.confidence)
    if len(found) > MAX_WORTHS:
        yield f"and {len(found) - MAX_WORTHS:,} more: --full"


def _took(notes: Mapping[str, Any]) -> Iterator[str]:
    judgements, sent = (int(notes.get(name) or 0) for name in ("judgements", "sent"))
    yield count(judgements, "judgements") + (f" ({judgements - sent:,} of them known already)" if sent < judgements else "")
    if unread := sum((notes.get("unread") or {}).values()):
        yield f"{unread:,} without an answer"
    if notes.get("failed"):
        yield f"{notes['failed']:,} failed"
    if notes.get("unknown_labels"):
        yield f"{count(int(notes['unknown_labels']), 'labels')} of other items or sides left out"
    if notes.get("tokens_in") is not None:
        yield f"{notes['tokens_in']:,} tokens in, {notes.get('tokens_out') or 0:,} out"
    yield f"{notes.get('seconds') or 0:,.0f} s in all"
    yield "cost unknown" if notes.get("usd") is None else f"${notes['usd']:,.4f}"
