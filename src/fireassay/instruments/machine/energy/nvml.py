"""How many joules did the NVIDIA GPUs use?

NVML: total energy of a GPU since the driver was loaded (Volta and newer), millijoules, updated about every 0.1 s. A new driver begins at 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from fireassay.instruments.machine.energy.support.source import Found, JouleCounter, Source
from fireassay.record.machine import Unread

UPDATE_S: Final = 0.1
STEP_J: Final = 0.001


def import_nvml() -> Any:
    """The NVML binding. Raises ImportError."""
    import pynvml

    return pynvml


def nvml(load: Callable[[], Any], environ: Mapping[str, str]) -> Found:
    """The energy counters of the NVIDIA GPUs visible to a workload (CUDA_VISIBLE_DEVICES)."""
    try:
        library = load()
    except ImportError:
        return Found(absence="no NVML: the package nvidia-ml-py is not installed")
    try:
        devices = _devices(library)
    except library.NVMLError as error:
        return Found(absence=f"no NVML: {error}")
    visible = _visible(devices, environ.get("CUDA_VISIBLE_DEVICES"))
    return _readable(library, visible) if visible else Found(absence="NVML lists no GPU visible to the workload")


def devices_for(library: Any, environ: Mapping[str, str]) -> list[tuple[int, Any]]:
    """(index, handle) of the NVIDIA GPUs visible to a workload. Raises the library's NVMLError."""
    devices = _devices(library)
    chosen = {uuid for _, uuid in _visible(devices, environ.get("CUDA_VISIBLE_DEVICES"))}
    return [(index, handle) for index, (handle, uuid) in enumerate(devices) if uuid in chosen]


def _devices(library: Any) -> list[tuple[Any, str]]:
    library.nvmlInit()
    handles = [library.nvmlDeviceGetHandleByIndex(index) for index in range(library.nvmlDeviceGetCount())]
    return [(handle, _text(library.nvmlDeviceGetUUID(handle))) for handle in handles]


def _visible(devices: list[tuple[Any, str]], chosen: str | None) -> list[tuple[Any, str]]:
    """The devices in CUDA_VISIBLE_DEVICES, by index or UUID prefix; each once."""
    if chosen is None:
        return devices
    names = {name.strip() for name in chosen.split(",") if name.strip()}
    return [
        (handle, uuid)
        for index, (handle, uuid) in enumerate(devices)
        if str(index) in names or any(not name.isdigit() and uuid.startswith(name) for name in names)
    ]


def _readable(library: Any, devices: list[tuple[Any, str]]) -> Found:
    counters, refused = [], []
    for handle, uuid in devices:
        try:
            library.nvmlDeviceGetTotalEnergyConsumption(handle)
        except library.NVMLError as error:
            refused.append(f"{uuid}: {error}")
            continue
        counters.append(JouleCounter(device=uuid, read=_nvml_reader(library, handle), max_range=None, delay_s=UPDATE_S, step=STEP_J))
    return Found(counters=tuple(counters), absence=f"NVML counts no energy: {'; '.join(refused)}" if refused else None)


def _nvml_reader(library: Any, handle: Any) -> Callable[[], float]:
    """A reader of the energy since the driver was loaded: millijoules, converted to joules."""

    def read() -> float:
        try:
            return float(library.nvmlDeviceGetTotalEnergyConsumption(handle)) / 1e3
        except library.NVMLError as error:
            raise Unread(f"NVML: {error}") from error

    return read


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name


SOURCE: Final = Source(
    name="nvml", covers=frozenset({"nvidia"}), automatic=True, find=lambda around: nvml(around.load_nvml, around.machine.environ)
)
