"""Was quality held, item by item?

Each task decides by its first score.  All tasks must hold (an intersection-union test needs no correction); one that is degraded decides.
A score is held by non-inferiority of the paired items (`fireassay.stats.comparing.noninferiority`), with whole clusters as units and
repetitions averaged first; of a score that is no mean of item scores, by the items' pulls on it (`linearised`).  The items are the sample:
the bounds say nothing of another start of the engine.

Missing items may be those that would have changed the decision.  So it is made again with every missing item against it (held: the
candidate wrong and the reference right; degraded: the other way round).  A decision that does not survive is INCONCLUSIVE, and so is held
of items that could not have shown a loss.

Can these items show a loss at all?  At chance a candidate has nothing to lose, and where both sides have the highest score on every item
the items are too easy to tell them apart (assay sensitivity, ICH E10): held would say nothing.  Chance is quality.chance, else what the
metric knows (0 for a correlation), else what the task knows, else the share of right choices of a multiple-choice item, else the lower end
of the score's scale.
Cannot tell: the chance level of a task whose choices stand in its prompts, unless quality.chance gives it.

Would the rule have seen a loss among these items?  A gate that cannot fail proves nothing (assay sensitivity, ICH E10).
So held is decided again for negative controls: the candidate's scores with a random share of units (clusters, or items on their own) made
wrong, so that the expected score lies 3 margins below the reference's. If more than 5 % of them are held too, held means nothing here.
Nothing is asked again, and no score of the record changes.

Wrong is the lowest score of the scale, or of a score that is no mean of item scores (BLEU) the row that it declares the worst.  A score without
either gets rows of the items that a side answered worst.  No lower bound exceeds its estimate, so the rule has to decide only those controls
whose own change is above minus the margin.
Cannot tell: whether the scorer gives a wrong answer the score of a wrong one.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import count, given
from fireassay.frames.evaluation.item_scores import (
    Answers,
    ItemScores,
    Paired,
    answers_of,
    deciding,
    grouping_of,
    identity,
    item_scores,
    matched,
    only,
    tasks,
)
from fireassay.frames.evaluation.missing_items import missing, opposed
from fireassay.frames.evaluation.steps import compares_budgets
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import powered, raters
from fireassay.kinds.evaluation.metrics import of_task
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing import noninferiority
from fireassay.stats.comparing.linearised import Sides, of_sides
from fireassay.stats.comparing.noninferiority import CONTROL, Decision, Launches
from fireassay.stats.comparing.paired_test import PairedTest, paired_t
from fireassay.stats.intervals.item_means import AT_ONCE, members
from fireassay.stats.solvers import root


@dataclass(frozen=True, kw_only=True)
class Held:
    """The decision on one task at one configuration, and the items that changed."""

    task: str
    metric: str
    title: str  # of the metric
    share: bool = False  # the score lies between 0 and 1
    decision: Decision | Absent
    better: int  # items that score higher than at the base
    worse: int
    items: int
    left: int  # items that only one side scored
    missing: int = 0  # items that a side or both did not score, though it was asked or the other side scored them
    opposed: Decision | Absent | None = None  # with every missing item against the decision; None: nothing was missing or decided
    overturned: str = ""  # why it is undecided although the bounds alone would decide
    independence: str = ""  # that the items were taken as independent, and which field speaks against it
    own: bool = False  # the references are the reference side's own answers
    tested: PairedTest | None = None  # the textbook's test of the same items, which decides nothing
    raters: int = 0  # who gave the scores, of one side; 0: nobody did, or one alone
    control: Control | None = None  # whether a loss would have been seen; None: not held, or a gain
    labels_needed: int | None = None  # labels of people that would decide what a model judged, if the change is the one that was seen
    judge: str = ""  # what the model that judged is worth beside people; empty: none did, or nobody knows

    @property
    def low(self) -> float:
        """The lower bound of the change; infinite without one."""
        return math.inf if isinstance(self.decision, Absent) else self.decision.low


def held(measured: RecordData, configuration: str) -> tuple[Held, ...]:
    """The decision on each task, without a margin the change alone; none for the base itself, or for steps of one engine."""
    quality = measured.experiment.quality
    if configuration == measured.base or compares_budgets(measured):  # numbers of steps have a knee instead
        return ()
    sides = (measured, measured.base), (measured, configuration)
    return measured.once(f"held {configuration}", lambda data: held_between(*sides, quality, data.confidence))


def lowest(measured: RecordData, configuration: str) -> float:
    """The lowest bound of a configuration's changes; infinite without any."""
    return min((found.low for found in held(measured, configuration)), default=math.inf)


