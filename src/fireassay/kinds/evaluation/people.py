"""Do the raters agree, how strong is each side by their choices, what does position add, and does an automatic score order things as people do?

Metrics of records with ratings alone: `agreement` (Krippendorff's alpha, ordinal), `weighted_kappa` (quadratic, mean over pairs of raters),
`strength` (Davidson's or Bradley and Terry's model, against the base), `position_effect`, and for each automatic score its tie-aware accuracy and
correlations with the people.  Definitions, intervals and sources: `fireassay.stats.people`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count, given, percent
from fireassay.estimates.over_launches import no_launch
from fireassay.frames.evaluation.rated import automatic_scores, beside_people, choices_of, item_shares, preferences, were_rated
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import ALL, Metric, Results, each
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.people import automatic_score
from fireassay.stats.people.agreement import METHOD as JACKKNIFE
from fireassay.stats.people.agreement import MIN_RATERS, Agreement, Table, alpha, weighted_kappa
from fireassay.stats.people.automatic_score import CORRELATIONS, Correlation, Rated
from fireassay.stats.people.crossed_raters import codes
from fireassay.stats.people.paired_comparison import METHOD, Strengths, strengths
from fireassay.stats.people.wins_sequence import WON, stop
from fireassay.units import FRACTION, RATIO, SCORE

ABOUT: Final = ("evaluation",)
OF_PEOPLE = partial(Metric, kind="level", about=ABOUT)
RANK: Final = 2060
FIRST_AUTOMATIC: Final = 2070
MOST_PAIRED: Final = 5  # raters whose pairs are compared one by one; of more alpha tells the same
TITLES: Final[Mapping[Correlation, str]] = {
    "kendall_b": "Kendall's tau-b",
    "kendall_c": "Kendall's tau-c",
    "spearman": "Spearman's correlation",
    "pearson": "Pearson's correlation",
}


def of_people(measured: RecordData) -> Mapping[str, Metric]:
    """The metrics that this record's ratings have; none without ratings."""
    if not were_rated(measured):
        return {}
    made = [AGREEMENT, KAPPA, *(CHOSEN if preferences(measured).height else ())]
    for place, name in enumerate(automatic_scores(measured)):
        made += _automatic(name, FIRST_AUTOMATIC + 10 * place)
    return {metric.name: metric for metric in made}


def _estimate(interval: Interval, measured: RecordData, items: int, how: str, unit: str = RATIO) -> Estimate:
    return Estimate.of(
        interval, unit=unit, confidence=measured.confidence, n_launches=1, n_trials=items, method=how, signature=f"{how}|items:{items}|v:1"
    )


# ---- agreement -------------------------------------------------------------------------------------------------------


def _table(measured: RecordData, configuration: str) -> Table | None:
    """The ratings of one side; of choices each pair of sides is a thing of its own."""
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    rows = measured.table("ratings").join(launches, on="launch", how="semi").filter(pl.col("rating").is_not_null())
    if rows.height == 0:
        return None
    things = list(zip(rows["task"], rows["item"], rows["against"], strict=True))
    evaluation = measured.experiment.evaluation
    ratings = evaluation.ratings if evaluation is not None else None
    low, high = ratings.scale if ratings is not None and ratings.form != "pairs" else (0.0, 0.0)
    whole = low.is_integer() and high.is_integer() and 0.0 < high - low <= 100.0 and bool((rows["rating"] % 1 == 0).all())
    declared = np.arange(low, high + 1.0) if whole else np.empty(0)
    return Table.of(rows["rating"].to_numpy().astype(np.float64), codes(things), codes(rows["rater"].to_list()), declared)


def _agreement(measured: RecordData, configuration: str) -> Value:
    table = _table(measured, configuration)
    return no_launch(configuration) if table is None else _agreed(measured, alpha(table, "ordinal", measured.confidence), "ordinal alpha")


def _kappa(measured: RecordData, configuration: str) -> Value:
    table = _table(measured, configuration)
    if table is None:
        return no_launch(configuration)
    if (raters := len(np.unique(table.raters))) > MOST_PAIRED:
        return Absent("not_applicable", f"{raters} raters make too many pairs; agreement (alpha) is over all of them")
    return _agreed(measured, weighted_kappa(table, "quadratic", measured.confidence), "quadratic weights")


