"""Where does a step begin and end in a script without marks?

A step is one update: it begins before waiting for its first batch and ends where the next one begins. Three things end it:
* a batch is requested after an optimizer has stepped (any DataLoader; gradient accumulation requests several before);
* without a loader, the first forward pass after all optimizers of the cycle have stepped. The cycle is the only optimizer, or those
  that stepped before one of them came again or before the next batch, or all that exist;
* the end of the process.
A batch used only without gradients or by a module in evaluation mode is an evaluation, from its request until the request of the next
batch that is trained on. It is excluded from the step, like an evaluation that a script marks. A batch that is evaluated and
trained on, in either order (a teacher, a target network), is training, and the evaluation is part of the forward pass.
Without a loader, a pass without gradients begins the next step as a forward pass does; those before the first step are outside it.
Passes by the trained module in evaluation mode are an evaluation there too, from the first to the last.

An evaluation in the body of a loop leaves the loop's own batch to the training.

Cannot tell: before the first step, and in an epoch that was left early, an evaluation with several loaders at once from the loop's own
batch; a one-batch evaluation in a loop's body from a pass whose batch is trained on; without a loader, an evaluation from a rollout in
evaluation mode that is learned from afterwards; the data time of an iterator that is not a DataLoader (absent, never 0); work between the
phases (unknown time); units of work other than the batch's first dimension, or its samples if it has none; steps without a torch
optimizer (a handwritten update): none is recorded, since all of them would look like one.
"""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from statistics import median
from types import MappingProxyType
from typing import Any

from fireassay.instruments.hooks.batches import Fetched
from fireassay.instruments.hooks.evaluation_overlap import Evaluated
from fireassay.instruments.hooks.fast_step import Ordinary
from fireassay.instruments.hooks.live_optimizers import shared_parameters, trained_parameters
from fireassay.instruments.hooks.outermost_modules import Outermost
from fireassay.instruments.hooks.parallelism import KIND
from fireassay.instruments.hooks.phases import Phases
from fireassay.instruments.hooks.sample_sources import Source
from fireassay.instruments.hooks.step_end import Turns
from fireassay.instruments.hooks.watched_steps import LOGGED_EVERY
from fireassay.instruments.recorder import values
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.instruments.recorder.self_cost import weighted_median


