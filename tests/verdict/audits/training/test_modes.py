"""modes: ranks in different modes in the same step; a failure where a layer depends on the mode."""

from __future__ import annotations

from fireassay.verdict.audits.training.modes import AUDIT
from tests.handmade import Handmade


def found(modes: list[dict[int, str]], *, layers: int = 1) -> list[tuple[str, str]]:
    """Of each rank: step -> mode."""
    made = Handmade(levels=(1, 4), blocks=1)
    number = made.launch(workers=4)
    for rank, own in enumerate(modes):
        made.fingerprint(number, "random_layers", layers, rank=rank)
        for step, mode in own.items():
            made.fingerprint(number, "mode", mode, rank=rank, step=step)
    return [(one.severity, one.evidence) for one in AUDIT.examine(made.measured(), {})]


def test_the_first_step_in_which_modes_differ_is_named_with_its_ranks() -> None:
    ((severity, evidence),) = found([{1: "train", 2: "train"}] * 3 + [{1: "train", 2: "eval"}])
    assert severity == "fail"
    assert evidence == (
        "ranks train in different modes in step 2 of launch 0 (ranks 0, 1, 2: train; rank 3: eval); 1 layer draws random numbers"
    )


def test_a_mode_without_consequence_is_a_note() -> None:
    ((severity, _),) = found([{1: "train"}] * 3 + [{1: "eval"}], layers=0)
    assert severity == "note"


def test_the_same_mode_on_all_ranks_is_nothing_and_so_is_a_step_that_not_all_reached() -> None:
    assert found([{1: "train, but for 2"}] * 4) == []
    assert found([{1: "eval"}] * 4) == []
    assert found([{1: "train"}] * 3 + [{2: "eval"}]) == []
