"""How do we read phases and losses on a GPU without synchronising it?

Phases: an event is recorded on the current stream at every boundary; the elapsed times are read steps later, once the last event of
the step has completed. Numbers (loss, sample ids): copied without blocking into pinned memory, read once the event behind the copy
has completed. Only `drain`, at the very end, waits.
Source: CUDA Runtime API, event management; https://docs.pytorch.org/docs/stable/generated/torch.cuda.Event.html
Cannot tell: work on side streams that the current stream does not wait for.
Tested with a fake torch.cuda; it has not yet run on a GPU.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

from fireassay.instruments.recorder.phases import NAMES, Emit, Phase


class Later:
    """Callbacks that run once their event has completed, in order."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._waiting: deque[tuple[Any, Callable[[], None]]] = deque()

    def put(self, event: Any, deliver: Callable[[], None]) -> None:
        """Call `deliver` after the event has completed."""
        self._waiting.append((event, deliver))

    def number(self, tensor: Any, deliver: Callable[[Any], None]) -> None:
        """Call `deliver` with the tensor's values (a number or a list) once they have arrived in host memory."""
        values = tensor.detach()
        host = self._torch.empty(values.shape, dtype=values.dtype, pin_memory=True)
        host.copy_(values, non_blocking=True)
        event = self._torch.cuda.Event()
        event.record()
        self.put(event, lambda: deliver(host.tolist()))

    def poll(self) -> None:
        """Run the callbacks that are ready; never waits."""
        while self._waiting and self._waiting[0][0].query():
            self._waiting.popleft()[1]()

    def drain(self) -> None:
        """Wait for everything; only at the end of the run."""
        while self._waiting:
            event, deliver = self._waiting.popleft()
            event.synchronize()
            deliver()


class CudaPhases:
    """Phases timed by events on the current stream; the same interface as `HostPhases`."""

    method = "cuda_event"

    def __init__(self, torch: Any, later: Later, emit: Emit, fail: Callable[[Exception], None]) -> None:
        self.paused = 0
        self.stack: list[int] = []
        self.seen = [False, False, False]
        self.named = {name: CudaPhase(self, index) for index, name in enumerate(NAMES)}
        self._torch, self._later, self._emit, self._fail = torch, later, emit, fail
        self._free: list[Any] = []  # completed events, for reuse
        self._events: list[Any] = []  # of the current step
        self._spans: list[tuple[int, Any, Any]] = []  # (phase, first event, last event) in the current step

    def boundary(self) -> None:
        """The innermost open phase ends or is interrupted here."""
        try:
            event = self._free.pop() if self._free else self._torch.cuda.Event(enable_timing=True)
            event.record()
        except Exception as error:
            self._fail(error)
            return
        if self.stack:
            self._spans.append((self.stack[-1], self._events[-1], event))
        self._events.append(event)

    def pause(self) -> None:
        """Stop the phases' clock until `resume`."""
        if not self.paused and self.stack:
            self.boundary()
        self.paused += 1

    def resume(self) -> None:
        """The outermost pause ended."""
        self.paused -= 1
        if not self.paused and self.stack:
            open_phases, self.stack = self.stack, []
            self.boundary()
            self.stack = open_phases

    def finish(self, fields: tuple[Any, ...]) -> None:
        """End the step: its times are delivered once its last event has completed."""
        if not self._events:
            self._emit(fields, (None, None, None), self.method)
            return
        self._later.put(self._events[-1], partial(self._resolve, fields, self._spans, tuple(self.seen), self._events))
        self._events, self._spans = [], []

    def clear(self) -> None:
        """Start a new step."""
        self.seen[:] = (False, False, False)
        self.stack.clear()
        self._events, self._spans = [], []

    def _resolve(self, fields: tuple[Any, ...], spans: list[tuple[int, Any, Any]], seen: tuple[bool, ...], events: list[Any]) -> None:
        ns = [0] * len(NAMES)
        for phase, first, last in spans:
            ns[phase] += round(first.elapsed_time(last) * 1e6)  # CUDA reports milliseconds
        forward, backward, optimizer = (t if s else None for t, s in zip(ns, seen, strict=True))
        self._emit(fields, (forward, backward, optimizer), self.method)
        self._free.extend(events)


class CudaPhase(Phase):
    """A phase whose boundaries are events."""

    __slots__ = ()
    _owner: Any  # a CudaPhases

    def __init__(self, owner: CudaPhases, index: int) -> None:
        self._owner = owner
        self._index = index

    def __enter__(self) -> None:
        owner = self._owner
        if owner.paused:
            return
        owner.boundary()
        owner.stack.append(self._index)
        owner.seen[self._index] = True

    def __exit__(self, *_: object) -> None:
        owner = self._owner
        if owner.paused or not owner.stack or owner.stack[-1] != self._index:
            return
        owner.boundary()
        owner.stack.pop()


def uses_cuda(torch: Any, device: str | None) -> bool:
    """True if training runs on a GPU: by the watched model's device, else by whether CUDA is initialised."""
    if device is not None:
        return device == "cuda"
    return bool(torch.cuda.is_available() and torch.cuda.is_initialized())