class Attached(Phases):
    """Turns hook calls into the steps of a recorder."""

    def __init__(self, torch: Any, recorder: Recorder, now: Callable[[], int] = time.monotonic_ns) -> None:
        super().__init__(torch, recorder, now)
        self.outermost = Outermost(torch, self)
        self.evaluated = Evaluated(torch, self._tell_evaluated)
        self._turns = Turns(self)
        self.ordinary: Ordinary = Ordinary(self, torch)

    def pause(self, kind: str) -> int:
        """Begin a reported pause of the training; returns its start. Calls during it are ignored."""
        self.ordinary.leave()
        self._turns.goes_on()
        self._paused += 1
        return self._recorder.pause(kind)

    def resume(self, kind: str, begin: int, succeeded: bool, detail: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Training continues."""
        self._paused -= 1
        self._recorder.resume(kind, begin, succeeded, detail)
        self._pauses.append((begin, self._now()))

    def saved(self, begin: int, end: int) -> None:
        """A checkpoint was saved between these times, as reported afterwards."""
        self.ordinary.leave()
        self._recorder.saved(begin, end - begin)
        self._pauses.append((begin, end))

    # ------------------------------------------------------------------ data

    def ask(self) -> None:
        """A batch is requested."""
        if not self._begun:
            self._open(0)
        now = self._now()  # after the recording has begun, which is not waiting
        self._asks = True
        self._stepping.clear()  # a failed step has not reported its end
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

    def batch_ready(self, iterator: Any, batch: Any) -> None:
        """The batch has arrived."""
        source: Source | None = getattr(iterator, "_assay_source", None)
        ids = None if source is None else iterator._assay_ids()
        if type(ids) is not list:  # the script's own sampler may yield anything
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
        if items is None and ids is not None:  # for any result of the script's own collate function
            items = float(len(ids))
        fetched = Fetched(begin, ns, items, ids, source, self._evaluating is None, iterator if source is None else source)
        if fetched.counted:
            self._recorder.waited(ns)
        self.batches.add(fetched, batch)

    def skipped(self, iterator: Any) -> None:
        """A batch that could not be read; the script may continue with the next."""
        if (source := getattr(iterator, "_assay_source", None)) is not None:
            iterator._assay_ids()
            source.left -= 1

    def ran_out(self, iterator: Any) -> None:
        """An epoch has ended. A prefetched batch may still be used."""
        if self._asked is not None and self._evaluating is None:
            self._recorder.waited(self._now() - self._asked)
        self._asked = None
        source = getattr(iterator, "_assay_source", None)
        if source is not None:
            if iterator._assay_ids() is not None:
                self._recorder.unknown_samples("the script has read samples directly from the loader's sampler")
            self.sources.ended(source, self._recorder)
        self.batches.ran_out(iterator if source is None else source)

    # ------------------------------------------------------------------ phases

    # ------------------------------------------------------------------ optimizers

    def made(self, optimizer: Any) -> None:
        """A new optimizer."""
        self.ordinary.leave()
        self.outermost.look_again()
        self._known.add(id(optimizer))
        self.optimizers.add(optimizer)
        if not self._watched:
            self._begins_behind(optimizer)
        watch = self._recorder._watch
        if self._updates and watch is not None and not shared_parameters(optimizer, watch.model):
            self.evidence.settle(watch)  # of another model, since the first may be dropped
            watch.release()
        self._cycle = frozenset(self._known) if len(self._known) == 1 else None
        self.evaluated.begins_anew()

    def _begins_behind(self, optimizer: Any) -> None:
        """The first optimizers are created: passes before this were training already, or only queried a shape."""
        module = self._passed_first()
        if self._begun and not (self._derived or self._asks):
            self._begun = False  # the first step has not begun with them
            self._recorder.withdraw()
        elif module is not None and (count := trained_parameters(optimizer)) and count <= shared_parameters(optimizer, module):
            self._watch(module)

    def step(self, optimizer: Any) -> None:
        """An optimizer begins to step; nested in another's step, it is part of that."""
        self._stepping.append(id(optimizer))
        if len(self._stepping) > 1:
            if self._stepping[0] != id(optimizer):
                self._known.discard(id(optimizer))
                self._cycle = self._cycle or (frozenset(self._known) if len(self._known) == 1 else None)
            return
        if not self._begun:
            self._open(0)
        if self._asks:
            ahead = any(fetched.key in self.batches.feeds for fetched in self._looked)  # trained on later
            if self._passed and (self._looked or self._evaluating is not None) and not ahead:
                self._evaluated_before_the_update()
        elif self._looked_ns:
            self._tell_looks()
        self._closed = False
        if id(optimizer) in self._stepped:
            if not self._cycled():  # from now on it steps without the others
                self._cycle = frozenset(self._stepped)
            if not self._turns.ended() and not self._passed:  # it requests passes itself (LBFGS), so the step begins here
                self._tell_looks()
                self._turn()
            self._stepped.clear()  # its cycle begins
        self._turns.goes_on()
        self._recorder._named["optimizer"].__enter__()

    def stepped(self, optimizer: Any) -> None:
        """The optimizer has stepped, or skipped its step for gradients that were not finite."""
        if self._stepping:
            self._stepping.pop()
        if self._stepping:
            return
        self._recorder._named["optimizer"].__exit__(None, None, None)
        if not self._derived and self.batches.passing:  # gradients not computed by torch's engine
            for part in self.batches.derived(()):
                self._feed(part)
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
        """The current step is over, now or at `at`."""
        self._tell_loss()
        if self._others or self.reducers or self.calls.seen:
            self._tell_communication()
        self._stepped, self._pauses, self._settled, self._derived = {}, [], 0, False
        self.batches.next_step()
        self._recorder.next_step(at)
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
            self._recorder.record_loss(self._losses[0] if len(self._losses) == 1 else sum(self._losses))
            self._losses = []

    def unseen(self) -> str:
        """Why no step was recorded."""
        if self._stepped or self._recorder._marks_optimizer:
            return "optimizers stepped, but no step ended"
        return f"{_optimizers(len(self._known))}{_started()}"

    def close(self) -> None:
        """The process ends: the current step is the last."""
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
        """(the hooks' own time in a step, ns; number of steps).

        Each kind of step is weighted by its share: the median, or the mean of the kinds' medians once only some ordinary steps are watched.
        """
        unwatched, watched = self._own_ordinary
        missed = self.watched_steps.missed - self._closer[True]
        counts = ((self._own, sum(self._closer)), (unwatched, missed), (watched, self.ordinary.steps - missed))
        kinds = [(times, max(count, len(times))) for times, count in counts if times]
        steps = sum(count for _, count in kinds)
        if unwatched and watched:
            return sum(count * median(times) for times, count in kinds) / steps, steps
        return weighted_median([(ns, count / len(times)) for times, count in kinds for ns in times]), steps

    def _end_last(self) -> None:
        """End the last step at its last update: later work (scoring, saving, teardown) is outside it."""
        end, paused, blocked = self.last_update
        self._recorder.ends_at, self._recorder._pause = end, paused
        self.calls.end_at(end, blocked)

    def _tell_parallelism(self) -> None:
        recorder = self._recorder
        if recorder.active and recorder.workers > 1:
            self.evidence.met(recorder._step, counts=not self.watched_steps.missed)
            recorder._event(KIND, self._now(), detail=self.evidence.detail(recorder._watch, self.reducers))


def _optimizers(count: int) -> str:
    if not count:
        return "the launched process created no torch optimizer"
    return f"the launched process created {count} torch optimizer{'' if count == 1 else 's'}, and none stepped"


def _started() -> str:
    """The script's child processes, in which its own launcher may train."""
    next_one = re.search(r"\d+", repr(getattr(sys.modules.get("multiprocessing.process"), "_process_counter", "")))
    others = int(next_one.group()) - 1 if next_one else 0
    return f"; {others} more processes were started by multiprocessing, which are not observed" if others else ""
