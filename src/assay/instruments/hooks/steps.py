"""Where does a step begin and end in a script that does not say so?  What the hooks see, put into steps.

A step is one update: it begins before waiting for its first batch and ends where the next one begins.  Three things end it:
* a batch is asked for after an optimizer has stepped (any DataLoader; gradient accumulation asks several times before);
* where no batch is asked for, the first forward pass after all optimizers of the cycle have stepped.  The cycle is the one
  optimizer there is, or those that stepped before one of them came again, or before the next batch, or all that there are;
* the end of the process.
A batch that is only looked at, without gradients or by a module in evaluation mode, is an evaluation, from the moment it was asked for
until the next batch is that is trained on: it is taken off the step, as an evaluation that a script marks is.  A batch that is looked at
and trained on, in whichever order (a teacher, a target network), is training, and the look is part of the forward pass.
Where no batch is asked for, a look begins the next step as a forward pass does; those before the first step are no part of it.  Looks
by what is trained, in evaluation mode, are an evaluation there too, from the first of them to the last.

An evaluation in the body of a loop leaves the batch that the loop has asked for to the training.

Cannot tell: before the first step, and in an epoch that was left early, an evaluation of several loaders at once from the loop's
own batch; one whose loader is asked for a single batch, where it is called in the loop's body, from a look that is trained on; where no
batch is asked for, an evaluation from a rollout in evaluation mode that is learned from afterwards; the data time
of an iterator that is no DataLoader (absent, never 0); work between the phases (unknown time); units of work other than the first
dimension of the batch, or its samples where it has none; steps where no optimizer of torch's steps (an update written by hand): none is
told, for all of them would look like one.
"""

from __future__ import annotations

import re
import sys
import time
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from statistics import median
from types import MappingProxyType
from typing import Any, Final

from assay.instruments.hooks.batches import Batches, Fetched, Pass
from assay.instruments.hooks.collective_calls import Call, Calls
from assay.instruments.hooks.communication_waits import BETWEEN, Waits
from assay.instruments.hooks.evaluation_overlap import Evaluated, Evaluation
from assay.instruments.hooks.fast_step import Ordinary
from assay.instruments.hooks.outermost_modules import Outermost
from assay.instruments.hooks.parallelism import KIND, Evidence
from assay.instruments.hooks.sample_sources import Source, Sources
from assay.instruments.hooks.step_communication import Pending, StepCommunication, covered, tell
from assay.instruments.hooks.step_end import Turns
from assay.instruments.hooks.watched_steps import LOGGED_EVERY, UNWATCHED, WatchedSteps
from assay.instruments.recorder import values
from assay.instruments.recorder.phases import FORWARD, NAMES, HostPhases
from assay.instruments.recorder.recorder import Recorder
from assay.instruments.recorder.self_cost import weighted_median

# DistributedDataParallel keeps a log of its first ten passes; after them it is asked for one of every so many steps: to keep it costs
# a GPU a wait at the next forward pass, and to read it takes 20 microseconds, as long as all other hooks of a forward and backward pass.
LOGGED_ANYHOW: Final = 10
NEVER: Final = 1 << 30
MANY_LOSSES: Final = 256
AT_ONCE_NS: Final = 50_000  # between two callbacks of the engine, if nobody waits in between
_NONE: Final = object()  # no argument


