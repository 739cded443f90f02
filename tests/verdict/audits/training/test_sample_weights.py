"""sample_weights: told denominators are exact, untold ones a note unless the gradient tells."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from fireassay.verdict.audits.training.sample_weights import AUDIT
from fireassay.verdict.evidence.training_faults import diagnose
from tests.handmade import Handmade
from tests.metrics.gradients_made import add

pytestmark = pytest.mark.slow


def unequal(*, denominators: tuple[float, float] | None, gradients: bool = False) -> dict[str, str]:
    made = Handmade(levels=(1, 2), blocks=1)
    right = {"w": [3.0, 4.0]}
    add(made, [right] if gradients else [{}])
    number = add(made, [{"w": [3.0, 4.3]}] * 2 if gradients else [{}, {}])
    made.rows["samples"] = [row for row in made.rows["samples"] if row[0] != number]
    made.rows["steps"] = [row for row in made.rows["steps"] if row[0] != number]
    for rank, share in enumerate((5, 3)):
        made.steps(number, rank=rank, seconds=[1.0], items=float(share))
        made.samples(number, range(5) if rank == 0 else range(5, 8), rank=rank)
        if denominators:
            made.fingerprint(number, "denominator", denominators[rank], rank=rank)
    return {finding.rule: finding.severity for finding in AUDIT.examine(made.measured(), {})}


def test_a_told_mean_over_unequal_shards_fails_and_the_right_one_does_not() -> None:
    assert unequal(denominators=(5.0, 3.0)) == {"unequal_shards": "fail"}
    assert unequal(denominators=(4.0, 4.0)) == {}


def test_untold_it_is_a_note_and_with_a_wrong_gradient_a_failure() -> None:
    assert unequal(denominators=None) == {"sample_weights_not_measured": "note"}
    assert unequal(denominators=None, gradients=True) == {"unequal_shards": "fail"}


def divided(alone: list[float] | None, two: Sequence[tuple[float | None, float | None]]) -> dict[str, str]:
    """Every named fault."""
    return {name: one.fault for name, one in diagnose(weighed(alone, two).measured()).items() if one is not None}


def weighed(alone: list[float] | None, two: Sequence[tuple[float | None, float | None]]) -> Handmade:
    """Steps of 8 items, the last of 6; what one worker and two divide by in each."""
    made = Handmade(levels=(1, 2), blocks=1)
    for workers in (1, 2):
        number = made.launch(workers=workers)
        for rank in range(workers):
            for step in range(2):
                made.steps(number, rank=rank, seconds=[1.0], first=step, items=(8.0, 6.0)[step] / workers)
                told = two[step][rank] if workers == 2 else None if alone is None else alone[step]
                if told is not None:
                    made.fingerprint(number, "denominator", told, rank=rank, step=step)
    return made


def test_the_same_divisor_for_a_batch_that_is_not_full_is_no_fault() -> None:
    assert divided([8.0, 8.0], [(4.0, 4.0), (4.0, 4.0)]) == {}
    assert divided(None, [(4.0, 4.0), (4.0, 4.0)]) == {}
    assert divided([8.0, 6.0], [(4.0, 4.0), (4.0, 4.0)]) == {"workers=2": "gradient_scaled"}, "one worker does otherwise"


def test_the_same_wrong_divisor_on_all_ranks_is_a_scale_and_no_inequality() -> None:
    """Divided by the whole batch, and averaged over the two ranks again."""
    assert divided([8.0, 6.0], [(8.0, 8.0), (6.0, 6.0)]) == {"workers=2": "gradient_scaled"}
    assert divided(None, [(8.0, 8.0), (6.0, 6.0)]) == {"workers=2": "gradient_scaled"}
    assert divided([8.0, 8.0], [(4.0, 4.0), (4.5, 3.5)]) == {"workers=2": "unequal_shards"}


def test_what_one_rank_alone_tells_is_no_scale_of_all_and_is_not_excused() -> None:
    """Rank 0 divides by too much in the step that is not full; what rank 1 divides by is not known."""
    told = [(4.0, None), (3.5, None)]
    assert divided([8.0, 6.0], told) == {"workers=2": "unequal_shards"}
    assert divided(None, told) == {"workers=2": "unequal_shards"}
    assert divided([8.0, 8.0], [(4.0, None), (4.0, None)]) == {}, "as one worker does"
