"""How alike are the orders of the numbers in answers and in references?"""

from __future__ import annotations

from functools import partial

from fireassay.quality.scoring.support import correlation
from fireassay.quality.scoring.text_metric import TextMetric

METRIC = TextMetric(
    name="spearman",
    title="Spearman correlation",
    better="higher",
    scale=(-1.0, 1.0),
    chance=0.0,
    prepare=partial(correlation.prepare, "spearman"),
    options={"otherwise": ""},
    statistics=correlation.COLUMNS,
    of_weighted=correlation.spearman,
    worst=correlation.worst,
    undefined=correlation.UNDEFINED,
    source="Spearman, American Journal of Psychology 15, 1904; ties get their mean rank",
    caveat=correlation.CAVEAT,
)
