"""Does the worst answer that a corpus score declares cost something, at every item?"""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.quality.scoring.text_metric import TextMetric

TEXTS = {
    "phrases": [
        "the cat sat on the mat all day",
        "a dog ran over the old bridge",
        "it rains in the north today",
        "yes",
        "nobody answered the phone",
    ],
    "numbers": ["1", "2", "3.5", "8", "1", "2", "2", "0"],
}


def metrics() -> list[TextMetric]:
    return [
        metric
        for name in catalog.names("quality.scoring.metrics")
        if (metric := catalog.load("quality.scoring.metrics", name)).worst is not None
    ]


@pytest.mark.parametrize("metric", metrics(), ids=lambda metric: metric.name)
def test_the_worst_answer_to_any_item_costs_something(metric: TextMetric) -> None:
    pytest.importorskip("sacrebleu")
    assert metric.worst is not None
    prepared = metric.prepare(metric.options)
    texts = TEXTS["phrases" if "sacrebleu" in prepared.signature else "numbers"]
    rows = prepared.statistics(texts, [[text] for text in texts])
    sign, worst = 1.0 if metric.better == "higher" else -1.0, metric.worst(rows)
    assert worst.shape == rows.shape
    for item in range(len(rows)):
        lost = rows.copy()
        lost[item] = worst[item]
        assert sign * metric.score(lost) < sign * metric.score(rows), texts[item]
