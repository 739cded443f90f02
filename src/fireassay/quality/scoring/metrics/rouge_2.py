"""How many pairs of neighbouring words do the answer and a reference share?"""

from __future__ import annotations

from functools import partial

from fireassay.quality.scoring.support import rouge
from fireassay.quality.scoring.text_metric import TextMetric

METRIC = TextMetric(
    name="rouge_2",
    title="ROUGE-2",
    better="higher",
    scale=(0.0, 1.0),
    timed=True,
    prepare=partial(rouge.prepare, "rouge_2", prepared=rouge.bigrams, matches=rouge.in_common),
    options={"stem": False},
    statistics=rouge.COLUMNS,
    source=rouge.SOURCE,
    caveat=rouge.CAVEAT,
)
