"""data_loading: waiting for data inside of the step."""

from __future__ import annotations

import pytest

from tests.handmade import Handmade
from tests.verdict.claiming import NOTHING, NUMBER, claim, found
from tests.verdict.making import judged, rules

pytestmark = pytest.mark.slow


def waiting(data_s: float) -> Handmade:
    """Five launches of one worker, ten steps of 1 s, of which each waits so long for its batch."""
    made = Handmade(levels=(1,), blocks=5)
    for block in range(5):
        made.steps(made.launch(workers=1, block=block), seconds=[1.0] * 10, items=8.0, phases_s={"data": data_s})
    return made


@pytest.mark.parametrize(("data_s", "named"), [(0.0, False), (0.19, False), (0.21, True), (0.9, True)])
def test_a_fifth_of_the_step_is_the_limit(data_s: float, named: bool) -> None:
    assert ("data_in_step_time" in rules(judged(waiting(data_s)))) is named


def test_the_share_is_said() -> None:
    (finding,) = [f for f in judged(waiting(0.5)).verdict.findings if f.rule == "data_in_step_time"]
    assert finding.evidence.startswith("50% of the steady step time")


@pytest.mark.parametrize(
    ("said", "expected"), [(False, {}), (True, {"data_loading_timed": "warning"}), (NOTHING, {"data_loading_unsaid": "note"})]
)
def test_a_claim_says_whether_loading_was_timed(said: object, expected: dict[str, str]) -> None:
    assert found(claim({"data_loading_timed": said})) == expected


def test_requests_bring_their_data_with_them() -> None:
    number = {key: value for key, value in NUMBER.items() if key != "data_loading_timed"}
    assert found(claim(numbers=[number], slo={"objective": "x", "met": True})) == {}
