"""How many joules did the machine use?

Read from hardware counters; nothing is guessed.

* RAPL (powercap/intel-rapl, also on AMD): a package's energy includes its cores and graphics; DRAM is counted separately (Intel SDM
  volume 3B, 15.10). So `package-N` and `dram-N` are read; `core` and `uncore` (inside the package), `psys` (the package again, with
  the board) and a package's memory-mapped twin are not, so the sum counts nothing twice.
* NVML: total energy of a GPU since the driver was loaded (Volta and newer).
* modelled: watts per worker from the experiment, only on request and labelled as such.

Counters measure whole devices, so other users' consumption is included.
`accumulate` avoids known pitfalls of wraps, resets and failed reads (CodeCarbon issues 322, 309, 1309, 1321).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from fireassay.clock import Clock
from fireassay.instruments.machine.reading import Reading
from fireassay.record.machine import Machine, Unread
from fireassay.spec.sections.costs import Energy
from fireassay.units import NS_PER_S

# No single package or GPU draws more. Separates a wrap from a reset, and bounds the number of possible wraps.
MAX_WATTS: Final = 2000.0
# Delay of a counter: NVML updates about every 0.1 s, some boards slower.
LATENCY_S: Final = 1.0


# ---- the accumulator (pure) --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Raw:
    """A reading: time, and joules since the counter's origin; None if it could not be read."""

    ns: int
    joules: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Accumulated:
    """Joules used between the first and the last reading, with wraps and doubts."""

    joules: float = 0.0
    wraps: int = 0
    doubts: int = 0  # intervals that may lack energy: a reset, a jump, or long enough for several wraps
    errors: int = 0
    last: Raw | None = None  # the last good reading

    @property
    def lower_bound(self) -> bool:
        """True if the true energy may be higher."""
        return self.doubts > 0


def accumulate(readings: Iterable[Raw], max_range: float | None, *, max_watts: float = MAX_WATTS) -> Accumulated:
    """Joules between the first and the last reading of one counter, in time order.

    Args:
        max_range: joules at which the counter wraps to zero; None if it never does.
        max_watts: a higher power between two readings is a fault of the counter, not energy.

    Never negative, and never lower after one more reading. A failed reading is skipped and never taken for a wrap.
    """
    state = Accumulated()
    for reading in readings:
        state = step(state, reading, max_range, max_watts=max_watts)
    return state


def step(state: Accumulated, reading: Raw, max_range: float | None, *, max_watts: float = MAX_WATTS) -> Accumulated:
    """Add one reading."""
    if not _good(reading, max_range):
        return replace(state, errors=state.errors + 1)
    if state.last is None:
        return replace(state, last=reading)
    joules, wrapped, doubt = _used(state.last, reading, max_range, max_watts)
    return Accumulated(
        joules=state.joules + joules, wraps=state.wraps + wrapped, doubts=state.doubts + doubt, errors=state.errors, last=reading
    )


def _good(reading: Raw, max_range: float | None) -> bool:
    value = reading.joules
    return value is not None and math.isfinite(value) and 0 <= value <= (math.inf if max_range is None else max_range)


def _used(before: Raw, now: Raw, max_range: float | None, max_watts: float) -> tuple[float, bool, bool]:
    """(joules between two good readings, whether the counter wrapped, whether energy may be missing)."""
    assert before.joules is not None
    assert now.joules is not None
    seconds = max(0, now.ns - before.ns) / NS_PER_S
    possible = max_watts * (seconds + LATENCY_S)
    ambiguous = max_range is not None and max_watts * seconds >= max_range
    rise = now.joules - before.joules
    if 0 <= rise <= possible:
        return rise, False, ambiguous
    if max_range is not None and rise < 0 and rise + max_range <= possible:
        return rise + max_range, True, ambiguous
    if rise < 0:  # reset: the present value was used since, if that is physically possible
        return (now.joules if now.joules <= possible else 0.0), False, True
    return 0.0, False, True  # a jump that no device can have drawn


# ---- counters ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class JouleCounter:
    """A device's energy counter. `read` returns joules since the counter's origin, and raises on failure."""

    device: str
    read: Callable[[], float]
    max_range: float | None


@dataclass(frozen=True, kw_only=True)
class Found:
    """Counters of one kind, and why some or all are missing."""

    counters: tuple[JouleCounter, ...] = ()
    absence: str | None = None


_ZONE: Final = re.compile(r"^intel-rapl(?P<twin>-mmio)?:(?P<package>\d+)(?::(?P<part>\d+))?$")


def rapl(machine: Machine) -> Found:
    """The RAPL counters of this machine's packages and DRAM."""
    folder = machine.root / "sys/class/powercap"
    zones = sorted((zone for zone in folder.glob("intel-rapl*") if _ZONE.match(zone.name)), key=_zone_order)
    if not zones:
        return Found(absence="no RAPL: /sys/class/powercap has no intel-rapl zone (virtual machine, old kernel or unsupported processor)")
    counters: dict[str, JouleCounter] = {}
    refused: list[str] = []
    for zone in zones:
        try:
            counter = _rapl_counter(machine, zone)
        except (Unread, ValueError) as error:
            refused.append(f"{zone.name}: {error}")
            continue
        if counter is not None:
            counters.setdefault(counter.device, counter)
    return Found(counters=tuple(counters.values()), absence=_refusal(refused, bool(counters)))


