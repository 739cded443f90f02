"""Which metrics has only this record, and what did the harness report of the items that it scored?

Scores of another program, the best of several candidates, calibration where choices were rated, robustness where questions were changed, and
pass@k for every wanted k.

pass@k: how often is at least one of k programs right?  Programs of one problem, in the same launch or in others, are its samples; the
estimate and its bounds are those of `fireassay.stats.intervals.item_means`.  Fewer than k judged programs of some problem leave it unmeasured:
another set of problems is another score.
Robustness: `fireassay.kinds.evaluation.perturbed`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from fireassay.estimates.estimate import Absent, Value
from fireassay.estimates.format import count
from fireassay.estimates.over_launches import no_launch
from fireassay.frames.evaluation.item_scores import (
    Confidences,
    ItemScores,
    choices_were_rated,
    confidences,
    item_scores,
    metric_of,
    requested,
)
from fireassay.frames.evaluation.steps import curves, steps_of
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import metrics
from fireassay.kinds.evaluation.judges import of_judge
from fireassay.kinds.evaluation.metrics import SCORED, of_task, over_items, over_tasks
from fireassay.kinds.evaluation.people import of_people
from fireassay.kinds.evaluation.perturbed import robustness
from fireassay.metrics.metric import Metric, OfRecord, each
from fireassay.quality.scoring.metrics.words import PASS_AT_1
from fireassay.stats.calibration import brier, calibration_error
from fireassay.stats.intervals.intervals import Interval
from fireassay.stats.intervals.item_means import Solved, of_problems

FIRST_PASS = 1800  # before the scores of texts
FIRST_CALIBRATION = 2050
Rated = Callable[[Confidences, float], Interval]


def passes(measured: RecordData) -> Mapping[str, Metric]:
    """pass@k for each k above 1 that was asked for; none without judged programs."""
    evaluation = measured.experiment.evaluation
    asked = sorted({k for k in evaluation.k if k > 1}) if evaluation is not None and measured.foreign is None else []
    if not asked or measured.table("scores").filter(pl.col("metric") == PASS_AT_1.name).height == 0:
        return {}
    return {f"pass_at_{k}": _pass(k, FIRST_PASS + place) for place, k in enumerate(asked)}


def _pass(k: int, rank: int) -> Metric:
    return SCORED(
        name=f"pass_at_{k}",
        title=f"pass@{k}",
        better="higher",
        formula="mean over problems of 1 - C(n - c, k) / C(n, k)",
        compute=each(partial(_passed, k=k)),
        primary=True,
        question=f"How often is at least one of {k} programs right?",
        caveat=PASS_AT_1.caveat,
        rank=rank,
    )


def _passed(measured: RecordData, configuration: str, *, k: int) -> Value:
    launches = measured.timed.filter(pl.col("configuration") == configuration).select("launch")
    if launches.height == 0:
        return no_launch(configuration)
    scores = measured.table("scores").filter((pl.col("metric") == PASS_AT_1.name) & pl.col("score").is_not_null())
    folded = scores.join(launches, on="launch", how="semi").group_by("task", "item").agg(pl.len(), pl.col("score").sum().alias("right"))
    problems = [Solved(samples=samples, right=round(right)) for _, _, samples, right in folded.sort("task", "item").iter_rows()]
    fewest = min((solved.samples for solved in problems), default=0)
    if len(problems) < 2 or fewest < k:
        detail = f"pass@{k} needs {k} judged programs of every problem; the fewest are {fewest}: set --repetitions {k} or more"
        return Absent(reason="insufficient", detail=detail)
    interval = of_problems(problems, k, measured.confidence)
    return over_items(
        interval,
        measured.confidence,
        sum(solved.samples for solved in problems),
        method=f"unbiased estimate over {count(len(problems), 'problems')}: Gaffke's bounds",
        signature=f"pass_at_{k}|problems:{len(problems)}|v:1",
        launches=launches.height,
    )


# ---- the best of several candidates ----------------------------------------------------------------------------------


def best_of(measured: RecordData) -> Mapping[str, Metric]:
    """The best of as many candidates as were asked for, by the deciding score; none where no choice was."""
    steps, name = steps_of(measured), next(iter(requested(measured)), "")
    if steps is None or steps.what != "candidates" or not name:
        return {}
    score, k = metric_of(measured, name), steps.most
    metric = SCORED(
        name=f"best_of_{k}",
        title=f"Best of {k}",
        better=score.better,
        formula="mean over items of sum over i of C(i-1, k-1) / C(n, k) x_(i), the scores of its n candidates ascending",
        compute=each(partial(_best, k=k)),
        primary=True,
        question=f"What is {score.title} of the best of {k} candidates?",
        caveat="The score chooses and judges: another score says what the choice is worth.",
        rank=FIRST_PASS,
    )
    return {metric.name: metric}


def _best(measured: RecordData, configuration: str, *, k: int) -> Value:
    levels = {one.task: one.levels[-1] for one in curves(measured) if one.levels[-1].configuration == configuration}
    fewest = min((level.steps for level in levels.values()), default=0)
    if fewest < k:
        carried = f"the best of {fewest} is the largest" if fewest else "no item has two scored candidates"
        return Absent(reason="insufficient", detail=f"needs {k} scored candidates of every item; {carried}")
    return over_tasks([of_task(measured, level.scores) for level in levels.values()], f"best_of_{k}", measured.confidence)


# ---- as sure as it is right ------------------------------------------------------------------------------------------


def calibrations(measured: RecordData) -> Mapping[str, Metric]:
    """Both, if a task was answered by log probabilities."""
    if not choices_were_rated(measured):
        return {}
    error = _calibration(
        "calibration_error", "Calibration error", FIRST_CALIBRATION, "sum over ten bins of share |right - stated|, less its bias", _error
    )
    squares = _calibration("brier_score", "Brier score", FIRST_CALIBRATION + 1, "mean over items of (stated - right)^2", _squares)
    return {metric.name: metric for metric in (error, squares)}


def _calibration(name: str, title: str, rank: int, formula: str, rated: Rated) -> Metric:
    return SCORED(
        name=name,
        title=title,
        better="lower",
        formula=formula,
        compute=each(partial(_rating, name=name, rated=rated)),
        question="Is the model as sure of its choices as it is right?",
        caveat="The confidence is the softmax over the listed choices alone.",
        rank=rank,
    )


def _rating(measured: RecordData, configuration: str, *, name: str, rated: Rated) -> Value:
    found = confidences(measured, configuration)
    if len(found.stated) < 2:
        return Absent(reason="insufficient", detail="fewer than two items with several choices were answered")
    interval = rated(found, measured.confidence)
    if math.isnan(interval.low):
        return Absent(reason="insufficient", detail=f"{count(len(found.stated), 'items')} are too few for an interval")
    return over_items(
        interval,
        measured.confidence,
        len(found.stated),
        method=f"over {count(len(found.stated), 'items')}",
        signature=f"{name}|softmax over choices|items:{len(found.stated)}|v:1",
    )


def _error(found: Confidences, confidence: float) -> Interval:
    return calibration_error(found.stated, found.right, confidence, clusters=found.labels).error


def _squares(found: Confidences, confidence: float) -> Interval:
    return brier(found.stated, found.right, confidence, clusters=found.labels)


# ---- all of them -----------------------------------------------------------------------------------------------------


def _of_record(measured: RecordData) -> Mapping[str, Metric]:
    return {
        **metrics.of_record(measured),
        **passes(measured),
        **calibrations(measured),
        **robustness(measured),
        **best_of(measured),
        **of_people(measured),
        **of_judge(measured),
    }


OF_RECORD: Final[OfRecord] = _of_record


# ---- what an imported file reports -----------------------------------------------------------------------------------


EQUAL: Final = 1e-9  # of the number, or of 1 if it is smaller


@dataclass(frozen=True, kw_only=True)
class Reported:
    """A number of the harness beside ours; ours is None where we have none."""

    configuration: str
    task: str
    name: str
    theirs: float
    ours: float | None
    same: bool  # whether the definitions are equal
    mean: bool = True  # whether it is a score of all items, and no error of one or score of a group

    @property
    def differs(self) -> bool:
        """True if it contradicts the items' scores."""
        return self.same and (self.ours is None or self.apart)

    @property
    def apart(self) -> bool:
        """True if the items' scores make another number, be it that the harness folds them otherwise."""
        return self.ours is not None and not abs(self.ours - self.theirs) <= EQUAL * max(1.0, abs(self.theirs))


