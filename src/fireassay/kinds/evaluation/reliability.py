"""Is each side as sure as it is right?  Its choices in bins of as many items each, from the least to the most confident, and a sentence."""

from __future__ import annotations

from collections.abc import Mapping

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import show
from fireassay.frames.evaluation.confidences import Confidences, choices_were_rated, confidences
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.calibrated import of_record
from fireassay.reports.charts.evaluation import sure
from fireassay.reports.rows.evaluation import CalibrationBin, CalibrationRow
from fireassay.stats.calibration import Bin, reliability
from fireassay.units import SCORE


def calibration(measured: RecordData, labels: Mapping[str, str]) -> tuple[CalibrationRow, ...]:
    """A row for each configuration; none if no task was answered by log probabilities of choices."""
    if not choices_were_rated(measured):
        return ()
    errors = of_record(measured)["calibration_error"].compute(measured, {})
    return tuple(_row(measured, name, labels[name], errors[name]) for name in measured.configurations)


def _row(measured: RecordData, configuration: str, label: str, error: Value) -> CalibrationRow:
    found = confidences(measured, configuration)
    if not len(found.stated):
        return CalibrationRow(
            column=label, whole=None, bins=(), sentence=f"{label}: no item with several choices was answered", error=error
        )
    bins = reliability(found.stated, found.right, measured.confidence, binning="mass", clusters=found.labels)
    (every,) = reliability(found.stated, found.right, measured.confidence, bins=1, clusters=found.labels)
    whole = _bin(every, found, measured.confidence)
    return CalibrationRow(
        column=label,
        whole=whole,
        bins=tuple(_bin(one, found, measured.confidence) for one in bins),
        sentence=_sentence(label, whole, error),
        error=error,
    )


def _bin(one: Bin, found: Confidences, confidence: float) -> CalibrationBin:
    units = "whole clusters together" if found.labels is not None else "Wilson's interval"
    right = Estimate(
        value=one.right.value,
        low=one.right.low,
        high=one.right.high,
        unit=SCORE,
        confidence=confidence,
        n_launches=1,
        n_trials=one.items,
        method=f"share of right choices, {units}",
        signature="share of right choices|v:1",
    )
    return CalibrationBin(items=one.items, confidence=one.confidence, right=right)


def _sentence(label: str, whole: CalibrationBin, error: Value) -> str:
    """What the shares of all items say; errors in both directions cancel there, so then the error decides."""
    shown = show(whole.right, beside=(whole.confidence,))
    told = f"at a mean confidence of {sure(whole)} it is right in {shown.full}"
    if not whole.right.low <= whole.confidence <= whole.right.high:
        return f"{label} is {'over' if whole.confidence > whole.right.high else 'under'}-confident: {told}"
    if isinstance(error, Absent):
        return f"{label}: {told}; whether each confidence means what it says is unknown: {error.detail}"
    if error.low > 0.0:
        return f"{label} is as sure as it is right on average, not everywhere: {told}, and the calibration error is {show(error).full}"
    return f"{label} is not shown to be over- or under-confident: {told}"
