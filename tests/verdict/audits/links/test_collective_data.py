"""Are wrong data of timed collectives found, named by what all ranks saw, and unchecked ones not admitted?"""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from fireassay.frames.record_data import RecordData
from fireassay.spec.sections.collectives import Cell
from fireassay.verdict.audits.links.collective_data import AUDIT, explained
from fireassay.verdict.judge import judge
from fireassay.verdict.types import Finding
from tests.collectives_made import Made


def findings(measured: RecordData) -> dict[str, Finding]:
    return {finding.rule: finding for finding in AUDIT.examine(measured, {})}


@pytest.mark.slow
def test_wrong_data_fail_the_record_and_are_named() -> None:
    def wrong(cell: Cell, launch: int, rank: int, call: int) -> tuple[int, str | None]:
        return (300, "rank_missing: rank 2") if cell.size == 2**14 and launch == 3 and call == 2 else (0, None)

    measured = Made(levels=(4,), sizes=("1K:1M",), wrong=wrong).measured()
    found = findings(measured)["collective_data_wrong"]
    assert found.severity == "fail"
    for part in (
        "all_reduce in place of 16384 bytes of float32 on 4 ranks",
        "launch 3",
        "ranks 0, 1, 2, 3",
        "rank_missing: rank 2",
        "300 wrong elements",
    ):
        assert part in found.evidence
    judgement = judge(measured)
    assert judgement.verdict.status == "FAIL"
    assert "rank_missing: rank 2" in judgement.verdict.sentence


@pytest.mark.slow
def test_calls_that_nobody_checked_are_inadmissible() -> None:
    measured = Made(sizes=("1K:1M",), wrong=lambda *_: (None, None)).measured()
    assert findings(measured)["collective_data_unchecked"].severity == "invalid"
    assert judge(measured).verdict.status == "INVALID"


def test_only_the_root_of_a_reduction_must_have_been_checked() -> None:
    measured = Made(
        ops=("reduce",), levels=(3,), sizes=("1K:1M",), wrong=lambda cell, launch, rank, call: (0 if rank == 0 else None, None)
    ).measured()
    assert findings(measured) == {}


@pytest.mark.parametrize(
    ("seen", "size", "said"),
    [
        ({0: ("stale: the input", 9), 1: ("sum_is_here", 0)}, 2, "wrong_root: the sum is on rank 1"),
        ({0: ("stale: the input", 9), 1: ("rank_missing: rank 1", 9)}, 2, "rank_missing: rank 1"),
        ({0: ("stale: the input", 9), 1: ("stale: the input", 9)}, 2, "stale: the input"),
        (
            {0: ("stale: the input", 9), 1: ("rank_missing: rank 1", 9), 2: ("rank_missing: rank 1", 9)},
            3,
            "stale: the input; rank_missing: rank 1",
        ),
        ({0: ("bit_flip: bit 1 of element 2", 1), 1: ("", 0)}, 2, "bit_flip: bit 1 of element 2"),
    ],
)
def test_what_all_ranks_saw_together_has_one_explanation(seen: dict[int, tuple[str, int]], size: int, said: str) -> None:
    assert explained(seen, size) == said


def test_a_sweep_beside_a_training_is_examined_and_the_trainings_own_calls_are_not() -> None:
    """The same rows, in launches of the role sweep: named. In timed launches of a training nobody checks data."""

    def wrong(cell: Cell, launch: int, rank: int, call: int) -> tuple[int | None, str | None]:
        return (5, "bit_flip: bit 3 of element 5") if launch == 0 and rank == 0 else (None, None)

    made = Made(blocks=2, sizes=("1K:1M",), wrong=wrong).measured()
    workload = made.experiment.workload.model_copy(update={"runner": "training", "script": "train.py"})
    training = replace(made, experiment=made.experiment.model_copy(update={"workload": workload, "collectives": None}))
    assert findings(training) == {}
    launches = made.table("launches").with_columns(role=pl.lit("sweep"))
    swept = replace(training, tables={**made.tables, "launches": launches})
    assert set(findings(swept)) == {"collective_data_wrong", "collective_data_unchecked"}
