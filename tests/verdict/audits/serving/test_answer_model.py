"""answer_model: answers by another model than the one asked for."""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.verdict.types import Finding
from tests.serving_made import ServingMade
from tests.verdict.served import clean, found


def answered(*launches: Any, asked: str = "meta/llama-3") -> tuple[Finding, ...]:
    made = ServingMade(concurrency=(1,), blocks=max(1, len(launches)), seconds=60.0)
    for block, models in enumerate(launches):
        launch = made.launch(block=block)
        made.request(launch, 0.0, stream=0, at_s=[0.1], tokens_out=1)
        made.event(launch, "answer_models", 60.0, detail={"asked": asked, "answered": models})
    return found("answer_model", made.measured())


def test_what_is_not_told_is_no_finding() -> None:
    assert found("answer_model", clean()) == ()
    assert answered({"meta/llama-3": 10}) == ()
    assert answered({"other": 10}, asked="") == ()


def test_another_model_is_named_with_its_answers_over_all_launches() -> None:
    (finding,) = answered({"meta/llama-3": 10, "small": 1}, {"small": 3, "meta/llama-3": 1})
    assert (finding.rule, finding.severity, finding.configuration) == ("another_model", "warning", "concurrency=1")
    assert finding.evidence == ('"meta/llama-3" was requested; of 15 answers that name their model, others are by "small" (4 answers)')


@pytest.mark.parametrize("name", ["llama-3", "/models/Llama-3", "meta/llama-3-20260101", "llama-3:awq"])
def test_a_folder_or_a_version_is_a_note(name: str) -> None:
    (finding,) = answered({name: 5})
    assert (finding.rule, finding.severity) == ("model_by_another_name", "note")


@pytest.mark.parametrize("name", ["llama-33", "llama", "lla", "qwen", "llama-3/x"])
def test_a_longer_or_shorter_word_is_another_model(name: str) -> None:
    """ "llama" may be a form of "llama-3" too: nothing says which of the two is the alias."""
    (finding,) = answered({name: 5})
    assert finding.rule == ("model_by_another_name" if name == "llama" else "another_model")


@pytest.mark.parametrize("answered_by", [None, 5, "x", ["x"], {"x": "many"}, {"x": None}, {"x": -1}, {"x": True}])
def test_a_hostile_event_harms_nothing(answered_by: Any) -> None:
    assert answered(answered_by) == ()
