"""answers_identical: equal prompts, equal answers."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics.answers_identical import METRIC
from tests.serving_made import ServingMade


def asked_again(texts: list[list[str]]) -> ServingMade:
    """One list of answers per prompt, replica by replica."""
    made = ServingMade(rate=(1.0,), blocks=1)
    number = made.launch()
    second = 0
    for example, answers in enumerate(texts):
        for place, text in enumerate(answers):
            kind = "rerun" if place else "identity"
            made.request(number, float(second), kind=kind, example=str(example), replica=place % 2, text=text)
            second += 1
    return made


def test_answers_without_any_text_agree_about_nothing() -> None:
    silent = METRIC.compute(asked_again([["", ""], [" ", "\n"]]).measured(), {})["rate=1"]
    assert isinstance(silent, Absent)
    partly = METRIC.compute(asked_again([["", "abc"]]).measured(), {})["rate=1"]
    assert isinstance(partly, Estimate)
    assert partly.value == 0.0


def test_one_prompt_in_three_differs() -> None:
    value = METRIC.compute(asked_again([["abc", "abc"], ["abcd", "abxd", "abcd"], ["e", "e"]]).measured(), {})["rate=1"]
    assert isinstance(value, Estimate)
    assert (value.value, value.n_trials) == (pytest.approx(2 / 3), 3)
    assert "1 differed, the earliest: example 1 of launch 0 after 2 characters" in value.method


def test_a_text_that_goes_on_differs_too_and_single_answers_say_nothing() -> None:
    longer = METRIC.compute(asked_again([["ab", "abc"]]).measured(), {})["rate=1"]
    assert isinstance(longer, Estimate)
    assert longer.value == 0.0
    single = METRIC.compute(asked_again([["ab"], ["cd"]]).measured(), {})["rate=1"]
    assert isinstance(single, Absent)
    assert "identity" in single.detail
