"""Which devices of this process have queued work, and how is it waited for?

Work on a device is queued: a function that starts it returns before it ends.  A trial therefore begins and ends with a synchronisation of
every device in use, and an event on the current stream before and after the calls gives the device's own time.  `auto` takes what torch has
initialised, looked up in `sys.modules`: torch is neither imported nor initialised for it.
Cannot tell: the queues of programs without torch (JAX, CuPy), nor the event time of work on streams that the current one does not join.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

SYNCHRONISATIONS = 11  # of empty queues, to measure the cost of one
INDEXED = ("cuda", "xpu")


@dataclass(frozen=True)
class Device:
    """A device in use."""

    name: str  # "cuda:0"
    synchronise: Callable[[], object]
    mark: Callable[[], Any] | None = None  # records an event with a time on the current stream


def in_use(requested: str) -> tuple[Device, ...]:
    """The devices to synchronise: those that torch initialised (auto), none (cpu), or the one named.

    Raises:
        RuntimeError: torch has no such device here.
    """
    if requested == "cpu":
        return ()
    if requested == "auto":
        return tuple(_initialised(sys.modules.get("torch")))
    return (_named(requested),)


def _initialised(torch: Any) -> Iterator[Device]:
    for backend in INDEXED:
        module = getattr(torch, backend, None)
        if module is not None and module.is_initialized():
            yield from (_device(backend, module, index) for index in _indices(module))
    module = getattr(torch, "mps", None)
    if module is not None and torch.backends.mps.is_available() and module.driver_allocated_memory() > 0:
        yield Device("mps", module.synchronize, _marker(module))


def _indices(module: Any) -> list[int]:
    """The current device, and all that hold memory: to synchronise any other would create a context on it."""
    current, reserved = module.current_device(), getattr(module, "memory_reserved", lambda _: 0)
    return [index for index in range(module.device_count()) if index == current or reserved(index) > 0]


def _device(backend: str, module: Any, index: int) -> Device:
    mark = _marker(module) if index == module.current_device() else None
    return Device(f"{backend}:{index}", lambda: module.synchronize(index), mark)


def _marker(module: Any) -> Callable[[], Any]:
    def mark() -> Any:
        event = module.Event(enable_timing=True)
        event.record()
        return event

    return mark


def _named(requested: str) -> Device:
    try:
        import torch
    except ImportError:
        raise RuntimeError(f"timing.device = {requested!r}, but this Python has no torch") from None
    backend, _, index = requested.partition(":")
    module: Any = getattr(torch, backend, None)
    available = torch.backends.mps.is_available() if backend == "mps" else module is not None and module.is_available()
    if not available or (index and int(index) >= module.device_count()):
        raise RuntimeError(f"timing.device = {requested!r}, but torch finds no such device in this process")
    if backend == "mps":
        return Device("mps", module.synchronize, _marker(module))
    module.init()
    return _device(backend, module, int(index) if index else module.current_device())


def synchronise(devices: Sequence[Device]) -> None:
    """Wait until no device has queued work."""
    for device in devices:
        device.synchronise()


def marks(devices: Sequence[Device]) -> dict[str, Any]:
    """An event on the current stream of each device that has one."""
    return {device.name: device.mark() for device in devices if device.mark is not None}


def between_s(begins: dict[str, Any], ends: dict[str, Any]) -> dict[str, float]:
    """Device -> seconds between its two events, after a synchronisation."""
    return {name: event.elapsed_time(ends[name]) / 1e3 for name, event in begins.items()}


def cost_s(device: Device) -> float:
    """Median seconds of a synchronisation of an empty queue."""
    device.synchronise()
    seconds = []
    for _ in range(SYNCHRONISATIONS):
        begin = time.monotonic_ns()
        device.synchronise()
        seconds.append((time.monotonic_ns() - begin) / 1e9)
    return sorted(seconds)[SYNCHRONISATIONS // 2]
