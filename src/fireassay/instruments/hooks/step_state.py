"""What do the hooks know about the current step, and how are their own errors handled?

The state is one object that each hook reads directly: between torch's work every access to another object counts.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from fireassay.instruments.hooks.batches import Batches, Fetched, Pass
from fireassay.instruments.hooks.collective_calls import Calls
from fireassay.instruments.hooks.evaluation_overlap import Evaluated
from fireassay.instruments.hooks.live_optimizers import LiveOptimizers
from fireassay.instruments.hooks.outermost_modules import FastForward, Outermost
from fireassay.instruments.hooks.parallelism import Evidence
from fireassay.instruments.hooks.sample_sources import Sources
from fireassay.instruments.hooks.watched_steps import WatchedSteps
from fireassay.instruments.recorder.recorder import Recorder

_NONE: Final = object()  # no argument


class FastPath(FastForward, Protocol):
    """Records ordinary steps in fewer calls (`fast_step`)."""

    steps: int

    def enter(self, requested_ns: int) -> None:
        """The first batch of a step is requested."""

    def leave(self) -> None:
        """Hand the current step back."""

    def phase(self) -> str | None:
        """The current phase."""


class StepState(ABC):
    """The hooks' state: the current step, and the script so far."""

    outermost: Outermost
    evaluated: Evaluated
    ordinary: FastPath

    def __init__(self, torch: Any, recorder: Recorder, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._torch, self._recorder, self._now, self._tensor = torch, recorder, now, torch.Tensor
        self.inside = False  # a forward or backward pass: nested calls are part of it
        self.sources = Sources(torch)
        self._own_ns = 0  # the hooks' time in the current step
        self._own: deque[int] = deque(maxlen=1024)  # the same in earlier steps that were not ordinary
        self._closer = [0, 0]  # their number: watched, and not watched
        self._own_ordinary: tuple[deque[int], ...] = (deque(maxlen=1024), deque(maxlen=1024))  # of ordinary steps, not watched and watched
        self._begun = False
        self._paused = 0
        self._pauses: list[tuple[int, int]] = []  # in the current step, as reported
        self.batches = Batches(torch)
        self.scales = False  # losses, before their backward pass
        self._doubted = ""
        self._derived = False  # gradients were requested in the current step
        self._settled = 0  # start of the current step's time in which fetched batches belong to no evaluation
        self._looked: list[Fetched] = []  # used without gradients since the last request
        self._looked_ns = 0
        # IDs of their modules, if called without gradients in evaluation mode; else 0
        self._lookers: set[int] = set()
        self._look_begin = self._look_end = 0  # of the first and of the last of them
        self._trains: set[int] = set()  # modules trained on batches without a loader
        self._asks = False  # the script requests batches
        self._looker: Any = None  # the last module in evaluation mode, if its gradients may be requested
        self._looking: int | None = None  # start of the current pass without gradients
        self._asked: int | None = None  # when the current batch was requested
        self._asked_since_look: int | None = None
        self._evaluating: int | None = None  # start of the current evaluation
        self._stepped: dict[int, None] = {}  # optimizers, since the step began
        self._stepping: list[int] = []  # optimizers that are stepping now, nested
        self._known: set[int] = set()  # optimizers that exist
        self.optimizers = LiveOptimizers()  # those that the hooks have seen
        recorder.optimizers = self.optimizers
        self._cycle: frozenset[int] | None = None
        self._closed = False  # a closure has returned this update's loss
        self.last_update: tuple[int, int | None, int] = (0, None, 0)  # end of the last optimizer step; paused and blocked time by then
        self._passed = False  # a forward pass with gradients since an optimizer stepped
        self._losses: list[Any] = []  # of the current step, or their sum so far if they are numbers
        self._passes: list[tuple[bool, Any, Any]] = []  # current backward passes, nested
        self._watched = False
        self._passed_first: Callable[[], Any] = no_module  # the last module called before any optimizer existed, weakly
        self._updates = False  # an optimizer has stepped
        self.calls = Calls(now)
        self.watched_steps = WatchedSteps(self.calls)
        self.evidence = Evidence(torch)  # of the parallelism
        self._tail_ns: int | None = None  # from the last gradient to the end of the backward pass, in this step
        self._tails: dict[str, int] = {}  # the same, by phase
        self._computed: int | None = None
        self._blocked_then = 0  # waiting up to then
        self._others = False  # whether there are other ranks
        self._tail_missed = False  # in the current step: it communicated, but the time of its last gradient is unknown
        self.reducers: list[Any] = []  # DistributedDataParallel's
        self._logged: dict[int, int] = {}  # reducer -> passes before the first step, according to its log

    def failed(self, error: Exception) -> None:
        """An internal error: stop measuring, let the training continue."""
        self.silence()
        self._recorder.fail(error, "attach")

    def silence(self) -> None:
        """Stop recording."""
        self.inside = self.calls.wanted = self.ordinary.on = False

    @property
    def active(self) -> bool:
        """Whether anything is recorded; False while a callback reports a pause."""
        return self._recorder.active and not self._paused

    @property
    def trains(self) -> bool:
        """Whether any training pass, forward or backward, was recorded so far."""
        return self._watched or self._passed

    def shielded(self, call: Callable[..., None], first: Any = _NONE, second: Any = _NONE) -> bool:
        """Run a hook's work, timed. Whether it succeeded; its error ends the measurement.

        Two named arguments instead of `*args`: packing and unpacking a tuple doubles the cost of a Python call.
        """
        begin = self._now()
        try:
            if first is _NONE:
                call()
            elif second is _NONE:
                call(first)
            else:
                call(first, second)
        except Exception as error:
            self.failed(error)
            return False
        finally:
            self._own_ns += self._now() - begin
        return True

    @abstractmethod
    def forwarded(self) -> None:
        """The outermost module has returned."""

    @abstractmethod
    def _open(self, epoch: int) -> None:
        """The first step begins."""

    @abstractmethod
    def _turn(self, at: int | None = None) -> None:
        """The current step is over, now or at `at`."""

    @abstractmethod
    def _feed(self, training_pass: Pass) -> None:
        """The current step trains on a batch, or some rows of it."""

    @abstractmethod
    def _lose(self, roots: Any) -> None:
        """Gradients of these roots were requested."""

    @abstractmethod
    def _phase(self) -> str | None:
        """The current phase, for communication time."""


def no_module() -> None:
    """No module."""
