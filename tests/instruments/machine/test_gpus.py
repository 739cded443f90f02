"""Clocks, temperature and slowdowns of GPUs, from a binding that stands in for NVML."""

from __future__ import annotations

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
    assert [reading.counter for reading in state.read()] == ["sm_clock", "temperature"]
    assert state.absences == {"gpu_slowdown": "NVML: Not Supported"}


def test_a_machine_without_nvml_without_driver_or_without_gpu_says_so() -> None:
    def missing() -> Any:
        raise ImportError("No module named 'pynvml'")

    assert GpuState(missing, {}).absences == {"gpu_state": "no NVML: the package nvidia-ml-py is not installed"}
    broken = Nvml({}, NvmlError("Driver Not Loaded"))
    assert GpuState(lambda: broken, {}).absences == {"gpu_state": "no NVML: Driver Not Loaded"}
    assert GpuState(lambda: Nvml({}), {}).absences == {"gpu_state": "NVML lists no GPU visible to the workload"}
    assert list(GpuState(missing, {}).read()) == []
