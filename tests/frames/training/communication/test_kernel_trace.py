"""Traces written down by hand, whose overlap can be worked out in a comment; times in microseconds as Kineto writes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from fireassay.frames.training.communication.kernel_trace import intervals, operation, overlap

OLD = "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)"
NEW = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
SYMMETRIC = "ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f32(ncclSymkDevWorkArgs const*)"
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_s1688gemm_128x128>(Params)"
US = 1000


def kernel(
    name: str, begin: float, end: float, *, stream: int = 7, correlation: int | None = None, category: str = "kernel", **more: Any
) -> dict[str, Any]:
    told = {"stream": stream, "device": 0, **({} if correlation is None else {"correlation": correlation}), **more}
    return {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": stream, "ts": begin, "dur": end - begin, "args": told}


def host(name: str, begin: float, end: float, *, category: str = "user_annotation", thread: int = 1, **told: Any) -> dict[str, Any]:
    return {"ph": "X", "cat": category, "name": name, "pid": 9, "tid": thread, "ts": begin, "dur": end - begin, "args": told}


def trace(events: Sequence[dict[str, Any]], **more: Any) -> dict[str, Any]:
    return {"schemaVersion": 1, "traceEvents": [{"ph": "M", "name": "process_name"}, *events], **more}


STEP = host("ProfilerStep#3", 0, 100)


@pytest.mark.parametrize("name", [OLD, NEW, SYMMETRIC, NEW.lower(), f"void {OLD}", "rcclGenericKernel<1>(ncclDevComm*)"])
def test_a_collective_is_known_by_every_name_it_has_had(name: str) -> None:
    """HTA#360, #122, #208, #247: none found, or taken for computing. Computing 10-50, the collective 30-80: 20 hidden, 30 exposed."""
    read = intervals(trace([STEP, kernel(GEMM, 10, 50), kernel(name, 30, 80, stream=20)]))
    found = overlap(read, 3)
    assert (found.total_ns, found.hidden_ns, found.exposed_ns) == (50 * US, 20 * US, 30 * US)
    assert (found.compute_ns, found.idle_ns, found.copy_ns) == (40 * US, 30 * US, 0)
    assert found.share == 0.4


def test_a_collective_is_recognised_by_pytorch_metadata() -> None:
    """Whatever its kernel is called, as those of other libraries are."""
    told: dict[str, Any] = {"Collective name": "allreduce"}
    found = overlap(intervals(trace([STEP, kernel(GEMM, 10, 50), kernel("one_kernel_of_theirs", 30, 80, stream=20, **told)])), 3)
    assert (found.total_ns, found.exposed_ns) == (50 * US, 30 * US)


def test_times_may_be_words() -> None:
    one = {**kernel(NEW, 10, 30), "ts": "10.500", "dur": "20.25", "args": None}
    assert overlap(intervals(trace([STEP, one])), 3).total_ns == 20_250


def test_waiting_hides_nothing() -> None:
    """HTA#162: a stream that waits for an event all along the collective computes nothing."""
    events = [
        STEP,
        kernel(NEW, 20, 60, stream=20),
        kernel("Stream Wait Event", 20, 60, category="cuda_sync"),
        kernel("Context Sync", 0, 100, stream=-1, category="cuda_sync"),
        kernel("Event Sync", 30, 40, category="kernel"),
        kernel(GEMM, 0, 20),
    ]
    found = overlap(intervals(trace(events)), 3)
    assert (found.hidden_ns, found.exposed_ns, found.compute_ns, found.idle_ns) == (0, 40 * US, 20 * US, 40 * US)


def test_durations_that_run_at_once_are_not_added() -> None:
    """marin#8053: three kernels on three streams at 0-60, two collectives at 40-80 and 50-90: busy 90, not 3 x 60 + 2 x 40."""
    events = [STEP, *(kernel(GEMM, 0, 60, stream=s) for s in (7, 8, 9)), kernel(NEW, 40, 80, stream=20), kernel(OLD, 50, 90, stream=21)]
    found = overlap(intervals(trace(events)), 3)
    assert (found.compute_ns, found.total_ns, found.hidden_ns, found.exposed_ns) == (60 * US, 50 * US, 20 * US, 30 * US)
    assert found.idle_ns == 10 * US


def test_copies_are_separate_and_the_parts_sum_to_the_whole() -> None:
    """Copy 40-70 beside computing until 50 and a collective from 60: 10 of it alone."""
    events = [STEP, kernel(GEMM, 0, 50), kernel("Memcpy HtoD", 40, 70, stream=9, category="gpu_memcpy"), kernel(NEW, 60, 90, stream=20)]
    found = overlap(intervals(trace(events)), 3)
    assert found.copy_ns == 10 * US
    assert found.exposed_ns + found.compute_ns + found.copy_ns + found.idle_ns == found.window_ns == 100 * US


def test_a_collective_alone_and_none_at_all() -> None:
    assert overlap(intervals(trace([STEP, kernel(NEW, 10, 30)])), 3).exposed_ns == 20 * US
    nothing = overlap(intervals(trace([STEP, kernel(GEMM, 10, 30)])), 3)
    assert (nothing.total_ns, nothing.share) == (0, None)


