"""Was quality held within the margin that was fixed beforehand, and did few enough items change, for better or worse?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.estimates.format import Scale, count, dressed, given, percent, show
from fireassay.frames.evaluation.flipped import Flips, between
from fireassay.frames.evaluation.item_scores import Answers, deciding, tasks
from fireassay.frames.evaluation.steps import compares_budgets
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.held import Held, held
from fireassay.metrics.metric import Results
from fireassay.spec.experiment import Quality
from fireassay.stats.comparing.noninferiority import Decision
from fireassay.units import SCORE
from fireassay.verdict.gates.gate import Gate
from fireassay.verdict.types import GateResult, Status

# ---- held ----

POINTS: Final = Scale(factor=100.0, after=" points")  # of a score from 0 to 1

SAID: Final = {"HELD": "held", "DEGRADED": "degraded", "INCONCLUSIVE": "undecided"}
WORSE: Final = {"HELD": " (worse, but within the margin)", "INCONCLUSIVE": " (worse; whether within the margin is open)", "DEGRADED": ""}


def check_held(measured: RecordData, _: Results) -> tuple[GateResult, ...]:
    """One result for each configuration but the base, all of whose tasks must hold; none without a margin."""
    quality = measured.experiment.quality
    if quality is None or compares_budgets(measured):
        return ()
    return tuple(_held(name, held(measured, name), quality) for name in measured.configurations if name != measured.base)


def _held(configuration: str, tasks: tuple[Held, ...], quality: Quality) -> GateResult:
    statuses = [status_of(task) for task in tasks]
    order: tuple[Status, ...] = ("FAIL", "INCONCLUSIVE", "NOT_MEASURED", "PASS")
    status: Status = next((status for status in order if status in statuses), "NOT_MEASURED")
    worst = next((task for task in tasks if status_of(task) == status), None)
    return GateResult(gate="held", configuration=configuration, status=status, sentence=words(worst, quality, len(tasks)))


def status_of(task: Held) -> Status:
    """HELD, DEGRADED and INCONCLUSIVE as statuses of a gate."""
    if isinstance(task.decision, Absent):
        return "INCONCLUSIVE" if task.decision.reason == "insufficient" else "NOT_MEASURED"
    statuses: dict[str, Status] = {"HELD": "PASS", "DEGRADED": "FAIL", "INCONCLUSIVE": "INCONCLUSIVE", "MEASURED": "MEASURED"}
    return statuses[task.decision.verdict]


def words(task: Held | None, quality: Quality | None, tasks: int) -> str:
    """The decision in a sentence, with what would decide it; without a margin the change."""
    if task is None:
        return "no item was scored on both sides"
    where = f"{task.task}: " if tasks > 1 else ""
    if isinstance(task.decision, Absent):
        return f"{where}{task.title}: {task.decision.detail}"
    decision = task.decision
    asked = "no margin given (--margin)" if quality is None else f"one-sided bounds, {margin_words(quality.margin, task.share)}"
    change = shown(decision, task.share)
    own = ", against the reference side's own answers" if task.own else ""
    flips = f"{count(task.worse, 'items')} worse and {task.better:,} better of {task.items:,}"
    worse = WORSE[decision.verdict] if decision.worse_within_margin else ""
    said = f"quality {SAID[decision.verdict]}{worse}: " if quality is not None else ""
    more = "" if quality is None else more_items(task, quality.margin)
    needed = f"; {more}" if more else ""
    numbers = f"{task.title} {change}, {asked}{own}; {flips}{needed}"
    alone = "".join(f"; {words}" for words in (task.judge, task.independence) if words)
    return f"{where}{said}{numbers}{alone}{_missing(task)}"


AS_SEEN: Final = "if the true change is the one that was seen"


def more_items(task: Held, margin: float) -> str:
    """How many items would show what of an undecided task, always for the change that was seen; empty where more of them do not help."""
    decision = task.decision
    if (
        isinstance(decision, Absent)
        or decision.verdict != "INCONCLUSIVE"
        or task.overturned
        or not math.isfinite(decision.high - decision.low)
    ):
        return ""
    if task.judge and task.labels_needed is None:
        return "no number of labels of these items would decide: more items are needed"
    if task.judge:
        return f"about {rough(task.labels_needed or 0)} labels in all would decide it with 80 % probability {AS_SEEN}"
    if decision.items_as_seen is None and task.raters:
        return "more items alone would not decide: more raters are needed"
    if decision.items_as_seen is None:
        return f"no number of items would decide {AS_SEEN}: it lies at the margin"
    what = "held" if decision.estimate > -margin else "degraded"
    return f"about {rough(decision.items_as_seen)} items would show it {what} with 80 % probability {AS_SEEN}"


def rough(number: int) -> str:
    """Two digits, rounded up: a plan knows no more."""
    unit = 10 ** max(0, len(str(number)) - 2)
    return f"{-(-number // unit) * unit:,}"


def _missing(task: Held) -> str:
    """Why it does not count, and what the missing items can do to it."""
    why = f"; {task.overturned}" if task.overturned else ""
    if not task.missing:
        return why
    items = count(task.missing, "items")
    if task.opposed is None:
        return f"{why}; {items} missing"
    if isinstance(task.opposed, Absent):
        return f"{why}; {items} missing: {task.opposed.detail}"
    return f"{why}; with the {items} missing against it {shown(task.opposed, task.share)}"


def shown(decision: Decision, share: bool) -> str:
    """A decision's change in words."""
    value = Estimate(
        value=decision.estimate,
        low=decision.low,
        high=decision.high,
        unit=SCORE,
        confidence=0.95,  # is not shown
        n_launches=1,
        n_trials=decision.items,
        method=decision.method,
        signature="",
    )
    return change_words(value, share)


