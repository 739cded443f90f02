"""Clocks, temperature and slowdowns of GPUs, from a binding that stands in for NVML."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from fireassay.instruments.machine.gpus import GpuState


class NvmlError(Exception):
    """Like pynvml.NVMLError."""


class Nvml:
    """A binding with these GPUs: the mask of reasons of each; an exception is raised instead of shown."""

    NVMLError = NvmlError

    def __init__(self, reasons: dict[str, int | Exception], init: Exception | None = None) -> None:
        self.reasons, self.init = reasons, init

    def nvmlInit(self) -> None:
        if self.init is not None:
            raise self.init

    def nvmlDeviceGetCount(self) -> int:
        return len(self.reasons)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> str:
        return list(self.reasons)[index]

    def nvmlDeviceGetUUID(self, handle: str) -> str:
        return handle

    def nvmlDeviceGetClockInfo(self, handle: str, kind: int) -> int:
        assert kind == 1  # NVML_CLOCK_SM
        return 1980

    def nvmlDeviceGetTemperature(self, handle: str, sensor: int) -> int:
        assert sensor == 0  # NVML_TEMPERATURE_GPU
        return 41

    def nvmlDeviceGetUtilizationRates(self, handle: str) -> Any:
        return SimpleNamespace(gpu=87, memory=30)

    def nvmlDeviceGetMemoryInfo(self, handle: str) -> Any:
        return SimpleNamespace(used=3 << 30, free=77 << 30, total=80 << 30)

    def nvmlDeviceGetComputeRunningProcesses(self, handle: str) -> Any:
        return [SimpleNamespace(pid=pid, usedGpuMemory=used) for pid, used in ((7, 2 << 30), (8, 1 << 30), (9, None))]

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, handle: str) -> int:
        found = self.reasons[handle]
        if isinstance(found, Exception):
            raise found
        return found


def slowdowns(reasons: int) -> list[str]:
    found = GpuState(lambda: Nvml({"GPU-a": reasons}), {}).read()
    return [reading.counter.removeprefix("slowdown_") for reading in found if reading.unit == "flag" and reading.value]


def test_clock_and_temperature_are_in_hertz_and_degrees() -> None:
    found = {reading.counter: (reading.device, reading.value, reading.unit) for reading in GpuState(lambda: Nvml({"GPU-a": 0}), {}).read()}
    assert found["sm_clock"] == ("gpu-0", 1.98e9, "Hz")
    assert found["temperature"] == ("gpu-0", 41.0, "degC")
    assert found["slowdown_thermal"] == ("gpu-0", 0.0, "flag")


def test_each_bit_of_the_driver_is_the_reason_that_nvml_h_gives_it() -> None:
    """nvml.h: GpuIdle 1, ApplicationsClocks 2, SwPowerCap 4, HwSlowdown 8, SwThermal 0x20, HwThermal 0x40, HwPowerBrake 0x80."""
    assert slowdowns(0x1 | 0x2 | 0x4) == []  # idle, clocks that were set, and a busy board at its rated watts
    assert slowdowns(0x8) == ["hardware"]
    assert slowdowns(0x20) == ["thermal"]
    assert slowdowns(0x8 | 0x40) == ["hardware", "thermal"]
    assert slowdowns(0x8 | 0x80) == ["hardware", "power_brake"]


def test_the_newer_name_of_the_call_is_taken_where_there_is_one() -> None:
    library: Any = Nvml({"GPU-a": 0x20})
    library.nvmlDeviceGetCurrentClocksEventReasons = lambda handle: 0x80
    names = [reading.counter for reading in GpuState(lambda: library, {}).read() if reading.value == 1.0]
    assert names == ["slowdown_power_brake"]


def test_only_the_gpus_that_the_workload_may_use_are_read_under_their_own_number() -> None:
    state = GpuState(lambda: Nvml({"GPU-a": 0, "GPU-b": 0, "GPU-c": 0}), {"CUDA_VISIBLE_DEVICES": "2"})
    assert {reading.device for reading in state.read()} == {"gpu-2"}


def test_what_the_driver_refuses_is_noted_and_the_rest_is_read() -> None:
    state = GpuState(lambda: Nvml({"GPU-a": NvmlError("Not Supported")}), {})
    assert [reading.counter for reading in state.read()] == ["utilisation", "memory_used", "memory_total", "sm_clock", "temperature"]
    assert state.absences == {"gpu_slowdown": "NVML: Not Supported"}


def test_a_machine_without_nvml_without_driver_or_without_gpu_says_so() -> None:
    def missing() -> Any:
        raise ImportError("No module named 'pynvml'")

    assert GpuState(missing, {}).absences == {"gpu_state": "no NVML: the package nvidia-ml-py is not installed"}
    broken = Nvml({}, NvmlError("Driver Not Loaded"))
    assert GpuState(lambda: broken, {}).absences == {"gpu_state": "no NVML: Driver Not Loaded"}
    assert GpuState(lambda: Nvml({}), {}).absences == {"gpu_state": "NVML lists no GPU visible to the workload"}
    assert list(GpuState(missing, {}).read()) == []


def test_use_is_a_share_of_time_and_memory_is_in_bytes() -> None:
    found = {reading.counter: (reading.value, reading.unit) for reading in GpuState(lambda: Nvml({"GPU-a": 0}), {}).read()}
    assert found["utilisation"] == (0.87, "share")
    assert (found["memory_used"], found["memory_total"]) == ((3.0 * 2**30, "B"), (80.0 * 2**30, "B"))


def test_memory_of_processes_is_summed_over_gpus_and_unknown_processes_have_none() -> None:
    """Two GPUs show the same three processes: 2 GiB of process 7 on each; of process 9 the driver gives no number."""
    state = GpuState(lambda: Nvml({"GPU-a": 0, "GPU-b": 0}), {})
    groups = {"replica-0": (7, 7), "replica-1": (8, 11), "replica-2": (9,), "replica-3": (12,)}
    assert [(reading.device, reading.counter, reading.value) for reading in state.of_processes(groups)] == [
        ("replica-0", "device_memory", 4.0 * 2**30),
        ("replica-1", "device_memory", 2.0 * 2**30),
    ]


def test_a_binding_without_these_calls_gives_the_rest() -> None:
    class Old(Nvml):
        nvmlDeviceGetUtilizationRates = property()  # type: ignore[assignment]
        nvmlDeviceGetComputeRunningProcesses = property()  # type: ignore[assignment]

    state = GpuState(lambda: Old({"GPU-a": 0}), {})
    assert next(iter(state.read())).counter == "memory_used"
    assert list(state.of_processes({"launch": (7,)})) == []
    assert state.absences.keys() == {"gpu_utilisation", "gpu_processes"}
