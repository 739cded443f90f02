"""Are steps that contradict each other, or the rest of the experiment, refused with what to do?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.spec.plan import configurations
from fireassay.spec.rules.evaluation import LOAD

BUDGET = {"levels": [64, 128], "what": "reasoning_tokens", "field": "thinking.budget_tokens"}


def asked(steps: dict[str, Any], *, launches: int = 8, engines: int = 1, temperature: float = 0.8) -> Experiment:
    targets = [{"name": name, "urls": ["http://localhost:1"]} for name in "ab"[:engines]]
    load = {**LOAD, "targets": targets, "concurrency": [1], "temperature": temperature, "prompts": {"source": "x", "cache": "as_is"}}
    data = {"name": "x", "workload": {"runner": "evaluation"}, "launches": {"per_configuration": launches}, "serving": load}
    return from_mapping({**data, "evaluation": {"task": "gsm8k", "steps": steps}})


def wrong(steps: dict[str, Any], **more: Any) -> str:
    with pytest.raises(SpecError) as refused:
        asked(steps, **more)
    return str(refused.value)


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        ({"levels": [0, 2]}, "found 0"),
        ({"levels": [-1, 2]}, "found -1"),
        ({"levels": [1, 2, 2]}, "found 2 twice; allowed: each number of steps once"),
        ({"levels": [4]}, "two numbers of steps or more"),
        ({"levels": [1, 129]}, "found 129; allowed: at most 128 samples"),
        ({"levels": [1, 65], "what": "turns"}, "found 65; allowed: at most 64 turns"),
        ({"levels": [1, 10**12], "what": "reasoning_tokens", "field": "x"}, "found 1000000000000"),
        ({"levels": [1, 9]}, "found 9; allowed: at most the 8 answers to each item"),
        ({"levels": [1, 2], "what": "reasoning_tokens"}, "the key of the request's body that holds the budget"),
        ({"levels": [1, 2], "what": "reasoning_tokens", "field": "a b"}, "the key of the request's body"),
        ({"levels": [1, 2], "what": "reasoning_tokens", "field": "a..b"}, "the key of the request's body"),
        ({"levels": [1, 2], "what": "reasoning_tokens", "field": "effort=low"}, "1 words for 2 levels; allowed: one word for each level"),
        ({"levels": [1, 2], "what": "reasoning_tokens", "field": "effort=low,"}, "allowed: one word for each level"),
        ({"levels": [1, 2], "field": "thinking.budget_tokens"}, "where a step is one of samples"),
        ({"levels": [1, 2], "what": "turns", "again": ""}, "evaluation.steps.again"),
        ({"levels": [1, 2], "what": "thoughts"}, "evaluation.steps.what"),
    ],
)
def test_wrong_steps_are_refused(steps: dict[str, Any], words: str) -> None:
    assert words in wrong(steps)


def test_greedy_samples_are_copies() -> None:
    assert "greedy answers are copies of one" in wrong({"levels": [1, 2]}, temperature=0.0)
    assert asked({"levels": [1, 2], "what": "turns"}, temperature=0.0).evaluation is not None


def test_a_curve_over_budgets_is_of_one_engine() -> None:
    assert "one engine for a curve over budgets" in wrong(BUDGET, engines=2)


def test_answers_that_exist_have_no_steps() -> None:
    with pytest.raises(SpecError, match="steps of a running engine"):
        from_mapping(
            {
                "name": "x",
                "workload": {"runner": "answers"},
                "launches": {"per_configuration": 1},
                "evaluation": {"answers": [{"name": "a", "path": "a.jsonl"}], "steps": {"levels": [1, 2]}},
            }
        )


def test_budgets_are_configurations_in_ascending_order_and_samples_are_not() -> None:
    names = [one.name for one in configurations(asked({**BUDGET, "levels": [128, 64]}))]
    assert names == ["engine=a reasoning_tokens=64", "engine=a reasoning_tokens=128"]
    assert [one.name for one in configurations(asked({"levels": [1, 2]}))] == ["engine=a"]
