"""Which metrics has only this record?  The scores that another harness gave; their names are in the record, not in a file of ours."""

from __future__ import annotations

from typing import Final

from fireassay.kinds.evaluation.metrics import of_record
from fireassay.metrics.metric import OfRecord

OF_RECORD: Final[OfRecord] = of_record
