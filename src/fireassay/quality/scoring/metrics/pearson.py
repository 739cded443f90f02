"""How close to one straight line are the numbers in answers and in references?"""

from __future__ import annotations

from functools import partial

from fireassay.quality.scoring.support import correlation
from fireassay.quality.scoring.text_metric import TextMetric

METRIC = TextMetric(
    name="pearson",
    title="Pearson correlation",
    better="higher",
    scale=(-1.0, 1.0),
    chance=0.0,
    prepare=partial(correlation.prepare, "pearson"),
    options={"otherwise": ""},
    statistics=correlation.COLUMNS,
    of_weighted=correlation.pearson,
    worst=correlation.worst,
    undefined=correlation.UNDEFINED,
    source="Pearson, Proceedings of the Royal Society 58, 1895",
    caveat=correlation.CAVEAT,
)