def held_between(before: Answers, after: Answers, quality: Quality | None, confidence: float) -> tuple[Held, ...]:
    """The decision on each task of the reference's record, for configurations of one record or of two."""
    return tuple(_all(before, after, quality, confidence))


def _all(before: Answers, after: Answers, quality: Quality | None, confidence: float) -> Iterator[Held]:
    rule = rule_of(before[0], quality, confidence)
    for task in tasks(before[0]):
        metric = deciding(before[0], task)
        if not metric:
            continue
        pairs = matched(*(item_scores(*side, task, metric) for side in (before, after)))
        if pairs.reference.items or pairs.candidate.items or pairs.left:
            found = _robust(before, after, _one(before[0], task, metric, pairs, rule), rule)
            yield _sensitive(before, found, pairs, rule)


def _sensitive(before: Answers, found: Held, pairs: Paired, rule: Rule) -> Held:
    """Held only if these items could have shown a loss; a shown gain needs no such proof."""
    decision, measured = found.decision, before[0]
    if isinstance(decision, Absent) or decision.verdict != "HELD" or decision.low > 0.0:
        return found
    scores = item_scores(*before, found.task, found.metric)
    why = at_floor(measured, found.task, scores) or near_chance(measured, found.task, scores) or at_ceiling(measured, pairs)
    made = None
    if why is None:
        made = control(pairs, rule, chance_of(measured, found.task, scores))
        why = made.why
    return replace(found, control=made, overturned=why, decision=_undecided(decision) if why else decision)


def _undecided(decision: Decision) -> Decision:
    """Its numbers without its verdict; more items of the same kind would not decide."""
    return replace(decision, verdict="INCONCLUSIVE", worse_within_margin=False, items_needed=None, launches_needed=None, items_as_seen=None)


def held_within(
    before: Answers, after: Answers, task: str, kept: Collection[str], quality: Quality | None, confidence: float
) -> Held | None:
    """The decision over some items of a task; None if neither side scored one. Its negative control is that of the whole task."""
    metric, measured = deciding(before[0], task), before[0]
    rule = rule_of(measured, quality, confidence)
    sides = [only(item_scores(*side, task, metric), kept) for side in (before, after)]
    pairs = matched(*sides)
    if not (pairs.reference.items or pairs.left):
        return None
    found = _robust(before, after, _one(measured, task, metric, pairs, rule), rule, kept)
    if isinstance(found.decision, Absent) or found.decision.verdict != "HELD" or found.decision.low > 0.0:
        return found
    why = at_floor(measured, task, sides[0]) or near_chance(measured, task, sides[0]) or at_ceiling(measured, pairs)
    return replace(found, overturned=why, decision=_undecided(found.decision)) if why else found


