"""Was a GPU throttled, how busy was it, how full is its memory, and what were its clock and temperature?

Sampled from NVML. `slowdown_hardware`, `slowdown_thermal` and `slowdown_power_brake` are 1 while the driver lowers the clocks for that
reason, else 0; `slowdown_thermal` covers the driver and the hardware. The power cap (the board at its rated watts) is the normal state
of a busy GPU and is not included. A launch's share is the share of its readings, so a short launch says little.
`utilisation` is the share of the driver's last sample period (1/6 to 1 s) in which some kernel ran: one small kernel at a time gives 1.
`memory_used` is of the whole device: all processes and the driver. `device_memory` is that of known processes, where the driver names
them by the same process ids (not within a container).
Source: NVML API reference, "Clocks Event Reasons" (before driver 535: "Throttle Reasons"), nvmlUtilization_t, nvmlProcessInfo_t.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fireassay.instruments.machine.energy.nvml import devices_for
from fireassay.instruments.machine.memory import ON_DEVICE
from fireassay.instruments.machine.reading import Reading

HERTZ_PER_MHZ: Final = 1e6
# nvml.h, nvmlClocksEventReason...; the values are the same under the older names.
HARDWARE: Final = 0x08
SOFTWARE_THERMAL, HARDWARE_THERMAL, POWER_BRAKE = 0x20, 0x40, 0x80
SLOWDOWNS: Final = {
    "slowdown_hardware": HARDWARE,
    "slowdown_thermal": SOFTWARE_THERMAL | HARDWARE_THERMAL,
    "slowdown_power_brake": POWER_BRAKE,
}
SM_CLOCK, CORE_TEMPERATURE = 1, 0  # NVML_CLOCK_SM, NVML_TEMPERATURE_GPU


@dataclass(frozen=True)
class Gpu:
    """A GPU visible to the workload."""

    name: str  # gpu-N, numbered as in nvidia-smi
    handle: Any


class GpuState:
    """Reads use, memory, clocks, temperature and slowdowns of every GPU. `absences` gives the reason for missing values."""

    def __init__(self, load: Callable[[], Any], environ: Mapping[str, str]) -> None:
        self.absences: dict[str, str] = {}
        self._library: Any = None
        self._gpus: tuple[Gpu, ...] = ()
        try:
            self._library = load()
        except ImportError:
            self.absences["gpu_state"] = "no NVML: the package nvidia-ml-py is not installed"
            return
        try:
            self._gpus = tuple(Gpu(f"gpu-{index}", handle) for index, handle in devices_for(self._library, environ))
        except self._library.NVMLError as error:
            self.absences["gpu_state"] = f"no NVML: {error}"
        if not self._gpus and not self.absences:
            self.absences["gpu_state"] = "NVML lists no GPU visible to the workload"

    def read(self) -> Iterator[Reading]:
        """Every value that the driver gives. A failed one is noted and retried at the next reading."""
        for gpu in self._gpus:
            for what, read in _READERS.items():
                try:
                    yield from read(self._library, gpu)
                except (self._library.NVMLError, AttributeError) as error:  # a binding may lack a call
                    self.absences[f"gpu_{what}"] = f"NVML: {error}"

    def of_processes(self, groups: Mapping[str, Sequence[int]]) -> Iterator[Reading]:
        """Device memory of each group of processes over all GPUs; none for a group of which the driver names no process."""
        used: dict[int, int] = {}
        for gpu in self._gpus:
            try:
                running = self._library.nvmlDeviceGetComputeRunningProcesses(gpu.handle)
            except (self._library.NVMLError, AttributeError) as error:
                self.absences["gpu_processes"] = f"NVML: {error}"
                continue
            for process in running:
                if process.usedGpuMemory is not None:  # not reported on Windows and by some virtual GPUs
                    used[process.pid] = used.get(process.pid, 0) + int(process.usedGpuMemory)
        for name, pids in groups.items():
            if known := [used[pid] for pid in set(pids) if pid in used]:
                yield Reading(name, ON_DEVICE, float(sum(known)), "B", "sampled")


def _clock(library: Any, gpu: Gpu) -> Iterator[Reading]:
    yield Reading(gpu.name, "sm_clock", library.nvmlDeviceGetClockInfo(gpu.handle, SM_CLOCK) * HERTZ_PER_MHZ, "Hz", "sampled")


def _temperature(library: Any, gpu: Gpu) -> Iterator[Reading]:
    degrees = float(library.nvmlDeviceGetTemperature(gpu.handle, CORE_TEMPERATURE))
    yield Reading(gpu.name, "temperature", degrees, "degC", "sampled")


def _utilisation(library: Any, gpu: Gpu) -> Iterator[Reading]:
    yield Reading(gpu.name, "utilisation", float(library.nvmlDeviceGetUtilizationRates(gpu.handle).gpu) / 100.0, "share", "sampled")


def _memory(library: Any, gpu: Gpu) -> Iterator[Reading]:
    memory = library.nvmlDeviceGetMemoryInfo(gpu.handle)
    yield Reading(gpu.name, "memory_used", float(memory.used), "B", "sampled")
    yield Reading(gpu.name, "memory_total", float(memory.total), "B", "sampled")


def _slowdowns(library: Any, gpu: Gpu) -> Iterator[Reading]:
    reasons = _reasons(library, gpu.handle)
    for counter, bits in SLOWDOWNS.items():
        yield Reading(gpu.name, counter, float(bool(reasons & bits)), "flag", "sampled")


def _reasons(library: Any, handle: Any) -> int:
    """The bit mask, by the newer or the older name of the same call."""
    newer = getattr(library, "nvmlDeviceGetCurrentClocksEventReasons", None)
    return int((newer or library.nvmlDeviceGetCurrentClocksThrottleReasons)(handle))


_READERS: Final = {"utilisation": _utilisation, "memory": _memory, "clock": _clock, "temperature": _temperature, "slowdown": _slowdowns}
