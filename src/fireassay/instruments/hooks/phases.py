"""Which phase is the script in: forward, a pass that trains nothing, or backward?

A pass without gradients or in evaluation mode is an evaluation, or part of the forward pass if its batch is trained on after all.
"""

from __future__ import annotations

import weakref
from typing import Any, Final

from fireassay.instruments.hooks.batches import Fetched, Pass
from fireassay.instruments.hooks.communication_waits import BETWEEN
from fireassay.instruments.hooks.evaluation_overlap import Evaluation
from fireassay.instruments.hooks.exposed_communication import ExposedCommunication
from fireassay.instruments.hooks.step_communication import covered
from fireassay.instruments.hooks.step_end import Turns
from fireassay.instruments.recorder.phases import FORWARD, NAMES, HostPhases

MANY_LOSSES: Final = 256


class Phases(ExposedCommunication):
    """Forward and backward passes, evaluations and losses of the current step."""

    _turns: Turns

    def _evaluated(self, now: int) -> None:
        """The batch was not trained on: it was an evaluation, from the time its batch was requested."""
        self.evaluated.looked(self._looked)
        if not self._looked:
            self._recorder.set_aside("evaluation", now - self._looked_ns, self._looked_ns)
        elif self._evaluating is None:
            since = self._evaluating = self._looked[0].begin
            for fetched in (*self._looked, *self.batches.waiting()):
                if fetched.counted and fetched.begin >= max(since, self._recorder._begin):
                    fetched.counted = False
                    self._recorder.waited(-fetched.ns)
        self._asked_since_look = now
        self._forget_looks()

    def _evaluated_before_the_update(self) -> None:
        """An evaluation between the last gradient and the optimizer's step: recorded now, since the next step begins after that."""
        self.evaluated.looked(self._looked)
        since = self._looked[0].begin if self._evaluating is None else self._evaluating
        for fetched in (*self._looked, *self.batches.waiting()):
            if fetched.counted and fetched.begin >= max(since, self._recorder._begin):
                self._recorder.waited(-fetched.ns)
        self._set_aside(since, self._look_end if self._looked else self._asked_since_look or since)
        self._evaluating = self._asked_since_look = None
        self._forget_looks()

    def _forget_looks(self) -> None:
        self._looked, self._looked_ns, self._looker = [], 0, None
        self._lookers.clear()

    def forward(self, module: Any, inputs: Any = ()) -> None:
        """The outermost module is called."""
        self.inside = True
        self.outermost.met(type(module))
        gradients = self._torch.is_grad_enabled()
        if gradients and (module.training or not isinstance(self._recorder._phases, HostPhases)):
            self._settle(module)
            self.batches.passes(inputs)
            self._recorder._named["forward"].__enter__()
            return
        if self._stepping:  # in a closure (LBFGS): this time must not also count as the optimizer's
            if gradients:
                self._settle(module)
                self.batches.passes(inputs)
            self._recorder._named["forward"].__enter__()
            return
        self._looker = module if gradients else None
        if self._asks:
            self._look_at(self.batches.looks(inputs), module)
        else:
            self._looks(module, gradients)
        self._looking = self._now()

    def _look_at(self, batches: list[Fetched], module: Any) -> None:
        for fetched in batches:
            fetched.evaluated = not module.training
        self._looked.extend(batches)

    def _looks(self, module: Any, gradients: bool) -> None:
        """A pass without gradients and without a batch: it begins a step, except the first, which begins at the first training pass."""
        if not self._begun and gradients:
            self._open(0)
        elif self._cycled():
            self._tell_looks()  # in the step that ends
            self._turn()
        elif self._stepped:
            self._turns.may_end()
        if any(True for _ in module.parameters()):  # loss functions are rarely switched to evaluation mode
            self._lookers.add(0 if gradients or module.training else id(module))

    def forwarded(self) -> None:
        """The call has returned."""
        self.inside = False
        if self._looking is None:
            self._recorder._named["forward"].__exit__(None, None, None)
            self.batches.passed()
        else:
            begin, end = self._looking, self._now()
            self._looking = None
            if self._begun:
                self._look_begin = self._look_begin if self._looked_ns else begin
                self._look_end = end
                self._looked_ns += end - begin

    def _settle(self, module: Any = None) -> None:
        """Training continues: the requested batches are in use, evaluations are excluded."""
        if self._cycled():
            self._tell_looks()  # in the step that ends
            self._turn()
        elif not self._begun:
            self._open(0)
        elif self._stepped:
            self._turns.may_end()
        end = self._asked_since_look or 0
        if self.evaluated.under_way:
            self.evaluated.ended()
        if self._evaluating is not None:
            self._set_aside(self._evaluating, end)
        self._evaluating = self._asked_since_look = None
        if not self._asks and module is not None:
            if id(module) not in self._trains:
                self._trains |= {id(module)} | _inside(module)
            self._tell_looks()
        self._looked_at()
        self._settled = max(self._settled, end)
        self.batches.looked(self._looked)
        self._forget_looks()
        self._passed = True
        if not self._watched and module is not None and any(True for _ in module.parameters()):
            self._meet()
            if self._updates or self.optimizers.train(module):
                self._watch(module)
            else:
                self._passed_first = weakref.ref(module)

    def _watch(self, module: Any) -> None:
        """Watch the first trained module; after a restart its parameters give the step's number, before anything is recorded.

        Skips modules that share no parameter with an optimizer: a model under construction may call one of its parts to get a shape.
        """
        self._watched = True
        self.outermost.look()  # earlier calls may have been an evaluation
        if self._recorder.states is not None:
            self._recorder.states.optimizers, self._recorder.states.epoch = self.optimizers, self.sources.place
        self.evidence.trains(module)
        self._recorder.watched(module)
        self.calls.step = self._recorder._step
        restored = self._recorder.went_on.state if self._recorder.went_on is not None else None
        if restored is not None:
            self.sources.goes_on(restored.epoch + restored.whole)

    def _tell_looks(self) -> None:
        """Record the current step's passes without gradients: as an evaluation or as forward time.

        Evaluations are passes by a trained module in evaluation mode, from the first to the last of them. Recorded before the step ends
        and before an optimizer steps.
        """
        if self._asks:
            self._looked_at()
            return
        if self._looked_ns and self._lookers and self._lookers <= self._trains:
            self._set_aside(self._look_begin, self._look_end)
            self._looked_ns = 0
        self._looked_at()
        self._forget_looks()

    def _set_aside(self, begin: int, end: int) -> None:
        """Exclude an evaluation, minus what was already reported; for a prefetched batch, only its part in the current step."""
        begin = max(begin, self._recorder._begin)
        if end <= begin:
            return
        paused = covered((max(since, begin), min(other, end)) for since, other in self._pauses if other > begin)
        self._recorder.set_aside("evaluation", begin, max(0, end - begin - paused))

    def _cycled(self) -> bool:
        """Whether every optimizer of the cycle has stepped; of all, until one steps again before another."""
        if not self._stepped:
            return False
        if self._cycle is None and self._known and self._known <= self._stepped.keys():
            self._cycle = frozenset(self._known)
        return self._cycle is not None and self._cycle <= self._stepped.keys()

    def _looked_at(self) -> None:
        """Count the passes without gradients so far towards the current step's forward pass."""
        if self._looked_ns and isinstance(self._recorder._phases, HostPhases):
            self._recorder._phases.add(FORWARD, self._looked_ns)
        self._looked_ns = 0

    def backward(self, roots: Any, accumulates: bool) -> None:
        """Gradients are requested, possibly inside another pass."""
        nested, self.inside = self.inside, True
        if not self._begun:
            self._open(0)
        if not nested and (
            self.batches.fresh or self._looked_ns or not self._passed
        ):  # from functions, unknown modules, or passes that so far only evaluated
            self.outermost.look()
            self._settle(self._looker)
        self._derived = True
        for part in self.batches.derived(roots):
            self._feed(part)
        self._recorder._named["backward"].__enter__()
        self._computed, hook = None, self._watch_engine(roots[0]) if accumulates and self._together() else None
        self._passes.append((nested, roots if accumulates else None, hook))

    def _feed(self, training_pass: Pass) -> None:
        """The current step trains on a batch, or some rows of it."""
        if self._turns.feeds(training_pass):
            return
        batch, recorder = training_pass.fetched, self._recorder
        if not batch.counted and batch.begin >= max(self._settled, recorder._begin):
            batch.counted = True
            recorder.waited(batch.ns)
        items, ids = batch.worked_on(training_pass.rows, recorder._step)
        if items == 0.0:
            return
        epoch = None if batch.source is None or ids is None else self.sources.used(batch.source)
        if ids is not None:
            self.evaluated.trained(batch, ids)
        recorder.add_batch(items, epoch, ids)
        if batch.source is not None and batch.source.ended:
            self.sources.ended(batch.source, recorder)
        if self.batches.doubt:
            self._tell_doubt()

    def _tell_evaluated(self, data: str, evaluation: Evaluation) -> None:
        self._recorder.evaluated(data, evaluation.samples, evaluation.trained_on, evaluation.same)

    def _tell_doubt(self) -> None:
        if self.batches.doubt and not self._doubted:
            self._doubted = self.batches.doubt
            self._recorder.unknown_samples(self._doubted)

    def backwarded(self) -> None:
        """The gradients are ready."""
        ended = None if self._computed is None else self._now()  # before the phase ends: waiting is part of it
        self.inside, roots, hook = self._passes.pop()
        self._recorder._named["backward"].__exit__(None, None, None)
        self._computed_until(hook, "backward", ended)
        if roots is not None and not self._passes:
            self._lose(roots)

    def _phase(self) -> str | None:
        """The current phase for communication time.

        None after the last gradient, whose waiting is recorded as a whole, and outside training.
        """
        if self.ordinary.on:
            return self.ordinary.phase()
        if self._computed is not None:
            return None
        if self._asked is not None:
            return "data"
        stack = self._recorder._phases.stack
        if stack:
            return NAMES[stack[-1]]
        return None if self.inside or self._evaluating is not None else BETWEEN

    def _lose(self, roots: Any) -> None:
        """Take the root of the backward pass as the loss; a step's loss is the sum of its parts."""
        root = roots[0] if len(roots) == 1 else None
        if not isinstance(root, self._tensor) or root.numel() != 1:
            return
        if self._stepping:  # a closure (LBFGS) runs several times per step; the first loss counts
            if self._closed:
                return
            self._closed = True
        loss = self.unscaled(root)
        self._losses.append(loss.item() if type(loss) is self._tensor and loss.is_cpu else loss.detach())
        if len(self._losses) >= MANY_LOSSES:  # without a torch optimizer no step collects them
            self._losses = [sum(self._losses)]
            if not self._known:  # nor collects the collectives
                for call in self.calls.taken():
                    self._recorder.collective(call, "", "host")

    def unscaled(self, loss: Any) -> Any:
        """The loss before a gradient scaler's factor."""
        return getattr(loss, "_assay_unscaled", loss)


def _inside(module: Any) -> set[int]:
    """The module inside DistributedDataParallel or torch.compile, which some scripts evaluate."""
    return {id(getattr(module, name, None)) for name in ("module", "_orig_mod")}
