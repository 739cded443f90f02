"""When does an optimizer step, and is that an update of the training?

Every torch optimizer's step is seen through two hooks that all optimizers share, also one that a gradient scaler skips. A step that only
creates an optimizer's state is none.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

from fireassay.instruments.hooks.live_optimizers import shared_parameters
from fireassay.instruments.hooks.passes import REQUESTED, UPDATED
from fireassay.steps.events import MADE, STEP, STEPPED, UPDATE

if TYPE_CHECKING:
    from fireassay.instruments.hooks.steps import Attached


class Updates:
    """Records the steps of optimizers."""

    __slots__ = ("_attached", "_dry", "_known_thread", "_local", "_thread", "_threads")

    def __init__(self, attached: Attached) -> None:
        self._attached, self._thread = attached, threading.get_ident
        self._dry: list[Any] = []  # the optimizer that steps only to create its state
        self._local = threading.local()  # thread ids are reused
        self._threads = 0  # in which optimizers step
        self._known_thread: int | None = None  # the main one, once it has trained

    def made(self, optimizer: Any) -> None:
        """A new optimizer."""
        attached, passes = self._attached, self._attached.passes
        attached.outermost.search_again()
        attached.turns.made(id(optimizer))
        attached.look_closer()
        attached.optimizers.add(optimizer)
        if not passes.known_model:
            passes.begin_with(optimizer)
        watch = attached.recorder.model.current
        if attached.updated_at is not None and watch is not None and not shared_parameters(optimizer, watch.model):
            attached.communication.evidence.settle(watch)  # of another model, since the first may be dropped
            watch.release()
        attached.append((MADE, attached.now()))

    def _counts(self, optimizer: Any, arguments: Any, words: Any) -> bool:
        """True if the step is an update: until the main thread has trained, it may only create the optimizer's state."""
        if not (hasattr(self._local, "known") or self._is_first_thread()):
            return False
        if self._attached.trains:
            if threading.current_thread() is threading.main_thread():
                self._known_thread = threading.get_ident()
        elif _is_dry(optimizer, len(arguments) > 1 or words.get("closure") is not None):
            self._dry.append(optimizer)
            return False
        return True

    def _is_first_thread(self) -> bool:
        """A thread's first step. Whether no other thread has made one."""
        self._local.known = True
        self._threads += 1
        if self._threads > 1:
            self._attached.failed(RuntimeError("optimizers step in several threads, so updates cannot be assigned to steps"))
        return self._threads == 1

    def step(self, optimizer: Any, arguments: Any = None, words: Any = None) -> None:
        """An optimizer begins to step; nested in another's step, it is part of that. Torch's hook gives its arguments."""
        attached = self._attached
        if not attached.active or (
            self._thread() != self._known_thread and arguments is not None and not self._counts(optimizer, arguments, words)
        ):
            return
        try:
            attached.entered = attached.used() if attached.timing else 0
            key, turns = id(optimizer), attached.turns
            if turns.stepping:
                turns.stepping.append(key)
                turns.nests(key)
                attached.append((STEP, attached.now(), key))
                return
            turns.stepping.append(key)
            if not attached.begun:
                attached.open()
            if turns.stepped:
                self._steps_too(key)
            if attached.since_pass:
                attached.since_pass = REQUESTED  # what was evaluated before an update is in that step
            if attached.named is not None:
                attached.named["optimizer"].__enter__()
            attached.append((STEP, attached.now(), key))
            if attached.entered:
                attached.cost_ns += attached.used() - attached.entered
        except Exception as error:
            attached.failed(error)

    def _steps_too(self, key: int) -> None:
        """Another optimizer, or the same, has stepped in the current step."""
        attached, turns = self._attached, self._attached.turns
        if key in turns.stepped:
            turns.comes_again()
            attached.append((UPDATE, attached.now(), key))
            if not attached.ended_before() and not attached.passed:  # it requests passes itself (LBFGS), so the step begins here
                attached.turn()
            turns.stepped.clear()  # its cycle begins
        if turns.may_have_ended is not None:
            attached.goes_on()

    def stepped(self, optimizer: Any, arguments: Any = None, words: Any = None) -> None:
        """The optimizer has stepped, or skipped its step for gradients that were not finite."""
        attached, turns = self._attached, self._attached.turns
        if not attached.active or (self._dry and self._is_dry_over(optimizer)):
            return
        try:
            now = attached.now()
            entered = attached.used() if attached.timing else 0
            attached.append((STEPPED, now))
            if turns.stepping:
                turns.stepping.pop()
                if turns.stepping:
                    return
            turns.stepped[id(optimizer)] = None
            attached.passed, attached.since_pass = False, UPDATED
            attached.updated_at, attached.blocked_ns = now, attached.calls.blocked_ns
            if attached.named is not None:
                attached.named["optimizer"].__exit__(None, None, None)
            if entered:
                attached.cost_ns += attached.used() - entered
        except Exception as error:
            attached.failed(error)

    def _is_dry_over(self, optimizer: Any) -> bool:
        """True if the step only created the optimizer's state."""
        return self._dry[-1] is optimizer and self._dry.pop() is optimizer


def _is_dry(optimizer: Any, closure: bool) -> bool:
    """True if a step before any training updates nothing because its gradients are zero or absent.

    torch creates an optimizer's state that way when it loads one (`torch.distributed.checkpoint.state_dict`). A closure computes gradients
    first.
    """
    gradients = (tensor.grad for group in optimizer.param_groups for tensor in group["params"])
    local = (tensor.to_local() if hasattr(tensor, "to_local") else tensor for tensor in gradients if tensor is not None)
    return not closure and not any(bool(tensor.any()) for tensor in local)
