"""Did a harness score replies without any text, which may be failures?

lm-evaluation-harness turns a failed request into an empty reply and scores it as any other: 23 failures of 40 become a score of .425, and
nothing in its files tells them from a model that said nothing.  Beyond evaluation.most_failed the score is not admissible.
"""

from __future__ import annotations

from collections.abc import Iterator

from fireassay.estimates.format import count, percent
from fireassay.frames.evaluation.item_scores import answers_of
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding

REMEDY = "look into the harness's own log for failed requests; if the model said nothing, import again with --most-failed 0.99"


def examine(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding for each configuration with empty replies."""
    foreign, evaluation = measured.foreign or {}, measured.experiment.evaluation
    assert evaluation is not None
    for configuration, tasks in (foreign.get("empty") or {}).items():
        number = sum(tasks.values())
        asked = answers_of(measured, configuration).height
        if not number or configuration not in measured.configurations:
            continue
        too_many = number > evaluation.most_failed * asked
        limit = f", more than {percent(evaluation.most_failed)}" if too_many else ""
        yield Finding(
            rule="empty_replies",
            severity="invalid" if too_many else "warning",
            configuration=configuration,
            evidence=f"{number:,} of {count(asked, 'replies')} are empty{limit}, and {foreign.get('title')} scored them: it gives a failed "
            "request no other mark",
            remedy=REMEDY,
        )


AUDIT = Audit(
    name="empty_replies",
    title="empty replies counted as wrong",
    question="Did a harness score replies without any text, which may be failures?",
    examine=examine,
    about=("evaluation",),
)