def reported(measured: RecordData) -> tuple[Reported, ...]:
    """Every number over items that the harness reported."""
    return measured.once("reported totals", lambda data: tuple(_reported(data)))


def _reported(measured: RecordData) -> Iterator[Reported]:
    for entry in (measured.foreign or {}).get("reported") or ():
        if isinstance(entry, Mapping) and isinstance(entry.get("value"), int | float):
            configuration, task = str(entry.get("configuration")), str(entry.get("task"))
            yield Reported(
                configuration=configuration,
                task=task,
                name=str(entry.get("name")),
                theirs=float(entry["value"]),
                ours=_ours(measured, configuration, task, entry),
                same=bool(entry.get("same")),
                mean=entry.get("of") == "mean" and not entry.get("group"),
            )


def _ours(measured: RecordData, configuration: str, task: str, entry: Mapping[str, Any]) -> float | None:
    """The same number from the items' scores."""
    if not entry.get("score"):
        return None
    scores = item_scores(measured, configuration, task, str(entry["score"]))
    keep = _of_group(measured, task, scores, entry.get("group") or {})
    rows = scores.rows[keep]
    if len(rows) < 1 or (entry.get("of") == "stderr" and len(rows) < 2):
        return None
    if entry.get("of") == "stderr":
        return float(np.std(rows[:, 0], ddof=1)) / math.sqrt(len(rows))
    value = scores.metric.score(rows)
    return value if math.isfinite(value) else None


def _of_group(measured: RecordData, task: str, scores: ItemScores, group: Mapping[str, str]) -> np.ndarray:
    """Which items are in the group."""
    if not group:
        return np.ones(len(scores.items), dtype=bool)
    asked = measured.table("answers").filter(pl.col("task") == task).unique("item")
    kept = asked.filter(*(pl.col("groups").str.json_path_match(f"$.{name}") == label for name, label in group.items()))
    wanted = set(kept["item"].to_list())
    return np.array([item in wanted for item in scores.items], dtype=bool)
