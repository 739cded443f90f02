"""Are keys that contradict a judge named before anything is asked?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.spec.deeds import deeds
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping


def experiment(judge: dict[str, Any] | None = None, **evaluation: Any) -> Experiment:
    made = {"url": "http://127.0.0.1:9", "model": "m", "rubric": "r.toml", **(judge or {})}
    return from_mapping(
        {
            "name": "j",
            "workload": {"runner": "answers", "work": "items"},
            "launches": {"per_configuration": 1},
            "evaluation": {"answers": [{"name": "a", "path": "a.jsonl"}], "judge": made, **evaluation},
        }
    )


def test_a_judge_is_asked_at_temperature_0() -> None:
    evaluation = experiment().evaluation
    assert evaluation is not None
    assert evaluation.judge is not None
    assert (evaluation.judge.temperature, evaluation.judge.seed, evaluation.judge.max_tokens) == (0.0, 0, 512)


@pytest.mark.parametrize(
    ("judge", "evaluation", "said"),
    [
        ({"url": "ftp://x"}, {}, "http:// or https://"),
        ({"model": ""}, {}, "evaluation.judge.model"),
        ({"rubric": ""}, {}, "evaluation.judge.rubric"),
        ({"price": [1.0]}, {}, "two prices"),
        ({"price": [-1.0, 2.0]}, {}, "at least 0"),
        ({"concurrency": 0}, {}, "evaluation.judge.concurrency"),
        ({"api_key": "sk"}, {}, "api_key"),
        ({}, {"given": {"fields": ["x"]}}, "none beside a judge"),
        ({}, {"ratings": {"form": "long"}}, "none beside a judge"),
        ({}, {"majority": True}, "none beside a judge"),
        ({}, {"fields": {"image": "path"}}, "none beside a judge"),
        ({}, {"best_of": {"candidates": 4}}, "none beside a judge"),
    ],
)
def test_what_contradicts_is_named(judge: dict[str, Any], evaluation: dict[str, Any], said: str) -> None:
    with pytest.raises(SpecError, match=said):
        experiment(judge, **evaluation)


def test_whoever_reproduces_it_is_told_where_answers_go_and_which_key_goes_along() -> None:
    made = experiment({"api_key_env": "JUDGE_KEY", "gold": "gold.csv", "cache": "kept"})
    assert made.secret_variables == ("JUDGE_KEY",)
    found = deeds(made, Path())
    assert "send the answers to http://127.0.0.1:9, with the value of $JUDGE_KEY" in found
    assert {"read the file r.toml", "read the file gold.csv", "keep replies in the folder kept"} <= set(found)
