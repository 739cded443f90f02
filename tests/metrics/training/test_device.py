"""How well are the devices used, and how much memory do they need?"""

from __future__ import annotations

import pytest

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.metrics.metric import Metric
from fireassay.metrics.training.device import ACHIEVED_FLOPS, FLOPS_PER_STEP, HFU, HOST_MEMORY_PEAK, MEMORY_PEAK, MEMORY_RESERVED_PEAK, MFU
from fireassay.metrics.training.time import THROUGHPUT
from fireassay.spec.sections.costs import Flops
from tests.handmade import Handmade, S
from tests.metrics.flops_made import made, part
from tests.metrics.narrow import absence, estimated

# ---- flops_per_step: what the ranks counted, or a declared formula.


def value(record: Handmade, workers: int = 1) -> Value:
    return FLOPS_PER_STEP.compute(record.measured(), {})[f"workers={workers}"]


def test_a_step_is_what_all_ranks_counted_together() -> None:
    found = estimated(value(made(part(3e12), part(1e12, precision="float32"), workers=2), 2))
    assert found.value == pytest.approx(8e12)
    assert "conv:counter" in found.signature


def test_a_first_batch_of_another_size_is_scaled_to_the_usual_one() -> None:
    assert estimated(value(made(part(3e12), items=(6.0, 8.0)))).value == pytest.approx(4e12)


def test_a_rank_that_was_not_counted_leaves_no_sum() -> None:
    assert "1 of 2 ranks" in absence(value(made(part(3e12), workers=2, says=1), 2)).detail


def test_why_nothing_was_counted_is_said() -> None:
    assert "torch.compile" in absence(value(made(absent="the model is compiled by torch.compile"))).detail


def test_a_script_without_torch_has_no_count_but_a_remedy() -> None:
    assert "flops.convention" in absence(value(made(says=0))).detail


PALM = {"convention": "palm", "parameters": 1e9, "layers": 10, "heads": 8, "head_dim": 64, "sequence": 1000}


def test_a_formula_is_taken_times_the_tokens_of_all_workers() -> None:
    """Per token 6e9 + 12 x 10 x 8 x 64 x 1000 = 6.06144e9; 4 sequences of 1,000 tokens on each of 2 ranks."""
    found = estimated(value(made(flops=Flops.model_validate(PALM), items=(None, 4.0), workers=2), 2))
    assert found.value == pytest.approx(6.06144e9 * 8000)
    assert "conv:palm" in found.signature
    declared = estimated(value(made(flops=Flops.model_validate({**PALM, "tokens_per_step": 500}))))
    assert declared.value == pytest.approx(6.06144e9 * 500)


def test_a_formula_without_tokens_says_nothing() -> None:
    assert "tokens_per_step" in absence(value(made(flops=Flops.model_validate(PALM)))).detail


def test_counts_are_ignored_if_no_convention_is_requested() -> None:
    assert isinstance(value(made(part(1e12), flops=Flops(convention="none"))), Absent)


# ---- achieved_flops: operations of a step over its time.


def test_operations_are_taken_over_the_steady_step_and_not_the_counted_one() -> None:
    """Two ranks of 3e12 each, steps of 2 s after a first one of 9 s."""
    found = estimated(ACHIEVED_FLOPS.compute(made(part(3e12), workers=2).measured(), {})["workers=2"])
    assert found.value == pytest.approx(3e12)
    assert found.unit == "FLOP/s"


def test_steps_that_stall_count_as_in_the_throughput() -> None:
    """Four steady steps of 1, 1, 1 and 5 s, 8 items and 4e12 operations each: 2e12 a second at 4 items a second, not 4e12."""

    record = made(part(4e12), items=(8.0, 8.0))
    record.rows["steps"] = []
    for number in range(3):
        record.steps(number, seconds=[9.0, 1.0, 1.0, 1.0, 5.0], items=8.0)
    measured = record.measured()
    found, rate = (one.compute(measured, {})["workers=1"] for one in (ACHIEVED_FLOPS, THROUGHPUT))
    assert isinstance(found, Estimate)
    assert isinstance(rate, Estimate)
    assert (rate.value, found.value) == pytest.approx((4.0, 2e12))


def test_only_the_items_of_the_steps_that_are_timed_count() -> None:
    """6 items were counted as 3e12 operations in a warm-up of 600 s; a steady step has 8 items in 2 s: 4e12 in 2 s.  The 100 items of a
    step that a restart made again count for nothing."""
    record = made(part(3e12), items=(6.0, 8.0), workers=2)
    record.rows["steps"] = []
    for number in range(3):
        for rank in (0, 1):
            record.steps(number, rank=rank, seconds=[600.0], items=6.0)
            record.steps(number, rank=rank, seconds=[2.0] * 2, first=1, start_s=600.0, items=8.0)
            record.steps(number, rank=rank, seconds=[2.0], first=3, start_s=604.0, items=100.0)
            record.steps(number, rank=rank, seconds=[2.0] * 3, first=3, start_s=610.0, items=8.0, incarnation=1)
    assert estimated(ACHIEVED_FLOPS.compute(record.measured(), {})["workers=2"]).value == pytest.approx(2 * 4e12 / 2)


def test_it_exists_for_an_unknown_device() -> None:
    found = estimated(ACHIEVED_FLOPS.compute(made(part(4e9, name="Abacus 9", device="cpu")).measured(), {})["workers=1"])
    assert found.value == pytest.approx(2e9)


def test_without_operations_there_is_none() -> None:
    assert absence(ACHIEVED_FLOPS.compute(made(absent="compiled").measured(), {})["workers=1"]).detail == "rank 0: compiled"


