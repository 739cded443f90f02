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


def test_a_margin_in_the_unit_of_another_scale_is_refused() -> None:
    """Two per cent of BLEU, whose scale has 100 points: 0.02 was read, 2 was meant. Of a score from 0 to 1 it stays."""
    with pytest.raises(SpecError, match=r"found 0.02; allowed: 0.1 or more: .* goes from 0 to 100. .* A loss of two points is 2"):
        likelihood.check_margin(experiment(quality={"metric": "bleu", "margin": 0.02}), METRICS["bleu"])
    likelihood.check_margin(experiment(quality={"metric": "bleu", "margin": 0.1}), METRICS["bleu"])
    likelihood.check_margin(experiment(quality={"metric": "f1", "margin": 0.0005}), METRICS["f1"])


def test_a_score_without_bounds_and_an_experiment_without_a_margin_are_not_held_to_it() -> None:
    likelihood.check_margin(experiment(quality={"metric": "perplexity", "margin": 1e6}), METRICS["perplexity"])
    likelihood.check_margin(experiment(), METRICS["exact_match"])