def _robust(before: Answers, after: Answers, found: Held, rule: Rule, kept: Collection[str] | None = None) -> Held:
    """The decision, if it survives its missing items."""
    lacking, decision = missing(before, after, found.task, found.metric, kept), found.decision
    if not lacking.count or isinstance(decision, Absent) or decision.verdict not in ("HELD", "DEGRADED"):
        return replace(found, missing=lacking.count)
    pairs = opposed(before, after, found.task, found.metric, held=decision.verdict == "HELD", kept=kept)
    if pairs is None:
        return replace(found, missing=lacking.count, opposed=Absent(reason="undefined", detail=f"{found.title} has no worst score"))
    again = decided(pairs, changes(pairs), rule)
    if not isinstance(again, Absent) and again.verdict == decision.verdict:
        return replace(found, missing=lacking.count, opposed=again)
    lost = {"HELD": "held", "DEGRADED": "degraded"}[decision.verdict]
    why = f"{lost} only if the {count(lacking.count, 'missing items')} do not matter"
    return replace(found, missing=lacking.count, opposed=again, overturned=why, decision=_undecided(decision))


def _one(measured: RecordData, task: str, metric: str, pairs: Paired, rule: Rule) -> Held:
    changed = changes(pairs)
    return Held(
        task=task,
        metric=metric,
        title=pairs.reference.metric.title,
        share=pairs.reference.metric.scale == (0.0, 1.0),
        decision=decided(pairs, changed, rule),
        better=int((changed > 0.0).sum()),
        worse=int((changed < 0.0).sum()),
        items=len(changed),
        left=pairs.left,
        independence=independence(measured, task, pairs.reference),
        own=measured.experiment.evaluation is not None and measured.experiment.evaluation.own_references,
        tested=None if pairs.reference.cells is not None or pairs.reference.gold is not None else _tested(pairs),
        judge=_judge_words(pairs, changed, rule),
        labels_needed=_labels_needed(pairs, changed, rule),
        raters=rated.people if (rated := raters.sampled(pairs.reference)) is not None else 0,
    )


def _judge_words(pairs: Paired, changed: Array, rule: Rule) -> str:
    """What the judge is worth, where labels of people say it."""
    found = powered.of_pairs(pairs, changed)
    return "" if found is None else powered.worth_words(found, rule.confidence if rule.margin is not None else 2.0 * rule.confidence - 1.0)


def _labels_needed(pairs: Paired, changed: Array, rule: Rule) -> int | None:
    found = powered.of_pairs(pairs, changed)
    return None if found is None or rule.margin is None else powered.more_labels(found, rule.margin, rule.confidence)


def _tested(pairs: Paired) -> PairedTest | None:
    """The paired t-test of the items' scores; None of a score that is no mean of them."""
    metric = pairs.reference.metric
    if metric.corpus or not pairs.reference.items:
        return None
    before, after = (np.asarray(metric.item_scores(side.rows), dtype=np.float64) for side in (pairs.reference, pairs.candidate))
    return paired_t(before, after, lower=metric.better == "lower")


def independence(measured: RecordData, task: str, scores: ItemScores) -> str:
    """That the items are taken as independent, and which field of the data groups them; empty where clusters were named."""
    if scores.labels is not None:
        return ""
    found = grouping_of(measured, task)
    though = f", though the field {found[0]!r} puts them into {found[1]:,} groups" if found is not None else ""
    return f"items taken as independent{though}"


# ---- the rule of one task --------------------------------------------------------------------------------------------


