"""Are choices that the model is sure of right as often as it says?

Items are put into ten bins by stated confidence.  A bin of which the interval of right answers excludes the mean stated confidence, with
at least `FEWEST` items, is a note: confidences of this model are no probabilities.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import bracketed, count, reading, with_interval
from fireassay.frames.evaluation.confidences import choices_were_rated, confidences
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.stats.calibration import reliability
from fireassay.units import SCORE
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

FEWEST: Final = 20


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """The worst bin of each configuration, if it is off."""
    for name in measured.configurations if choices_were_rated(measured) else ():
        found = confidences(measured, name)
        if not len(found.stated):
            continue
        bins = reliability(found.stated, found.right, measured.confidence, clusters=found.labels)
        off = [one for one in bins if one.items >= FEWEST and not one.right.low <= one.confidence <= one.right.high]
        if off:
            worst = max(off, key=lambda one: abs(one.confidence - one.right.value))
            ends = (worst.right.low, worst.right.high)
            shown = with_interval(*bracketed(worst.right.value, *ends, SCORE, beside=(worst.confidence,)))
            sure = reading(worst.confidence, SCORE, beside=ends)
            evidence = f"{count(worst.items, 'choices')} with a mean confidence of {sure} are right in {shown}"
            yield Finding("overconfident", "note", name, evidence, "do not use its confidences as probabilities without calibration")


AUDIT = Audit(
    name="overconfident",
    question="Are choices that the model is sure of right as often as it says?",
    examine=examine,
    about=("evaluation",),
)
