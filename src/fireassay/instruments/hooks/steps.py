"""What do the hooks record of a script without marks, and what do they decide while it runs?

A hook appends one event (`fireassay.steps.events`): what happened, when, and to which batch, iterator, module or optimizer. `Steps` reads
them some steps later, many at once, since code that runs between torch's own work is not cached and costs five times as much: it turns
them into steps, phases, evaluations and samples.
Decided at once: where a step ends (`turns`), hence the steps to hash, to watch and to stop at; which module is the trained model; which
batch a call receives (`batches`); and whatever of a step is timed by other means (communication, a GPU, the first step's operations).

The state is one object that each hook reads directly: between torch's work every access to another object counts.
"""

from __future__ import annotations

import re
import sys
import threading
import time
import weakref
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from fireassay.instruments.hooks.batches import Passes, Storages
from fireassay.instruments.hooks.communication_waits import BETWEEN
from fireassay.instruments.hooks.exposed_communication import ExposedCommunication
from fireassay.instruments.hooks.live_optimizers import LiveOptimizers, shared_parameters, trained_parameters
from fireassay.instruments.hooks.outermost_modules import Outermost
from fireassay.instruments.hooks.own_cost import OwnCost
from fireassay.instruments.hooks.sample_sources import Sources
from fireassay.instruments.hooks.turns import Pass, Turns
from fireassay.instruments.hooks.watched_steps import LOGGED_EVERY
from fireassay.instruments.recorder import values
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.steps.events import (
    ASK,
    ASK_TURN,
    BACKWARD,
    BACKWARDED,
    BEGIN,
    COUNTS,
    END,
    FORWARD,
    FORWARDED,
    GOES_ON,
    GOT,
    GRADIENTS,
    MADE,
    MAY_END,
    NUMBER,
    PARAMETERS,
    PAUSE,
    RAN_OUT,
    RESUME,
    SET_ASIDE,
    SKIPPED,
    STEP,
    STEPPED,
    TRAINING,
    TRAINS,
    TURN,
    UPDATE,
    WITHDRAW,
    Batch,
    Event,
)
from fireassay.steps.reading import Steps

MAX_EVENTS: Final = 96  # before they are read: few enough to be cached still
MAX_UNREAD: Final = 4096  # in passes without gradients
PASSES: Final = COUNTS | GRADIENTS
# Since the last forward pass with gradients: nothing, a batch was requested, a pass may have trained nothing, it did and was an evaluation,
# an optimizer has stepped.
SETTLED, ASKED, LOOKED, EVALUATES, UPDATED = range(5)
MAY_EVALUATE: Final = (LOOKED, EVALUATES)


