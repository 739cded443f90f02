"""A rank that saves alone is named for that, and is no straggler."""

from __future__ import annotations

import pytest

from fireassay.frames.training.saving_waits import saving_waits
from fireassay.verdict.audits.training.saving_alone import AUDIT
from tests.handmade import Handmade


def made(*, save_s: float = 2.0, savers: tuple[int, ...] = (0,), late: int = 0, detail: dict[str, bool] | None = None) -> Handmade:
    """Two ranks, 20 steps of 1 s; after steps 5, 10 and 15 the savers save, and the others wait in that step or (`late`) in the next."""
    one = Handmade(levels=(2,), blocks=2)
    for block in range(2):
        number = one.launch(workers=2, block=block, wall_s=60.0)
        for rank in range(2):
            seconds, pauses = [1.0] * 20, [0.0] * 20
            for saved in (5, 10, 15):
                if rank in savers:
                    seconds[saved - 1] += save_s
                    pauses[saved - 1] = save_s
                    one.event(number, "checkpoint_save", saved, rank=rank, incarnation=0, duration_s=save_s, step=saved, detail=detail)
                else:
                    seconds[saved - 1 + late] += save_s
            for step in range(20):
                one.steps(number, rank=rank, seconds=[seconds[step]], first=step, start_s=sum(seconds[:step]), checkpoint_s=pauses[step])
    return one


@pytest.mark.parametrize("late", [0, 1])
def test_others_wait_for_three_saves_of_two_seconds(late: int) -> None:
    """6 of 26 s."""
    wait = saving_waits(made(late=late).measured())["workers=2"]
    assert (wait.ranks, wait.saves, wait.save_s) == ((0,), 3.0, 2.0)
    assert wait.share == pytest.approx(6 / 26)
    (found,) = AUDIT.examine(made(late=late).measured(), {})
    assert (found.rule, found.severity, found.configuration) == ("saving_alone", "warning", "workers=2")
    assert found.evidence.startswith("rank 0 alone saves the checkpoints, 3 per launch of 2 s each")


def test_a_little_is_a_note_and_next_to_nothing_is_not_told() -> None:
    assert [one.severity for one in AUDIT.examine(made(save_s=0.2).measured(), {})] == ["note"]
    assert tuple(AUDIT.examine(made(save_s=0.01).measured(), {})) == ()


def test_saving_on_every_rank_or_beside_the_training_is_waited_for_by_nobody() -> None:
    assert saving_waits(made(savers=(0, 1)).measured()) == {}
    assert saving_waits(made(detail={"beside": True}).measured()) == {}