Array = NDArray[np.float64]
MIN_CLUSTERS: Final = 10  # fewer give no reliable bound
NO_LAUNCHES: Final = Launches(count=noninferiority.MIN_LAUNCHES, half=0.0, error=0.0, method="the items of one engine")


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When quality counts as held."""

    margin: float | None  # None: nothing was asked, so only bounds are wanted
    confidence: float  # of each bound
    largest_change: float | None = None  # of one item; None: the scale of the score
    seed: int = 0  # of negative controls


def rule_of(measured: RecordData, quality: Quality | None, confidence: float) -> Rule:
    """The rule that was fixed before anything was asked: one-sided bounds against a margin; without one an interval, half of whose risk lies
    at each end."""
    seed = measured.experiment.launches.seed
    if quality is None:
        return Rule(margin=None, confidence=(1.0 + confidence) / 2.0, seed=seed)
    return Rule(margin=quality.margin, confidence=confidence, largest_change=quality.largest_change, seed=seed)


def changes(pairs: Paired) -> Array:
    """Score minus that of the reference, of each item; better is positive."""
    sign = 1.0 if pairs.reference.metric.better == "higher" else -1.0
    if not pairs.reference.items:
        return np.empty(0)
    before, after = (side.metric.item_scores(side.rows) for side in (pairs.reference, pairs.candidate))
    return np.asarray(sign * (after - before))


def decided(pairs: Paired, changes: Array, rule: Rule) -> Decision | Absent:
    """The decision over items of which each changed by `changes` (shape [items], higher is better)."""
    reference, labels = pairs.reference, pairs.reference.labels
    if len(changes) < 2:
        return Absent(reason="insufficient", detail="fewer than two items were scored on both sides")
    clusters = len({label for label in labels if label is not None}) if labels is not None else None
    if clusters is not None and clusters < MIN_CLUSTERS and None not in (labels or ()):
        return Absent(reason="insufficient", detail=f"{clusters} clusters decide nothing; at least {MIN_CLUSTERS} are needed")
    if reference.metric.corpus:
        return _linearised(pairs, rule)
    if (rated := raters.decided(pairs, changes, rule.margin, rule.confidence)) is not None:
        return rated
    if (judged := powered.decided(pairs, changes, rule.margin, rule.confidence)) is not None:
        return judged
    reach = rule.largest_change or _reach(pairs, changes)
    fixed = max(reference.repetitions, pairs.candidate.repetitions) == 1
    of_items = noninferiority.of_items(changes, rule.confidence, reach, labels, fixed=fixed, weights=reference.weights)
    return noninferiority.decision(of_items, NO_LAUNCHES, rule.margin, rule.confidence)


def _reach(pairs: Paired, changes: Array) -> float:
    """The most that one item's score may change; of an unknown scale as far as the tail of the changes lets expect."""
    low, high = pairs.reference.metric.scale
    if np.isfinite(high - low):
        return high - low
    before = pairs.reference.metric.item_scores(pairs.reference.rows)
    return noninferiority.largest_change(before[None, :], (before + changes)[None, :], pairs.reference.labels)


def _linearised(pairs: Paired, rule: Rule) -> Decision | Absent:
    """For scores that are no plain mean."""
    metric, sign = pairs.reference.metric, 1.0 if pairs.reference.metric.better == "higher" else -1.0
    sides = Sides(
        score=lambda rows, weights: sign * metric.weighted(rows, weights),
        worst=metric.worst,
        reference=pairs.reference.rows,
        candidate=pairs.candidate.rows,
        weights=pairs.reference.weights,
        clusters=pairs.reference.labels,
    )
    found = of_sides(sides, rule.confidence)
    if isinstance(found, str):
        return Absent(reason="insufficient", detail=found)
    return noninferiority.decision(found, NO_LAUNCHES, rule.margin, rule.confidence)


# ---- could these items have shown a loss? ----------------------------------------------------------------------------


DRAWS: Final = 200
FEWER: Final = 40  # where the rule leaves out every item
MAX_HELD: Final = 0.05  # of the controls
STREAM: Final = 17  # keeps these draws apart from others of the same seed


@dataclass(frozen=True, kw_only=True)
class Chance:
    """The score of a guesser without knowledge."""

    value: float
    guessed: bool  # by guessing; else nothing right


