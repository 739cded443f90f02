"""What is the FLOP count of a step on this rank, on which device, and what is that device's peak?

Reported once per start, after the first step. `Recorder` passes its phases in at the start of its first loop and takes them back
after the first step, so later steps cost nothing. The count (`flops`) and, if requested, the measured peak (`gemm_peak`) become the
event `flops`:

    value    operations of the model in this step on this rank; null if unknown
    detail   convention, forward, backward, recomputed, by: [{device, name, precision, flops, uuid}], items, uncounted, absent (why),
             devices: [{device, name, uuid}] if nothing was counted (uuid: of a GPU, so that ranks sharing it are recognised),
             peaks: [{device, precision, flops_per_s, size, threads, method, absent}]

An error becomes a reason in that event and never ends the recording.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fireassay.instruments.flops.flops import StepCounter

Named = Mapping[str, AbstractContextManager[None]]


class WorkOfAStep:
    """Counts the first step of a recorder."""

    def __init__(self, *, measures_peak: bool, precision: str = "") -> None:
        """`precision`: of the measured peak, if the experiment sets one; default: those of the matrix products."""
        self.step_over = False
        self._measures_peak, self._precision = measures_peak, precision
        self._plain: Named | None = None
        self._counter: StepCounter | None = None
        self._device = "cpu"
        self._step = 0
        self._items: float | None = None
        self._trouble = ""

    def begin(self, named: Named, device: str | None) -> Named:
        """The first step's phases, counted; `device` is the kind that holds the watched model, if any."""
        torch = sys.modules.get("torch")
        if torch is None or self._plain is not None:
            return named
        self._plain = named
        try:
            from fireassay.instruments.flops.flops import StepCounter
            from fireassay.instruments.recorder.cuda_events import uses_cuda

            self._device = f"cuda:{torch.cuda.current_device()}" if uses_cuda(torch, device) else device or "cpu"
            self._counter = StepCounter(torch)
            return self._counter.counted(named)
        except Exception as error:
            self._trouble = f"{type(error).__name__}: {error}"
            return named

    def begin_again(self, named: Named, device: str | None) -> Named:
        """Restart with other phases, before any of them was entered."""
        self._plain = None
        return self.begin(named, device)

    def withdraw(self, named: Named) -> Named:
        """Discard the count; returns the original phases."""
        plain, self._plain = self._plain, None
        return named if plain is None else plain

    def end_step(self, step: int, items: float | None) -> None:
        """The step has ended."""
        self.step_over, self._step, self._items = self._plain is not None, step, items

    def finish(self, event: Callable[..., None]) -> Named:
        """Write the event between two steps, so that neither grows; returns the original phases."""
        assert self._plain is not None
        flops, detail = self._counted()
        begin = _now()
        if self._measures_peak:
            detail["peaks"] = self._peaks(detail)
        event("flops", begin, _now() - begin, step=self._step, value=flops, detail=detail)
        return self._plain

    def _counted(self) -> tuple[float | None, dict[str, Any]]:
        try:
            if self._counter is None:
                raise RuntimeError(self._trouble)
            flops, detail = self._counter.detail(self._items)
        except Exception as error:
            flops, detail = None, {"convention": "counter", "by": [], "items": self._items, "absent": str(error)}
        if not detail["by"]:
            from fireassay.instruments.flops.flops import device_name, identity

            torch = sys.modules.get("torch")
            name = device_name(torch, self._device)
            detail["devices"] = [{"device": self._device, "name": name, **identity(torch, self._device)}]
        return flops, detail

    def _peaks(self, detail: Mapping[str, Any]) -> list[dict[str, Any]]:
        """One per device and precision with at least 1 % of the products, or for the device alone in single precision."""
        from fireassay.instruments.flops.gemm_peak import measure

        total = sum(item["flops"] for item in detail["by"])
        measured = [(item["device"], self._precision or item["precision"]) for item in detail["by"] if item["flops"] > 0.01 * total]
        peaks = []
        for device, precision in dict.fromkeys(measured or [(self._device, self._precision or "float32")]):
            try:
                peaks.append(measure(sys.modules.get("torch"), device, precision))
            except Exception as error:
                peaks.append({"device": device, "precision": precision, "flops_per_s": None, "absent": str(error)})
        return peaks


def _now() -> int:
    return time.monotonic_ns()
