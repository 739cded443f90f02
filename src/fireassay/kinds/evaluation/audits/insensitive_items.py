"""Can these items show a loss of quality at all?

A reference at chance has nothing to lose: INVALID.  Items that both sides answer perfectly are too easy to tell them apart: held is
INCONCLUSIVE (`fireassay.kinds.evaluation.sensitivity`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.frames.evaluation.item_scores import deciding, tasks
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.sensitivity import at_ceiling, at_floor
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

BROKEN: Final = (
    "look at the reference's answers: the prompts, the extraction or the model is broken, or the margin is too wide; then evaluate again"
)
EASY: Final = "evaluate harder items as well"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Per task one finding on the reference, or one on each side that shares its ceiling."""
    if measured.experiment.quality is None or len(measured.configurations) < 2:
        return
    for task in tasks(measured):
        metric = deciding(measured, task)
        if not metric:
            continue
        where = f"{task}: " if len(tasks(measured)) > 1 else ""
        if (why := at_floor(measured, task, metric)) is not None:
            evidence = f"{where}the reference cannot show a loss of quality: {why}"
            yield Finding(rule="insensitive_items", severity="invalid", configuration=measured.base, evidence=evidence, remedy=BROKEN)
            continue
        for name in measured.configurations:
            if name != measured.base and (why := at_ceiling(measured, name, task, metric)) is not None:
                yield Finding(rule="insensitive_items", severity="warning", configuration=name, evidence=f"{where}{why}", remedy=EASY)


AUDIT = Audit(
    name="insensitive_items",
    title="items that cannot show a loss",
    question="Can these items show a loss of quality at all?",
    examine=examine,
    about=("evaluation",),
)
