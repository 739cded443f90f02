"""What a trace says in short: traces written down by hand, times in microseconds as Kineto writes them."""

from __future__ import annotations

import pytest

from fireassay.frames.training.profile_summary import kind_of, summary
from tests.frames.training.communication.test_kernel_trace import GEMM, NEW, host, kernel, trace

US = 1000


def test_an_operators_own_time_is_without_what_it_calls() -> None:
    """linear 0-50 calls addmm 10-40, which calls copy_ 20-25; mm 60-70 follows; another thread's addmm 0-7 is nobody's child."""
    events = [
        host("ProfilerStep#0", 0, 100),
        host("aten::linear", 0, 50, category="cpu_op"),
        host("aten::addmm", 10, 40, category="cpu_op"),
        host("aten::copy_", 20, 25, category="cpu_op"),
        host("aten::mm", 60, 70, category="cpu_op"),
        host("aten::addmm", 0, 7, category="cpu_op", thread=2),
    ]
    found = summary(trace(events))
    own = {row["name"]: (row["calls"], row["ns"], row["total_ns"]) for row in found["operators"]}
    assert own == {
        "aten::linear": (1, 20 * US, 50 * US),
        "aten::addmm": (2, 32 * US, 37 * US),
        "aten::copy_": (1, 5 * US, 5 * US),
        "aten::mm": (1, 10 * US, 10 * US),
    }
    assert [row["name"] for row in found["operators"]] == ["aten::addmm", "aten::linear", "aten::mm", "aten::copy_"]
    assert found["classes"]["matmul"] == 62 * US
    assert found["classes"]["copy"] == 5 * US
    assert found["on_device"] is False


def test_kernels_are_summed_by_name_and_kind_and_the_steps_divide() -> None:
    """Step 0-100: products 10-50 and 70-80, a collective 40-60, a copy 85-90: 10 of it exposed, 35 idle."""
    events = [
        host("ProfilerStep#3", 0, 100),
        kernel(GEMM, 10, 50),
        kernel(GEMM, 70, 80),
        kernel(NEW, 40, 60, stream=20),
        kernel("Memcpy HtoD (Pinned -> Device)", 85, 90, category="gpu_memcpy"),
    ]
    found = summary(trace(events))
    assert found["on_device"] is True
    largest = found["kernels"][0]
    assert (largest["name"], largest["calls"], largest["ns"]) == (GEMM, 2, 50 * US)
    classes = {name: ns for name, ns in found["classes"].items() if ns}
    assert classes == {"matmul": 50 * US, "communication": 20 * US, "copy": 5 * US}
    (step,) = found["steps"]
    assert (step["step"], step["window_ns"], step["compute_ns"], step["exposed_ns"]) == (3, 100 * US, 50 * US, 10 * US)
    assert (step["copy_ns"], step["idle_ns"]) == (5 * US, 35 * US)


def test_bytes_are_known_where_every_collective_says_them() -> None:
    """1,000 elements of bfloat16, then another collective that says nothing."""
    known = {"Out msg nelems": 1000, "In msg nelems": 1000, "dtype": "BFloat16"}
    one, other = kernel(NEW, 10, 20, stream=20, **known), kernel(NEW, 30, 40, stream=20)
    mark = host("ProfilerStep#0", 0, 100)
    assert [step["bytes"] for step in summary(trace([mark, one]))["steps"]] == [2000]
    assert [step["bytes"] for step in summary(trace([mark, one, other]))["steps"]] == [None]
    assert [step["bytes"] for step in summary(trace([mark]))["steps"]] == [None]


def test_steps_are_numbered_as_the_training_does() -> None:
    found = summary(trace([host("ProfilerStep#7", 0, 100)], assay_first_step="40"))
    assert [step["step"] for step in found["steps"]] == [47]


def test_peak_allocation_is_reported_by_device() -> None:
    def allocation(size: int, total: int, kind: int, number: int) -> dict[str, object]:
        told = {"Bytes": size, "Total Allocated": total, "Device Type": kind, "Device Id": number}
        return {"ph": "i", "name": "[memory]", "ts": 5, "args": told}

    events = [allocation(100, 100, 0, -1), allocation(50, 150, 0, -1), allocation(-100, 50, 0, -1), allocation(70, 70, 1, 1)]
    assert summary(trace(events))["memory"] == [
        {"device": "cpu", "peak_bytes": 150, "allocations": 2},
        {"device": "cuda:1", "peak_bytes": 70, "allocations": 1},
    ]


def test_an_empty_trace_says_nothing_and_does_not_fail() -> None:
    found = summary({})
    assert (found["steps"], found["operators"], found["kernels"], found["memory"]) == ([], [], [], [])
    assert set(found["classes"].values()) == {0}


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("aten::addmm", "matmul"),
        ("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", "matmul"),
        ("nvjet_hsh_128x256_64x4_2x1_v_bz_TNN_gemm", "matmul"),
        ("void cudnn::ops::nchwToNhwcKernel<float>(conv)", "matmul"),
        ("pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits>", "attention"),
        ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", "elementwise"),
        ("void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float>>", "reduction"),
        ("aten::native_layer_norm", "reduction"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "communication"),
        ("c10d::allreduce_", "communication"),
        ("aten::copy_", "copy"),
        ("aten::relu", "elementwise"),
        ("aten::add_", "elementwise"),
        ("my_own_op", "other"),
    ],
)
def test_kinds_follow_from_names(name: str, kind: str) -> None:
    assert kind_of(name) == kind
