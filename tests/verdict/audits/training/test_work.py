"""Whether the ranks' work adds up is said where it does not, or is not known."""

from __future__ import annotations

import json

import pytest

from fireassay.verdict.judge import examine
from tests.handmade import Handmade
from tests.parallel_made import told

SAME, OTHER = ("aa", "bb", "cc"), ("ab", "cd", "ef")  # a step's batch on rank 0 and on rank 1
FIXED = ("aa", "aa", "aa")


def record(batches: tuple[str, ...], **said: object) -> Handmade:
    """Two workers under DistributedDataParallel; a letter is a batch of four items."""
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0] * 4, items=4.0)
    number = made.launch(workers=2)
    for rank in range(2):
        made.steps(number, rank=rank, seconds=[0.625] * 4, items=4.0)
        for step, letters in enumerate(batches):
            made.fingerprint(number, "batch_contents", json.dumps({"tensors": [[letters[rank]]]}), rank=rank, step=step)
    told(made, number, **{"ddp": [2], **said})
    return made


@pytest.mark.parametrize(
    ("batches", "found", "items"),
    [
        (SAME, [("same_samples_on_every_rank", "fail")], 4.0),
        (FIXED, [("same_batch_on_every_rank", "warning")], 8.0),
        (OTHER, [], 8.0),
        ((), [("distinct_samples_unknown", "note")], 8.0),
    ],
)
def test_work_is_counted_once_where_the_ranks_repeat_it(batches: tuple[str, ...], found: list[tuple[str, str]], items: float) -> None:
    measured = record(batches).measured()
    assert [(one.rule, one.severity) for one in examine(measured, "distinct_work")] == found
    steps = measured.global_steps
    assert set(steps.filter(steps["launch"] == 1)["items"]) == {items}


@pytest.mark.parametrize(("batches", "found"), [(SAME, "same_samples_on_every_rank"), ((), "distinct_samples_unknown")])
def test_marked_steps_without_hooks_are_held_against_each_other_too(batches: tuple[str, ...], found: str) -> None:
    made = record(batches)
    made.rows["events"] = [row for row in made.rows["events"] if "parallelism" not in row]
    assert [one.rule for one in examine(made.measured(), "distinct_work")] == [found]


def test_a_distributed_sampler_shares_the_samples_out() -> None:
    assert examine(record((), sharing=2).measured(), "distinct_work") == ()


def test_ids_are_judged_by_the_ledger() -> None:
    made = record(())
    for rank in range(2):
        made.samples(1, [0, 1, 2, 3], rank=rank)
    assert examine(made.measured(), "distinct_work") == ()