def test_a_counted_step_is_warm_up_however_fast_it_was() -> None:
    """Steps of 2 s throughout: without the first there are four left in each of three launches."""
    record = made(part(1e12))
    record.rows["steps"] = [(*row[:4], row[5] - 2 * S, *row[5:]) if row[3] == 0 else row for row in record.rows["steps"]]
    measured = record.measured()
    assert {state.warmup for state in measured.steady.values()} == {1}
    assert measured.steady_steps.height == 12


# ---- mfu: the share of the devices' peak, and when there is none.

H200_BF16, H200_TF32 = 989.4e12, 494.7e12


def value_of_mfu(record: Handmade, workers: int = 1) -> Value:
    return MFU.compute(record.measured(), {})[f"workers={workers}"]


def estimate(record: Handmade, workers: int = 1) -> Estimate:
    return estimated(value_of_mfu(record, workers))


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
    [("Abacus 9", "bfloat16", "Abacus 9"), ("NVIDIA A100-SXM4-80GB", "int2", "not in the table"), ("Intel Xeon", "float32", "measured")],
)
def test_an_unknown_device_gets_no_other_devices_peak(name: str, precision: str, word: str) -> None:
    found = absence(value_of_mfu(made(part(1e12, name=name, precision=precision))))
    assert found.reason == "not_measured"
    assert word in found.detail
    assert "achieved_flops" in found.detail


def test_a_thousandth_in_an_unknown_precision_does_not_matter() -> None:
    found = estimate(made(part(H200_BF16), part(H200_BF16 / 2000, precision="int2")))
    assert found.value == pytest.approx(0.5, rel=0.001)


def test_quantised_products_have_no_share() -> None:
    found = absence(value_of_mfu(made(part(1e12), part(1e12, precision="float8"))))
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
    assert isinstance(value_of_mfu(made(part(1e12), flops=Flops(peak="measured"), peaks=peaks)), Absent)


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
    without = absence(value_of_mfu(made(flops=Flops.model_validate(numbers), absent="compiled", devices=devices)))
    assert "flops.precision" in without.detail
    found = estimate(made(flops=Flops.model_validate({**numbers, "precision": "bfloat16"}), absent="compiled", devices=devices))
    assert found.value == pytest.approx(6.06144e9 * 1e6 / 2 / H200_BF16)


# ---- hfu: what the hardware does, with what it does twice.

H200_BF16 = 989.4e12


def test_a_forward_pass_that_is_made_again_is_a_third_more_work_of_the_hardware_and_none_of_the_model() -> None:
    """0.75 s' worth of an H200 for the model and 0.25 s' for computing again, in 2 s: 0.375 and 0.5."""
    measured = made(part(0.75 * H200_BF16), recomputed=0.25 * H200_BF16).measured()
    hardware, model = (one.compute(measured, {})["workers=1"] for one in (HFU, MFU))
    assert isinstance(hardware, Estimate)
    assert isinstance(model, Estimate)
    assert hardware.value == pytest.approx(0.5)
    assert model.value == pytest.approx(0.375)
    assert hardware.signature.startswith("hfu|conv:counter|peak:datasheet|in:bfloat16")


def test_without_anything_made_again_both_are_the_same() -> None:
    measured = made(part(H200_BF16)).measured()
    hardware, model = (one.compute(measured, {})["workers=1"] for one in (HFU, MFU))
    assert isinstance(hardware, Estimate)
    assert isinstance(model, Estimate)
    assert hardware.value == model.value


def test_a_formula_does_not_say_what_is_made_again() -> None:
    flops = Flops(convention="megatron_2021", layers=2, hidden=64, vocabulary=100, sequence=32, tokens_per_step=10)
    assert "counter" in absence(HFU.compute(made(part(1e12), flops=flops).measured(), {})["workers=1"]).detail


# ---- memory: the largest rank's, of every launch; torch holds more of the fullest device than is in use.


@pytest.mark.parametrize(("metric", "counter"), [(MEMORY_PEAK, "memory_allocated_peak"), (HOST_MEMORY_PEAK, "memory_peak")])
def test_the_rank_that_needed_most_counts(metric: Metric, counter: str) -> None:
    made = Handmade(levels=(2,), blocks=2)
    for most in (3e9, 4e9):
        number = made.launch(workers=2)
        for rank, peak in enumerate((1e9, most)):
            made.reading(number, f"rank-{rank}", counter, peak, unit="B", method="self")
    value = estimated(metric.compute(made.measured(), {})["workers=2"])
    assert value.launch_values == (3e9, 4e9)
    assert value.value == pytest.approx((3e9 * 4e9) ** 0.5)
    assert value.unit == "B"


@pytest.mark.parametrize("metric", [MEMORY_PEAK, MEMORY_RESERVED_PEAK, HOST_MEMORY_PEAK], ids=lambda metric: metric.name)
def test_unreported_values_are_absent(metric: Metric) -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.launch(workers=1)
    assert isinstance(metric.compute(made.measured(), {})["workers=1"], Absent)


def test_it_is_reported_next_to_the_memory_in_use() -> None:
    made = Handmade(levels=(2,), blocks=2)
    for _ in range(2):
        number = made.launch(workers=2)
        for rank, (in_use, taken) in enumerate(((1e9, 6e9), (3e9, 5e9))):
            made.reading(number, f"rank-{rank}", "memory_allocated_peak", in_use, unit="B", method="self")
            made.reading(number, f"rank-{rank}", "memory_reserved_peak", taken, unit="B", method="self")
    held, used = (one.compute(made.measured(), {})["workers=2"] for one in (MEMORY_RESERVED_PEAK, MEMORY_PEAK))
    assert isinstance(held, Estimate)
    assert isinstance(used, Estimate)
    assert (held.launch_values, used.launch_values) == ((6e9, 6e9), (3e9, 3e9))
