"""Scripts of every parallelism, as they are: each is recognised, and none is judged for what it does not do."""

from __future__ import annotations

from pathlib import Path

import pytest

from assay.verdict.judge import Judgement, judge
from tests.once import once
from tests.verdict.parallel import record, train

pytestmark = [pytest.mark.torch, pytest.mark.slow]

NOT_DATA = ("tensor_by_hand", "pipeline_by_hand", "local_sgd")
BOTH = (*NOT_DATA, "alone", "unwrapped")


@pytest.fixture(scope="module")
def left(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def run(folder: Path) -> None:
        folder.mkdir(exist_ok=True)
        for workers in (1, 2):
            train(folder / str(workers), list(BOTH), workers=workers)

    return once(tmp_path_factory, "parallel", run)


def judged(left: Path, name: str) -> Judgement:
    return judge(record(left, name))


def wrong(judgement: Judgement) -> list[str]:
    return [one.rule for one in judgement.verdict.findings if one.severity in ("fail", "invalid")]


@pytest.mark.parametrize("name", NOT_DATA)
def test_a_training_that_is_not_data_parallel_gets_no_data_parallel_finding(name: str, left: Path) -> None:
    assert wrong(judged(left, name)) == []


def test_workers_that_never_meet_are_told_that_nothing_is_distributed(left: Path) -> None:
    assert wrong(judged(left, "alone")) == ["nothing_is_distributed"]


def test_a_model_that_was_not_wrapped_is_named(left: Path) -> None:
    assert wrong(judged(left, "unwrapped")) == ["gradients_not_synchronised"]