class Attached:
    """Turns what hooks see into the steps of a recorder."""

    def __init__(self, torch: Any, recorder: Recorder, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._torch, self._recorder, self._now, self._tensor = torch, recorder, now, torch.Tensor
        self.inside = False  # a forward or backward pass: what is called in it is part of it
        self.outermost = Outermost(torch, self)
        self.sources = Sources(torch)
        self.evaluated = Evaluated(torch, self._tell_evaluated)
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
        self.optimizers = Alive()  # the same, as the hooks met them
        recorder.optimizers = self.optimizers
        self._cycle: frozenset[int] | None = None
        self._turns = Turns(self)
        self._closed = False  # a closure has told the loss of this update
        self.last_update: tuple[int, int | None, int] = (0, None, 0)  # when the last optimizer had stepped; paused and blocked by then
        self._passed = False  # forward with gradients, since an optimizer stepped
        self._losses: list[Any] = []  # of the step under way, or their sum so far where they are numbers
        self._passes: list[tuple[bool, Any, Any]] = []  # backward passes under way, one inside of the other
        self._watched = False
        self._passed_first: Callable[[], Any] = _nobody  # the module that was passed last while no optimizer was there, weakly
        self._updates = False  # an optimizer has stepped
        self.calls = Calls(now)
        self.watched_steps = WatchedSteps(self.calls)
        self.evidence = Evidence(torch)  # of the parallelism
        self._hears(self.calls)
        self._tail_ns: int | None = None  # from the last gradient to the end of the backward pass, of this step
        self._tails: dict[str, int] = {}  # the same, by phase
        self._computed: int | None = None
        self._blocked_then = 0  # what had been waited for by then
        self._others = False  # other ranks
        self._engine = torch.autograd.Variable._execution_engine
        self._by_reducer = _ByReducer(self)
        self._tail_missed = False  # in the step under way: it communicated, but nobody saw when its last gradient was there
        self._pending = Pending(recorder, self.failed)
        recorder.before_flush(self._pending.tell)
        self.ordinary = Ordinary(self, torch)
        self.reducers: list[Any] = []  # DistributedDataParallel's
        self._logged: dict[int, int] = {}  # of each, the passes before the first step, as far as its log tells

    def _hears(self, calls: Calls) -> None:
        """Of these calls from here on."""
        calls.waits, calls.failed = Waits(self._now, self._phase), self.failed
        calls.recording = lambda: self._recorder.active
        calls.paused = lambda: bool(self._recorder._phases.paused)

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

    def pause(self, kind: str) -> int:
        """Somebody who knows says that no training goes on; since when. What is called meanwhile is not looked at."""
        self.ordinary.leave()
        self._turns.goes_on()
        self._paused += 1
        return self._recorder.pause(kind)

    def resume(self, kind: str, begin: int, succeeded: bool, detail: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Training goes on."""
        self._paused -= 1
        self._recorder.resume(kind, begin, succeeded, detail)
        self._pauses.append((begin, self._now()))

    def saved(self, begin: int, end: int) -> None:
        """Somebody says afterwards that a checkpoint was being saved from then to then."""
        self.ordinary.leave()
        self._recorder.saved(begin, end - begin)
        self._pauses.append((begin, end))

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

    # ------------------------------------------------------------------ data

    def ask(self) -> None:
        """A batch is asked for."""
        if not self._begun:
            self._open(0)
        now = self._now()  # after the recording has begun: what that takes is no waiting
        self._asks = True
        self._stepping.clear()  # one that failed has not told its end
        if self._looked_ns:
            self._evaluated(now)
        turned = bool(self._stepped)
        if turned:
            self._turns.goes_on()
            self._learn(self._stepped)
            self._turn()
            now = self._now()
        self._asked = now
        if turned:
            self.ordinary.enter(now)

    def got(self, iterator: Any, batch: Any) -> None:
        """It is here."""
        source: Source | None = getattr(iterator, "_assay_source", None)
        ids = None if source is None else iterator._assay_ids()
        if type(ids) is not list:  # a sampler of the script's own gives anything
            ids = None
        if self._asked is None:
            return
        begin, self._asked = self._asked, None
        ns = self._now() - begin
        if source is not None and source.tells:
            source.left -= 1
            if source.left == 0:
                self.sources.ended(source, self._recorder)
        items = values.batch_items(batch)
        if items is None and ids is not None:  # whatever a script's own collate function makes of them
            items = float(len(ids))
        one = Fetched(begin, ns, items, ids, source, self._evaluating is None, iterator if source is None else source)
        if one.counted:
            self._recorder.waited(ns)
        self.batches.add(one, batch)

    def skipped(self, iterator: Any) -> None:
        """A batch whose samples could not be read; a script may go on with the next."""
        if (source := getattr(iterator, "_assay_source", None)) is not None:
            iterator._assay_ids()
            source.left -= 1

    def ran_out(self, iterator: Any) -> None:
        """There is none: an epoch has ended. A batch that was asked for ahead may still be worked on."""
        if self._asked is not None and self._evaluating is None:
            self._recorder.waited(self._now() - self._asked)
        self._asked = None
        source = getattr(iterator, "_assay_source", None)
        if source is not None:
            if iterator._assay_ids() is not None:
                self._recorder.unknown_samples("the script has read samples past its loader, from the loader's own sampler")
            self.sources.ended(source, self._recorder)
        self.batches.ran_out(iterator if source is None else source)

    def _evaluated(self, now: int) -> None:
        """What was looked at was not trained on: it was an evaluation, from when its batch was asked for."""
        self.evaluated.looked(self._looked)
        if not self._looked:
            self._recorder.set_aside("evaluation", now - self._looked_ns, self._looked_ns)
        elif self._evaluating is None:
            since = self._evaluating = self._looked[0].begin
            for one in (*self._looked, *self.batches.waiting()):
                if one.counted and one.begin >= max(since, self._recorder._begin):
                    one.counted = False
                    self._recorder.waited(-one.ns)
        self._asked_since_look = now
        self._forget_looks()

    def _evaluated_before_the_update(self) -> None:
        """Between the last gradient and the optimizer's step: told now, for after it the next step begins."""
        self.evaluated.looked(self._looked)
        since = self._looked[0].begin if self._evaluating is None else self._evaluating
        for one in (*self._looked, *self.batches.waiting()):
            if one.counted and one.begin >= max(since, self._recorder._begin):
                self._recorder.waited(-one.ns)
        self._set_aside(since, self._look_end if self._looked else self._asked_since_look or since)
        self._evaluating = self._asked_since_look = None
        self._forget_looks()

    def _forget_looks(self) -> None:
        self._looked, self._looked_ns, self._looker = [], 0, None
        self._lookers.clear()

    # ------------------------------------------------------------------ phases

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
        for one in batches:
            one.evaluated = not module.training
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
        told = covered((max(one, begin), min(other, end)) for one, other in self._pauses if other > begin)
        self._recorder.set_aside("evaluation", begin, max(0, end - begin - told))

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
        for one in self.batches.derived(roots):
            self._feed(one)
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

    def _tell_evaluated(self, data: str, found: Evaluation) -> None:
        self._recorder.evaluated(data, found.samples, found.trained_on, found.same)

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

    def _computed_until(self, hook: Any, phase: str, ended: int | None) -> None:
        """The backward pass was over then, which was watched by a hook; what came after its last gradient was waiting, in that phase."""
        if hook is self._by_reducer and self._computed is not None and self.ordinary.on and ended is not None:
            self._steadily_until(ended)
            return
        if hook is not None:
            hook.remove()
            self.calls.first = None
            if hook is self._by_reducer and self._by_reducer.missed:
                if self._by_reducer.nothing_asked:
                    self._computed, self._blocked_then = ended, self.calls.blocked_ns
                else:
                    self._tail_missed = True
            self.calls.look()
        if self._computed is not None and ended is not None:
            tail, self._computed = ended - self._computed, None
            self.calls.blocked_ns = self._blocked_then  # waiting inside of the tail is part of it (FSDP2 waits there)
            if not self.calls.paused():
                if self._tail_ns is None:
                    self._tails.clear()
                self._tail_ns = (self._tail_ns or 0) + tail
                self._tails[phase] = self._tails.get(phase, 0) + tail

    def _steadily_until(self, ended: int) -> None:
        """The same of a steady step's one pass, in no pause, which the reducer's first bucket told of."""
        calls, computed = self.calls, self._computed
        calls.steady = None
        calls.look()
        calls.blocked_ns = self._blocked_then
        self._tail_ns = tail = ended - (computed or ended)
        self._computed, self._tails = None, {"backward": tail}

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

    def waited(self, ns: int) -> None:
        """The script's own thread stood still for a collective for so long; in a pause that is a part of the pause."""
        try:
            if not self.calls.paused():
                self.calls.blocked_ns += ns
            self.calls.waits.waited(ns)
        except Exception as error:
            self.failed(error)

    def _meet(self) -> None:
        """Whether there are other ranks: looked at where it may have changed, for it costs calls."""
        distributed = self._torch.distributed
        ready = distributed.is_available() and distributed.is_initialized()
        self._others = bool(ready and distributed.get_world_size() > 1)
        self.evidence.met(self._recorder._step, counts=not self.watched_steps.missed)

    def _together(self) -> bool:
        return self._others and not self.calls.unwatched

    def _watch_engine(self, root: Any) -> Any:
        """Note when the last gradient is there: callbacks of the engine run in the order in which they were asked for.  The first
        moment to ask is when the first gradient of all, the root's, is there; DDP asks when it has asked for its last bucket, and then
        waits.  Its first bucket is early enough, and costs half, where a pass before has shown that nobody asked and waited in between."""
        edge = not isinstance(root, self._tensor)
        first = root.node if edge else root.grad_fn
        on_gpu = not isinstance(self._recorder._phases, HostPhases) if edge else root.is_cuda
        if first is None or on_gpu:
            return None
        if self._by_reducer.known and self.ordinary.on and self._recorder.active:
            return self._by_reducer.watch()
        self._by_reducer.compare()
        return first.register_prehook(self._queue)

    def _queue(self, _: Any) -> None:
        self._engine.queue_callback(self._all_computed)

    def _all_computed(self) -> None:
        self._computed, self._blocked_then = self._now(), self.calls.blocked_ns

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

    def reduces(self, reducer: Any) -> None:
        """A DistributedDataParallel was made: it tells itself what its backward passes took."""
        self.reducers.append(reducer)
        self._log(self._recorder._step)

    def _log(self, step: int) -> None:
        """The step that is logged, and the next one, in which the log is put together."""
        place = step % LOGGED_EVERY
        if place in (0, 2) or step == 0:
            for reducer in self.reducers:
                reducer._set_ddp_runtime_logging_sample_rate(1 if place == 0 else NEVER)

    # ------------------------------------------------------------------ optimizers

    def made(self, optimizer: Any) -> None:
        """There is one more optimizer."""
        self.ordinary.leave()
        self.outermost.look_again()
        self._known.add(id(optimizer))
        self.optimizers.add(optimizer)
        if not self._watched:
            self._begins_behind(optimizer)
        watch = self._recorder._watch
        if self._updates and watch is not None and not _shared(optimizer, watch.model):
            self.evidence.settle(watch)  # of another model: the first one may be dropped
            watch.release()
        self._cycle = frozenset(self._known) if len(self._known) == 1 else None
        self.evaluated.begins_anew()

    def _begins_behind(self, optimizer: Any) -> None:
        """The first optimizers are made: what was passed before is trained by this one already, or was there to be asked for a shape."""
        module = self._passed_first()
        if self._begun and not (self._derived or self._asks):
            self._begun = False  # the first step has not begun by that
            self._recorder.withdraw()
        elif module is not None and (held := _held(optimizer)) and held <= _shared(optimizer, module):
            self._watch(module)

    def step(self, optimizer: Any) -> None:
        """An optimizer begins to step. One that steps inside of another's step is a part of it."""
        self._stepping.append(id(optimizer))
        if len(self._stepping) > 1:
            if self._stepping[0] != id(optimizer):
                self._known.discard(id(optimizer))
                self._cycle = self._cycle or (frozenset(self._known) if len(self._known) == 1 else None)
            return
        if not self._begun:
            self._open(0)
        if self._asks:
            ahead = any(one.key in self.batches.feeds for one in self._looked)  # and trained on later
            if self._passed and (self._looked or self._evaluating is not None) and not ahead:
                self._evaluated_before_the_update()
        elif self._looked_ns:
            self._tell_looks()
        self._closed = False
        if id(optimizer) in self._stepped:
            if not self._cycled():  # it is trained without the others from here on
                self._cycle = frozenset(self._stepped)
            if not self._turns.ended() and not self._passed:  # it asks for passes itself (LBFGS): the step begins here
                self._tell_looks()
                self._turn()
            self._stepped.clear()  # its cycle begins
        self._turns.goes_on()
        self._recorder._named["optimizer"].__enter__()

    def stepped(self, optimizer: Any) -> None:
        """It has stepped, or its step was skipped for gradients that were not finite."""
        if self._stepping:
            self._stepping.pop()
        if self._stepping:
            return
        self._recorder._named["optimizer"].__exit__(None, None, None)
        if not self._derived and self.batches.passing:  # gradients that torch's engine did not make
            for one in self.batches.derived(()):
                self._feed(one)
        self._stepped[id(optimizer)] = None
        self._passed, self._updates = False, True
        self.last_update = (self._now(), self._recorder._pause, self.calls.blocked_ns)

    def _learn(self, stepped: Iterable[int]) -> None:
        if self._cycle is None:
            self._cycle = frozenset(stepped)

    # ------------------------------------------------------------------ steps

    def _open(self, epoch: int) -> None:
        self._begun = True
        self.calls.outside()
        self._recorder.begin_outside()
        self._recorder.opened(epoch)
        self.calls.step = self._recorder._step

    def _turn(self, at: int | None = None) -> None:
        """The step under way is over, now or since then."""
        self._tell_loss()
        if self._others or self.reducers or self.calls.seen:
            self._tell_communication()
        self._stepped, self._pauses, self._settled, self._derived = {}, [], 0, False
        self.batches.turn()
        self._recorder.turn(at)
        self._own.append(self._own_ns + self.calls.own_ns)
        self._closer[self.calls.unwatched] += 1
        self._own_ns = self.calls.own_ns = 0
        self._recorder.opened(self._recorder._epoch)
        step = self.calls.step = self._recorder._step
        if self.reducers:
            self._log(step)
            self.watched_steps.ended()
            if not self._passes:
                self.watched_steps.begins(step)
        if not step & (step - 1):
            self.outermost.look_again()
            self._meet()

    def _tell_loss(self) -> None:
        if self._losses:
            self._recorder.lost(self._losses[0] if len(self._losses) == 1 else sum(self._losses))
            self._losses = []

    def _tell_communication(self) -> None:
        """What was seen of collectives since the last step, in rows; a call that is not over waits for the next."""
        recorder, step = self._recorder, self._recorder._step
        if self.calls.unwatched:
            self.pass_over(step)
            self._pending.tell()
            recorder.communicated(UNWATCHED)
            return
        logged = self._is_logged(step)
        if self.ordinary.on and not logged and self._tail_ns is not None and (calls := self.calls.over_now()):
            self._keep_communication(step, calls)
            return
        one = self._communication(step)
        if one.tail is not None or any(call.step is not None for call in one.calls):
            recorder._exposed = one.exposed
        self._pending.tell()
        tell(recorder, one)
        if logged:
            self._tell_log(step)

    def _keep_communication(self, step: int, calls: list[Call]) -> None:
        """The same of a steady step whose calls are all over: its rows are made later."""
        seen, tail = self.calls, self._tail_ns or 0
        seen.waits.ended("backward", tail)
        asking, waiting = seen.waits.both()
        self._recorder._exposed = exposed = None if self._tail_missed or any(call.on_gpu for call in calls) else tail + seen.blocked_ns
        self._tail_ns, seen.blocked_ns, self._tail_missed = None, 0, False
        self._pending.add(StepCommunication(step, calls, tail, exposed, asking, waiting, True))

    def pass_over(self, step: int) -> None:
        """A step is over that was not watched: what was noted of its times, such as the wait for a call of the script's own, is no
        whole.
        """
        self.calls.waits.both()
        self._recorder._exposed = self._tail_ns = None
        self.calls.blocked_ns, self._tail_missed = 0, False
        if self.calls.open:
            for call in self.calls.taken():
                self._recorder.collective(call, "", "host")
        if self._is_logged(step):
            self._tell_log(step)

    def _is_logged(self, step: int) -> bool:
        return bool(self.reducers) and (step % LOGGED_EVERY == 1 or 1 <= step <= LOGGED_ANYHOW)

    def _communication(self, step: int) -> StepCommunication:
        """What was seen since the last step."""
        calls = self.calls.taken()
        tail, blocked = self._tail_ns, self.calls.blocked_ns
        if not (self.calls.seen or self.reducers or blocked):
            tail = None  # it communicates by other ways (DTensor's): what was not seen is not 0
        self._tail_ns, self.calls.blocked_ns = None, 0
        if tail is not None:
            for phase, ns in self._tails.items():
                self.calls.waits.ended(phase, ns)
        asking, waiting = self.calls.waits.both()
        on_gpu = any(call.on_gpu and call.step is not None for call in calls)
        exposed = None if on_gpu or self._tail_missed else (tail or 0) + blocked
        self._tail_missed = False
        seen = isinstance(self._recorder._phases, HostPhases)  # a GPU waits by itself
        return StepCommunication(step, calls, tail, exposed, asking, waiting, seen)

    def _tell_log(self, step: int) -> None:
        """What DistributedDataParallel says of the step before: it is put together when the next forward pass begins.

        It tells of one pass: steps of several are left out, for nobody knows how the others were.
        """
        total = exposed = compute = 0
        for reducer in self.reducers:
            told = reducer._get_ddp_logging_data()
            before = int(told.get("iteration", 0)) - step
            alone = before == self._logged.get(id(reducer), 0)
            self._logged[id(reducer)] = before
            if not alone or not told.get("backward_comm_time_end"):
                return
            total += told["backward_comm_time"]
            compute += told["backward_compute_time"]
            exposed += max(0, told["backward_comm_time_end"] - told["backward_compute_time_end"])
        self._recorder.communicated("ddp_logging", ago=1, total=total, compute=compute, exposed=exposed)

    def unseen(self) -> str:
        """Why no step was seen, where none was."""
        if self._stepped or self._recorder._marks_optimizer:
            return "optimizers stepped, but no step ended"
        return f"{_optimizers(len(self._known))}{_started()}"

    def close(self) -> None:
        """The process ends: the step under way is the last."""
        self.ordinary.leave()
        self._turns.goes_on()
        self.batches.close()
        self._tell_doubt()
        self.evaluated.looked(self._looked)
        self.evaluated.close()
        if self._stepped:
            if self._looked_ns and not self._asks:
                self._tell_looks()
            self._tell_loss()
            self._end_last()
            self._tell_communication()
        elif self._begun and not self._recorder._marks_optimizer:
            self._recorder.withdraw()
        self.calls.wanted = False
        self._pending.tell()
        for call in self.calls.taken(everything=True):
            self._recorder.collective(call, "", "host")
        if self._own:
            self._recorder.costs(*self._cost())
        if self.reducers:
            self._recorder.logs_every(LOGGED_EVERY)
        self._tell_parallelism()

    def _cost(self) -> tuple[float, int]:
        """The hooks' own time in a step, ns, and in how many steps.  Each time counts for its share of all steps of its kind: their
        median, or the mean of the kinds' medians once some ordinary steps are watched and others are not."""
        unwatched, watched = self._own_ordinary
        missed = self.watched_steps.missed - self._closer[True]
        counts = ((self._own, sum(self._closer)), (unwatched, missed), (watched, self.ordinary.steps - missed))
        kinds = [(times, max(count, len(times))) for times, count in counts if times]
        steps = sum(count for _, count in kinds)
        if unwatched and watched:
            return sum(count * median(times) for times, count in kinds) / steps, steps
        return weighted_median([(ns, count / len(times)) for times, count in kinds for ns in times]), steps

    def _end_last(self) -> None:
        """The last step is over with its last update: what a script does then (scoring, saving, taking apart) is no part of it."""
        end, paused, blocked = self.last_update
        self._recorder.ends_at, self._recorder._pause = end, paused
        self.calls.end_at(end, blocked)

    def _tell_parallelism(self) -> None:
        recorder = self._recorder
        if recorder.active and recorder.workers > 1:
            self.evidence.met(recorder._step, counts=not self.watched_steps.missed)
            recorder._event(KIND, self._now(), detail=self.evidence.detail(recorder._watch, self.reducers))


class Alive:
    """The optimizers there are, weakly and by identity: a script's own may be compared as it likes."""

    def __init__(self) -> None:
        self._there: dict[int, Callable[[], Any]] = {}

    def add(self, optimizer: Any) -> None:
        """There is one more."""
        self._there = {key: there for key, there in self._there.items() if there() is not None}
        with suppress(TypeError):  # nobody can know for how long it is there
            self._there[id(optimizer)] = weakref.ref(optimizer)

    def __iter__(self) -> Iterator[Any]:
        for there in tuple(self._there.values()):
            if (one := there()) is not None:
                yield one

    def train(self, module: Any) -> bool:
        """Whether one of them has any parameter of the module."""
        return any(_shared(optimizer, module) for optimizer in self)


def _shared(optimizer: Any, module: Any) -> set[int]:
    """The parameters, by identity, that both have and that are trained: a frozen part may be in an optimizer too."""
    return _held(optimizer) & {id(one) for one in module.parameters() if one.requires_grad}


def _held(optimizer: Any) -> set[int]:
    return {id(one) for group in getattr(optimizer, "param_groups", ()) for one in group["params"] if one.requires_grad}


def _nobody() -> None:
    """No module."""


class _ByReducer:
    """Watches the engine from the first bucket on that the reducer asks for in a steady step's backward pass.  Where it asks for none, no
    gradient is waited for, unless they go another way: then the next pass is watched from its first gradient on."""

    def __init__(self, attached: Attached) -> None:
        self._attached = attached
        self._queue = partial(attached._engine.queue_callback, attached._all_computed)
        self.known = False  # the reducer's first bucket is early enough
        self._before = 0  # calls under way and over, when the pass began
        self.missed = False  # the end of the last gradient, in the pass that was watched last, for the reducer asked for nothing
        self.nothing_asked = False  # nor did anybody else

    def compare(self) -> None:
        """A pass begins that is watched from its first gradient on."""
        self.known, self._attached.calls.first = False, self._queue_second

    def watch(self) -> _ByReducer:
        """A steady pass begins."""
        calls = self._attached.calls
        calls.steady, calls.first = self._attached.ordinary, self._queue
        self._before = calls.open
        return self

    def remove(self) -> None:
        """It is over."""
        calls = self._attached.calls
        calls.steady = None
        self.missed, self.nothing_asked = self._attached._computed is None, calls.open == self._before
        if self.missed:
            self.known = False

    def _queue_second(self) -> None:
        self._attached._engine.queue_callback(self._second)

    def _second(self) -> None:
        computed = self._attached._computed
        self.known = computed is not None and self._attached._now() - computed <= AT_ONCE_NS


def _optimizers(made: int) -> str:
    if not made:
        return "no optimizer of torch's was made in the process that was started"
    return f"{made} of torch's optimizers {'was' if made == 1 else 'were'} made in the process that was started, and none stepped"


def _started() -> str:
    """Processes of the script's own, which a launcher of its own may train in."""
    next_one = re.search(r"\d+", repr(getattr(sys.modules.get("multiprocessing.process"), "_process_counter", "")))
    others = int(next_one.group()) - 1 if next_one else 0
    return f"; {others} more processes were started by multiprocessing, which are not looked into" if others else ""


def _inside(module: Any) -> set[int]:
    """The module that DistributedDataParallel or torch.compile was given, for a script that evaluates that one."""
    return {id(getattr(module, name, None)) for name in ("module", "_orig_mod")}
