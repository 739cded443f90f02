"""Which phase is under way: forward, a look that trains nothing, backward?

What is looked at without gradients, or in evaluation mode, is an evaluation, or a part of the forward pass if it is trained on after all.
"""

from __future__ import annotations

import weakref
from typing import Any, Final

from assay.instruments.hooks.batches import Fetched, Pass
from assay.instruments.hooks.communication_waits import BETWEEN
from assay.instruments.hooks.evaluation_overlap import Evaluation
from assay.instruments.hooks.exposed_communication import ExposedCommunication
from assay.instruments.hooks.step_communication import covered
from assay.instruments.hooks.step_end import Turns
from assay.instruments.recorder.phases import FORWARD, NAMES, HostPhases

MANY_LOSSES: Final = 256


class Phases(ExposedCommunication):
    """Forward and backward passes, looks, evaluations and losses of the step under way."""

    _turns: Turns

    def _evaluated(self, now: int) -> None:
        """What was looked at was not trained on: it was an evaluation, from when its batch was asked for."""
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
        """Between the last gradient and the optimizer's step: told now, for after it the next step begins."""
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
        if self._stepping:  # a closure's (LBFGS): its time is not the optimizer's too
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
        """A look where no batch is asked for: it begins a step, but for the first, which begins where something is trained."""
        if not self._begun and gradients:
            self._open(0)
        elif self._cycled():
            self._tell_looks()  # in the step that ends
            self._turn()
        elif self._stepped:
            self._turns.may_end()
        if any(True for _ in module.parameters()):  # nobody switches a loss function to evaluation mode
            self._lookers.add(0 if gradients or module.training else id(module))

    def forwarded(self) -> None:
        """It has answered."""
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
        """Training goes on: what was asked for is worked on, what was evaluated is set aside."""
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
        """The first module that is trained; after a restart its parameters say which step this is, before anything is told of it.

        Not one that no optimizer has any parameter of: a model asks a part of itself for a shape while it is made.
        """
        self._watched = True
        self.outermost.look()  # what came before may have been an evaluation
        if self._recorder.states is not None:
            self._recorder.states.optimizers, self._recorder.states.epoch = self.optimizers, self.sources.place
        self.evidence.trains(module)
        self._recorder.watched(module)
        self.calls.step = self._recorder._step
        restored = self._recorder.went_on.state if self._recorder.went_on is not None else None
        if restored is not None:
            self.sources.goes_on(restored.epoch + restored.whole)

    def _tell_looks(self) -> None:
        """Those so far are in the step under way: an evaluation, by what is trained and in evaluation mode, or forward time.

        Told before the step ends and before an optimizer steps: an evaluation lasts from the first of them to the last.
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
        """An evaluation, less what somebody told of it; of a batch that was asked for ahead, what is in the step under way."""
        begin = max(begin, self._recorder._begin)
        if end <= begin:
            return
        paused = covered((max(since, begin), min(other, end)) for since, other in self._pauses if other > begin)
        self._recorder.set_aside("evaluation", begin, max(0, end - begin - paused))

    def _cycled(self) -> bool:
        """Whether every optimizer of the cycle has stepped; of all that there are, until one is seen to come again before another."""
        if not self._stepped:
            return False
        if self._cycle is None and self._known and self._known <= self._stepped.keys():
            self._cycle = frozenset(self._known)
        return self._cycle is not None and self._cycle <= self._stepped.keys()

    def _looked_at(self) -> None:
        """What was looked at so far is part of the forward pass of the step under way."""
        if self._looked_ns and isinstance(self._recorder._phases, HostPhases):
            self._recorder._phases.add(FORWARD, self._looked_ns)
        self._looked_ns = 0

    def backward(self, roots: Any, accumulates: bool) -> None:
        """Gradients are asked for; maybe inside of another pass."""
        was, self.inside = self.inside, True
        if not self._begun:
            self._open(0)
        if not was and (
            self.batches.fresh or self._looked_ns or not self._passed
        ):  # of functions, of modules that are not known yet, or of what was only looked at before
            self.outermost.look()
            self._settle(self._looker)
        self._derived = True
        for part in self.batches.derived(roots):
            self._feed(part)
        self._recorder._named["backward"].__enter__()
        self._computed, hook = None, self._watch_engine(roots[0]) if accumulates and self._together() else None
        self._passes.append((was, roots if accumulates else None, hook))

    def _feed(self, one: Pass) -> None:
        """A batch, or some rows of it, is trained on in the step under way."""
        if self._turns.feeds(one):
            return
        batch, recorder = one.fetched, self._recorder
        if not batch.counted and batch.begin >= max(self._settled, recorder._begin):
            batch.counted = True
            recorder.waited(batch.ns)
        items, ids = batch.worked_on(one.rows, recorder._step)
        if items == 0.0:
            return
        epoch = None if batch.source is None or ids is None else self.sources.used(batch.source)
        if ids is not None:
            self.evaluated.trained(batch, ids)
        recorder.fed(items, epoch, ids)
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
        """They are there."""
        ended = None if self._computed is None else self._now()  # before the phase ends: waiting is a part of it
        self.inside, roots, hook = self._passes.pop()
        self._recorder._named["backward"].__exit__(None, None, None)
        self._computed_until(hook, "backward", ended)
        if roots is not None and not self._passes:
            self._lose(roots)

    def _phase(self) -> str | None:
        """The phase under way, for what communication takes of it; none after the last gradient, whose waiting is told as a whole,
        nor where nothing is trained."""
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
        """The number whose gradients were asked for is the loss; that of a step is the sum of its parts."""
        root = roots[0] if len(roots) == 1 else None
        if not isinstance(root, self._tensor) or root.numel() != 1:
            return
        if self._stepping:  # a closure's (LBFGS) is asked for often, and all of them are one loss: that of the first
            if self._closed:
                return
            self._closed = True
        loss = self.unscaled(root)
        self._losses.append(loss.item() if type(loss) is self._tensor and loss.is_cpu else loss.detach())
        if len(self._losses) >= MANY_LOSSES:  # where no optimizer of torch's steps, no step ever takes them
            self._losses = [sum(self._losses)]
            if not self._known:  # nor the collectives
                for call in self.calls.taken():
                    self._recorder.collective(call, "", "host")

    def unscaled(self, loss: Any) -> Any:
        """The loss that a gradient scaler was given."""
        return getattr(loss, "_assay_unscaled", loss)


def _inside(module: Any) -> set[int]:
    """The module that DistributedDataParallel or torch.compile was given, for a script that evaluates that one."""
    return {id(getattr(module, name, None)) for name in ("module", "_orig_mod")}
