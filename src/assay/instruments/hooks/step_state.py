"""What do the hooks know of the step under way, and what becomes of an error of their own?

The state lies in one object, and each hook reads it at one hop: between torch's own work every look at another object counts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Protocol

from assay.instruments.hooks.batches import Batches, Fetched, Pass
from assay.instruments.hooks.collective_calls import Calls
from assay.instruments.hooks.evaluation_overlap import Evaluated
from assay.instruments.hooks.live_optimizers import LiveOptimizers
from assay.instruments.hooks.outermost_modules import FastForward, Outermost
from assay.instruments.hooks.parallelism import Evidence
from assay.instruments.hooks.sample_sources import Sources
from assay.instruments.hooks.watched_steps import WatchedSteps
from assay.instruments.recorder.recorder import Recorder

_NONE: Final = object()  # no argument


class FastPath(FastForward, Protocol):
    """Who sees ordinary steps in fewer calls (`fast_step`)."""

    steps: int

    def enter(self, asked: int) -> None:
        """The first batch of a step is requested."""

    def leave(self) -> None:
        """Give the step under way back."""

    def phase(self) -> str | None:
        """The phase under way."""


class StepState:
    """What was seen of the step under way, and of the script before it."""

    outermost: Outermost
    evaluated: Evaluated
    ordinary: FastPath

    def __init__(self, torch: Any, recorder: Recorder, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._torch, self._recorder, self._now, self._tensor = torch, recorder, now, torch.Tensor
        self.inside = False  # a forward or backward pass: what is called in it is part of it
        self.sources = Sources(torch)
        self._own_ns = 0  # what measuring took, of the step under way
        self._own: deque[int] = deque(maxlen=1024)  # and of steps before it that were no ordinary ones
        self._closer = [0, 0]  # how many of those there were: watched, and not watched
        self._own_ordinary: tuple[deque[int], ...] = (deque(maxlen=1024), deque(maxlen=1024))  # of ordinary ones, not watched and watched
        self._begun = False
        self._paused = 0
        self._pauses: list[tuple[int, int]] = []  # in the step under way, that somebody told
        self.batches = Batches(torch)
        self.scales = False  # losses, before their backward pass
        self._doubted = ""
        self._derived = False  # gradients were asked for in the step under way
        self._settled = 0  # since when batches that were fetched are no evaluation's, of the step under way
        self._looked: list[Fetched] = []  # worked on without gradients since the last was asked for
        self._looked_ns = 0
        # the modules that did, without gradients and in evaluation mode; 0 for any other
        self._lookers: set[int] = set()
        self._look_begin = self._look_end = 0  # of the first of them and of the last
        self._trains: set[int] = set()  # modules that are trained by batches that nobody asks for
        self._asks = False  # whether batches are asked for
        self._looker: Any = None  # the module in evaluation mode that looked last, if its gradients may be asked for
        self._looking: int | None = None  # since when a pass without gradients is under way
        self._asked: int | None = None  # when the batch under way was asked for
        self._asked_since_look: int | None = None
        self._evaluating: int | None = None  # since when
        self._stepped: dict[int, None] = {}  # optimizers, since the step began
        self._stepping: list[int] = []  # optimizers that are stepping now, one inside of the other
        self._known: set[int] = set()  # optimizers there are
        self.optimizers = LiveOptimizers()  # the same, as the hooks met them
        recorder.optimizers = self.optimizers
        self._cycle: frozenset[int] | None = None
        self._closed = False  # a closure has told the loss of this update
        self.last_update: tuple[int, int | None, int] = (0, None, 0)  # when the last optimizer had stepped; paused and blocked by then
        self._passed = False  # forward with gradients, since an optimizer stepped
        self._losses: list[Any] = []  # of the step under way, or their sum so far where they are numbers
        self._passes: list[tuple[bool, Any, Any]] = []  # backward passes under way, one inside of the other
        self._watched = False
        self._passed_first: Callable[[], Any] = no_module  # the module that was passed last while no optimizer was there, weakly
        self._updates = False  # an optimizer has stepped
        self.calls = Calls(now)
        self.watched_steps = WatchedSteps(self.calls)
        self.evidence = Evidence(torch)  # of the parallelism
        self._tail_ns: int | None = None  # from the last gradient to the end of the backward pass, of this step
        self._tails: dict[str, int] = {}  # the same, by phase
        self._computed: int | None = None
        self._blocked_then = 0  # what had been waited for by then
        self._others = False  # other ranks
        self._tail_missed = False  # in the step under way: it communicated, but nobody saw when its last gradient was there
        self.reducers: list[Any] = []  # DistributedDataParallel's
        self._logged: dict[int, int] = {}  # of each, the passes before the first step, as far as its log tells

    def failed(self, error: Exception) -> None:
        """Something went wrong in here: nothing more is measured, and the training goes on."""
        self.silence()
        self._recorder.fail(error, "attach")

    def silence(self) -> None:
        """Look at nothing more."""
        self.inside = self.calls.wanted = self.ordinary.on = False

    @property
    def active(self) -> bool:
        """Whether anything is recorded; nothing is while a callback says what goes on."""
        return self._recorder.active and not self._paused

    @property
    def trains(self) -> bool:
        """Whether anything was passed forward or backward to be trained so far."""
        return self._watched or self._passed

    def shielded(self, call: Callable[..., None], one: Any = _NONE, other: Any = _NONE) -> bool:
        """What a hook does, timed; whether it went well: an error of its own ends the measuring.

        Two arguments by name instead of any number: a call that packs and unpacks a tuple takes Python twice as long.
        """
        begin = self._now()
        try:
            if one is _NONE:
                call()
            elif other is _NONE:
                call(one)
            else:
                call(one, other)
        except Exception as error:
            self.failed(error)
            return False
        finally:
            self._own_ns += self._now() - begin
        return True

    def forwarded(self) -> None:
        """The outermost module has answered."""
        raise NotImplementedError

    def _open(self, epoch: int) -> None:
        """The first step begins."""
        raise NotImplementedError

    def _turn(self, at: int | None = None) -> None:
        """The step under way is over, now or since then."""
        raise NotImplementedError

    def _feed(self, one: Pass) -> None:
        """A batch, or some rows of it, is trained on in the step under way."""
        raise NotImplementedError

    def _lose(self, roots: Any) -> None:
        """Gradients of these were requested."""
        raise NotImplementedError

    def _phase(self) -> str | None:
        """The phase under way, for what communication takes of it."""
        raise NotImplementedError


def no_module() -> None:
    """No module."""
