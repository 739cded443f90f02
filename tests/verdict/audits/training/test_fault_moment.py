"""A fault that struck without a checkpoint is told."""

from __future__ import annotations

from fireassay.verdict.audits.training.fault_moment import AUDIT
from tests.struck import struck


def test_a_fault_in_the_middle_of_the_steps_is_told_with_the_moment_that_was_planned() -> None:
    made = struck()
    made.event(0, "fault", 10.0, rank=1, incarnation=0, step=7, detail={"instead_of": "3 steps after checkpoint 1"})
    (found,) = AUDIT.examine(made.measured(), {})
    assert (found.rule, found.severity, found.configuration) == ("no_checkpoint_seen", "note", "workers=2")
    assert "struck after step 7 and not 3 steps after checkpoint 1" in found.evidence


def test_a_fault_at_its_moment_is_not() -> None:
    assert tuple(AUDIT.examine(struck().measured(), {})) == ()
