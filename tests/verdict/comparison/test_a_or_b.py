"""Which of two engines: best loads come from the verdict, replicas share their throughput, and differences are paired by block."""

from __future__ import annotations

import math

import pytest

from fireassay.estimates.estimate import Estimate
from fireassay.stats.comparing.comparison import compare_paired
from fireassay.verdict.comparison.a_or_b import AOrB, a_or_b
from fireassay.verdict.judge import Judgement
from tests.rivals_made import rivals
from tests.serving_made import ServingMade, simulated
from tests.verdict.judging import concluded

pytestmark = pytest.mark.slow

A, B = {4: 0.01, 8: 0.012, 16: 0.03}, {4: 0.013, 8: 0.0125, 16: 0.02}


def compared(made: ServingMade) -> tuple[AOrB | None, Judgement]:
    measured = made.measured()
    judgement = concluded(measured)
    return a_or_b(measured, judgement), judgement


def test_the_difference_is_that_of_the_launches_paired_by_block() -> None:
    found, judgement = compared(rivals({"a": A, "b": B}, seconds=3.0))
    assert found is not None
    for same in found.loads:
        ours, theirs = (judgement.results["output_throughput"][name] for name in (same.a, same.b))
        assert isinstance(ours, Estimate)
        assert isinstance(theirs, Estimate)
        expected = compare_paired(ours.launch_values, theirs.launch_values, 0.95, scale="ratio", smallest_effect=0.01)
        assert (same.change.ratio, same.change.low, same.change.high) == pytest.approx((expected.value, expected.low, expected.high))
        assert same.change.method == "Student t on log ratios in 5 rounds"


def test_the_best_loads_are_those_that_the_verdict_recommends() -> None:
    found, judgement = compared(rivals({"a": {4: 0.01, 8: 0.06}, "b": {4: 0.013, 8: 0.0125}}))
    assert found is not None
    picked = {row.goal: row.configuration for row in judgement.verdict.recommendations}
    assert found.best_a == picked["recommended for a, D(100,100)"] == "engine=a concurrency=4"
    assert found.best_b == picked["recommended for b, D(100,100)"] == "engine=b concurrency=8"
    assert found.change is not None
    assert found.change.outcome == "improved"


def test_an_engine_with_twice_the_replicas_shares_its_throughput_among_them() -> None:
    """Equal engines but for the replicas of b: half as much for each."""
    made = rivals({"a": {8: 0.01}, "b": {8: 0.01}})
    serving = made.experiment.serving
    assert serving is not None
    a, b = serving.targets
    more = b.model_copy(update={"urls": (*b.urls, "http://127.0.0.1:9999")})
    made.experiment = made.experiment.model_copy(update={"serving": serving.model_copy(update={"targets": (a, more)})})
    found, judgement = compared(made)
    assert found is not None
    whole, shared = judgement.results["output_throughput"]["engine=b concurrency=8"], found.per_replica["engine=b concurrency=8"]
    assert isinstance(whole, Estimate)
    assert isinstance(shared, Estimate)
    assert shared.value == pytest.approx(whole.value / 2)
    assert shared.launch_values == pytest.approx([value / 2 for value in whole.launch_values])
    assert found.loads[0].change.ratio == pytest.approx(0.5, rel=0.01)


def test_there_is_nothing_to_choose_without_two_engines() -> None:
    assert compared(simulated(concurrency=(4,), seconds=4.0, blocks=1))[0] is None
    assert compared(rivals({"a": {4: 0.01}, "b": {4: 0.01}, "c": {4: 0.01}}, blocks=1))[0] is None


def test_an_invalid_record_is_compared_for_its_table_and_recommends_nothing() -> None:
    made = rivals({"a": {4: 0.01}, "b": {4: 0.02}})
    made.rows["requests"] = made.rows["requests"][1:]  # a request without an end: the record is inadmissible
    found, _ = compared(made)
    assert found is not None
    assert (found.best_a, found.best_b, found.change) == (None, None, None)
    assert found.loads[0].change.ratio == pytest.approx(0.5, abs=0.03)


def test_one_launch_gives_no_interval_and_no_outcome() -> None:
    found, _ = compared(rivals({"a": {4: 0.01}, "b": {4: 0.02}}, blocks=1, objectives={}))
    assert found is not None
    change = found.loads[0].change
    assert change.outcome == "inconclusive"
    assert (change.low, change.high) == (0.0, math.inf)
