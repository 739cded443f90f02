"""What a load will be able to show, before it runs: requests for tails, for the objectives, and its spread from an earlier record."""

from __future__ import annotations

import pytest

from fireassay.metrics.results import LazyResults
from fireassay.spec.sections.serving import Objectives
from fireassay.verdict.power import Expectation, foresee
from tests.serving_made import ServingMade, simulated

pytestmark = pytest.mark.slow


def told(made: ServingMade, earlier: ServingMade | None = None) -> dict[str, Expectation]:
    before = None if earlier is None else earlier.measured()
    results = None if before is None else LazyResults(before)
    return {one.subject: one for one in foresee(made.experiment, before, results)}


def test_an_open_loop_knows_its_requests_from_rate_and_time() -> None:
    """5 a second for 10 s, 3 launches: 150; a p99 at 95 % needs ln(.025)/ln(.99) = 367.04, that is 368."""
    found = told(ServingMade(rate=(5.0, 20.0), blocks=3, seconds=10.0))
    assert found["p99 at rate=5"].sentence == "about 150 requests; a p99 needs at least 368 independent ones"
    assert (found["p99 at rate=5"].possible, found["p99 at rate=20"].possible) == (False, True)


def test_an_attainment_needs_requests_even_if_none_misses() -> None:
    found = told(ServingMade(rate=(5.0,), blocks=3, seconds=10.0, objectives=Objectives(ttft_s=0.5)))
    one = found["objectives at rate=5"]
    assert one.possible is False
    assert one.sentence == "an attainment of 99 % needs at least 368 requests even if none misses; about 150 will be due"
    looser = told(ServingMade(rate=(5.0,), blocks=3, seconds=10.0, objectives=Objectives(ttft_s=0.5, attainment=0.9)))
    assert looser["objectives at rate=5"].possible is True  # ln(.025)/ln(.9) = 35.01, that is 36


def test_a_cap_on_requests_counts() -> None:
    found = told(ServingMade(rate=(20.0,), blocks=3, seconds=10.0, arrivals={"requests": 50}))
    assert found["p99 at rate=20"].sentence.startswith("about 150 requests")


def test_a_closed_loop_knows_its_requests_from_an_earlier_record_only() -> None:
    made = ServingMade(concurrency=(2,), blocks=3, seconds=10.0)
    assert not any(subject.startswith("p99") for subject in told(made))
    earlier = ServingMade(concurrency=(2,), blocks=2, seconds=10.0)
    for block in range(2):
        launch = earlier.launch(block=block)
        for place in range(40):
            earlier.request(launch, 0.2 * place, stream=place % 2)
    assert told(made, earlier)["p99 at concurrency=2"].sentence.startswith("about 120 requests")


def test_the_spread_between_launches_comes_from_an_earlier_record() -> None:
    made = simulated(rate=(4.0, 8.0), blocks=5, seconds=5.0)
    found = told(made, made)
    assert "launches vary by" in found["goodput at rate=8"].sentence
    assert not any(subject.startswith("speedup") for subject in found)


def test_quality_is_not_needed_and_its_absence_is_said() -> None:
    assert told(ServingMade(rate=(5.0,)))["quality"].possible is True