def test_a_device_that_runs_behind_its_host_keeps_its_steps() -> None:
    """The host asks for steps 0 and 1 at 0-10 and 10-20; the device does them at 5-45 and 45-85: by the host's marks the first step's
    collective (35-45) would be nobody's."""
    events: list[dict[str, Any]] = [host("ProfilerStep#0", 0, 10), host("ProfilerStep#1", 10, 20)]
    for step, begin in ((0, 5), (1, 45)):
        for number, (name, a, b) in enumerate(((GEMM, 0, 30), (NEW, 20, 40))):
            correlation = 10 * step + number
            events.append(
                host("cudaLaunchKernel", 10 * step + number, 10 * step + number + 1, category="cuda_runtime", correlation=correlation)
            )
            events.append(kernel(name, begin + a, begin + b, stream=7 + number, correlation=correlation))
    read = intervals(trace(events))
    assert [(one.step, one.begin, one.end, one.source) for one in read.steps] == [
        (0, 5 * US, 45 * US, "device"),
        (1, 45 * US, 85 * US, "device"),
    ]
    for step in (0, 1):
        found = overlap(read, step)
        assert (found.total_ns, found.hidden_ns, found.exposed_ns, found.idle_ns) == (20 * US, 10 * US, 10 * US, 0)


def test_on_a_processor_operators_compute_and_calls_communicate() -> None:
    """Operators 0-30 (one inside another) and 40-60, of which waiting for a collective at 45-60; gloo at 20-80: hidden 10 + 5."""
    events = [
        STEP,
        host("aten::linear", 0, 30, category="cpu_op"),
        host("aten::addmm", 5, 20, category="cpu_op"),
        host("Compiled", 40, 60, category="cpu_op"),
        host("_c10d_functional::wait_tensor", 45, 60, category="cpu_op"),
        host("gloo:all_reduce", 20, 80, thread=2),
    ]
    read = intervals(trace(events, distributedInfo={"backend": "gloo", "rank": 1, "world_size": 2}))
    assert (read.rank, read.workers, read.backend, read.on_device) == (1, 2, "gloo", False)
    found = overlap(read, 3)
    assert (found.total_ns, found.hidden_ns, found.compute_ns) == (60 * US, 15 * US, 35 * US)
    assert found.exposed_ns == 45 * US


def test_a_device_that_only_communicates_is_one_all_the_same() -> None:
    """Its collective is exposed, whatever the processor runs beside it."""
    read = intervals(trace([STEP, host("aten::mm", 0, 100, category="cpu_op"), kernel(NEW, 30, 80, stream=20)]))
    found = overlap(read, 3)
    assert read.on_device
    assert (found.exposed_ns, found.compute_ns, found.idle_ns) == (50 * US, 0, 50 * US)


def test_only_what_lies_in_the_window_counts() -> None:
    read = intervals(trace([STEP, kernel(NEW, 90, 150), kernel(GEMM, 140, 160)]))
    assert overlap(read, 3).total_ns == 10 * US
    assert overlap(read).total_ns == 60 * US
    with pytest.raises(KeyError, match="step 4 was not profiled"):
        overlap(read, 4)


def test_profiler_metadata_of_a_collective_are_kept() -> None:
    """2 gathered parts of 1000 bf16: 2000 elements of 2 bytes."""
    told: dict[str, Any] = {
        "Collective name": "_allgather_base",
        "In msg nelems": 1000,
        "Out msg nelems": 2000,
        "Group size": 2,
        "dtype": "BFloat16",
        "Process Group Name": "0",
    }
    (one,) = intervals(trace([kernel("ncclDevKernel_AllGather_RING_LL", 0, 10, **told)])).kernels
    assert (one.kind, one.op, one.nbytes, one.group, one.dtype) == ("communication", "all_gather", 4000, "0", "bfloat16")


def test_times_since_1970_keep_their_nanoseconds() -> None:
    """Microseconds of 2026 as a double have steps of a quarter: their differences are what can be had."""
    now = 1_790_857_026_000_000.25
    read = intervals(trace([host("ProfilerStep#0", now, now + 10), kernel(NEW, now + 2, now + 5)]))
    assert overlap(read, 0).total_ns == 3 * US
    assert intervals(trace([], baseTimeNanoseconds=5)).steps == ()


@pytest.mark.parametrize(
    ("name", "op"),
    [
        (OLD, "all_reduce"),
        (NEW, "all_reduce"),
        ("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "reduce_scatter"),
        ("gloo:all_gather", "all_gather"),
        ("ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "send_recv"),
        ("ncclDevKernel_Broadcast_RING_LL", "broadcast"),
        ("_reduce_scatter_base", "reduce_scatter"),
        ("gloo:all_to_all", "all_to_all"),
        ("ncclDevKernel_Generic", ""),
    ],
)
def test_names_say_operations(name: str, op: str) -> None:
    assert operation(name) == op
