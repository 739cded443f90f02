"""What do the hooks record of a script without marks, and what do they decide while it runs?

A hook appends one event (`fireassay.steps.events`): what happened, when, and to which batch, iterator, module or optimizer. `Steps` reads
them some steps later, many at once, since code that runs between torch's own work is not cached and costs five times as much: it turns
them into steps, phases, evaluations and samples.
Decided at once: where a step ends (`turns`), hence the steps to hash, to watch and to stop at; which module is the trained model
(`passes`); which batch a call receives (`batches`); and whatever of a step is timed by other means (communication, a GPU, the first step's
operations).

`Attached` is the state that the hooks of data (here), passes (`passes`) and optimizers (`updates`) share; they read its attributes
directly: between torch's work every call counts.
"""

from __future__ import annotations

import re
import sys
import threading
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

from fireassay.instruments.hooks.batches import Storages
from fireassay.instruments.hooks.communication_waits import BETWEEN
from fireassay.instruments.hooks.exposed_communication import ExposedCommunication
from fireassay.instruments.hooks.live_optimizers import LiveOptimizers
from fireassay.instruments.hooks.outermost_modules import Outermost
from fireassay.instruments.hooks.own_cost import OwnCost
from fireassay.instruments.hooks.passes import EVALUATES, EVALUATION, MAX_EVENTS, MAY_EVALUATE, REQUESTED, UPDATED, Passes
from fireassay.instruments.hooks.sample_sources import Sources
from fireassay.instruments.hooks.step_contents import StepContents
from fireassay.instruments.hooks.stuck_ranks import StuckRank
from fireassay.instruments.hooks.turns import Turns
from fireassay.instruments.hooks.updates import Updates
from fireassay.instruments.hooks.watched_steps import LOGGED_EVERY
from fireassay.instruments.recorder import values
from fireassay.instruments.recorder.recorder import Recorder
from fireassay.steps import events
from fireassay.steps.events import ASK, ASK_TURN, GOT, RAN_OUT, SKIPPED, TURN, Event, Fetched
from fireassay.steps.reading import Steps


class TurnObserver(Protocol):
    """Observes the ends of steps (`communication_differencing`)."""

    def ends(self) -> None:
        """A step ends."""

    def ended(self) -> None:
        """It has ended."""


