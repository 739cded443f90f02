"""Was an image scored against all of the text that it is to show?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count
from fireassay.frames.evaluation.item_scores import item_scores, metrics_of, tasks
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS = Audits(about=("evaluation",))
COLUMN: Final = "cut"  # of a score's statistics
CUT_REMEDY: Final = "shorten these texts, or add a score that reads all of them, as vqascore; what was cut off moves no score"


@AUDITS.add("cut_texts", "Were texts cut before an image was scored against them?", title="texts longer than the model reads")
def examine_cut(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each score of a task whose model reads only the beginning of some texts: 77 tokens of CLIP.

    The texts are those of every side, so the reference side's are counted.
    """
    for task in tasks(measured):
        for name in metrics_of(measured, task):
            scores = item_scores(measured, measured.base, task, name)
            if COLUMN not in scores.metric.statistics:
                continue
            cut = int((scores.rows[:, scores.metric.statistics.index(COLUMN)] > 0.0).sum())
            if cut:
                evidence = f"{scores.metric.title} saw only the beginning of the texts of {cut:,} of {count(len(scores.items), 'items')}"
                yield Finding("cut_texts", "warning", measured.base, evidence, CUT_REMEDY)
