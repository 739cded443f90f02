"""quality_difference: paired by block and example; positive is better."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.quality_difference import METRIC, Pairs, decide, paired
from assay.spec.experiment import Quality
from tests.handmade import Handmade


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
    value = METRIC.compute(made("lower").measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.value == pytest.approx(0.25)


def test_an_example_scored_on_one_side_only_is_refused() -> None:
    value = METRIC.compute(made(missing=True).measured(), {})["workers=2"]
    assert isinstance(value, Absent)
    assert value.reason == "refused"
    assert value.detail.startswith("1 of 4 examples lack a score in some launch")


def test_the_base_is_not_compared_with_itself() -> None:
    assert isinstance(decide(made().measured(), "workers=1"), Absent)


def test_the_interval_counts_examples_as_well_as_launches() -> None:
    """Equal differences in every launch: launches alone would give an interval of no width."""
    value = METRIC.compute(made().measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.low < -0.25 < value.high
    assert value.launch_values == (-0.25, -0.25, -0.25)


def test_where_nothing_changed_the_bound_is_in_the_score_s_own_scale() -> None:
    """Scores of 0 and 100: a change that 4 items would have missed is up to 100 points, 1 - 0.05^(1/4) = 0.527 of them."""
    record = Handmade(levels=(1, 2), blocks=3, quality=Quality(margin=1.0))
    for block in range(3):
        for workers in (1, 2):
            record.scores(record.launch(workers=workers, block=block), [100, 100, 0, 100])
    value = METRIC.compute(record.measured(), {})["workers=2"]
    assert isinstance(value, Estimate)
    assert value.low == pytest.approx(-52.7, abs=0.05)