class Attached:
    """Turns hook calls into events, and decides what cannot wait."""

    __slots__ = (
        "_over",
        "_plain_until",
        "_reader_thread",
        "_reading",
        "_tensor",
        "active",
        "append",
        "backward",
        "backwarded",
        "begun",
        "blocked_ns",
        "calls",
        "communication",
        "contents",
        "cost_ns",
        "costs",
        "entered",
        "events",
        "forward",
        "forwarded",
        "inside",
        "made",
        "named",
        "now",
        "optimizer_hooks",
        "optimizers",
        "outermost",
        "passed",
        "passes",
        "pausing",
        "reader",
        "recorder",
        "requests",
        "since_pass",
        "sources",
        "steady",
        "step",
        "stepped",
        "storages",
        "timing",
        "turn_observer",
        "turns",
        "updated_at",
        "used",
    )

    forward: Callable[..., bool]
    forwarded: Callable[[], None]
    backward: Callable[[Any, bool], bool]
    backwarded: Callable[[], None]

    def __init__(self, torch: Any, recorder: Recorder, now: Callable[[], int] = time.monotonic_ns) -> None:
        self.recorder, self.now, self._tensor = recorder, now, torch.Tensor
        self.active = True  # anything is recorded; not while a callback reports a pause
        self.events: list[Event] = []
        self.append = self.events.append
        self.reader = Steps(recorder.rows)
        self._reading = threading.Lock()
        self._reader_thread: int | None = None
        self.inside = ""  # the pass, or the request of data: nested calls are part of it
        self.storages, self.sources = Storages(torch), Sources(torch, self.append, now)
        self.passes, self.turns, self.contents = Passes(torch, self, self.storages), Turns(), StepContents(torch, self)
        self.optimizer_hooks = Updates(self)
        self.made, self.step, self.stepped = self.optimizer_hooks.made, self.optimizer_hooks.step, self.optimizer_hooks.stepped
        self.outermost = Outermost(torch, self)
        self.steady = False  # a forward pass needs no decision but whether it trains
        self.optimizers = LiveOptimizers()  # those that the hooks have seen
        recorder.model.optimizers = self.optimizers
        self.communication = ExposedCommunication(torch, recorder, now, self.phase, self.failed)
        self.calls = self.communication.calls
        self.turn_observer: TurnObserver | None = None
        self.named: Mapping[str, Any] | None = None  # phases that are timed or counted by other means too
        self.begun = False
        self.pausing = 0  # reported ones, nested
        self.requests = False  # the script requests batches
        self.since_pass = UPDATED  # what happened since the last forward pass with gradients
        self.passed = False  # a forward pass with gradients since an optimizer stepped
        self.updated_at: int | None = None  # when the last optimizer step ended
        self.blocked_ns = 0  # blocked time by then
        self._plain_until = 0  # until this step a step that ends needs nothing but its event
        self.time_hooks(True)
        self.cost_ns = 0  # the hooks' processor time in the current step, if that is timed
        self.used, self.entered = time.thread_time_ns, 0  # since when, of a request
        self.costs = OwnCost()
        self._over = False
        recorder.observe(self)
        recorder.before_flush(StuckRank(self).note)

    # ------------------------------------------------------------------ errors, and reading

    def failed(self, error: Exception) -> None:
        """An internal error: stop measuring, let the training continue."""
        self.silence()
        self.recorder.fail(error, "attach")

    def silence(self) -> None:
        """Stop recording."""
        self.active = self.calls.wanted = False
        self.inside = ""

    @property
    def updated(self) -> bool:
        """True if an optimizer has stepped in the current step, or does."""
        return bool(self.turns.stepped or self.turns.stepping) and self.turns.may_have_ended is None

    @property
    def trains(self) -> bool:
        """True if any training pass, forward or backward, was recorded so far."""
        return self.passes.known_model or self.passed

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
        unread = self.events
        if not unread or self._reader_thread == threading.get_ident():  # a signal handler
            return
        with self._reading:
            self._reader_thread = threading.get_ident()
            try:
                some = unread[:]
                del unread[: len(some)]
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
        return self.reader.current.items

    @property
    def batches(self) -> int:
        """Batches used in the current step."""
        self.read()
        return self.reader.current.batches

    @property
    def passes_read(self) -> int:
        """Calls of outermost modules, of the events that were read."""
        return self.reader.calls

    def place(self) -> tuple[int, bool]:
        """The last epoch of the sample ledger, and whether it was read to its end."""
        self.read()
        return self.reader.ledger.place()

    # ------------------------------------------------------------------ pauses

    def pause(self, kind: str) -> int:
        """Begin a reported pause of the training; returns its start. Calls during it are ignored."""
        self.goes_on()
        self.pausing += 1
        self.active = False
        return self.recorder.pause(kind)

    def resume(self, kind: str, begin: int, succeeded: bool, detail: Mapping[str, Any] = MappingProxyType({})) -> None:
        """Training continues."""
        self.pausing -= 1
        self.active = self.recorder.active and not self.pausing
        self.recorder.resume(kind, begin, succeeded, detail)

    def saved(self, begin: int, end: int) -> None:
        """A checkpoint was saved between these times, as reported afterwards."""
        self.recorder.saved(begin, end - begin)

    def paused(self, now: int) -> None:
        """The phases' clock stops."""
        self.append((events.PAUSE, now))

    def resumed(self, now: int, since: int | None, ns: int) -> None:
        """It continues; `since`: the start of a reported pause."""
        self.append((events.RESUME, now, since, ns))

    def set_aside(self, ns: int, since: int | None = None) -> None:
        """Exclude other work from the current step; `since`: the start of a reported pause."""
        self.append((events.SET_ASIDE, self.now(), ns, since))

    # ------------------------------------------------------------------ data

    def request(self) -> None:
        """A batch is requested."""
        now, turns, recorder = self.now(), self.turns, self.recorder
        self.entered = self.used() if self.timing else 0
        self.since_pass = EVALUATES if self.since_pass in MAY_EVALUATE else REQUESTED
        step = recorder.step_number + 1
        if step < self._plain_until and turns.stepped and not (turns.stepping or self.calls.seen):
            self.append((ASK_TURN, now))
            recorder.step_number = self.calls.step = step
            recorder.begin_ns = now
            recorder.report_step(step, now)
            turns.stepped.clear()
            return
        if not self.begun:
            self.open()
            now = self.now()  # after the recording has begun, which is not waiting
        self.requests = True
        self.append((ASK, now))
        if turns.stepping:
            turns.stepping.clear()  # a failed step has not reported its end
        if turns.stepped:
            turns.requests()
            if turns.may_have_ended is not None:
                self.goes_on()
            self.turn(now)
        elif self.entered:
            self.cost_ns += self.used() - self.entered

    def batch_ready(self, iterator: Any, content: Any) -> None:
        """The batch has arrived."""
        now = self.now()
        entered = self.used() if self.timing else 0
        ids = None if (source := iterator._assay_source) is None else iterator._assay_ids()
        if type(ids) is not list:  # the script's own sampler may yield anything
            ids = None
        kind = type(content)
        if (kind is list or kind is tuple) and content and type(first := content[0]) is self._tensor and (shape := first.shape):
            items = shape[0]  # of the usual batch
        elif (items := values.batch_items(content)) is None and ids is not None:  # for any result of the script's own collate function
            items = len(ids)
        batch: Fetched = (items, ids, source, source or iterator, [])
        self.storages.add(batch, content)
        self.append((GOT, now, batch))
        if entered:
            self.cost_ns += self.used() - entered
        if self.contents.due == self.recorder.step_number:
            self.contents.fetched(batch, content, iterator)

    def skipped(self, iterator: Any) -> None:
        """A batch that could not be read; the script may continue with the next."""
        if (source := iterator._assay_source) is not None:
            iterator._assay_ids()
            self.append((SKIPPED, self.now(), source))

    def ran_out(self, iterator: Any) -> None:
        """An epoch has ended. A prefetched batch may still be used."""
        source = iterator._assay_source
        if source is not None and iterator._assay_ids() is not None:
            self.recorder.unknown_samples("the script has read samples directly from the loader's sampler")
        self.append((RAN_OUT, self.now(), iterator if source is None else source, source))

    # ------------------------------------------------------------------ steps

    def open(self) -> None:
        """Begin the first step."""
        self.begun = True
        self.calls.outside()
        begin = self.recorder.begin_outside()
        self.calls.step = self.recorder.step_number
        self.named = self.recorder.phases_beside
        self.costs.begin(self.recorder.written_ns)
        self.append((events.BEGIN, begin, self.recorder.step_number))

    def may_end(self) -> None:
        """The step may have ended here."""
        self.turns.may_have_ended = now = self.now()
        self._plain_until = 0
        self.append((events.MAY_END, now))

    def goes_on(self) -> None:
        """The step had not ended."""
        if self.turns.may_have_ended is not None:
            self.turns.may_have_ended = None
            self.append((events.GOES_ON, self.now()))

    def ended_before(self) -> bool:
        """Confirm that the step ended where a pass began; False if there was no such pass."""
        at = self.turns.may_have_ended
        if at is None:
            return False
        began = self.now()
        self.turns.may_have_ended = None
        self.turn(at, earlier=True)
        self.set_aside(self.now() - began)
        return True

    def turn(self, end: int | None = None, *, earlier: bool = False) -> None:
        """The current step is over, now or at `end`; `earlier`: where it may have ended."""
        recorder, communication, calls, exposed = self.recorder, self.communication, self.calls, None
        if self.turn_observer is not None:
            self.turn_observer.ends()
        unwatched = calls.unwatched
        if communication.others or communication.reducers or calls.seen:
            exposed = communication.end_step(recorder.step_number, in_pass=self.passes.under_way)
            end = end if earlier else None
        if end is None:
            end = self.now()
        hashed = recorder.model.hash_used_ns
        begin = recorder.turned(end)
        self.entered += recorder.model.hash_used_ns - hashed  # told apart
        self.append((TURN, end, begin, exposed, earlier))
        self.contents.ended()
        self.turns.stepped.clear()
        step = calls.step = recorder.step_number
        if not step & (step - 1):
            self.contents.due = step
            self.outermost.search_again()
            communication.check_ranks()
            self.named = recorder.phases_beside
        if recorder.limit is not None:
            recorder.end_if_limited()
        self._count_cost(step, unwatched)
        self._plain_until = 0 if self._differs() else recorder.plain_until(step)
        self.check_steady()
        if self.turn_observer is not None:
            self.turn_observer.ended()

    def check_steady(self) -> None:
        """Note whether forward passes need no decision but whether they train."""
        self.steady = self.requests and self.passes.known_model and self.named is None and not self.outermost.searches

    def _differs(self) -> bool:
        """True if more happens at the end of each step than its event says."""
        communication = self.communication
        return (
            self.timing
            or not self.requests
            or self.named is not None
            or communication.others
            or bool(communication.reducers)
            or self.calls.seen
        )

    def expect_work(self) -> None:
        """Something is due when the current step ends."""
        self._plain_until = 0

    def time_hooks(self, timing: bool) -> None:
        """Measure the hooks' own time from now on, or no longer."""
        self.timing = timing
        passes = self.passes
        for name, call in (
            ("forward", passes.forward),
            ("forwarded", passes.forwarded),
            ("backward", passes.backward),
            ("backwarded", passes.backwarded),
        ):
            setattr(self, name, self._timed(call) if timing else call)

    def _timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*arguments: Any) -> Any:
            self.entered = self.used()
            try:
                return call(*arguments)
            finally:
                self.cost_ns += self.used() - self.entered

        return timed

    def _count_cost(self, step: int, unwatched: bool) -> None:
        """The hooks' own time in the step that ended; the events are read in between."""
        costs = self.costs
        if self.timing:
            costs.times[not unwatched].append(self.cost_ns + self.calls.own_ns + self.used() - self.entered + costs.reading_ns)
        costs.count(step, watched=not unwatched)
        self.calls.own_ns = self.cost_ns = 0
        if self.timing != (timing := costs.next_timed(step, watched=not self.calls.unwatched)):
            self.time_hooks(timing)
        self.entered = self.used() if self.timing else 0
        if len(self.events) >= MAX_EVENTS or self.recorder.on_gpu:
            since = self.used()
            self.read()
            costs.read(step, self.used() - since)

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
            assert self.updated_at is not None
            exposed = communication.end_last(recorder.step_number, self.updated_at, self.blocked_ns)
            recorder.ended(self.updated_at)
        elif self.begun and not recorder.any_update:
            recorder.withdraw()
        self.append((events.END, self.now(), made, exposed, recorder.any_update))
        self.read()
        communication.close()
        if any(self.costs.times):
            self.costs.count(recorder.step_number, watched=not self.calls.unwatched)
            recorder.costs(*self.costs.per_step(recorder.written_ns))
        if communication.reducers:
            recorder.launch.cost("ddp_logging_every", LOGGED_EVERY, "steps")
        communication.record_parallelism()

    def phase(self) -> str | None:
        """The current phase for communication time.

        None after the last gradient, whose waiting is recorded as a whole, and outside training.
        """
        if self.communication.computed is not None or self.inside == EVALUATION:
            return None
        if self.inside or self.turns.stepping:
            return self.inside or "optimizer"
        return None if self.since_pass == EVALUATES else BETWEEN


def _optimizers(count: int) -> str:
    if not count:
        return "the launched process created no torch optimizer"
    return f"the launched process created {count} torch optimizer{'' if count == 1 else 's'}, and none stepped"


def _started() -> str:
    """The script's child processes, in which its own launcher may train."""
    next_one = re.search(r"\d+", repr(getattr(sys.modules.get("multiprocessing.process"), "_process_counter", "")))
    others = int(next_one.group()) - 1 if next_one else 0
    return f"; {others} more processes were started by multiprocessing, which are not observed" if others else ""