def chance_of(measured: RecordData, task: str, scores: ItemScores) -> Chance | None:
    """None if it is unknown."""
    quality = measured.experiment.quality
    if quality is not None and quality.chance is not None:
        return Chance(value=quality.chance, guessed=True)
    if scores.metric.chance is not None:
        return Chance(value=scores.metric.chance, guessed=True)
    of_task = identity(measured).get(task, {}).get("chance")
    if isinstance(of_task, int | float) and scores.metric.of_choices:
        return Chance(value=float(of_task), guessed=True)
    if scores.metric.reads == "likelihoods" and scores.metric.scale == (0.0, 1.0):
        by_choice = measured.once(f"chance of {task}", partial(_of_choices, task=task))
        if by_choice is not None:
            return Chance(value=by_choice, guessed=True)
    floor = scores.metric.scale[0 if scores.metric.better == "higher" else 1]
    return Chance(value=floor, guessed=False) if np.isfinite(floor) else None


def _of_choices(measured: RecordData, task: str) -> float | None:
    """Mean share of an item's choices that are right."""
    asked = answers_of(measured, measured.base).filter((pl.col("task") == task) & pl.col("text").is_not_null()).unique("item")
    shares = [len(json.loads(right)) / len(json.loads(text)) for right, text in asked.select("references", "text").iter_rows()]
    return sum(shares) / len(shares) if shares else None


def at_floor(measured: RecordData, task: str, scores: ItemScores) -> str | None:
    """Why the reference has nothing to lose: its lead over chance is at most the margin."""
    quality, chance = measured.experiment.quality, chance_of(measured, task, scores)
    if quality is None or chance is None or not scores.items or not np.isfinite(scores.value):
        return None
    lead = scores.value - chance.value if scores.metric.better == "higher" else chance.value - scores.value
    if lead > quality.margin * (1.0 + 1e-9):
        return None
    what = "guessing" if chance.guessed else "nothing right"
    near = "is no better than" if lead <= 0.0 else f"is within the margin of {given(quality.margin)} of"
    return f"{scores.metric.title} of the reference, {given(scores.value, 3)} over {count(len(scores.items), 'items')}, {near} {what}, {given(chance.value, 3)}"


def near_chance(measured: RecordData, task: str, scores: ItemScores) -> str | None:
    """Why the reference is not shown to be better than guessing though its mean is; None if it is shown, or chance is unknown."""
    chance, value = chance_of(measured, task, scores), of_task(measured, scores)
    if chance is None or not chance.guessed or not isinstance(value, Estimate):
        return None
    above = value.low > chance.value if scores.metric.better == "higher" else value.high < chance.value
    return None if above else f"the reference is not shown to be better than guessing, {given(chance.value, 3)}"


def at_ceiling(measured: RecordData, pairs: Paired) -> str | None:
    """Why these items cannot tell the sides apart: both have the highest score on every one.

    Not where the references are the reference side's own answers: there its score says nothing of how hard the items are.
    """
    evaluation, metric = measured.experiment.evaluation, pairs.reference.metric
    top = metric.scale[1 if metric.better == "higher" else 0]
    if not pairs.reference.items or not np.isfinite(top) or (evaluation is not None and evaluation.own_references):
        return None
    if not all(bool((metric.item_scores(side.rows) == top).all()) for side in (pairs.reference, pairs.candidate)):
        return None
    return f"both sides have the highest {metric.title} on all {count(len(pairs.reference.items), 'items')}: items this easy tell no sides apart"


# ---- negative controls -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Control:
    """How many controls the rule did not hold."""

    draws: int  # 0: no such loss is possible
    seen: int
    why: str = ""  # why held means nothing; empty: the loss is seen

    @property
    def words(self) -> str:
        """The share in a sentence."""
        return f"a loss of {given(CONTROL)} margins would have been seen in {self.seen:,} of {self.draws:,} draws"