def change_words(change: Estimate, share: bool) -> str:
    """ "+2.4 points [1.2, 3.7]": with its sign, of a share in points; the bounds rounded outwards."""
    text = show(change, POINTS if share else None).full
    return f"+{text}" if change.value > 0.0 else text


def margin_words(margin: float, share: bool) -> str:
    """ "margin 2 points", in the unit of the change."""
    return f"margin {dressed(given(POINTS.factor * margin), POINTS) if share else given(margin)}"


# ---- flips ----


def check_flips(measured: RecordData, _: Results) -> tuple[GateResult, ...]:
    """One result for each task of each configuration but the base; none without a cap.

    The cap quality.max_flip_rate bounds what an equal mean hides. The share of answers that score otherwise than the reference's has
    one-sided bounds over items, whole clusters as units: PASS below the cap, FAIL above it. Sampling alone changes answers: the share of
    the reference against itself, if it was asked more than once, is stated too.
    """
    base = (measured, measured.base)
    sides = [(measured, name) for name in measured.configurations if name != measured.base and not compares_budgets(measured)]
    return tuple(result for side in sides for result in of_sides(base, side, measured.experiment.quality, measured.confidence))


def of_sides(before: Answers, after: Answers, quality: Quality | None, confidence: float) -> Iterator[GateResult]:
    """One result for each task of the reference's record."""
    if quality is None or quality.max_flip_rate is None:
        return
    for task in tasks(before[0]):
        metric = deciding(before[0], task)
        found, itself = between(before, after, task, metric), between(before, before, task, metric)
        if found is not None:
            where = f"{task}: " if len(tasks(before[0])) > 1 else ""
            yield _flips(after[1], where, found, itself, quality.max_flip_rate, confidence)


def _flips(configuration: str, where: str, found: Flips, itself: Flips | None, cap: float, confidence: float) -> GateResult:
    value = found.estimate(confidence)
    status: Status = "PASS" if value.high <= cap else "FAIL" if value.low > cap else "INCONCLUSIVE"
    shown = f"{show(value, beside=(cap,)).full} of {count(value.n_trials, 'items')} score otherwise, one-sided bounds"
    floor = "" if itself is None else f"; the reference's own answers in {percent(itself.share)}"
    return GateResult(
        gate="flips", configuration=configuration, status=status, sentence=f"{where}{shown}, at most {percent(cap)} may{floor}"
    )


HELD = Gate(name="held", question="Was quality held within the margin?", check=check_held, about=("evaluation",))
FLIPS = Gate(name="flips", question="Did few enough items change?", check=check_flips, about=("evaluation",))
GATES = (HELD, FLIPS)