def _agreed(measured: RecordData, found: Agreement, how: str) -> Value:
    if found.raters < 2 or not found.items:
        return Absent("insufficient", "no item was rated by two raters, so their agreement is unknown")
    if not math.isfinite(found.interval.value):
        return Absent("undefined", "all ratings are equal: a scale of which one step is used shows no agreement")
    sample = JACKKNIFE if found.raters >= MIN_RATERS else "jackknife over items; two raters are no sample of raters"
    return _estimate(
        found.interval, measured, found.items, f"{how} over {count(found.items, 'items')} by {count(found.raters, 'raters')}: {sample}"
    )


AGREEMENT: Final = OF_PEOPLE(
    name="agreement",
    title="Agreement",
    unit=RATIO,
    better="higher",
    dimension="reliability",
    formula="Krippendorff's alpha, ordinal: 1 - observed / expected disagreement",
    compute=each(_agreement),
    primary=True,
    question="How far do raters agree, beyond chance?",
    caveat="Low where nearly all ratings are equal, however well raters agree.",
    rank=RANK,
)
KAPPA: Final = OF_PEOPLE(
    name="weighted_kappa",
    title="Weighted kappa",
    unit=RATIO,
    better="higher",
    dimension="reliability",
    formula="1 - sum w o / sum w e, w the squared distance of ranks; mean over pairs of raters",
    compute=each(_kappa),
    question="How far do two raters agree, beyond chance?",
    caveat="Of two raters the interval is over items alone.",
    rank=RANK + 1,
)


# ---- choices ---------------------------------------------------------------------------------------------------------


def _sides(measured: RecordData) -> tuple[str, ...]:
    """The sides by their names in choices, the base first."""
    named = [configuration.target for configuration in measured.varied]
    base = next(configuration.target for configuration in measured.varied if configuration.name == measured.base)
    return (base, *(name for name in named if name != base))


def model(measured: RecordData) -> Strengths | tuple[int, ...]:
    """The model of all choices; or the sides between which and the rest nobody won, or lost, all."""
    return measured.once("strengths", lambda data: strengths(choices_of(preferences(data), _sides(data))))


def _strength(measured: RecordData, configuration: str) -> Value:
    found, sides = model(measured), _sides(measured)
    if isinstance(found, tuple):
        group = ", ".join(sides[side] for side in found)
        return Absent("undefined", f"{group} won, or lost, every choice against the others, or never met them: that strength is infinite")
    target = next(one.target for one in measured.varied if one.name == configuration)
    made = "Davidson" if found.ties is not None else "Bradley-Terry"
    interval = found.of_side(sides.index(target), measured.confidence)
    if math.isinf(interval.high) and target != sides[0]:
        return Absent("insufficient", "one rater or one item carries no interval of a strength")
    return _estimate(interval, measured, preferences(measured).height, f"{made}, log odds against {sides[0]}: {METHOD}", SCORE)


def _position(measured: RecordData, _: Results) -> Mapping[str, Value]:
    found = model(measured)
    interval = None if isinstance(found, tuple) else found.of_position(measured.confidence)
    if interval is None or math.isinf(interval.high):
        return {ALL: Absent("not_measured", "the order in which sides were shown was not recorded, or not varied")}
    return {ALL: _estimate(interval, measured, preferences(measured).height, f"log odds that being shown first adds: {METHOD}", SCORE)}


CHOSEN: Final = (
    OF_PEOPLE(
        name="strength",
        title="Strength",
        unit=SCORE,
        better="higher",
        dimension="correctness",
        formula="s of P(first) : P(tie) : P(second) = exp(x / 2) : exp(t) : exp(-x / 2), x = s_first - s_second + d",
        compute=each(_strength),
        question="How strong is each side by the choices of people?",
        caveat="One number cannot show that a beats b, b beats c and c beats a.",
        rank=RANK + 2,
    ),
    OF_PEOPLE(
        name="position_effect",
        title="Effect of being shown first",
        unit=SCORE,
        better="neither",
        dimension="correctness",
        formula="d of the same model",
        compute=_position,
        question="How much does being shown first add?",
        caveat="Where sides change places at random it favours none.",
        rank=RANK + 3,
    ),
)


# ---- automatic scores ------------------------------------------------------------------------------------------------


