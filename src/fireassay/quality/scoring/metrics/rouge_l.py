"""How long is the longest run of words, with gaps, that the answer and a reference have in the same order?"""

from __future__ import annotations

from functools import partial

from fireassay.quality.scoring.support import rouge
from fireassay.quality.scoring.text_metric import TextMetric

METRIC = TextMetric(
    name="rouge_l",
    title="ROUGE-L",
    better="higher",
    scale=(0.0, 1.0),
    timed=True,
    prepare=partial(rouge.prepare, "rouge_l", prepared=rouge.words, matches=rouge.in_order),
    options={"stem": False},
    statistics=rouge.COLUMNS,
    source=rouge.SOURCE,
    caveat=f"{rouge.CAVEAT} The time grows with the product of two texts' lengths.",
)
