"""Nothing distributed is a fault by its own name; a parallelism that is not data parallelism is a note, and a wrong declaration a
warning.
"""

from __future__ import annotations

from typing import Any

import pytest

from fireassay.spec.sections.workload import Workload
from fireassay.verdict.audits.training.parallelism import AUDIT
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.parallel_made import hashed, told
from tests.verdict.making import good

APART = {0: "ab", 1: "cd"}
SAME = {0: "aa", 1: "bb"}


def made(declared: str = "auto", *, levels: tuple[int, ...] = (1, 2), looks: dict[int, str] | None = None, **said: Any) -> Handmade:
    one = Handmade(levels=levels, blocks=1)
    workload = Workload.model_validate({"script": "train.py", "parallelism": declared})
    one.experiment = one.experiment.model_copy(update={"workload": workload})
    for workers in levels:
        number = one.launch(workers=workers)
        for rank in range(workers):
            one.steps(number, rank=rank, seconds=[1.0], items=4.0)
        if workers > 1:
            told(one, number, workers, **said)
            hashed(one, number, {step: letters * workers for step, letters in (looks or {}).items()}, workers=workers)
    return one


def found(one: Handmade) -> list[tuple[str, str, str | None]]:
    return [(f.rule, f.severity, f.configuration) for f in AUDIT.examine(one.measured(), {})]


def test_workers_without_a_group_are_named_in_every_configuration() -> None:
    findings = found(made(levels=(1, 2, 4), group=0, looks=SAME))
    assert findings == [("nothing_is_distributed", "fail", f"workers={n}") for n in (2, 4)]


def test_what_was_declared_is_said_beside_it() -> None:
    (finding,) = AUDIT.examine(made("data", group=0).measured(), {})
    assert finding.evidence.startswith("data parallelism is declared, but no process group was created")


def test_workers_that_were_declared_to_be_alone_are_a_note() -> None:
    assert found(made("none", group=0)) == []


def test_ranks_that_were_declared_alone_and_synchronise_are_a_warning() -> None:
    assert found(made("none", ddp=[2])) == [("parallelism_contradicted", "warning", "workers=2")]


@pytest.mark.parametrize("said", [{"ddp": [2]}, {"fsdp": 2}])
def test_what_everybody_does_is_not_worth_a_word(said: dict[str, Any]) -> None:
    assert found(made(**said)) == []


def test_another_parallelism_is_said_once() -> None:
    one = made(levels=(1, 2, 4), stage=True)
    assert found(one) == [("parallelism_recognised", "note", None)]
    assert next(iter(AUDIT.examine(one.measured(), {}))).evidence.startswith("this is pipeline parallelism: stages of torch's pipeline")


def test_what_is_not_known_is_said_with_what_is_therefore_not_judged() -> None:
    one = made(libraries=["horovod"], looks=APART)
    (finding,) = AUDIT.examine(one.measured(), {})
    assert (finding.rule, finding.severity) == ("parallelism_not_known", "note")
    assert "horovod may communicate" in finding.evidence


def test_a_record_that_does_not_say_is_not_examined() -> None:
    one = made(ddp=[2])
    one.rows["events"].clear()
    assert found(one) == []
    assert AUDIT.blind is not None
    assert "does not say" in str(AUDIT.blind(one.measured(), {}))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["tensor", "pipeline", "mixed", "local_sgd"])
def test_no_other_parallelism_fails_on_what_only_data_parallelism_has(kind: str) -> None:
    """Replicas that differ from the start, and ranks that use the same samples."""
    one = good(leave_out=("hashes", "samples"))
    one.experiment = one.experiment.model_copy(update={"workload": Workload.model_validate({"script": "train.py", "parallelism": kind})})
    if kind in ("tensor", "pipeline"):  # all ranks work on the eight items of a step
        one.rows["steps"] = [(*row[:-2], 8.0, row[-1]) for row in one.rows["steps"]]
    for number, row in enumerate(one.rows["launches"]):
        hashed(one, number, {0: "ab", 1: "cd"}, workers=row[4])
        if kind != "local_sgd":
            for rank in range(row[4]):
                one.samples(number, list(range(32)), rank=rank)
    wrong = [f.rule for f in judge(one.measured()).verdict.findings if f.severity in ("fail", "invalid")]
    assert wrong == []


@pytest.mark.slow
def test_declared_data_parallelism_is_judged_as_such() -> None:
    one = good(leave_out=("hashes",))
    for number, row in enumerate(one.rows["launches"]):
        hashed(one, number, {0: "aa", 1: "bc"}, workers=row[4])
    assert "gradients_not_synchronised" in {f.rule for f in judge(one.measured()).verdict.findings}
