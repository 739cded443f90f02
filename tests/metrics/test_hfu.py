"""hfu: what the hardware does, with what it does twice."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate
from assay.metrics import mfu
from assay.metrics.hfu import METRIC
from assay.spec.sections.flops import Flops
from tests.metrics.flops_made import made, part

H200_BF16 = 989.4e12


def test_a_forward_pass_that_is_made_again_is_a_third_more_work_of_the_hardware_and_none_of_the_model() -> None:
    """0.75 s' worth of an H200 for the model and 0.25 s' for computing again, in 2 s: 0.375 and 0.5."""
    measured = made(part(0.75 * H200_BF16), recomputed=0.25 * H200_BF16).measured()
    hardware, model = (one.compute(measured, {})["workers=1"] for one in (METRIC, mfu.METRIC))
    assert isinstance(hardware, Estimate)
    assert isinstance(model, Estimate)
    assert hardware.value == pytest.approx(0.5)
    assert model.value == pytest.approx(0.375)
    assert hardware.signature.startswith("hfu|conv:counter|peak:datasheet|in:bfloat16")


def test_without_anything_made_again_both_are_the_same() -> None:
    measured = made(part(H200_BF16)).measured()
    hardware, model = (one.compute(measured, {})["workers=1"] for one in (METRIC, mfu.METRIC))
    assert isinstance(hardware, Estimate)
    assert isinstance(model, Estimate)
    assert hardware.value == model.value


def test_a_formula_does_not_say_what_is_made_again() -> None:
    flops = Flops(convention="megatron_2021", layers=2, hidden=64, vocabulary=100, sequence=32, tokens_per_step=10)
    found = METRIC.compute(made(part(1e12), flops=flops).measured(), {})["workers=1"]
    assert isinstance(found, Absent)
    assert "counter" in found.detail
