"""Are the GPUs that the workload may use counted?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from fireassay.instruments.machine.energy.nvml import nvml
from tests.instruments.machine.energy_made import FakeNvml, FakeNvmlError, missing


def test_gpu_counters_are_joules_since_the_driver_was_loaded() -> None:
    library = FakeNvml({"GPU-a": 1500, "GPU-b": 2500})
    found = nvml(lambda: library, {})
    assert {counter.device: (counter.read(), counter.max_range) for counter in found.counters} == {
        "GPU-a": (1.5, None),
        "GPU-b": (2.5, None),
    }
    assert found.absence is None


@pytest.mark.parametrize(
    ("chosen", "devices"),
    [
        ("1", ["GPU-b"]),
        ("0,1", ["GPU-a", "GPU-b"]),
        ("1,0,1", ["GPU-a", "GPU-b"]),
        ("GPU-b", ["GPU-b"]),
        (" 0 ", ["GPU-a"]),
        ("", []),
        ("7", []),
    ],
)
def test_only_gpus_that_the_workload_may_use_are_counted_and_each_once(chosen: str, devices: list[str]) -> None:
    library = FakeNvml({"GPU-a": 1, "GPU-b": 2})
    found = nvml(lambda: library, {"CUDA_VISIBLE_DEVICES": chosen})
    assert [counter.device for counter in found.counters] == devices
    assert (found.absence is None) == bool(devices)


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        (missing, "no NVML: the package nvidia-ml-py is not installed"),
        (lambda: FakeNvml({}, init=FakeNvmlError("Driver Not Loaded")), "no NVML: Driver Not Loaded"),
        (lambda: FakeNvml({}), "NVML lists no GPU visible to the workload"),
        (lambda: FakeNvml({"GPU-a": FakeNvmlError("Not Supported")}), "NVML counts no energy: GPU-a: Not Supported"),
    ],
)
def test_no_gpu_counter_is_a_reason(load: Callable[[], Any], reason: str) -> None:
    found = nvml(load, {})
    assert (found.counters, found.absence) == ((), reason)
