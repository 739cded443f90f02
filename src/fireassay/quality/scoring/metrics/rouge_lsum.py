"""How many of a reference's words has the answer in the order of its sentences, one on each line?"""

from __future__ import annotations

from functools import partial

from fireassay.quality.scoring.support import rouge
from fireassay.quality.scoring.text_metric import TextMetric

METRIC = TextMetric(
    name="rouge_lsum",
    title="ROUGE-Lsum",
    better="higher",
    scale=(0.0, 1.0),
    timed=True,
    prepare=partial(rouge.prepare, "rouge_lsum", prepared=rouge.sentences, matches=rouge.in_sentences),
    options={"stem": False},
    statistics=rouge.COLUMNS,
    source=rouge.SOURCE,
    caveat=f"{rouge.CAVEAT} Sentences end at line breaks only: without any it is ROUGE-L.",
)
