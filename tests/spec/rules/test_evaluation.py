"""Are contradictions of an evaluation found before anything is sent?"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD


def wrong(**sections: Any) -> str:
    with pytest.raises(SpecError) as refused:
        from_mapping({"name": "x", **sections})
    return str(refused.value)


ANSWERS = {"answers": [{"name": "a", "path": "a.jsonl"}]}


def test_files_need_their_runner_and_it_needs_files() -> None:
    assert "evaluation.answers" in wrong(workload={"runner": "answers"}, evaluation={})
    assert 'runner = "answers"' in wrong(workload={"script": "x.py"}, factor={"levels": [1]}, evaluation=ANSWERS)


def test_two_files_need_two_names() -> None:
    twice = {"answers": [*ANSWERS["answers"], {"name": "a", "path": "b.jsonl"}]}
    assert "each name once" in wrong(workload={"runner": "answers"}, evaluation=twice, launches={"per_configuration": 1})


def test_a_file_is_scored_once() -> None:
    assert "launches.per_configuration" in wrong(workload={"runner": "answers"}, evaluation=ANSWERS, launches={"per_configuration": 3})


def test_a_load_of_items_sends_each_as_it_is() -> None:
    text = wrong(
        workload={"runner": "evaluation"},
        evaluation={"task": "gsm8k"},
        serving={
            "targets": [{"urls": ["http://localhost:1"]}],
            "concurrency": [1, 2],
            "prompts": {"source": "x"},
            "scenarios": ["dataset"],
        },
    )
    for key in ("ignore_eos", "arrivals.warm_up_s", "arrivals.cold", "prompts.cache", "concurrency"):
        assert f"serving.{key}" in text


def test_pass_at_k_needs_as_many_programs() -> None:
    load = {"targets": [{"urls": ["http://localhost:1"]}], "concurrency": [1], "prompts": {"source": "x", "cache": "as_is"}, **LOAD}
    text = wrong(
        workload={"runner": "evaluation"}, evaluation={"task": "humaneval", "k": [1, 10]}, serving=load, launches={"per_configuration": 3}
    )
    assert "evaluation.k: found 10; allowed: at most the 3 answers to each item" in text
