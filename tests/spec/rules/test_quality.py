"""A quality that cannot be computed for its workload is refused before anything runs, and read from a record all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import load
from fireassay.spec.rules.evaluation import uncomputable
from fireassay.spec.rules.partial import as_far_as_known

GOOD: dict[str, Any] = {
    "workload": {"runner": "serving"},
    "quality": {"metric": "exact_match"},
    "serving": {"scenarios": ["dataset"], "prompts": {"source": "q.jsonl", "answer_field": "gold"}},
}


def found(**changed: Any) -> list[str]:
    return [problem.where for problem in uncomputable(as_far_as_known(Experiment, {**GOOD, **changed}))]


def serving(**changed: Any) -> dict[str, Any]:
    return {**GOOD["serving"], **changed}


def test_a_load_with_reference_answers_can_be_scored() -> None:
    assert found() == []
    assert found(quality=None) == []
    assert found(quality={}) == []  # accuracy, which is exact match


def test_a_script_names_its_scores_itself() -> None:
    assert found(workload={"runner": "training"}, serving=None, quality={"metric": "anything"}) == []


@pytest.mark.parametrize("runner", ["command", "function", "collectives", "network"])
def test_what_reports_no_scores_has_no_quality(runner: str) -> None:
    assert found(workload={"runner": runner}, serving=None) == ["quality"]


@pytest.mark.parametrize(
    ("asked", "where"),
    [
        ({"quality": {"metric": "bleu"}}, "quality.metric"),
        ({"serving": serving(prompts={"source": "q.jsonl"})}, "serving.prompts.answer_field"),
        ({"serving": serving(prompts={"answer_field": "gold"})}, "serving.prompts.source"),
        ({"serving": serving(prompts={"source": "q.txt", "format": "text", "answer_field": "gold"})}, "serving.prompts.source"),
        ({"serving": serving(scenarios=["dataset", "D(100,100)"])}, "serving.scenarios"),
        ({"serving": serving(scenarios=None)}, "serving.scenarios"),
        ({"serving": serving(client={"keep_text": False})}, "serving.client.keep_text"),
        ({"serving": serving(task="embeddings")}, "quality"),
    ],
)
def test_what_a_load_cannot_score_is_named_by_its_key(asked: dict[str, Any], where: str) -> None:
    assert found(**asked) == [where]


def test_the_line_is_said_with_the_way_on(tmp_path: Path) -> None:
    (tmp_path / "q.jsonl").touch()
    (tmp_path / "load.toml").write_text(
        'name = "load"\n[workload]\nrunner = "serving"\nscript = "http://127.0.0.1:9"\n[serving]\nconcurrency = [1]\nscenarios = ["dataset"]\n'
        '[serving.prompts]\nsource = "q.jsonl"\nanswer_field = "gold"\n[quality]\nmetric = "containz"\n'
    )
    with pytest.raises(SpecError) as told:
        load(tmp_path / "load.toml")
    (problem,) = told.value.problems
    assert (problem.where, problem.fix) == ("quality.metric", "Did you mean contains?")


def test_a_record_that_asked_for_it_can_be_read() -> None:
    from fireassay.spec.load import from_mapping

    asked = {**GOOD, "workload": {"runner": "serving", "script": "http://127.0.0.1:9"}, "quality": {"metric": "bleu"}, "name": "x"}
    asked["serving"] = {**GOOD["serving"], "concurrency": [1]}
    assert from_mapping(asked).quality is not None


def test_a_limit_on_flips_needs_an_evaluation() -> None:
    limited = {"metric": "exact_match", "max_flip_rate": 0.05}
    assert found(quality=limited) == ["quality.max_flip_rate"]
    assert found(quality=limited, evaluation={}, workload={"runner": "evaluation"}) == []
