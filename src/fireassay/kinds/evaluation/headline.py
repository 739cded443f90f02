"""Which number stands for an evaluation in a list?  The change that decided, or the first score."""

from __future__ import annotations

from fireassay.estimates.estimate import Absent
from fireassay.frames.evaluation.item_scores import metric_of, requested
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.held import held
from fireassay.verdict.headline import in_words
from fireassay.verdict.judge import Judgement


def headline(measured: RecordData, judgement: Judgement) -> str:
    """The score of the last side, and whether it was held."""
    last = measured.configurations[-1]
    name = next(iter(requested(measured)), "")
    value = judgement.results.get(name, {}).get(last)
    words = f"{metric_of(measured, name).title} {in_words(value)}" if value is not None else ""
    decided = [task.decision.verdict.lower() for task in held(measured, last) if not isinstance(task.decision, Absent)]
    where = f" at {last}" if len(measured.configurations) > 1 else ""
    return f"{words}{where}{f', {decided[0]}' if len(decided) == 1 else ''}"
