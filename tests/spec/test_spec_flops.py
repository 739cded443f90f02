"""[flops]: which keys a convention needs, and that a peak has a source."""

from __future__ import annotations

import pytest

from fireassay.errors import SpecError
from fireassay.spec.experiment import Experiment
from fireassay.spec.sections.costs import NEEDS

VALUES = {
    "parameters": 7e9,
    "embedding_parameters": 1e8,
    "layers": 32,
    "hidden": 4096,
    "heads": 32,
    "head_dim": 128,
    "feed_forward": 11008,
    "vocabulary": 32000,
    "sequence": 4096,
}


def asked(**flops: object) -> Experiment:
    return Experiment.model_validate({"name": "e", "workload": {"script": "t.py"}, "factor": {"levels": [1]}, "flops": flops})


def problems(**flops: object) -> list[str]:
    with pytest.raises(SpecError) as caught:
        asked(**flops)
    return [problem.where for problem in caught.value.problems]


def test_a_model_is_counted_unless_asked_otherwise() -> None:
    assert asked().flops.convention == "counter"
    assert asked(convention="none").flops.convention == "none"


@pytest.mark.parametrize("convention", NEEDS)
def test_a_formula_needs_its_numbers_and_each_that_is_missing_is_named(convention: str) -> None:
    needed = {name: VALUES[name] for name in NEEDS[convention]}
    assert asked(convention=convention, **needed).flops.convention == convention
    for name in needed:
        assert problems(convention=convention, **{k: v for k, v in needed.items() if k != name}) == [f"flops.{name}"]


def test_a_peak_has_one_value_and_a_source() -> None:
    assert problems(peak_tflops=989.0) == ["flops.peak_source"]
    assert problems(peak_tflops=989.0, peak_source="datasheet", peak="measured") == ["flops.peak"]
    assert asked(peak_tflops=989.0, peak_source="datasheet").flops.peak_tflops == 989.0


def test_heads_are_shared_evenly() -> None:
    assert problems(heads=32, groups=5) == ["flops.groups"]
    assert asked(heads=32, groups=8).flops.groups == 8
