"""Scripts of every parallelism, as they are: each is recognised, and none is judged for what it does not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from fireassay.estimates.estimate import Absent, Estimate
from fireassay.frames.training.parallelism import parallelism
from fireassay.verdict.judge import Judgement, judge
from tests.instruments.test_attach import same_weights
from tests.once import once
from tests.verdict.parallel import Declared, record, train

pytestmark = [pytest.mark.torch, pytest.mark.slow, pytest.mark.deep]

NOT_DATA = {"tensor_by_hand": "tensor", "pipeline_by_hand": "pipeline", "local_sgd": "local_sgd"}
BOTH = (*NOT_DATA, "alone", "unwrapped")  # scripts that run on one worker too
TOGETHER = {"ddp": "data", "by_hand": "data", "fsdp2": "sharded", "tensor_parallel": "tensor", "staged": "pipeline"}


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def run(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        train(folder / "1", list(BOTH), workers=1)
        train(folder / "2", [*BOTH, *TOGETHER], workers=2)

    return once(tmp_path_factory, "parallel", run)


def judged(left: Path, name: str, declared: Declared = "auto") -> Judgement:
    return judge(record(left, name, declared))


def wrong(judgement: Judgement) -> list[str]:
    return [one.rule for one in judgement.verdict.findings if one.severity in ("fail", "invalid")]


@pytest.mark.parametrize("name", [*BOTH, *TOGETHER])
def test_the_script_does_not_notice(name: str, left: Path) -> None:
    for rank in range(2):
        same_weights(left / "2", name, f".{rank}")


@pytest.mark.parametrize(("name", "kind"), (NOT_DATA | TOGETHER).items())
def test_the_parallelism_is_recognised(name: str, kind: str, left: Path) -> None:
    found = parallelism(record(left, name, levels=(2,)), "workers=2")
    assert (found.kind, found.by) == (kind, "recognised"), found.evidence


@pytest.mark.parametrize(("name", "kind"), NOT_DATA.items())
def test_a_training_that_is_not_data_parallel_gets_no_data_parallel_finding(name: str, kind: str, left: Path) -> None:
    judgement = judged(left, name)
    assert wrong(judgement) == []
    (note,) = [one for one in judgement.verdict.findings if one.rule == "parallelism_recognised"]
    assert note.severity == "note"
    layers = {one.layer: one for one in judgement.verdict.layers["workers=2"]}
    assert layers["hashes"].state == layers["gradient"].state == "not run"
    assert {"tensor": "its own part", "pipeline": "its own stage", "local_sgd": "two averages"}[kind] in layers["hashes"].sentence


@pytest.mark.parametrize("name", ["tensor_by_hand", "pipeline_by_hand"])
def test_the_samples_of_one_model_count_once(name: str, left: Path) -> None:
    """Batches of 8 on one worker and on two: the ranks of two work on the same ones."""
    measured = record(left, name)
    assert set(measured.global_steps["items"].to_list()) == {8.0}
    assert measured.mode == "strong"
    assert isinstance(judged(left, name).results["speedup"]["workers=2"], Estimate)


def test_workers_that_never_meet_are_told_that_nothing_is_distributed(left: Path) -> None:
    judgement = judged(left, "alone")
    assert wrong(judgement) == ["nothing_is_distributed"]
    assert judgement.verdict.status == "FAIL"
    for metric in ("speedup", "efficiency", "replicas_agree", "samples_lost", "loss_deviation"):
        assert isinstance(judgement.results[metric]["workers=2"], Absent), metric
    assert "equal" not in judgement.verdict.dimensions["workers=2"]["correctness"].sentence


def test_replicas_that_are_declared_to_train_alone_are_no_fault_and_no_speedup(left: Path) -> None:
    judgement = judged(left, "alone", "none")
    assert wrong(judgement) == []
    speedup = judgement.results["speedup"]["workers=2"]
    assert isinstance(speedup, Absent)
    assert {one.state for one in judgement.verdict.layers["workers=2"]} == {"not run"}


def test_a_model_that_was_not_wrapped_is_named(left: Path) -> None:
    judgement = judged(left, "unwrapped")
    assert wrong(judgement) == ["gradients_not_synchronised"]
    assert "data_parallelism_meant" in {one.rule for one in judgement.verdict.findings}


def test_a_declaration_that_the_evidence_contradicts_is_named_with_it(left: Path) -> None:
    found = [one for one in judged(left, "tensor_by_hand", "pipeline").verdict.findings if one.rule == "parallelism_contradicted"]
    assert [one.severity for one in found] == ["warning"]
    assert "pipeline parallelism" in found[0].evidence
    assert "tensor parallelism" in found[0].evidence


def test_workers_that_train_alone_have_no_scaling_mode(left: Path) -> None:
    rules = {one.rule for one in judged(left, "alone").verdict.findings}
    assert not {rule for rule in rules if rule.startswith("scaling_mode")}
