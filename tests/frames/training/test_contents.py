"""What digests of batches say: the same samples or others on the ranks, and other contents of the same samples than with one worker."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from fireassay.frames.training.correctness.contents import Other, likeness, others, repeats, same_noise
from tests.handmade import Handmade

ALONE, SEVERAL = 0, 1


def made(batches: Mapping[tuple[int, int, int], tuple[list[int], list[str]]]) -> Handmade:
    """(launch, step, rank) -> ids and digests."""
    record = Handmade(levels=(1, 2), blocks=1)
    for workers in (1, 2):
        record.launch(workers=workers)
    for (launch, step, rank), (ids, digests) in batches.items():
        record.fingerprint(launch, "batch_contents", json.dumps({"tensors": [digests], "ids": ids}), step=step, rank=rank)
    return record


@pytest.mark.parametrize(
    ("of_rank_0", "of_rank_1", "right"),
    [
        (["a", "b"], ["c", "d"], ("different", False)),
        (["a", "b"], ["a", "b"], ("same", False)),
        (["a", "a"], ["a", "a"], ("same", True)),
        (["a", "b"], ["a", "c"], ("different", False)),  # equal in one step by chance
    ],
)
def test_ranks_are_alike_if_every_recorded_step_is(of_rank_0: list[str], of_rank_1: list[str], right: tuple[str, bool]) -> None:
    both = {(SEVERAL, step, rank): ([], [text[step]]) for rank, text in enumerate((of_rank_0, of_rank_1)) for step in range(2)}
    assert likeness(made(both).measured(), SEVERAL, 2) == right


def test_nothing_is_known_of_ranks_that_told_nothing() -> None:
    assert likeness(made({(SEVERAL, 0, 0): ([], ["a"])}).measured(), SEVERAL, 2) == ("unknown", False)


def test_a_rank_with_other_contents_is_named_beside_one_whose_contents_are_right() -> None:
    record = made(
        {
            (ALONE, 0, 0): ([0, 1, 2, 3], ["a", "b", "c", "d"]),
            (ALONE, 1, 0): ([4, 5], ["e", "f"]),
            (SEVERAL, 0, 0): ([0, 2], ["a", "c"]),
            (SEVERAL, 0, 1): ([1, 3], ["x", "y"]),
            (SEVERAL, 1, 0): ([4], ["e"]),
            (SEVERAL, 1, 1): ([5], ["f"]),
        }
    ).measured()
    (other,) = others(record, SEVERAL, ALONE)
    assert other == Other(part=("", 0, 0), different={0: 0, 1: 2}, compared={0: 3, 1: 3}, steps={0: 2, 1: 2})
    assert (other.ranks, other.equal) == ((1,), (0,))


def test_a_sample_that_changes_when_it_is_seen_again_is_random() -> None:
    again = {(ALONE, step, 0): ([0, 1, 2, 3, 4, 5, 6, 7], [f"{step}{id}" for id in range(8)]) for step in (0, 8)}
    assert repeats(made(again).measured(), ALONE, ("", 0, 0)) == "random"
    fixed = {(ALONE, step, 0): ([0, 1, 2, 3, 4, 5, 6, 7], [f"{id}" for id in range(8)]) for step in (0, 8)}
    assert repeats(made(fixed).measured(), ALONE, ("", 0, 0)) == "fixed"
    assert repeats(made({(ALONE, 0, 0): ([0], ["a"])}).measured(), ALONE, ("", 0, 0)) == "unknown"


@pytest.mark.parametrize(
    ("added", "steps"),
    [
        ({0: ([0.1, 0.2], [0.1, 0.2]), 1: ([0.3, -0.1], [0.3, -0.10001])}, 2),
        ({0: ([0.1, 0.2], [0.1, 0.2]), 1: ([0.3, -0.1], [0.2, 0.4])}, 0),  # equal by chance, once
        ({0: ([1.0, 1.0], [1.0, 1.0]), 1: ([1.0, 1.0], [1.0, 1.0])}, 0),  # a constant is no noise
        ({0: ([0.1, 0.2], [0.1, 0.2])}, 0),
    ],
)
def test_noise_is_the_same_if_every_rank_adds_the_same_other_numbers_in_each_step(
    added: Mapping[int, tuple[list[float], list[float]]], steps: int
) -> None:
    record = made({})
    for step, of_ranks in added.items():
        for rank, numbers in enumerate(of_ranks):
            record.fingerprint(SEVERAL, "input_change", json.dumps(numbers), step=step, rank=rank)
    assert same_noise(record.measured(), SEVERAL, 2) == steps
