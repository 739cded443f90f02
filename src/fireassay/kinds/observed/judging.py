"""What is the verdict on a job that was watched?

FAIL: a slow rank, a stall or a hang was seen.  MEASURED: neither.  INCONCLUSIVE: too little was seen.  The finding is that of `assay watch`;
nothing of the job was measured inside it, so that no metric, audit or gate applies.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fireassay.frames.observed import cut_off, seen
from fireassay.frames.record_data import RecordData
from fireassay.verdict.judge import Judgement
from fireassay.verdict.judging import Evidence, Judging, nothing_to_pick
from fireassay.verdict.types import DIMENSIONS, DimensionResult, Recommendation, Status, Verdict

STATUS_OF: Final[Mapping[str, Status]] = {"none": "MEASURED", "slow_rank": "FAIL", "stall": "FAIL", "hang": "FAIL"}
NOTHING: Final = "observed from outside: nothing was measured in the job"


def status(evidence: Evidence, _: tuple[Recommendation, ...] = ()) -> Status:
    """One status for the record."""
    return STATUS_OF.get(str(seen(evidence.data).get("finding")), "INCONCLUSIVE")


def words(measured: RecordData) -> str:
    """ "observed for 60 s: rank 1 is slow ..."; of a watch that was killed, that it ended early."""
    found = seen(measured)
    if not found:
        return f"observed from outside, but nothing was seen{cut_off(measured)}"
    return f"observed for {found['seconds']:.0f} s: {found['sentence']}{cut_off(measured)}"


def headline(measured: RecordData, _: Judgement) -> str:
    """For a list."""
    return words(measured)


def _dimensions(evidence: Evidence) -> Mapping[str, Mapping[str, DimensionResult]]:
    nothing = {name: DimensionResult(status="NOT_MEASURED", sentence=NOTHING) for name in DIMENSIONS}
    performance = DimensionResult(status=status(evidence), sentence=words(evidence.data))
    return {name: {**nothing, "performance": performance} for name in evidence.data.configurations}


def _sentence(evidence: Evidence, _: Verdict) -> str:
    return f"{evidence.data.experiment.name}: {words(evidence.data)}. Not an experiment: {NOTHING}."


JUDGING = Judging(
    dimensions=_dimensions,
    recommend=nothing_to_pick("a job that was watched compares no configurations"),
    status=status,
    sentence=_sentence,
)
