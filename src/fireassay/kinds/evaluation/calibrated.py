"""Is the model as sure as it is right?  Calibration error and Brier score of choices, where their log probabilities were recorded."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import count
from fireassay.frames.evaluation.confidences import Confidences, choices_were_rated, confidences
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.metrics import SCORED
from fireassay.metrics.metric import Metric, each
from fireassay.stats.calibration import brier, calibration_error
from fireassay.stats.intervals.intervals import Interval
from fireassay.units import SCORE

FIRST_RANK = 2050
Rated = Callable[[Confidences, float], Interval]


def of_record(measured: RecordData) -> Mapping[str, Metric]:
    """Both, if a task was answered by log probabilities."""
    if not choices_were_rated(measured):
        return {}
    error = _metric(
        "calibration_error", "Calibration error", FIRST_RANK, "sum over ten bins of share |right - stated|, less its bias", _error
    )
    squares = _metric("brier_score", "Brier score", FIRST_RANK + 1, "mean over items of (stated - right)^2", _squares)
    return {metric.name: metric for metric in (error, squares)}


def _metric(name: str, title: str, rank: int, formula: str, rated: Rated) -> Metric:
    return SCORED(
        name=name,
        title=title,
        better="lower",
        formula=formula,
        compute=each(partial(_value, name=name, rated=rated)),
        question="Is the model as sure of its choices as it is right?",
        caveat="The confidence is the softmax over the listed choices alone.",
        rank=rank,
    )


def _value(measured: RecordData, configuration: str, *, name: str, rated: Rated) -> Value:
    found = confidences(measured, configuration)
    if len(found.stated) < 2:
        return Absent(reason="insufficient", detail="fewer than two items with several choices were answered")
    interval = rated(found, measured.confidence)
    if math.isnan(interval.low):
        return Absent(reason="insufficient", detail=f"{count(len(found.stated), 'items')} are too few for an interval")
    return Estimate.of(
        interval,
        unit=SCORE,
        confidence=measured.confidence,
        n_launches=1,
        n_trials=len(found.stated),
        method=f"over {count(len(found.stated), 'items')}",
        signature=f"{name}|softmax over choices|items:{len(found.stated)}|v:1",
    )


def _error(found: Confidences, confidence: float) -> Interval:
    return calibration_error(found.stated, found.right, confidence, clusters=found.labels).error


def _squares(found: Confidences, confidence: float) -> Interval:
    return brier(found.stated, found.right, confidence, clusters=found.labels)
