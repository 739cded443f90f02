"""useful_work: declared, else counted; a step done again counts once."""

from __future__ import annotations

from assay.estimates.estimate import Estimate
from assay.metrics.useful_work import METRIC
from tests.handmade import Handmade


def work(made: Handmade) -> float:
    value = METRIC.compute(made.measured(), {})["workers=1"]
    assert isinstance(value, Estimate)
    return round(value.value, 9)


def test_a_step_done_again_counts_once() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.steps(number, seconds=[1.0] * 4, items=10)
    made.steps(number, seconds=[1.0] * 2, items=10, first=2, start_s=20.0, incarnation=1)
    assert work(made) == 40.0


def test_what_the_script_declares_outranks_what_was_counted() -> None:
    made = Handmade(levels=(1,), blocks=1)
    number = made.launch(workers=1)
    made.steps(number, seconds=[1.0] * 4, items=10)
    made.event(number, "useful_work", 5.0, rank=0, value=33.0)
    assert work(made) == 33.0
