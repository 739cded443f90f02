"""How good is the result, and was quality held?"""

from __future__ import annotations

import pytest
from scipy import stats

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.metrics.quality import QUALITY, QUALITY_DIFFERENCE, Pairs, decide, paired
from fireassay.spec.experiment import Quality
from tests.handmade import Handmade
from tests.metrics.narrow import absence, estimated

# ---- quality: mean score over the held-out examples, then over launches.


def interval(*launches: list[float], clusters: list[str | None] | None = None) -> Estimate:
    made = Handmade(levels=(1,), blocks=len(launches), quality=Quality())
    for block, scores in enumerate(launches):
        made.scores(made.launch(workers=1, block=block), scores, clusters=clusters)
    return estimated(QUALITY.compute(made.measured(), {})["workers=1"])


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
    value = absence(QUALITY.compute(made.measured(), {})["workers=1"])
    assert value.detail.startswith("example 1 was scored in the clusters b and c")


def test_scores_beyond_1_are_bounded_by_those_seen() -> None:
    value = interval(*[[100.0] * 3] * 3)
    assert (value.low, value.high) == (pytest.approx(100 * 0.025 ** (1 / 3)), 100.0)


def test_launches_that_differ_widen_the_interval() -> None:
    made = Handmade(levels=(1,), blocks=2, quality=Quality())
    made.scores(made.launch(workers=1, block=0), [1, 1, 1, 0])
    made.scores(made.launch(workers=1, block=1), [1, 1, 0, 0])
    value = estimated(QUALITY.compute(made.measured(), {})["workers=1"])
    assert value.value == pytest.approx(0.625)
    assert (value.low, value.high) == (0.0, 1.0)  # t(1 df) x sd / sqrt 2 = 12.7 x .25 / 2: scores end at 0 and 1
    assert value.n_trials == 8


def test_a_score_under_another_name_is_pointed_out() -> None:
    made = Handmade(levels=(1,), blocks=1, quality=Quality(metric="f1"))
    made.scores(made.launch(workers=1), [1, 0])
    value = absence(QUALITY.compute(made.measured(), {})["workers=1"])
    assert "'f1'" in value.detail
    assert "accuracy" in value.detail


def test_an_experiment_without_quality_measures_none() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.scores(made.launch(workers=1), [1, 0])
    assert isinstance(QUALITY.compute(made.measured(), {})["workers=1"], Absent)


# ---- quality_difference: paired by block and example; positive is better.


def made(direction: str = "higher", missing: bool = False) -> Handmade:
    record = Handmade(levels=(1, 2), blocks=3, quality=Quality(margin=0.1, direction=direction))  # type: ignore[arg-type]
    for block in range(3):
        record.scores(record.launch(workers=1, block=block), [1, 1, 0, 1])
        record.scores(record.launch(workers=2, block=block), [1, 0, 0, 1][: 3 if missing and block == 1 else 4])
    return record


def test_differences_are_paired_by_block_and_example() -> None:
    found = paired(made().measured(), "workers=2")
    assert isinstance(found, Pairs)
    assert (found.candidate - found.reference).tolist() == [[0.0, -1.0, 0.0, 0.0]] * 3


def test_where_lower_is_better_the_sign_is_turned() -> None:
    assert estimated(QUALITY_DIFFERENCE.compute(made("lower").measured(), {})["workers=2"]).value == pytest.approx(0.25)


def test_an_example_scored_on_one_side_only_is_refused() -> None:
    value = absence(QUALITY_DIFFERENCE.compute(made(missing=True).measured(), {})["workers=2"])
    assert value.reason == "refused"
    assert value.detail.startswith("1 of 4 examples lack a score in some launch")


def test_the_base_is_not_compared_with_itself() -> None:
    assert isinstance(decide(made().measured(), "workers=1"), Absent)


def test_the_interval_counts_examples_as_well_as_launches() -> None:
    """Equal differences in every launch: launches alone would give an interval of no width."""
    value = estimated(QUALITY_DIFFERENCE.compute(made().measured(), {})["workers=2"])
    assert value.low < -0.25 < value.high
    assert value.launch_values == (-0.25, -0.25, -0.25)


def test_where_nothing_changed_the_bound_is_in_the_score_s_own_scale() -> None:
    """Scores of 0 and 100: a change that 4 items would have missed is up to 100 points, 1 - 0.05^(1/4) = 0.527 of them."""
    record = Handmade(levels=(1, 2), blocks=3, quality=Quality(margin=1.0))
    for block in range(3):
        for workers in (1, 2):
            record.scores(record.launch(workers=workers, block=block), [100, 100, 0, 100])
    assert estimated(QUALITY_DIFFERENCE.compute(record.measured(), {})["workers=2"]).low == pytest.approx(-52.7, abs=0.05)
