"""A run without steps says why, before anything else."""

from __future__ import annotations

import pytest

from fireassay.verdict.audits.training.unseen_steps import AUDIT
from fireassay.verdict.judge import judge
from tests.handmade import Handmade

pytestmark = pytest.mark.slow


WHY = "the launched process created no torch optimizer"


def made(*, steps: bool = False, imported: bool = True) -> Handmade:
    one = Handmade(levels=(1, 2), blocks=2)
    for block in range(2):
        for workers in (1, 2):
            number = one.launch(workers=workers, block=block)
            for rank in range(workers):
                if imported:
                    one.event(number, "steps_unseen", 9.0, rank=rank, incarnation=0, detail={"why": WHY})
                if steps:
                    one.steps(number, rank=rank, seconds=[1.0] * 3)
    return one


def test_no_step_although_torch_was_imported_is_a_finding_with_the_reason() -> None:
    found = tuple(AUDIT.examine(made().measured(), {}))
    assert [(one.rule, one.severity, one.configuration) for one in found] == [
        ("steps_unseen", "warning", "workers=1"),
        ("steps_unseen", "warning", "workers=2"),
    ]
    assert WHY in found[0].evidence
    assert "2 launches" in found[0].evidence


def test_it_stands_before_the_other_warnings() -> None:
    findings = judge(made().measured()).verdict.findings
    warnings = [one.rule for one in findings if one.severity == "warning"]
    assert len(warnings) > 2
    assert warnings[:2] == ["steps_unseen", "steps_unseen"]


def test_a_launch_with_steps_on_some_rank_and_a_script_without_torch_have_none() -> None:
    assert tuple(AUDIT.examine(made(steps=True).measured(), {})) == ()
    assert tuple(AUDIT.examine(made(imported=False).measured(), {})) == ()