class Attached:
    """Turns hook calls into events, and decides what cannot wait."""

    def __init__(self, torch: Any, recorder: Recorder, now: Callable[[], int] = time.monotonic_ns) -> None:
        self._torch, self.recorder, self.now, self._tensor = torch, recorder, now, torch.Tensor
        self.events: list[Event] = []
        self.append = self.events.append
        self.reader = Steps(recorder.rows)
        self._reading = threading.Lock()
        self._reader_thread: int | None = None
        self.inside = False  # a forward or backward pass: nested calls are part of it
        self.gradients: Callable[[], bool] = torch.is_grad_enabled
        self.storages, self.passes, self.sources = Storages(torch), Passes(torch), Sources(torch, self.append, now)
        self.turns = Turns()
        self.outermost = Outermost(torch, self)
        self.optimizers = LiveOptimizers()  # those that the hooks have seen
        recorder.model.optimizers = self.optimizers
        self.communication = ExposedCommunication(torch, recorder, now, self.phase, self.failed)
        self.calls = self.communication.calls
        self.named: Mapping[str, Any] | None = None  # phases that are timed or counted by other means too
        self.scales = False  # losses, before their backward pass
        self.begun = False
        self.pausing = 0  # reported ones, nested
        self._asks = False  # the script requests batches
        self._where = BETWEEN  # the current phase
        self._since_pass = UPDATED  # what happened since the last forward pass with gradients
        self._looking = False  # in a pass that may train nothing
        self._passed = False  # a forward pass with gradients since an optimizer stepped
        self._derived = False  # gradients were requested in the current step
        self._stepped_now = False  # an optimizer has begun to step in the current step
        self._looker: Any = None  # the last module in evaluation mode, if its gradients may be requested
        self._trains: set[int] = set()  # modules trained without a loader
        self._backwards: Any = None  # the current backward pass: nested, its roots, how it is watched, the pass around it
        self._closed = False  # a closure has returned this update's loss
        self._losses = 0  # without a step, which would collect them
        self._watched = False
        self._passed_first: Callable[[], Any] = _no_module  # the last module called before any optimizer existed, weakly
        self._updates = False  # an optimizer has stepped
        self._updated_at = self._blocked_ns = 0  # when the last optimizer step ended; blocked time by then
        self._plain_until = 0  # until this step a step that ends needs nothing but its event
        self.timing, self.cost_ns = True, 0  # the hooks' processor time in the current step
        self.used, self._entered = time.thread_time_ns, 0  # since when, of a request
        self._reading_ns = 0  # a step's share of the time to read its events
        self._counted = self._read_step = 0  # up to this step they were counted; read
        self.costs = OwnCost()
        self._over = False
        recorder.observe(self)

    # ------------------------------------------------------------------ errors, and reading

    def failed(self, error: Exception) -> None:
        """An internal error: stop measuring, let the training continue."""
        self.silence()
        self.recorder.fail(error, "attach")

    def silence(self) -> None:
        """Stop recording."""
        self.inside = self.calls.wanted = False

    @property
    def active(self) -> bool:
        """True if anything is recorded; False while a callback reports a pause."""
        return self.recorder.active and not self.pausing

    @property
    def trains(self) -> bool:
        """True if any training pass, forward or backward, was recorded so far."""
        return self._watched or self._passed

    def shielded(self, call: Callable[..., None], *arguments: Any) -> bool:
        """Run a hook's work. Whether it succeeded; its error ends the measurement."""
        try:
            call(*arguments)
        except Exception as error:
            self.failed(error)
            return False
        return True

    def read(self) -> None:
        """Read the events so far. Another thread may append meanwhile."""
        events = self.events
        if not events or self._reader_thread == threading.get_ident():  # a signal handler
            return
        with self._reading:
            self._reader_thread = threading.get_ident()
            try:
                some = events[:]
                del events[: len(some)]
                self.reader.read(some)
            finally:
                self._reader_thread = None

    def read_before_writing(self) -> None:
        """The same, in the writing thread; a GPU's numbers are read by the script's own thread."""
        if self.recorder.on_gpu:
            return
        try:
            self.read()
        except Exception as error:
            self.failed(error)

    @property
    def items(self) -> float | None:
        """Units of work in the current step."""
        self.read()
        return self.reader.items

    @property
    def batches(self) -> int:
        """Batches used in the current step."""
        self.read()
        return self.reader.batches

    def place(self) -> tuple[int, bool]:
        """The last epoch of the sample ledger, and whether it was read to its end."""
        self.read()
        return self.reader.ledger.place()

    # ------------------------------------------------------------------ pauses

    def pause(self, kind: str) -> int:
        """Begin a reported pause of the training; returns its start. Calls during it are ignored."""
        self._goes_on()
        self.pausing += 1
        return self.recorder.pause(kind)

    def resume(self, kind: str, begin: int, succeeded: bool, detail: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Training continues."""
        self.pausing -= 1
        self.recorder.resume(kind, begin, succeeded, detail)

    def saved(self, begin: int, end: int) -> None:
        """A checkpoint was saved between these times, as reported afterwards."""
        self.recorder.saved(begin, end - begin)

    def paused(self, now: int) -> None:
        """The phases' clock stops."""
        self.append((PAUSE, now))

    def resumed(self, now: int, since: int | None, ns: int) -> None:
        """It continues; `since`: the start of a reported pause."""
        self.append((RESUME, now, since, ns))

    def set_aside(self, ns: int, since: int | None = None) -> None:
        """Exclude other work from the current step; `since`: the start of a reported pause."""
        self.append((SET_ASIDE, self.now(), ns, since))

    @property
    def updated(self) -> bool:
        """True if an optimizer has stepped in the current step."""
        return self._stepped_now

    # ------------------------------------------------------------------ data

    def ask(self) -> None:
        """A batch is requested."""
        now, turns = self.now(), self.turns
        self._entered = self.used() if self.timing else 0
        since, self._since_pass, self._where = self._since_pass, ASKED, "data"
        if since in MAY_EVALUATE:
            self._since_pass = EVALUATES
        plain = turns.stepped and self._asks and not turns.stepping and turns.may_have_ended is None and not self.calls.seen
        if plain and (step := self.recorder.step_number + 1) < self._plain_until:
            self.append((ASK_TURN, now))
            self.recorder.turned_plainly(step, now)
            turns.stepped.clear()
            self.calls.step = step
            self._derived = self._stepped_now = False
            return
        if not self.begun:
            self._open()
            now = self.now()  # after the recording has begun, which is not waiting
        self._asks = True
        self.append((ASK, now))
        if turns.stepping:
            turns.stepping.clear()  # a failed step has not reported its end
        if turns.stepped:
            turns.requests()
            if turns.may_have_ended is not None:
                self._goes_on()
            self.turn(now)
        elif self._entered:
            self.cost_ns += self.used() - self._entered

    def batch_ready(self, iterator: Any, content: Any) -> None:
        """The batch has arrived."""
        now = self.now()
        entered = self.used() if self.timing else 0
        self._where = BETWEEN
        source = getattr(iterator, "_assay_source", None)
        ids = None if source is None else iterator._assay_ids()
        if type(ids) is not list:  # the script's own sampler may yield anything
            ids = None
        kind = type(content)
        if (kind is list or kind is tuple) and content and type(first := content[0]) is self._tensor:  # the usual batch
            items = float(shape[0]) if (shape := first.shape) else None
        else:
            items = values.batch_items(content)
        if items is None and ids is not None:  # for any result of the script's own collate function
            items = float(len(ids))
        batch = Batch(items, ids, source, iterator if source is None else source)
        self.storages.add(batch, content)
        self.append((GOT, now, batch))
        if entered:
            self.cost_ns += self.used() - entered

    def skipped(self, iterator: Any) -> None:
        """A batch that could not be read; the script may continue with the next."""
        if (source := getattr(iterator, "_assay_source", None)) is not None:
            iterator._assay_ids()
            self.append((SKIPPED, self.now(), source))

    def ran_out(self, iterator: Any) -> None:
        """An epoch has ended. A prefetched batch may still be used."""
        self._where = BETWEEN
        source = getattr(iterator, "_assay_source", None)
        if source is not None and iterator._assay_ids() is not None:
            self.recorder.unknown_samples("the script has read samples directly from the loader's sampler")
        self.append((RAN_OUT, self.now(), iterator if source is None else source, source))

    # ------------------------------------------------------------------ passes

    def forward(self, module: Any, inputs: Any = ()) -> bool:
        """The outermost module is called. Whether its end is recorded too."""
        try:
            self._entered = self.used() if self.timing else 0
            self.inside = True
            if self.outermost.looking:
                self.outermost.met(type(module))
            else:
                self.outermost.calls += 1
            gradients, number = self.gradients(), 0
            if not gradients or not (module.training or self.recorder.on_gpu):
                flags = self._may_train_by(module, gradients)
            else:
                flags = PASSES
                if self.turns.stepped or not self._watched or not self._asks:
                    self._trains_by(module)
                else:  # nothing to decide
                    self._since_pass, self._passed, self._where = SETTLED, True, "forward"
            found, unknown = self.storages.matches(inputs)
            if (found or unknown) and flags & COUNTS:
                number = self.passes.sequence()
                self.passes.open.append((number, found[0][0] if len(found) == 1 else None))
            if self.named is not None and not self._looking:
                self.named["forward"].__enter__()
            now = self.now()
            self.append((FORWARD, now, flags, found, unknown, number, id(module)))
            if self._entered:
                self.cost_ns += self.used() - self._entered
            return True
        except Exception as error:
            self.failed(error)
            return False

    def _may_train_by(self, module: Any, gradients: bool) -> int:
        """A pass without gradients, or in evaluation mode; returns its flags."""
        if self.turns.stepping:  # in a closure (LBFGS)
            if gradients:
                self._trains_by(module)
            self._where = "forward"
            return PASSES if gradients else 0
        self._looking = True
        if len(self.events) > MAX_UNREAD:  # no step reads them
            self.read()
        flags = (GRADIENTS if gradients else 0) | (TRAINING if module.training else 0)
        if not self._asks:
            if not self.begun and gradients:
                self._open()
            elif self.begun:
                self._pass_begins()
            if any(True for _ in module.parameters()):
                flags |= PARAMETERS
        if self._since_pass != EVALUATES:
            self._since_pass = LOOKED
        self._looker = module if gradients else None
        return flags

    def forwarded(self) -> None:
        """The call has returned."""
        try:
            now = self.now()
            entered = self.used() if self.timing else 0
            self.append((FORWARDED, now))
            self.inside, self._where = False, "optimizer" if self.turns.stepping else BETWEEN
            passes = self.passes
            if len(passes.open) != len(passes.ends):
                passes.ends += [passes.sequence()] * (len(passes.open) - len(passes.ends))
            if self._looking:
                self._looking = False
            elif self.named is not None:
                self.named["forward"].__exit__(None, None, None)
            if entered:
                self.cost_ns += self.used() - entered
        except Exception as error:
            self.failed(error)

    def _pass_begins(self) -> None:
        """A pass begins a step, if all optimizers of the cycle have stepped."""
        if not self.turns.stepped:
            return
        meaning = self.turns.passes()
        if meaning is Pass.BEGINS:
            self.turn()
        elif meaning is Pass.MAY_BEGIN and not self.communication.any and not self.recorder.on_gpu:
            self.turns.may_have_ended = now = self.now()
            self._stepped_now = False
            self.append((MAY_END, now))

    def _trains_by(self, module: Any) -> None:
        """Training continues, with this module if it is known."""
        if not self.begun:
            self._open()
        else:
            self._pass_begins()
        self._since_pass, self._passed, self._where, self._looker = SETTLED, True, "forward", None
        if module is None:
            return
        if not self._asks and id(module) not in self._trains:
            inner = {id(module), *(id(getattr(module, name, None)) for name in ("module", "_orig_mod"))}  # some scripts evaluate these
            self._trains |= inner
            self.append((TRAINS, self.now(), inner))
        if not self._watched and any(True for _ in module.parameters()):
            self.communication.meet()
            if self._updates or self.optimizers.train(module):
                self._watch(module)
            else:
                self._passed_first = weakref.ref(module)

    def _watch(self, module: Any) -> None:
        """Watch the first trained module; after a restart its parameters give the step's number, before anything is recorded.

        Skips modules that share no parameter with an optimizer: a model under construction may call one of its parts to get a shape.
        """
        self._watched = True
        recorder = self.recorder
        self.outermost.look()  # earlier calls may have been an evaluation
        model = recorder.model
        if model.states is not None:
            model.states.optimizers, model.states.epoch = self.optimizers, self.place
        self.communication.evidence.trains(module)
        recorder.watched(module)
        self.calls.step = recorder.step_number
        restored = model.went_on.state if model.went_on is not None else None
        self.append((NUMBER, self.now(), recorder.step_number, None if restored is None else restored.epoch + restored.whole))
        self.named = recorder.phases_beside

    def backward(self, roots: Any, accumulates: bool) -> bool:
        """Gradients are requested, possibly inside another pass. Whether their end is recorded too."""
        try:
            self._entered = self.used() if self.timing else 0
            nested, self.inside = self.inside, True
            if self._since_pass and not nested:  # from functions, unknown modules, or passes that so far only evaluated
                if not self.begun:
                    self._open()
                self.outermost.look()
                self._trains_by(self._looker if self._since_pass in MAY_EVALUATE else None)
            self._derived, self._where, passes, reached, hook = True, "backward", self.passes, None, None
            if len(passes.open) > 1:
                reached = passes.reached(roots)
            elif passes.open:
                passes.open.clear()
                passes.ends.clear()
            if self.named is not None:
                self.named["backward"].__enter__()
            if accumulates and self.communication.others:
                hook = self.communication.begin_pass(roots)
            self._backwards = (nested, roots if accumulates else None, hook, self._backwards)
            now = self.now()
            self.append((BACKWARD, now, nested, reached))
            if self._entered:
                self.cost_ns += self.used() - self._entered
            return True
        except Exception as error:
            self.failed(error)
            return False

    def backwarded(self) -> None:
        """The gradients are ready."""
        try:
            now = self.now()
            entered = self.used() if self.timing else 0
            self.inside, roots, hook, self._backwards = self._backwards
            if self.named is not None:
                self.named["backward"].__exit__(None, None, None)
            if hook is not None or self.communication.computed is not None:
                self.communication.end_pass(hook, "backward", now)
            self._where = BETWEEN if not self.inside and not self.turns.stepping else self._around()
            loss = None
            if roots is not None and self._backwards is None and len(roots) == 1:
                root = roots[0]
                if type(root) is self._tensor and root.is_cpu and not self.turns.stepping and not self.scales:  # the usual loss
                    loss = root.item() if root.numel() == 1 else None
                else:
                    loss = self._loss_of(root)
            self.append((BACKWARDED, now, loss))
            if not self.turns.known:
                self._updates_by_hand()
            if entered:
                self.cost_ns += self.used() - entered
        except Exception as error:
            self.failed(error)

    def _around(self) -> str:
        """The phase around the pass that has ended."""
        if self._backwards is not None:
            return "backward"
        return "forward" if self.inside else "optimizer"

    def _loss_of(self, root: Any) -> Any:
        """The root of a backward pass is the loss; a step's loss is the sum of its parts."""
        if not isinstance(root, self._tensor) or root.numel() != 1:
            return None
        if self.turns.stepping:  # a closure (LBFGS) runs several times per step; the first loss counts
            if self._closed:
                return None
            self._closed = True
        loss = getattr(root, "_assay_unscaled", root)  # before a gradient scaler's factor
        return loss.item() if type(loss) is self._tensor and loss.is_cpu else loss.detach()

    def _updates_by_hand(self) -> None:
        """Without a torch optimizer no step collects the losses, nor the collectives."""
        self._losses += 1
        if self._losses % MAX_EVENTS == 0:
            self.read()
            self.communication.record()

    # ------------------------------------------------------------------ optimizers

    def made(self, optimizer: Any) -> None:
        """A new optimizer."""
        self.outermost.look_again()
        self.turns.made(id(optimizer))
        self.look_closer()
        self.optimizers.add(optimizer)
        if not self._watched:
            self._begins_behind(optimizer)
        watch = self.recorder.model.current
        if self._updates and watch is not None and not shared_parameters(optimizer, watch.model):
            self.communication.evidence.settle(watch)  # of another model, since the first may be dropped
            watch.release()
        self.append((MADE, self.now()))

    def _begins_behind(self, optimizer: Any) -> None:
        """The first optimizers are created: passes before this were training already, or only queried a shape."""
        module = self._passed_first()
        if self.begun and not (self._derived or self._asks):
            self.begun = False  # the first step has not begun with them
            self.recorder.withdraw()
            self.append((WITHDRAW, self.now()))
        elif module is not None and (count := trained_parameters(optimizer)) and count <= shared_parameters(optimizer, module):
            self._watch(module)

    def step(self, optimizer: Any) -> None:
        """An optimizer begins to step; nested in another's step, it is part of that."""
        self._entered = self.used() if self.timing else 0
        key, turns = id(optimizer), self.turns
        turns.stepping.append(key)
        if len(turns.stepping) > 1:
            turns.nests(key)
            self.append((STEP, self.now(), key))
            return
        if not self.begun:
            self._open()
        self._closed, self._stepped_now, self._where = False, True, "optimizer"
        if turns.stepped:
            self._steps_too(key)
        if self._since_pass:
            self._since_pass = ASKED  # what was evaluated before an update is in that step
        if self.named is not None:
            self.named["optimizer"].__enter__()
        now = self.now()
        self.append((STEP, now, key))
        if self._entered:
            self.cost_ns += self.used() - self._entered

    def _steps_too(self, key: int) -> None:
        """Another optimizer, or the same, has stepped in the current step."""
        turns = self.turns
        if key in turns.stepped:
            turns.comes_again()
            self.append((UPDATE, self.now(), key))
            if not self._ended_before() and not self._passed:  # it requests passes itself (LBFGS), so the step begins here
                self.turn()
            turns.stepped.clear()  # its cycle begins
        if turns.may_have_ended is not None:
            self._goes_on()
        self._stepped_now = True

    def stepped(self, optimizer: Any) -> None:
        """The optimizer has stepped, or skipped its step for gradients that were not finite."""
        now, turns = self.now(), self.turns
        entered = self.used() if self.timing else 0
        self.append((STEPPED, now))
        if turns.stepping:
            turns.stepping.pop()
            if turns.stepping:
                return
        turns.stepped[id(optimizer)] = None
        self._updates, self._passed, self._where, self._since_pass = True, False, BETWEEN, UPDATED
        self._updated_at, self._blocked_ns = now, self.calls.blocked_ns
        if self.named is not None:
            self.named["optimizer"].__exit__(None, None, None)
        if entered:
            self.cost_ns += self.used() - entered

    # ------------------------------------------------------------------ steps

    def _open(self) -> None:
        self.begun = True
        self.calls.outside()
        begin = self.recorder.begin_outside()
        self.calls.step = self.recorder.step_number
        self.named = self.recorder.phases_beside
        self.append((BEGIN, begin, self.recorder.step_number))

    def _goes_on(self) -> None:
        """The step had not ended."""
        if self.turns.may_have_ended is not None:
            self.turns.may_have_ended, self._stepped_now = None, True
            self.append((GOES_ON, self.now()))

    def _ended_before(self) -> bool:
        """Confirm that the step ended where a pass began; False if there was no such pass."""
        at = self.turns.may_have_ended
        if at is None:
            return False
        began, derived = self.now(), self._derived
        self.turns.may_have_ended = None
        self.turn(at, earlier=True)
        self._derived = derived
        self.set_aside(self.now() - began)
        return True

    def turn(self, end: int | None = None, *, earlier: bool = False) -> None:
        """The current step is over, now or at `end`; `earlier`: where it may have ended."""
        recorder, communication, calls, exposed = self.recorder, self.communication, self.calls, None
        unwatched = calls.unwatched
        if communication.others or communication.reducers or calls.seen:
            exposed = communication.end_step(recorder.step_number, in_pass=self._backwards is not None)
            end = end if earlier else None
        if end is None:
            end = self.now()
        hashed = recorder.model.hash_ns
        begin = recorder.turned(end)
        self._entered += recorder.model.hash_ns - hashed  # told apart
        self.append((TURN, end, begin, exposed, earlier))
        self.turns.stepped.clear()
        self._derived = self._stepped_now = False
        step = calls.step = recorder.step_number
        if not step & (step - 1):
            self.outermost.look_again()
            communication.meet()
            self.named = recorder.phases_beside
        if recorder.limit is not None:
            recorder.end_if_limited()
        self._count_cost(step, unwatched)
        self._plain_until = 0 if self._differs() else recorder.plain_until(step)

    def _differs(self) -> bool:
        """True if more happens at the end of each step than its event says."""
        communication = self.communication
        return self.timing or self.named is not None or communication.others or bool(communication.reducers) or self.calls.seen

    def look_closer(self) -> None:
        """Something is due when the current step ends."""
        self._plain_until = 0

    def _count_cost(self, step: int, unwatched: bool) -> None:
        """The hooks' own time in the step that ended; the events are read in between."""
        costs = self.costs
        if self.timing:
            costs.times[not unwatched].append(self.cost_ns + self.calls.own_ns + self.used() - self._entered + self._reading_ns)
        costs.steps[not unwatched] += step - self._counted
        self._counted = step
        self.calls.own_ns = self.cost_ns = 0
        self.timing = costs.next_timed(step, watched=not self.calls.unwatched)
        self._entered = self.used() if self.timing else 0
        if len(self.events) >= MAX_EVENTS or self.recorder.on_gpu:
            since = self.used()
            self.read()
            self._reading_ns, self._read_step = (self.used() - since) // max(1, step - self._read_step), step

    def unseen(self) -> str:
        """Why no step was recorded."""
        if self.turns.stepped or self.recorder.any_update:
            return "optimizers stepped, but no step ended"
        return f"{_optimizers(len(self.turns.known))}{_started()}"

    def close(self) -> None:
        """The process ends: the current step is the last."""
        if self._over or not self.recorder.active:  # or in a fork, where another thread's lock may be held for ever
            return
        self._over = True
        made, exposed, recorder, communication = bool(self.turns.stepped), None, self.recorder, self.communication
        self.turns.may_have_ended = None
        if made:
            exposed = communication.end_last(recorder.step_number, self._updated_at, self._blocked_ns)
            recorder.ended(self._updated_at)
        elif self.begun and not recorder.any_update:
            recorder.withdraw()
        self.append((END, self.now(), made, exposed, recorder.any_update))
        self.read()
        communication.close()
        if any(self.costs.steps):
            cost, steps = self.costs.per_step()
            recorder.costs(cost + recorder.written_ns / steps, steps)
        if communication.reducers:
            recorder.launch.cost("ddp_logging_every", LOGGED_EVERY, "steps")
        communication.tell_parallelism()

    def phase(self) -> str | None:
        """The current phase for communication time.

        None after the last gradient, whose waiting is recorded as a whole, and outside training.
        """
        if self.communication.computed is not None:
            return None
        if self._where is BETWEEN and (self.inside or self._since_pass == EVALUATES):
            return None
        return self._where


def _no_module() -> None:
    """No module."""


def _optimizers(count: int) -> str:
    if not count:
        return "the launched process created no torch optimizer"
    return f"the launched process created {count} torch optimizer{'' if count == 1 else 's'}, and none stepped"


def _started() -> str:
    """The script's child processes, in which its own launcher may train."""
    next_one = re.search(r"\d+", repr(getattr(sys.modules.get("multiprocessing.process"), "_process_counter", "")))
    others = int(next_one.group()) - 1 if next_one else 0
    return f"; {others} more processes were started by multiprocessing, which are not observed" if others else ""
