"""How many questions have every one of their answers judged rightly, as SuperGLUE's MultiRC counts exact matches?

An item is one proposed answer, its id PARAGRAPH/QUESTION/ANSWER; a question is what stands before the last slash, since the numbers of questions
begin again in every paragraph.  A question of which an item was not answered has no score.
"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.support import labels
from fireassay.quality.scoring.support.normalise import plain_options
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric, Whole


def prepare(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("exact_questions", options)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return labels.rows(answers, references, normalise)[:, :1]

    return Prepared(
        signature=f"metric:exact_questions|impl:fireassay@1|question:id before the last slash|{words}|refs:any", statistics=statistics
    )


METRIC = TextMetric(
    name="exact_questions",
    title="Exact match over questions",
    better="higher",
    scale=(0.0, 1.0),
    prepare=prepare,
    options={"strip": True, "lower": False, "nfkc": False},
    whole=Whole(of_item=Whole.before_slash, fold=lambda least, _: least),
    source="Khashabi et al., MultiRC, 2018; Wang et al., SuperGLUE, 2019",
    caveat="A question with many proposed answers is harder, and counts like one with two.",
)
