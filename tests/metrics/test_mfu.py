"""mfu: the share of the devices' peak, and when there is none."""

from __future__ import annotations

import pytest

from assay.estimates.estimate import Absent, Estimate, Value
from assay.metrics.mfu import METRIC
from assay.spec.sections.flops import Flops
from tests.handmade import Handmade
from tests.metrics.flops_made import made, part

H200_BF16, H200_TF32 = 989.4e12, 494.7e12


def value(record: Handmade, workers: int = 1) -> Value:
    return METRIC.compute(record.measured(), {})[f"workers={workers}"]


def estimate(record: Handmade, workers: int = 1) -> Estimate:
    found = value(record, workers)
    assert isinstance(found, Estimate), found
    return found


def test_the_share_is_of_all_devices_together() -> None:
    """Each of 2 ranks: 989.4e12 operations in 2 s on a GPU that does 989.4e12 in one."""
    found = estimate(made(part(H200_BF16), workers=2), 2)
    assert found.value == pytest.approx(0.5)
    assert "conv:counter|peak:datasheet|in:bfloat16" in found.signature


def test_two_precisions_have_the_peak_at_which_both_would_be_done() -> None:
    """Half a second's worth in bfloat16 and half a second's in tf32, in 2 s: 0.5."""
    found = estimate(made(part(H200_BF16 / 2), part(H200_TF32 / 2, precision="tf32")))
    assert found.value == pytest.approx(0.5)


def test_ranks_that_share_a_gpu_share_its_peak() -> None:
    found = estimate(made(part(H200_BF16, uuid="GPU-1"), workers=2), 2)
    assert found.value == pytest.approx(1.0)


def test_a_rank_with_two_gpus_has_both_peaks() -> None:
    found = estimate(made(part(H200_BF16), part(H200_BF16, device="cuda:1")))
    assert found.value == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("name", "precision", "word"),
    [("Abacus 9", "bfloat16", "Abacus 9"), ("NVIDIA A100-SXM4-80GB", "int2", "no peak of"), ("Intel Xeon", "float32", "measured")],
)
def test_what_is_not_known_has_no_share_and_no_other_devices_peak(name: str, precision: str, word: str) -> None:
    found = value(made(part(1e12, name=name, precision=precision)))
    assert isinstance(found, Absent)
    assert found.reason == "not_measured"
    assert word in found.detail
    assert "achieved_flops" in found.detail


def test_a_thousandth_in_an_unknown_precision_does_not_matter() -> None:
    found = estimate(made(part(H200_BF16), part(H200_BF16 / 2000, precision="int2")))
    assert found.value == pytest.approx(0.5, rel=0.001)


def test_quantised_products_have_no_share() -> None:
    found = value(made(part(1e12), part(1e12, precision="float8")))
    assert isinstance(found, Absent)
    assert found.reason == "not_applicable"
    assert "quantised" in found.detail


def test_a_peak_can_be_given_with_its_source() -> None:
    found = estimate(made(part(1e12, name="Abacus 9"), flops=Flops(peak_tflops=2.0, peak_source="its manual")))
    assert found.value == pytest.approx(0.25)
    assert "peak:given" in found.signature


def test_a_peak_can_be_measured_so_that_a_processor_has_one() -> None:
    peaks = [{"device": "cpu", "precision": "float32", "flops_per_s": 1e11, "size": 512, "method": "x"}]
    record = made(part(1e11, name="Intel Xeon", precision="float32", device="cpu"), flops=Flops(peak="measured"), peaks=peaks)
    found = estimate(record)
    assert found.value == pytest.approx(0.5)
    assert "peak:measured" in found.signature
    assert "measured peak" in found.method


def test_a_processor_with_more_threads_in_another_launch_is_no_peak_of_this_one() -> None:
    """One rank with 4 threads reached 4e11, and each of 2 ranks with 1 thread 1e11: these two have 2e11 and not 8e11."""
    record = Handmade(levels=(2,), blocks=3)
    record.experiment = record.experiment.model_copy(update={"flops": Flops(peak="measured")})
    own = {"name": "Intel Xeon", "precision": "float32", "device": "cpu"}
    for block, (threads, speed) in enumerate([(4, 4e11), (1, 1e11), (1, 1e11)]):
        number = record.launch(workers=2, block=block)
        for rank in range(2):
            peak = {"device": "cpu", "precision": "float32", "flops_per_s": speed, "threads": threads}
            told = {"by": [part(1e11, **own)], "items": None, "absent": "", "peaks": [peak]}
            record.steps(number, rank=rank, seconds=[9.0, 2.0, 2.0, 2.0, 2.0])
            record.event(number, "flops", 9.0, rank=rank, incarnation=0, step=0, value=1e11, detail=told)
    assert estimate(record, 2).launch_values == pytest.approx((0.125, 0.5, 0.5))


def test_a_measured_peak_that_failed_is_not_replaced_by_a_published_one() -> None:
    peaks = [{"device": "cuda:0", "precision": "bfloat16", "flops_per_s": None, "absent": "out of memory"}]
    assert isinstance(value(made(part(1e12), flops=Flops(peak="measured"), peaks=peaks)), Absent)


def test_a_compiled_model_needs_a_formula_and_a_precision() -> None:
    """Per token 6e9 + 12 x 10 x 8 x 64 x 1000 = 6.06144e9; 1e6 tokens in 2 s: 3.03072e15 on a given 6.06144e15."""
    numbers = {
        "convention": "palm",
        "parameters": 1e9,
        "layers": 10,
        "heads": 8,
        "head_dim": 64,
        "sequence": 1000,
        "tokens_per_step": 10**6,
    }
    devices = [{"device": "cuda:0", "name": "NVIDIA H200"}]
    without = value(made(flops=Flops.model_validate(numbers), absent="compiled", devices=devices))
    assert isinstance(without, Absent)
    assert "flops.precision" in without.detail
    found = estimate(made(flops=Flops.model_validate({**numbers, "precision": "bfloat16"}), absent="compiled", devices=devices))
    assert found.value == pytest.approx(6.06144e9 * 1e6 / 2 / H200_BF16)
