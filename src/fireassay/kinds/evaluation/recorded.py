"""Which metrics has only this record?  Scores of another harness, calibration where choices were rated, robustness where
questions were changed, and pass@k for every wanted k."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation import calibrated, metrics, pass_at_k, robust
from fireassay.metrics.metric import Metric, OfRecord


def _of_record(measured: RecordData) -> Mapping[str, Metric]:
    return {**metrics.of_record(measured), **pass_at_k.of_record(measured), **calibrated.of_record(measured), **robust.of_record(measured)}


OF_RECORD: Final[OfRecord] = _of_record
