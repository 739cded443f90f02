"""Is a margin refused that no answers could miss?"""

from __future__ import annotations

import pytest

from fireassay.errors import SpecError
from fireassay.quality.scoring.metrics import bleu, exact_match, perplexity
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.runners.evaluating import margin
from tests.runners.making import experiment


@pytest.mark.parametrize(
    ("metric", "wide", "said"),
    [(exact_match.METRIC, 1.0, "less than 1: Exact match goes from 0 to 1"), (bleu.METRIC, 100.0, "goes from 0 to 100")],
)
def test_a_margin_as_wide_as_the_scale_is_refused(metric: TextMetric, wide: float, said: str) -> None:
    asked = experiment(quality={"metric": metric.name, "margin": wide})
    with pytest.raises(SpecError, match=said):
        margin.check(asked, metric)
    margin.check(experiment(quality={"metric": metric.name, "margin": wide * 0.99}), metric)


def test_a_score_without_bounds_and_an_experiment_without_a_margin_are_not_held_to_it() -> None:
    margin.check(experiment(quality={"metric": "perplexity", "margin": 1e6}), perplexity.METRIC)
    margin.check(experiment(), exact_match.METRIC)
