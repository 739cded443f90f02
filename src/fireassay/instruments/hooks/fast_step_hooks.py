"""What does each hook record itself in an ordinary step?

Between torch's work a call costs a microsecond. So each patched function handles the usual case in one frame, with the fields of
`fast_step`, and passes everything else to `slow`, which handles any step. Order in each: hook, clock, torch, clock, hook; `timing` says
that the hooks' cost is measured in the current step.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from fireassay.instruments.hooks.fast_step import DERIVED, IN_BACKWARD, IN_STEP, PASSED, STEPPED

if TYPE_CHECKING:
    from fireassay.instruments.hooks.steps import Attached

Function = Callable[..., Any]


def following(attached: Attached, original: Function, slow: Function) -> Function:
    """`__next__` of a DataLoader's iterator: the previous step ends, and the wait for a batch begins."""
    ordinary, now = attached.ordinary, attached.ordinary.now
    main, current = threading.main_thread().ident, threading.get_ident

    def __next__(self: Any) -> Any:
        if not ordinary.on or current() != main:
            return slow(self)
        requested_ns = now()
        if not ordinary.turns(requested_ns):
            return slow(self)
        if ordinary.timing:
            ordinary.cost_ns += now() - requested_ns
        attached.inside = True  # modules that transform samples are no forward pass
        try:
            batch = original(self)
        except StopIteration:
            attached.inside = False
            ordinary.leave()
            attached.shielded(attached.ran_out, self)
            raise
        except BaseException:
            ordinary.leave()
            attached.shielded(attached.skipped, self)
            raise
        finally:
            attached.inside = False
        came = now()
        if not (ordinary.on and ordinary.batch_ready(self, batch, came)):
            attached.shielded(attached.batch_ready, self, batch)
        return batch

    return __next__


def running(torch: Any, attached: Attached, original: Function, slow: Function) -> Function:  # noqa: C901
    """The engine's backward pass."""
    ordinary, now, tensor, calls = attached.ordinary, attached.ordinary.now, torch.Tensor, attached.calls
    is_traced = getattr(torch.compiler, "is_dynamo_compiling", torch.compiler.is_compiling)  # saves a call
    main, current = threading.main_thread().ident, threading.get_ident

    def _engine_run_backward(roots: Any, *arguments: Any, **words: Any) -> Any:  # noqa: C901 - one frame, on purpose
        if is_traced() or not ordinary.on or current() != main or ordinary.state != PASSED:
            return slow(roots, *arguments, **words)
        entered_ns = now() if ordinary.timing else 0
        hook, losses = None, roots if words.get("accumulate_grad") else None
        try:
            ordinary.state, ordinary.roots, attached.inside = IN_BACKWARD, losses, True
            if not ordinary.known and ordinary.batch[4] is not None:
                ordinary.begins_epoch()
            if attached._others and not calls.unwatched:
                attached._computed = None
                if losses:
                    hook = attached._watch_engine(roots[0])
            ordinary.hook = hook
        except Exception as error:
            ordinary.fail(error)
        begin_ns = ordinary.requested_ns = now()
        if entered_ns:
            ordinary.cost_ns += begin_ns - entered_ns
        try:
            return original(roots, *arguments, **words)
        finally:
            end_ns = now()
            if attached.ordinary.on:  # `leave` may have been called meanwhile
                try:
                    ordinary.backward_ns = end_ns - begin_ns
                    ordinary.state, ordinary.roots, attached.inside = DERIVED, None, False
                    if hook is not None:
                        ordinary.hook = None
                        attached._computed_until(hook, "backward", end_ns)
                    if losses:
                        root = losses[0]
                        usual = len(losses) == 1 and type(root) is tensor and not attached.scales
                        if usual and root.is_cpu and root.numel() == 1:
                            ordinary.loss = root.item()
                        else:
                            attached._lose(losses)
                    if ordinary.timing:
                        ordinary.cost_ns += now() - end_ns
                except Exception as error:
                    ordinary.fail(error)
            else:
                attached.shielded(attached.backwarded)

    return _engine_run_backward


def stepping(attached: Attached, before: Function, after: Function) -> tuple[Function, Function]:
    """(before, after) an optimizer's step."""
    ordinary, now, calls = attached.ordinary, attached.ordinary.now, attached.calls

    def begins(optimizer: Any, arguments: Any, words: Any) -> None:
        if ordinary.on and ordinary.state == DERIVED and id(optimizer) == ordinary.optimizer_id:
            ordinary.state = IN_STEP
            ordinary.requested_ns = now()
        else:
            before(optimizer, arguments, words)

    def ends(optimizer: Any, arguments: Any, words: Any) -> None:
        if ordinary.on and ordinary.state == IN_STEP and id(optimizer) == ordinary.optimizer_id:
            ended = ordinary.stepped_at = now()
            ordinary.optimizer_ns = ended - ordinary.requested_ns
            ordinary.state, ordinary.blocked = STEPPED, calls.blocked_ns
        else:
            after(optimizer, arguments, words)

    return begins, ends
