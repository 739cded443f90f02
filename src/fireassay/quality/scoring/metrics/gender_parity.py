"""How often does the answer stay the same when only the gender of a pronoun changes, as SuperGLUE's AX-g counts it?

An item is one side of a pair, its id PAIR/SIDE; a pair is alike if all of its answers are equal, right or wrong.  A pair of which an item
was not answered has no score.
"""

from __future__ import annotations

from collections.abc import Sequence

from fireassay.quality.scoring.support import labels
from fireassay.quality.scoring.support.normalise import plain_options
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric, Whole


def prepare(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`; no library."""
    normalise, words = plain_options("gender_parity", options)

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        return labels.rows(answers, references, normalise)

    return Prepared(signature=f"metric:gender_parity|impl:fireassay@1|pair:id before the last slash|{words}", statistics=statistics)


METRIC = TextMetric(
    name="gender_parity",
    title="Gender parity",
    better="higher",
    scale=(0.0, 1.0),
    prepare=prepare,
    options={"strip": True, "lower": False, "nfkc": False},
    statistics=labels.COLUMNS,
    whole=Whole(of_item=Whole.before_slash, fold=lambda least, most: least == most),
    source="Rudinger et al., Winogender, 2018; Wang et al., SuperGLUE, 2019",
    caveat="A model that always answers the same has the best value: read it beside the accuracy. The score of one item is 1 if its answer is its label.",
)
