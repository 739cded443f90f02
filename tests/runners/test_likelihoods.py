"""Are choices and given texts scored over HTTP and in process, and is an engine refused that cannot, before any item is sent?"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from fireassay.errors import EnvironmentLacks, SpecError
from fireassay.frames.record_data import RecordData, from_record
from fireassay.instruments.calls.generation import quiet
from fireassay.record.reader import open_record
from fireassay.record.seal import verify
from fireassay.runners.evaluating import likelihood
from fireassay.runners.evaluation import check
from fireassay.runners.experiment.run import run
from fireassay.spec.experiment import Experiment
from fireassay.spec.load import from_mapping
from fireassay.spec.rules.evaluation import LOAD
from fireassay.verdict.judge import judge
from tests.echo_engine import echo_engine
from tests.instruments import byte_models

GOLDEN = Path(__file__).parents[1] / "golden" / "likelihood" / "lm_eval.json"
CHOICES = [{"prompt": f"{a}+1=", "choices": [f" {a + 1}", f" {a + 2}, or so"], "label": a % 2} for a in range(12)]


def likely(text: str) -> list[float]:
    """Every character costs 1, and every digit 0.5."""
    return [-0.5 if character.isdigit() else -1.0 for character in text]


def experiment(folder: Path, rows: list[dict[str, Any]], targets: list[dict[str, Any]], **evaluation: Any) -> Experiment:
    (folder / "items.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    return from_mapping(
        {
            "name": "choices",
            "workload": {"runner": "evaluation", "work": "tokens"},
            "noise": {"sentinel_s": 0.0},
            "launches": {"per_configuration": 1},
            "evaluation": {"task": "continuations", "data": "items.jsonl", **evaluation},
            "serving": {
                **LOAD,
                "model": "echo",
                "concurrency": [4],
                "targets": targets,
                "prompts": {"source": "items.jsonl", "cache": "as_is"},
            },
        }
    )


def evaluated(folder: Path, rows: list[dict[str, Any]], targets: list[dict[str, Any]], **evaluation: Any) -> RecordData:
    path = run(experiment(folder, rows, targets, **evaluation), folder=folder, root=folder / "records")
    assert verify(path) == ()
    return from_record(open_record(path))


def scores(measured: RecordData, metric: str) -> dict[str, float]:
    rows = measured.table("scores").to_dicts()
    return {row["item"]: row["score"] for row in rows if row["metric"] == metric}


@pytest.mark.slow
def test_every_choice_is_one_request_that_nothing_is_generated_for(tmp_path: Path) -> None:
    with echo_engine(likely) as engine:
        measured = evaluated(tmp_path, CHOICES, [{"name": "a", "urls": [engine.url]}])
    items = [body for body in engine.bodies if not body["prompt"].startswith(likelihood.CONTEXT)]
    assert sorted(body["prompt"] for body in items) == sorted(row["prompt"] + choice for row in CHOICES for choice in row["choices"])
    assert {(body["max_tokens"], body["echo"], body["logprobs"], body["stream"]) for body in items} == {(0, True, 1, False)}
    # The short choice always costs less, in all and per character: half of the items are right.
    assert scores(measured, "acc") == {str(number): float(a % 2 == 0) for number, a in enumerate(range(12), 1)}
    (first,) = measured.table("answers").filter(item="1").to_dicts()
    assert (first["answer"], first["rule"], first["references"]) == ("0", "most_probable", '["0"]')
    answer = json.loads(first["text"])
    assert [(entry["logprob"], entry["tokens"]) for entry in answer] == [(-1.5, 2), (-8.5, 9)]
    verdict = judge(measured).verdict
    assert verdict.status == "MEASURED"
    (dimensions,) = verdict.dimensions.values()
    told = ("request_throughput ", "the times do not count: ")  # no token was generated; a busy machine sends too late
    assert dimensions["performance"].sentence.startswith(told)


@pytest.mark.deep
@pytest.mark.slow
def test_a_choice_that_failed_makes_its_item_failed_and_never_wrong(tmp_path: Path) -> None:
    def broken(text: str) -> list[float] | int:
        return 500 if text.startswith("3+1=") and "or so" in text else likely(text)

    with echo_engine(broken) as engine:
        measured = evaluated(tmp_path, CHOICES, [{"name": "a", "urls": [engine.url]}])
    outcomes = {row["item"]: row["outcome"] for row in measured.table("answers").to_dicts()}
    assert outcomes == {str(number): "5xx" if number == 4 else "ok" for number in range(1, 13)}
    assert set(scores(measured, "acc")) == {str(number) for number in range(1, 13)} - {"4"}
    judgement = judge(measured)
    assert judgement.verdict.status == "INVALID"
    assert any("1 of 12 items were not answered (1 5xx)" in finding.evidence for finding in judgement.verdict.findings)


@pytest.mark.deep
@pytest.mark.slow
def test_an_engine_that_must_generate_a_token_is_given_one_that_does_not_count(tmp_path: Path) -> None:
    rows = [{"prompt": "abc", "continuation": " de"}, {"prompt": "x ", "continuation": "7"}]
    with echo_engine(likely, "needs a token") as engine:
        measured = evaluated(tmp_path, rows, [{"name": "a", "urls": [engine.url]}])
    assert [body["max_tokens"] for body in engine.bodies[-2:]] == [1, 1]
    statistics = {(row["item"], row["metric"]): row["statistics"] for row in measured.table("scores").to_dicts()}
    assert statistics == {
        ("1", "bits_per_byte"): [3.0, 3.0],
        ("1", "perplexity"): [3.0, 3.0],
        ("2", "bits_per_byte"): [1.5, 2.0],  # the blank before 7 counts to it
        ("2", "perplexity"): [1.5, 2.0],
    }
    assert scores(measured, "perplexity")["1"] == pytest.approx(math.e)
    assert scores(measured, "bits_per_byte")["1"] == pytest.approx(1 / math.log(2))


@pytest.mark.parametrize("ability", ["does not echo", "refuses echo"])
def test_an_engine_that_cannot_echo_is_refused_before_any_item_is_sent(ability: Any, tmp_path: Path) -> None:
    with echo_engine(likely, ability) as engine:
        asked = experiment(tmp_path, CHOICES, [{"name": "a", "urls": [engine.url]}])
        with pytest.raises(EnvironmentLacks, match="the engine a at .* cannot score a given text") as refused:
            check(asked, tmp_path)
    assert "No item was sent" in str(refused.value)
    assert {body["prompt"] for body in engine.bodies} == {likelihood.CONTEXT + likelihood.CONTINUATION}


def test_a_dialect_without_echo_is_refused_by_name(tmp_path: Path) -> None:
    with echo_engine(likely) as engine:
        asked = experiment(tmp_path, CHOICES, [{"name": "a", "urls": [engine.url], "backend": "transformers"}])
        with pytest.raises(SpecError, match="loglikelihood"):
            check(asked, tmp_path)
    assert engine.bodies == []


def test_extractors_of_texts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="nothing is found"):
        check(experiment(tmp_path, CHOICES, [{"name": "a", "urls": ["http://127.0.0.1:9"]}], extractor="last_number"), tmp_path)


def test_scores_that_read_something_else_are_refused() -> None:
    likelihood.fitting(("exact_match", "acc"), "loglikelihood", "t")
    with pytest.raises(SpecError, match="(?s)scores of t.*acc.*variant=letter"):
        likelihood.fitting(("exact_match", "acc"), "generation", "t")
    with pytest.raises(SpecError, match="(?s)bleu.*allowed: one of pass_at_1"):
        likelihood.fitting(("pass_at_1", "bleu"), "code", "t")


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.torch
def test_a_record_in_process_has_the_scores_of_lm_evaluation_harness(tmp_path: Path) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["items"]
    rows = [{"prompt": item["prompt"], "choices": [f" {choice}" for choice in item["choices"]], "label": item["label"]} for item in golden]
    with quiet():
        folder = byte_models.save(tmp_path / "model")
    target = {"name": "a", "backend": "process", "model": str(folder), "options": {"threads": 1}}
    measured = evaluated(tmp_path, rows, [target], metrics=["acc", "acc_norm", "acc_bytes", "exact_match"])
    assert scores(measured, "exact_match") == scores(measured, "acc")  # a score of texts reads the most probable choice
    for name in ("acc", "acc_norm", "acc_bytes"):
        assert scores(measured, name) == {str(number): item[name] for number, item in enumerate(golden, 1)}
