"""scaling_mode: the recorded work against the declared mode."""

from __future__ import annotations

import pytest

from fireassay.spec.experiment import Scaling
from tests.handmade import Handmade
from tests.verdict.claiming import NOTHING, claim, found, the_finding
from tests.verdict.making import change, good, judged, rules, wrong

pytestmark = pytest.mark.slow


ITEMS = 12  # column of steps
STRONG, WEAK = Scaling(mode="strong"), Scaling(mode="weak")


def with_items(per_rank: float, **asked: object) -> Handmade:
    """The base does 8 items per step; two workers do so many each. Nothing is said about sample ids."""
    made = good(leave_out=("samples",), **asked)  # type: ignore[arg-type]
    change(made, "steps", ITEMS, per_rank, workers=2)
    return made


def test_a_fixed_global_batch_is_strong_scaling() -> None:
    assert rules(judged(with_items(4.0))) == {}


def test_a_batch_that_grows_with_the_workers_is_not_strong_scaling() -> None:
    judgement = judged(with_items(8.0, scaling=STRONG))
    assert rules(judgement) == {"scaling_mode_mismatch": ["workers=2"]}
    assert judgement.verdict.status == "INVALID"
    assert judgement.verdict.findings[0].evidence == "strong scaling needs 8 items per step at 2 workers; recorded: 16"
    assert judgement.verdict.dimensions["workers=2"]["performance"].status == "INVALID"


def test_a_batch_that_grows_with_the_workers_is_weak_scaling() -> None:
    assert wrong(judged(with_items(8.0, scaling=WEAK))) == []


@pytest.mark.parametrize(("per_rank", "mode"), [(4.0, "strong"), (8.0, "weak"), (7.9, "weak"), (4.05, "strong")])
def test_a_mode_that_nobody_declared_is_that_of_the_recorded_work(per_rank: float, mode: str) -> None:
    made = with_items(per_rank)
    assert made.measured().mode == mode
    judgement = judged(made)
    assert wrong(judgement) == []
    assert ("scaling_mode_taken" in rules(judgement)) == (mode == "weak"), "said, for it may be ranks that read the same"


def test_work_that_is_neither_fixed_nor_in_proportion_is_no_scaling_at_all() -> None:
    judgement = judged(with_items(6.0))
    assert wrong(judgement) == ["scaling_mode_mismatch"]
    assert judgement.verdict.status == "INVALID"
    evidence = judgement.verdict.findings[0].evidence
    assert evidence == "neither strong nor weak scaling: 8 items per step at the base, 12 at 2 workers"


def test_a_fixed_global_batch_is_not_weak_scaling() -> None:
    judgement = judged(with_items(4.0, scaling=WEAK))
    assert wrong(judgement) == ["scaling_mode_mismatch"]
    assert judgement.verdict.findings[0].evidence == "weak scaling needs 16 items per step at 2 workers; recorded: 8"


def test_batches_that_differ_by_a_rounding_of_two_hundredths_are_let_pass() -> None:
    """2 x 3.93 = 7.86 of 8 is 1.75 % less; 2 x 3.9 = 7.8 is 2.5 % less."""
    assert rules(judged(with_items(3.93))) == {}
    assert rules(judged(with_items(3.9))) == {"scaling_mode_mismatch": ["workers=2"]}


def test_the_base_of_weak_scaling_need_not_be_one_worker() -> None:
    """Base 2 with 4 items on each of its ranks: 16 items at 4 workers."""
    made = good(levels=(2, 4), scaling=WEAK, leave_out=("samples",))
    change(made, "steps", ITEMS, 4.0)
    assert wrong(judged(made)) == []


def test_where_no_items_are_counted_nothing_is_said() -> None:
    made = good(leave_out=("samples",))
    change(made, "steps", ITEMS, None)
    assert rules(judged(made)) == {}


def test_a_claim_whose_batches_fit_its_mode_is_clear() -> None:
    assert found(claim()) == {}
    weak = {"scaling": "weak", "global_batch": 2048}  # 8 workers with 256 each
    assert found(claim(weak)) == {}


@pytest.mark.parametrize(("mode", "batch", "expected"), [("strong", 2048, "256"), ("weak", 256, "2048")])
def test_a_claim_whose_batches_contradict_its_mode_is_inadmissible(mode: str, batch: int, expected: str) -> None:
    finding = the_finding(claim({"scaling": mode, "global_batch": batch}), "scaling_mode_contradicted")
    assert finding.severity == "invalid"
    assert finding.evidence == f"{mode} scaling needs a global batch of {expected} at 8 workers; stated: {batch}"


def test_a_claim_that_does_not_say_its_mode_is_left_open() -> None:
    assert found(claim({"scaling": NOTHING})) == {"scaling_mode_unsaid": "note"}
