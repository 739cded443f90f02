"""Waiting for data is told with what would be gained without it, and against the base."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from fireassay.verdict.audits.bottlenecks.bottleneck_data import AUDIT
from fireassay.verdict.types import Finding
from tests.handmade import Handmade

ONE = "workers=1"


def found(waits: Mapping[int, Sequence[Sequence[float]]], step: float = 0.1) -> tuple[Finding, ...]:
    """workers -> for each launch what its steps wait, in turn, 60 steps of `step` seconds."""
    made = Handmade(levels=tuple(waits), blocks=len(next(iter(waits.values()))))
    for workers, launches in waits.items():
        for block, own in enumerate(launches):
            number = made.launch(workers=workers, block=block)
            for rank in range(workers):
                for place in range(60):
                    wait = {"data": own[place % len(own)]}
                    made.steps(number, rank=rank, seconds=[step], first=place, start_s=place * step, phases_s=wait)
    return tuple(AUDIT.examine(made.measured(), {}))


def test_a_part_is_told_from_a_tenth_on_with_its_gain_and_its_knob() -> None:
    assert found({1: [[0.009]] * 3}) == ()
    (one,) = found({1: [[0.05]] * 3})
    assert (one.rule, one.severity, one.configuration) == (AUDIT.name, "note", ONE)
    assert "takes 50 ms of a step on average, 50 % of it; without it a step would be at most 2 times as fast" in one.evidence
    assert "bursts" not in one.evidence
    assert "assay tune" in one.remedy


def test_a_loader_that_lets_every_fourth_step_wait_is_told_although_the_usual_step_does_not() -> None:
    """80 of 100 ms in every fourth step: 20 ms of a step on average, 1.25 times."""
    (one,) = found({1: [[0.0, 0.0, 0.0, 0.08]] * 3})
    assert "a typical step waits 0 s: waiting comes in bursts" in one.evidence
    assert "20.0 ms of a step on average, 20 % of it; without it a step would be at most 1.25 times as fast" in one.evidence


def test_the_gain_has_an_interval_from_the_launches() -> None:
    (one,) = found({1: [[0.02], [0.03], [0.04]]})
    assert "30 % of it [5, 55]; without it a step would be at most 1.43 times as fast [1.05, 2.22]" in one.evidence


@pytest.mark.parametrize("launches", [1, 3])
def test_what_was_not_measured_is_no_bottleneck(launches: int) -> None:
    made = Handmade(levels=(1,), blocks=launches)
    for block in range(launches):
        made.steps(made.launch(workers=1, block=block), seconds=[0.1] * 60)
    assert tuple(AUDIT.examine(made.measured(), {})) == ()


def test_data_that_does_not_scale_is_told_against_the_base() -> None:
    (one,) = found({1: [[0.005]] * 3, 2: [[0.015]] * 3})
    assert one.configuration == "workers=2"
    assert "3 times that of the base" in one.evidence


def test_of_steps_that_took_no_time_there_is_no_share() -> None:
    assert found({1: [[0.5]] * 3}, step=0.0) == ()
