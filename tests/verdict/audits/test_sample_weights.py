"""sample_weights: told denominators are exact, untold ones a note unless the gradient tells."""

from __future__ import annotations

from assay.verdict.audits.sample_weights import AUDIT
from tests.handmade import Handmade
from tests.metrics.gradients_made import add


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
