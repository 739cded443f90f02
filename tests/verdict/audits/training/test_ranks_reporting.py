"""Ranks that are missing from the steps are named."""

from __future__ import annotations

from fireassay.verdict.audits.training.ranks_reporting import AUDIT
from tests.handmade import Handmade


def findings(*, ranks: int) -> list[tuple[str, str | None]]:
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0])
    number = made.launch(workers=2)
    for rank in range(ranks):
        made.steps(number, rank=rank, seconds=[1.0])
    return [(found.rule, found.configuration) for found in AUDIT.examine(made.measured(), {})]


def test_a_probe_on_rank_0_alone_is_named() -> None:
    assert findings(ranks=1) == [("ranks_missing", "workers=2")]


def test_all_ranks_or_none_is_fine() -> None:
    assert findings(ranks=2) == []
    assert findings(ranks=0) == []  # the script does not use the probe: nothing is claimed from steps


def test_ranks_that_made_unequally_many_steps_are_named() -> None:
    made = Handmade(levels=(1, 2), blocks=1)
    made.steps(made.launch(workers=1), seconds=[1.0] * 3)
    number = made.launch(workers=2)
    made.steps(number, rank=0, seconds=[1.0] * 3)
    made.steps(number, rank=1, seconds=[1.0] * 2)
    (found,) = AUDIT.examine(made.measured(), {})
    assert (found.rule, found.configuration, found.severity) == ("uneven_steps", "workers=2", "warning")
    assert found.evidence == "rank 1 made 2 steps in launch 1, where another made 3 (1 launch in all)"
    made.steps(number, rank=1, seconds=[1.0], first=2, start_s=2.0)
    assert tuple(AUDIT.examine(made.measured(), {})) == ()
