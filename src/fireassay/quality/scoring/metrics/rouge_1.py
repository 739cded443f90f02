"""How many words do the answer and a reference share?"""

from __future__ import annotations

from functools import partial

from fireassay.quality.scoring.support import rouge
from fireassay.quality.scoring.text_metric import TextMetric

METRIC = TextMetric(
    name="rouge_1",
    title="ROUGE-1",
    better="higher",
    scale=(0.0, 1.0),
    timed=True,
    prepare=partial(rouge.prepare, "rouge_1", prepared=rouge.unigrams, matches=rouge.in_common),
    options={"stem": False},
    statistics=rouge.COLUMNS,
    source=rouge.SOURCE,
    caveat=rouge.CAVEAT,
)
