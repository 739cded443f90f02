"""Which number stands for an evaluation in a list?  The score of the side that decided, or of the last one."""

from __future__ import annotations

from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import metric_of, requested
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.gates.held import status_of
from fireassay.kinds.evaluation.held import held
from fireassay.verdict.headline import in_words
from fireassay.verdict.judge import Judgement


def headline(measured: RecordData, judgement: Judgement) -> str:
    """The score of the worst side of those with the record's status, and whether it was held; empty if something else decided."""
    status, first = judgement.verdict.status, next(iter(requested(measured)), "")
    sides = [(task.low, name, task) for name in measured.configurations for task in held(measured, name) if status_of(task) == status]
    _, side, task = min(sides, key=lambda one: one[0], default=(0.0, measured.configurations[-1], None))
    if task is None and status == "FAIL":
        return ""
    value = judgement.results.get(first, {}).get(side)
    words = f"{metric_of(measured, first).title} {in_words(value)}" if value is not None else ""
    where = f" at {side}" if len(measured.configurations) > 1 else ""
    said = "" if task is None or isinstance(task.decision, Absent) else f", {task.decision.verdict.lower()}"
    return f"{words}{where}{said}"
