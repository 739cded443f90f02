"""Can these items show a loss of quality at all?

A reference at chance has nothing to lose: INVALID.  Items that both sides answer perfectly are too easy to tell them apart, and items whose
negative control was held show nothing (`fireassay.kinds.evaluation.sensitivity`): held is INCONCLUSIVE.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.frames.evaluation.item_scores import deciding, item_scores, paired, tasks
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.held import held
from fireassay.kinds.evaluation.sensitivity.chance import at_ceiling, at_floor
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

BROKEN: Final = (
    "look at the reference's answers: the prompts, the extraction or the model is broken, or the margin is too wide; then evaluate again"
)
EASY: Final = (
    "evaluate harder items as well; if the references are the reference side's own answers, say so with --own-references "
    "(evaluation.own_references)"
)
FEW: Final = "evaluate more items, or items that the reference answers better, or choose a narrower margin"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """Per task one finding on the reference, or one on each side that was not shown to be able to lose."""
    if measured.experiment.quality is None or len(measured.configurations) < 2:
        return
    for task in tasks(measured):
        metric = deciding(measured, task)
        if not metric:
            continue
        where = f"{task}: " if len(tasks(measured)) > 1 else ""
        if (why := at_floor(measured, task, item_scores(measured, measured.base, task, metric))) is not None:
            evidence = f"{where}the reference cannot show a loss of quality: {why}"
            yield Finding(rule="insensitive_items", severity="invalid", configuration=measured.base, evidence=evidence, remedy=BROKEN)
            continue
        for name in (name for name in measured.configurations if name != measured.base):
            if found := _of(measured, name, task, metric):
                yield Finding(
                    rule="insensitive_items", severity="warning", configuration=name, evidence=f"{where}{found[0]}", remedy=found[1]
                )


def _of(measured: RecordData, configuration: str, task: str, metric: str) -> tuple[str, str] | None:
    """Why a side could not have been seen to lose, and what to do."""
    if (why := at_ceiling(measured, paired(measured, configuration, task, metric))) is not None:
        return why, EASY
    made = next((found.control for found in held(measured, configuration) if found.task == task), None)
    return (made.why, FEW) if made is not None and made.why else None


AUDIT = Audit(
    name="insensitive_items",
    title="items that cannot show a loss",
    question="Can these items show a loss of quality at all?",
    examine=examine,
    about=("evaluation",),
)
