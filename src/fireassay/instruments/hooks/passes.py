"""Which passes does a script make, forward and backward, which batch does each receive, and which does a backward pass reach?

A pass is the call of an outermost module, or of autograd's engine. Which forward passes a backward pass reaches is read from its graph,
by autograd's sequence numbers. The trained model is the first module that is trained and shares a parameter with an optimizer: one under
construction may be called to get a shape.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from fireassay.instruments.hooks.batches import Storages
from fireassay.instruments.hooks.live_optimizers import shared_parameters, trained_parameters
from fireassay.instruments.hooks.turns import Pass
from fireassay.steps.events import (
    BACKWARD,
    BACKWARDED,
    COUNTS,
    FORWARD,
    FORWARDED,
    GRADIENTS,
    NUMBER,
    PARAMETERS,
    TOO_LARGE,
    TRAINING,
    TRAINS,
    WITHDRAW,
    Event,
)

if TYPE_CHECKING:
    from fireassay.instruments.hooks.steps import Attached

MAX_EVENTS: Final = 96  # before they are read: few enough to be cached still
MAX_UNREAD: Final = 4096  # in passes without gradients
MAX_NODES: Final = 20_000  # searched in a graph
COUNTED: Final = COUNTS | GRADIENTS
# Since the last forward pass with gradients: nothing, a batch was requested, a pass may have trained nothing, it did and was an evaluation,
# an optimizer has stepped.
SETTLED, REQUESTED, UNTRAINED, EVALUATES, UPDATED = range(5)
EVALUATION: Final = "evaluation"  # the phase of a pass that may train nothing
MAY_EVALUATE: Final = (UNTRAINED, EVALUATES)


class Passes:
    """Records the passes, and decides which module is the trained model."""

    def __init__(self, torch: Any, attached: Attached, storages: Storages) -> None:
        self._attached, self._storages = attached, storages
        self._tensor, self._gradients, self._sequence = torch.Tensor, torch.is_grad_enabled, torch._C._autograd._get_sequence_nr
        self.open: list[Event] = []  # forward passes with gradients since the last backward pass
        self._ends: list[Any] = []  # their sequence numbers at the end, without the last one's
        self._end: int | None = 0  # the last one's; None: it is under way
        self._under_way: list[tuple[str, Any, Any]] = []  # backward passes, nested: the pass around it, roots, how it is watched
        self._only_evaluates = False  # in a pass that may train nothing
        self._untrained: Any = None  # the last module in evaluation mode, if its gradients may be requested
        self._trained_ids: set[int] = set()  # modules trained without a loader
        self._first_module: Callable[[], Any] = _no_module  # the last module called before any optimizer existed, weakly
        self._without_step = 0  # losses that no step has collected
        self.known_model = False  # a model was found
        self.scales = False  # losses, before their backward pass
        self._loss_after: int | None = -1  # the update before the one whose loss a closure has returned

    @property
    def under_way(self) -> bool:
        """True within a backward pass."""
        return bool(self._under_way)

    # ------------------------------------------------------------------ forward

    def forward(self, module: Any, inputs: Any = ()) -> bool:
        """The outermost module is called. Whether its end is recorded too."""
        attached = self._attached
        try:
            attached.inside = "forward"
            if attached.steady and self._gradients() and module.training and not attached.turns.stepped:
                flags, attached.since_pass, attached.passed = COUNTED, SETTLED, True
            else:
                flags = self._decide(module)
            tensor, found, unknown = self._storages.newest
            if len(inputs) != 1 or type(inputs) is not tuple or (given := inputs[0]) is None or tensor() is not given:
                found, unknown = self._storages.matches(inputs)  # unusual: not the whole batch that came last
            if attached.named is not None and not self._only_evaluates:
                attached.named["forward"].__enter__()
            if (found or unknown) and flags & COUNTS:
                event = (FORWARD, attached.now(), flags, found, unknown, self._sequence(), id(module))
                if self.open:
                    self._ends.append(self._end)
                self.open.append(event)
                self._end = None
            else:
                event = (FORWARD, attached.now(), flags, found, unknown, 0, id(module))
            attached.append(event)
            if flags & COUNTS and attached.contents.due == attached.recorder.step_number:
                attached.contents.called(module, inputs)
            return True
        except Exception as error:
            attached.failed(error)
            return False

    def _decide(self, module: Any) -> int:
        """What the call of a module means for the training; returns its flags."""
        attached = self._attached
        if attached.outermost.searches:
            attached.outermost.examine(type(module))
        if not self._gradients() or not (module.training or attached.recorder.on_gpu):
            return self._may_train_by(module)
        if attached.turns.stepped or not self.known_model or not attached.requests:
            self._trains_by(module)
        else:
            attached.since_pass, attached.passed = SETTLED, True
        return COUNTED

    def _may_train_by(self, module: Any) -> int:
        """A pass without gradients, or in evaluation mode; returns its flags."""
        attached, gradients = self._attached, self._gradients()
        if attached.turns.stepping:  # in a closure (LBFGS)
            if gradients:
                self._trains_by(module)
            return COUNTED if gradients else 0
        self._only_evaluates, attached.inside = True, EVALUATION
        if len(attached.events) > MAX_UNREAD:  # no step reads them
            attached.read()
        flags = (GRADIENTS if gradients else 0) | (TRAINING if module.training else 0)
        if not attached.requests:
            if not attached.begun and gradients:
                attached.open()
            elif attached.begun:
                self._begins()
            if any(True for _ in module.parameters()):
                flags |= PARAMETERS
        if attached.since_pass != EVALUATES:
            attached.since_pass = UNTRAINED
        self._untrained = module if gradients else None
        return flags

    def forwarded(self) -> None:
        """The call has returned."""
        attached = self._attached
        try:
            attached.append((FORWARDED, attached.now()))
            attached.inside = ""
            if self._end is None:
                self._end = self._sequence()
            if self._only_evaluates:
                self._only_evaluates = False
            elif attached.named is not None:
                attached.named["forward"].__exit__(None, None, None)
        except Exception as error:
            attached.failed(error)

    def _begins(self) -> None:
        """A pass begins a step, if all optimizers of the cycle have stepped."""
        attached, turns = self._attached, self._attached.turns
        if not turns.stepped:
            return
        meaning = turns.passes()
        if meaning is Pass.BEGINS:
            attached.turn()
        elif meaning is Pass.MAY_BEGIN and not attached.communication.any and not attached.recorder.on_gpu:
            attached.may_end()

    def _trains_by(self, module: Any) -> None:
        """Training continues, with this module if it is known."""
        attached = self._attached
        if not attached.begun:
            attached.open()
        else:
            self._begins()
        attached.since_pass, attached.passed, self._untrained = SETTLED, True, None
        if module is None:
            return
        if not attached.requests and id(module) not in self._trained_ids:
            inner = {id(module), *(id(getattr(module, name, None)) for name in ("module", "_orig_mod"))}  # some scripts evaluate these
            self._trained_ids |= inner
            attached.append((TRAINS, attached.now(), inner))
        if not self.known_model and any(True for _ in module.parameters()):
            attached.communication.check_ranks()
            if attached.updated_at is not None or attached.optimizers.train(module):
                self._watch(module)
            else:
                self._first_module = weakref.ref(module)

    # ------------------------------------------------------------------ the trained model

    def _watch(self, module: Any) -> None:
        """Watch the trained model; after a restart its parameters give the step's number, before anything is recorded."""
        self.known_model = True
        attached, recorder = self._attached, self._attached.recorder
        attached.outermost.search()  # earlier calls may have been an evaluation
        model = recorder.model
        if model.states is not None:
            model.states.optimizers, model.states.epoch = attached.optimizers, attached.place
        attached.communication.evidence.trains(module)
        before = recorder.step_number
        recorder.watched(module)
        attached.costs.renumber(recorder.step_number - before)
        attached.calls.step = recorder.step_number
        restored = model.went_on.state if model.went_on is not None else None
        epoch = None if restored is None else restored.epoch + restored.whole
        attached.append((NUMBER, attached.now(), recorder.step_number, epoch))
        attached.named = recorder.phases_beside

    def begin_with(self, optimizer: Any) -> None:
        """The first optimizers are created: passes before this were training already, or only queried a shape."""
        attached, module = self._attached, self._first_module()
        attached.read()
        if attached.begun and not (attached.reader.derived or attached.requests):
            attached.begun, attached.since_pass = False, UPDATED  # the first step has not begun with them
            attached.recorder.withdraw()
            attached.append((WITHDRAW, attached.now()))
        elif module is not None and (count := trained_parameters(optimizer)) and count <= shared_parameters(optimizer, module):
            self._watch(module)

    # ------------------------------------------------------------------ backward

    def backward(self, roots: Any, accumulates: bool) -> bool:
        """Gradients are requested, possibly inside another pass. Whether their end is recorded too."""
        attached = self._attached
        try:
            around, attached.inside, reached, hook = attached.inside, "backward", None, None
            if attached.since_pass and not around:  # from functions, unknown modules, or passes that so far only evaluated
                if not attached.begun:
                    attached.open()
                attached.outermost.search()
                self._trains_by(self._untrained if attached.since_pass in MAY_EVALUATE else None)
            if len(self.open) == 1:
                self.open.clear()
            elif self.open:
                reached = self._reached(roots)
            if attached.named is not None:
                attached.named["backward"].__enter__()
            if accumulates and attached.communication.others:
                hook = attached.communication.begin_pass(roots)
            self._under_way.append((around, roots if accumulates else None, hook))
            if attached.contents.due == attached.recorder.step_number and not around:
                attached.contents.backward(roots)
            attached.append((BACKWARD, attached.now(), around != "", reached))
            return True
        except Exception as error:
            attached.failed(error)
            return False

    def backwarded(self) -> None:
        """The gradients are ready."""
        attached = self._attached
        try:
            now, loss = attached.now(), None
            attached.inside, roots, hook = self._under_way.pop()
            if attached.named is not None:
                attached.named["backward"].__exit__(None, None, None)
            if attached.communication.others and (hook is not None or attached.communication.computed is not None):
                attached.communication.end_pass(hook, "backward", now)
            if roots is not None and len(roots) == 1 and not self._under_way:
                root = roots[0]
                if type(root) is self._tensor and root.is_cpu and not attached.turns.stepping and not self.scales:  # the usual loss
                    loss = root.item() if root.numel() == 1 else None
                else:
                    loss = self._loss_of(root)
            attached.append((BACKWARDED, now, loss))
            if not attached.turns.known:
                self._updates_by_hand()
        except Exception as error:
            attached.failed(error)

    def _loss_of(self, root: Any) -> Any:
        """The root of a backward pass is the loss; a step's loss is the sum of its parts."""
        if not isinstance(root, self._tensor) or root.numel() != 1:
            return None
        if self._attached.turns.stepping:  # a closure (LBFGS) runs several times per step; the first loss counts
            if self._loss_after == self._attached.updated_at:
                return None
            self._loss_after = self._attached.updated_at
        loss = getattr(root, "_assay_unscaled", root)  # before a gradient scaler's factor
        return loss.item() if type(loss) is self._tensor and loss.is_cpu else loss.detach()

    def _updates_by_hand(self) -> None:
        """Without a torch optimizer no step collects the losses, nor the collectives."""
        self._without_step += 1
        if self._without_step % MAX_EVENTS == 0:
            self._attached.read()
            self._attached.communication.record()

    def _reached(self, roots: Any) -> Any:
        """The sequence numbers of the passes in the backward graph; None if there is nothing to tell apart, or the roots are unknown.

        Later passes may still get their own backward pass; earlier ones were discarded.
        """
        passes, ends = self.open, self._ends[:]
        if self._end is not None:
            ends.append(self._end)
        batches = [found[0][0] if len(found) == 1 else None for _, _, _, found, *_ in passes]
        if not roots or (batches[0] is not None and all(batch is batches[0] for batch in batches)):
            self.open, self._ends = [], []
            return None
        begins = [number for *_, number, _ in passes]
        reached = search_graph(roots, begins, ends)
        last = (
            len(begins)
            if reached == TOO_LARGE
            else max((index for index, number in enumerate(begins) if number in reached), default=len(begins))
        )
        left = range(last + 1, len(begins))
        self.open, self._ends = [passes[index] for index in left], [ends[index] for index in left if index + 1 < len(passes)]
        return reached


def search_graph(roots: Any, begins: list[int], ends: list[int]) -> Any:
    """Of the passes with these sequence numbers, those whose operations a backward graph holds; or `TOO_LARGE`."""
    sought, reached = set(begins), set[int]()
    nodes = [node for root in roots if (node := getattr(root, "grad_fn", None) or getattr(root, "node", None)) is not None]
    seen = set(nodes)
    while nodes and reached != sought:
        node = nodes.pop()
        number = node._sequence_nr()
        index = bisect_right(begins, number) - 1
        if index >= 0 and (index >= len(ends) or number < ends[index]):
            reached.add(begins[index])
        fresh = [item for item, _ in node.next_functions if item is not None and item not in seen]
        seen.update(fresh)
        nodes.extend(fresh)
        if len(seen) > MAX_NODES:
            return TOO_LARGE
    return reached


def _no_module() -> None:
    """No module."""