def _automatic(name: str, rank: int) -> Iterator[Metric]:
    formula = "(concordant + tied by both) / pairs of sides on an item"
    optimistic = "The threshold of ties is chosen on the same pairs, so it is slightly optimistic."
    accuracy = partial(_accuracy, name=name)
    yield _beside(f"{name}_tie_accuracy", f"{name}: tie-aware accuracy", rank, accuracy, (FRACTION, formula, optimistic))
    mixed = "Differences between items count too, not only those between sides."
    for place, which in enumerate(CORRELATIONS, 1):
        correlated = partial(_correlated, name=name, which=which)
        words = (RATIO, f"{TITLES[which]} with the mean ratings over items and sides", mixed)
        yield _beside(f"{name}_{which}", f"{name}: {TITLES[which]}", rank + place, correlated, words)


def _beside(name: str, title: str, rank: int, compute: partial[Value], words: tuple[str, str, str]) -> Metric:
    unit, formula, caveat = words
    return OF_PEOPLE(
        name=name,
        title=title,
        unit=unit,
        better="higher",
        dimension="correctness",
        formula=formula,
        compute=lambda measured, _: {ALL: compute(measured)},
        question="Does the automatic score order things as people do?",
        caveat=caveat,
        rank=rank,
    )


def _accuracy(measured: RecordData, *, name: str) -> Value:
    rated = beside_people(measured, name)
    value, epsilon = automatic_score.tie_accuracy(rated)
    if not math.isfinite(value):
        return Absent("insufficient", "no item has two sides with ratings and the automatic score")
    interval = automatic_score.over_items(rated, lambda one: automatic_score.tie_accuracy(one)[0], measured.confidence)
    return _bounded(
        rated, interval, measured, f"ties up to a difference of {given(epsilon, 3)}, chosen on these pairs; jackknife over items", FRACTION
    )


def _correlated(measured: RecordData, *, name: str, which: Correlation) -> Value:
    rated = beside_people(measured, name)
    interval = automatic_score.over_items(rated, lambda one: automatic_score.correlation(one.people, one.score, which), measured.confidence)
    if not math.isfinite(interval.value):
        return Absent("undefined", "the ratings, or the scores, are all equal")
    sides = automatic_score.of_sides(rated, which)
    between = f"; of the sides' means {given(sides, 3)}" if math.isfinite(sides) else ""
    return _bounded(rated, interval, measured, f"{TITLES[which]}: jackknife over items{between}", RATIO)


def _bounded(rated: Rated, interval: Interval, measured: RecordData, how: str, unit: str) -> Value:
    items = len(np.unique(rated.items))
    if math.isinf(interval.high):
        return Absent("insufficient", f"{count(items, 'items')} are too few for an interval of {given(interval.value, 3)}")
    return _estimate(interval, measured, items, how, unit)


# ---- words of the page ------------------------------------------------------------------------------------------------


def people_words(measured: RecordData) -> str:
    """Who rated, whether a winner may be named already, and what the interval takes for a sample; empty where nobody rated."""
    if not were_rated(measured):
        return ""
    raters = measured.table("ratings")["rater"].n_unique()
    words = [f"{count(raters, 'raters')}{'' if raters > 1 else ', who is no sample of raters: the intervals hold for this one'}"]
    words += [_stopped(measured, other) for other in _sides(measured)[1:]] if preferences(measured).height else []
    if (shown := _shown_first(measured)) is not None:
        words.append(f"the side shown first was chosen in {percent(shown)} of choices without ties")
    return "; ".join(words)


def _stopped(measured: RecordData, other: str) -> str:
    """ "stop: b wins over a (after 34 of 50 items)" or "go on ..."."""
    evaluation, base = measured.experiment.evaluation, _sides(measured)[0]
    ratings = evaluation.ratings if evaluation is not None else None
    risk = ratings.risk if ratings is not None else 1.0 - measured.confidence
    shares = item_shares(preferences(measured), other, base, ratings.each if ratings is not None else None)
    if not len(shares):
        return f"{other} and {base} never met"
    found = stop(shares, risk)
    if found.verdict == "go on":
        return f"go on: {other} against {base} is open, share {percent(found.share)} of {count(found.steps, 'items')}, by {WON}"
    winner, loser = (other, base) if found.verdict == "better" else (base, other)
    return (
        f"stop: {winner} wins over {loser} (by item {found.decided_at:,} of {found.steps:,}; {WON}, risk {percent(risk)} for these raters)"
    )


def _shown_first(measured: RecordData) -> float | None:
    rows = preferences(measured).filter((pl.col("shown") == 1) & (pl.col("choice") != "tie"))
    return float((rows["choice"] == "first").sum()) / rows.height if rows.height else None
