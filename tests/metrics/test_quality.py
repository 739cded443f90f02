"""quality: mean score over the held-out examples, then over launches."""

from __future__ import annotations

import pytest

from assay.metrics.estimate import Absent, Estimate
from assay.metrics.quality import METRIC
from assay.spec.experiment import Quality
from tests.handmade import Handmade


def test_the_launch_is_the_unit_of_the_interval() -> None:
    made = Handmade(levels=(1,), blocks=2, quality=Quality())
    made.scores(made.launch(workers=1, block=0), [1, 1, 1, 0])
    made.scores(made.launch(workers=1, block=1), [1, 1, 0, 0])
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.625)
    assert value.high - value.value == pytest.approx(12.7062047 * 0.25 / 2, rel=1e-6)  # t(1 df) x sd / sqrt 2
    assert value.n_trials == 8


def test_a_score_under_another_name_is_pointed_out() -> None:
    made = Handmade(levels=(1,), blocks=1, quality=Quality(metric="f1"))
    made.scores(made.launch(workers=1), [1, 0])
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Absent)
    assert "'f1'" in value.detail
    assert "accuracy" in value.detail


def test_an_experiment_without_quality_measures_none() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.scores(made.launch(workers=1), [1, 0])
    assert isinstance(METRIC.compute(made.measured(), {})["workers=1"], Absent)
