"""quality: mean score over the held-out examples, then over launches."""

from __future__ import annotations

import pytest
from scipy import stats

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.quality import METRIC
from assay.spec.experiment import Quality
from tests.handmade import Handmade


def interval(*launches: list[float], clusters: list[str | None] | None = None) -> Estimate:
    made = Handmade(levels=(1,), blocks=len(launches), quality=Quality())
    for block, scores in enumerate(launches):
        made.scores(made.launch(workers=1, block=block), scores, clusters=clusters)
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    return value


@pytest.mark.parametrize(("right", "n"), [(0, 3), (3, 3), (7, 10)])
def test_the_examples_are_in_the_interval_though_no_launch_differs(right: int, n: int) -> None:
    """Clopper and Pearson: 0 of 3 right is 0 [0, .7076]."""
    value = interval(*[[1.0] * right + [0.0] * (n - right)] * 3)
    exact = stats.binomtest(right, n).proportion_ci(0.95, method="exact")
    assert (value.low, value.high) == pytest.approx((exact.low, exact.high))
    if right == 0:
        assert round(value.high, 2) == 0.71


def test_examples_of_one_cluster_count_as_one() -> None:
    """Three passages of four questions, all of them right: 3 of 3."""
    value = interval(*[[1.0] * 12] * 3, clusters=["a"] * 4 + ["b"] * 4 + ["c"] * 4)
    assert value.low == pytest.approx(0.025 ** (1 / 3))
    assert "12 examples in 3 clusters" in value.method


def test_an_example_in_two_clusters_is_refused() -> None:
    made = Handmade(levels=(1,), blocks=2, quality=Quality())
    made.scores(made.launch(workers=1, block=0), [1, 1], clusters=["a", "b"])
    made.scores(made.launch(workers=1, block=1), [1, 1], clusters=["a", "c"])
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Absent)
    assert value.detail.startswith("example 1 was scored as one of the clusters b and c")


def test_scores_beyond_1_are_bounded_by_those_seen() -> None:
    value = interval(*[[100.0] * 3] * 3)
    assert (value.low, value.high) == (pytest.approx(100 * 0.025 ** (1 / 3)), 100.0)


def test_launches_that_differ_widen_the_interval() -> None:
    made = Handmade(levels=(1,), blocks=2, quality=Quality())
    made.scores(made.launch(workers=1, block=0), [1, 1, 1, 0])
    made.scores(made.launch(workers=1, block=1), [1, 1, 0, 0])
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.625)
    assert (value.low, value.high) == (0.0, 1.0)  # t(1 df) x sd / sqrt 2 = 12.7 x .25 / 2: scores end at 0 and 1
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
