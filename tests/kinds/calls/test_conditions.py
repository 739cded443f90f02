"""Two timings that waited for different things are not comparable, and an own one always has its machine."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fireassay.verdict.comparison.compare import compare
from fireassay.verdict.comparison.types import Side
from fireassay.verdict.judge import judge
from tests.handmade import Handmade
from tests.metrics.trials_made import timing

pytestmark = pytest.mark.slow


def side(label: str, made: Handmade) -> Side:
    measured = made.measured()
    return Side(label=label, measured=measured, judgement=judge(measured))


def function(device: str = "") -> Handmade:
    made = timing(*[[1.0, 1.01]] * 5)
    workload = made.experiment.workload.model_copy(update={"runner": "function", "script": "work:step"})
    made.experiment = made.experiment.model_copy(update={"workload": workload})
    for launch in range(5 if device else 0):
        made.reading(launch, device, "synchronise", 5e-6, method="self")
    return made


def test_a_bare_return_is_not_compared_with_a_synchronised_call() -> None:
    found = compare([side("bare", function()), side("waited", function("cuda:0"))])
    assert [mismatch.field for mismatch in found.refused] == ["calls.waited_for"]
    assert found.refused[0].values == ("the return", "cuda")


def test_the_number_of_a_device_is_no_difference() -> None:
    assert compare([side("first", function("cuda:0")), side("second", function("cuda:1"))]).refused == ()


def test_it_can_be_what_is_studied() -> None:
    sides = [side("bare", function()), replace(side("waited", function("cuda:0")))]
    assert compare(sides, varying=["calls.waited_for"]).refused == ()
