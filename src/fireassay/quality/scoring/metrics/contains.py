"""Does the answer contain one of the references?

With `words` only whole words count: "art" is not in "party".  An empty reference is contained in an empty answer only.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from fireassay.quality.scoring.support.normalise import plain_options
from fireassay.quality.scoring.support.options import flag, yes
from fireassay.quality.scoring.text_metric import Array, Options, Prepared, TextMetric


def prepare(options: Options) -> Prepared:
    """Options `strip`, `lower`, `nfkc`, `words`; no library."""
    normalise, switches = plain_options("contains", options)
    words = flag("contains", options, "words")

    def holds(answer: str, reference: str) -> bool:
        if not reference or not words:
            return reference in answer if reference else not answer
        return re.search(rf"(?<!\w){re.escape(reference)}(?!\w)", answer) is not None

    def statistics(answers: Sequence[str], references: Sequence[Sequence[str]]) -> Array:
        pairs = ((normalise(answer), [*map(normalise, wanted)]) for answer, wanted in zip(answers, references, strict=True))
        found = [float(any(holds(answer, one) for one in wanted)) if wanted else np.nan for answer, wanted in pairs]
        return np.array(found, dtype=np.float64).reshape(-1, 1)

    return Prepared(signature=f"metric:contains|impl:fireassay@1|{switches}|words:{yes(words)}|refs:any", statistics=statistics)


METRIC = TextMetric(
    name="contains",
    title="Contains the answer",
    better="higher",
    scale=(0.0, 1.0),
    timed=True,
    prepare=prepare,
    options={"strip": True, "lower": True, "nfkc": False, "words": False},
    caveat="A long answer that names everything contains the right one, also where it denies it.",
)
