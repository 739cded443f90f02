"""A record whose launches paid for no import says so."""

from __future__ import annotations

import pytest

from fireassay.verdict.audits.training.forked_start import AUDIT
from tests.handmade import Handmade


@pytest.mark.parametrize(("start", "rules"), [("exec", []), ("fork", ["forked_start"])])
def test_only_forked_launches_are_noted(start: str, rules: list[str]) -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1, block=0, wall_s=1.0)
    measured = made.measured()
    settings = measured.experiment.launcher.model_copy(update={"start": start})
    record = measured.experiment.model_copy(update={"launcher": settings})
    from dataclasses import replace

    assert [finding.rule for finding in AUDIT.examine(replace(measured, experiment=record), {})] == rules