def control(pairs: Paired, rule: Rule, chance: Chance | None = None) -> Control:
    """Decide the controls of items that were held; the same seed gives the same controls."""
    assert rule.margin is not None  # nothing is held without one
    loss, drawing = CONTROL * rule.margin, _Controls(pairs, rule)
    if chance is not None and (lead := drawing.sign * (pairs.reference.value - chance.value)) < loss * (1.0 - 1e-9):
        above = "guessing" if chance.guessed else "nothing right"
        return _impossible(f"the reference leads {above} by {given(float(f'{lead:.3g}'))} only", loss)
    share = drawing.share(loss)
    if share is None:
        return _impossible("no answer is so bad", loss)
    draws = FEWER if pairs.reference.metric.corpus else DRAWS
    missed = sum(drawing.held(share, draws))
    made = Control(draws=draws, seen=draws - missed)
    return made if missed <= MAX_HELD * draws else replace(made, why=f"its negative control failed: {made.words}")


def _impossible(why: str, loss: float) -> Control:
    return Control(draws=0, seen=0, why=f"{why}: a loss of {given(CONTROL)} margins, {given(round(loss, 6))}, cannot occur")


class _Controls:
    """The candidate's rows beside those of wrong answers; a control weighs each item's one or other."""

    def __init__(self, pairs: Paired, rule: Rule) -> None:
        self.pairs, self.rule, self.least = pairs, rule, -(rule.margin or 0.0)
        self.metric = pairs.reference.metric
        self.sign = 1.0 if self.metric.better == "higher" else -1.0
        self.rng = np.random.default_rng([rule.seed, STREAM])
        self.wrong = self._wrong()
        self.rows = np.concatenate([pairs.candidate.rows, self.wrong])
        judged = powered.of_pairs(pairs, changes(pairs))
        self.corrected = 0.0 if judged is None else judged.value - judged.judge_alone  # what people say more than the judge

    def share(self, loss: float) -> float | None:
        """The share of wrong items that is expected to cost `loss`; None if all wrong costs less."""

        def left(share: float) -> float:
            change = float(self._changes(np.full((1, len(self.wrong)), share))[0])
            return loss + change if np.isfinite(change) else -loss  # an undefined score is not held either

        return None if left(1.0) > 0.0 else root(left, 0.0, 1.0, tolerance=1e-9) if left(0.0) > 0.0 else 0.0

    def held(self, share: float, draws: int) -> Iterator[bool]:
        """Of each control, whether the rule holds it."""
        member = members(len(self.wrong), self.pairs.reference.labels)
        units, at_once = int(member.max()) + 1, max(1, AT_ONCE // len(self.rows))
        for begin in range(0, draws, at_once):
            lost = (self.rng.random((min(at_once, draws - begin), units)) < share)[:, member]
            for change, control in zip(self._changes(lost.astype(np.float64)), lost, strict=True):
                yield bool(change > self.least) and self._holds(control)

    def _changes(self, lost: Array) -> Array:
        """Score minus that of the reference, better is positive, for the share of each item that is lost, shape [controls, items]."""
        weights = self.pairs.reference.weights
        scores = self.metric.weighted(self.rows, np.hstack([(1.0 - lost) * weights, lost * weights]))
        kept = 1.0 - lost @ weights / weights.sum()
        return np.asarray(self.sign * (scores - self.pairs.reference.value) + self.corrected * kept)

    def _holds(self, lost: np.ndarray) -> bool:
        pairs = replace(self.pairs, candidate=powered.spoiled(self.pairs.candidate, lost, self.wrong))
        decision = decided(pairs, changes(pairs), self.rule)
        return not isinstance(decision, Absent) and decision.verdict == "HELD"

    def _wrong(self) -> Array:
        """The row of a wrong answer to each item."""
        candidate, worst = self.pairs.candidate.rows, self.metric.scale[0 if self.sign > 0.0 else 1]
        if not self.metric.corpus and self.metric.scores is None and np.isfinite(worst):
            return np.full_like(candidate, worst)
        if self.metric.worst is not None:
            return self.metric.worst(candidate)
        seen = np.concatenate([self.pairs.reference.rows, candidate])
        scores = np.nan_to_num(self.sign * self.metric.item_scores(seen), nan=np.inf)
        return np.asarray(seen[self.rng.choice(np.flatnonzero(scores == scores.min()), len(candidate))])