def _zone_order(zone: Path) -> tuple[bool, int, int]:
    """Register-mapped zones first, so that a package's memory-mapped twin is the one dropped."""
    match = _ZONE.match(zone.name)
    assert match is not None
    return match["twin"] is not None, int(match["package"]), int(match["part"] or -1)


def _refusal(refused: list[str], any_counter: bool) -> str | None:
    if refused:
        return f"RAPL cannot be read: {refused[0]}; energy_uj is often readable by root only"
    return None if any_counter else "RAPL has no package and no dram zone"


def _rapl_counter(machine: Machine, zone: Path) -> JouleCounter | None:
    """The zone's counter, or None if its energy is part of another zone's. Raises Unread or ValueError."""
    path = f"/sys/class/powercap/{zone.name}"
    device = machine.text(f"{path}/name")
    if device == "dram" and zone.name.count(":") == 2:
        parent = machine.text(f"/sys/class/powercap/{zone.name.rpartition(':')[0]}/name")
        device = f"dram-{parent.removeprefix('package-')}"
    elif not device.startswith("package-"):
        return None
    max_range = machine.number(f"{path}/max_energy_range_uj") / 1e6
    if max_range <= 0:
        raise ValueError(f"max_energy_range_uj is {max_range:g}: wraps could not be recognised")
    machine.number(f"{path}/energy_uj")  # fail here, with the reason, rather than at every reading
    return JouleCounter(device=device, read=lambda: machine.number(f"{path}/energy_uj") / 1e6, max_range=max_range)


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
        counters.append(JouleCounter(device=uuid, read=_nvml_reader(library, handle), max_range=None))
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


# ---- one launch's joules -------------------------------------------------------------------------------------------------


def find(energy: Energy, machine: Machine, load_nvml: Callable[[], Any]) -> tuple[tuple[JouleCounter, ...], dict[str, str]]:
    """The counters that the experiment requests, and why others are missing: "energy" if there is none at all."""
    kinds: dict[str, Callable[[], Found]] = {"rapl": lambda: rapl(machine), "nvml": lambda: nvml(load_nvml, machine.environ)}
    requested = kinds if energy.source == "auto" else {name: kind for name, kind in kinds.items() if name == energy.source}
    sources = {name: kind() for name, kind in requested.items()}
    counters = tuple(counter for kind in sources.values() for counter in kind.counters)
    absences = {f"energy_{name}": kind.absence for name, kind in sources.items() if kind.absence}
    if energy.source == "none":
        absences["energy"] = 'not requested: energy.source = "none"'
    elif energy.source != "modelled" and not counters:
        absences["energy"] = "; ".join(absences.values())
    return counters, absences


class LaunchEnergy:
    """The joules of one launch on this host, by device, each device once."""

    def __init__(self, counters: tuple[JouleCounter, ...]) -> None:
        self._counters = counters
        self._states = {counter.device: Accumulated() for counter in counters}

    def read(self, clock: Clock) -> Iterator[Reading]:
        """Joules since the first reading of this launch; nothing for a device that was never read."""
        for counter in self._counters:
            state = step(self._states[counter.device], _raw(counter, clock), counter.max_range)
            self._states[counter.device] = state
            if state.last is not None:
                yield Reading(counter.device, "energy", state.joules, "J")
            if state.lower_bound:
                yield Reading(counter.device, "energy_doubts", float(state.doubts), "count")
            if state.errors:
                yield Reading(counter.device, "energy_errors", float(state.errors), "count")


def _raw(counter: JouleCounter, clock: Clock) -> Raw:
    try:
        return Raw(clock.now_ns(), counter.read())
    except (Unread, ValueError, OSError):
        return Raw(clock.now_ns(), None)


def modelled(watts_per_worker: float, workers: int, seconds: float) -> Reading:
    """Joules by assumption: watts x workers x time. Labelled as modelled, not measured."""
    return Reading("workers", "energy", watts_per_worker * workers * seconds, "J", "modelled")


def update_period_s(
    counter: JouleCounter, clock: Clock, stopped: Callable[[], bool], *, limit_s: float = 1.0, poll_s: float = 0.002
) -> float | None:
    """The counter's update period in seconds: the median gap between changes, from at most `limit_s` of polling.

    None after fewer than three changes. A window shorter than 20 update periods is unreliable. The result is at least the polling interval.
    """
    begin, changes, before = clock.now_ns(), list[int](), _raw(counter, clock).joules
    while not stopped() and len(changes) < 12 and clock.now_ns() - begin < limit_s * NS_PER_S:
        clock.sleep(poll_s)
        now = _raw(counter, clock)
        if now.joules is not None and now.joules != before:
            changes.append(now.ns)
            before = now.joules
    gaps = sorted(later - earlier for earlier, later in pairwise(changes))
    return gaps[len(gaps) // 2] / NS_PER_S if len(gaps) >= 2 else None
