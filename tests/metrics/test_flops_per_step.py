"""flops_per_step: what the ranks counted, or a declared formula."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate, Value
from assay.metrics.flops_per_step import METRIC
from assay.spec.sections.flops import Flops
from tests.handmade import Handmade
from tests.metrics.flops_made import made, part


def value(record: Handmade, workers: int = 1) -> Value:
    return METRIC.compute(record.measured(), {})[f"workers={workers}"]


def test_a_step_is_what_all_ranks_counted_together() -> None:
    found = value(made(part(3e12), part(1e12, precision="float32"), workers=2), 2)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(8e12)
    assert "conv:counter" in found.signature


def test_a_first_batch_of_another_size_is_scaled_to_the_usual_one() -> None:
    found = value(made(part(3e12), items=(6.0, 8.0)))
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(4e12)


def test_a_rank_that_was_not_counted_leaves_no_sum() -> None:
    found = value(made(part(3e12), workers=2, says=1), 2)
    assert isinstance(found, Absent)
    assert "1 of 2 ranks" in found.detail


def test_why_nothing_was_counted_is_said() -> None:
    found = value(made(absent="the model is compiled by torch.compile"))
    assert isinstance(found, Absent)
    assert "torch.compile" in found.detail


def test_a_script_without_torch_has_no_count_and_is_told_what_to_do() -> None:
    found = value(made(says=0))
    assert isinstance(found, Absent)
    assert "flops.convention" in found.detail


PALM = {"convention": "palm", "parameters": 1e9, "layers": 10, "heads": 8, "head_dim": 64, "sequence": 1000}


def test_a_formula_is_taken_times_the_tokens_of_all_workers() -> None:
    """Per token 6e9 + 12 x 10 x 8 x 64 x 1000 = 6.06144e9; 4 sequences of 1,000 tokens on each of 2 ranks."""
    found = value(made(flops=Flops.model_validate(PALM), items=(None, 4.0), workers=2), 2)
    assert isinstance(found, Estimate)
    assert found.value == pytest.approx(6.06144e9 * 8000)
    assert "conv:palm" in found.signature
    declared = value(made(flops=Flops.model_validate({**PALM, "tokens_per_step": 500})))
    assert isinstance(declared, Estimate)
    assert declared.value == pytest.approx(6.06144e9 * 500)


def test_a_formula_without_tokens_says_nothing() -> None:
    found = value(made(flops=Flops.model_validate(PALM)))
    assert isinstance(found, Absent)
    assert "tokens_per_step" in found.detail


def test_what_was_counted_is_not_used_where_none_is_asked() -> None:
    assert isinstance(value(made(part(1e12), flops=Flops(convention="none"))), Absent)
