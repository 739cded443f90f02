"""Is a margin refused that no answers could miss?"""

from __future__ import annotations

import pytest

from fireassay import catalog
from fireassay.errors import SpecError
from fireassay.quality.scoring.text_metric import TextMetric
from fireassay.runners.evaluating import likelihood
from tests.runners.making import experiment

METRICS: dict[str, TextMetric] = catalog.load_all("quality.scoring.metrics")


@pytest.mark.parametrize(
    ("metric", "wide", "said"),
    [(METRICS["exact_match"], 1.0, "less than 1: Exact match goes from 0 to 1"), (METRICS["bleu"], 100.0, "goes from 0 to 100")],
)
def test_a_margin_as_wide_as_the_scale_is_refused(metric: TextMetric, wide: float, said: str) -> None:
    asked = experiment(quality={"metric": metric.name, "margin": wide})
    with pytest.raises(SpecError, match=said):
        likelihood.check_margin(asked, metric)
    likelihood.check_margin(experiment(quality={"metric": metric.name, "margin": wide * 0.99}), metric)


def test_a_score_without_bounds_and_an_experiment_without_a_margin_are_not_held_to_it() -> None:
    likelihood.check_margin(experiment(quality={"metric": "perplexity", "margin": 1e6}), METRICS["perplexity"])
    likelihood.check_margin(experiment(), METRICS["exact_match"])
