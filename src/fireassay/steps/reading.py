"""Which steps, phases, evaluations and samples do a training's events contain?

A step is one update: it begins before waiting for its first batch and ends where the next one begins. The hooks decide where (`Turns` in
`instruments/hooks/turns`), since hashes, watched steps and the limit depend on it; everything else about a step is decided here.
Which passes are an evaluation: `steps/evaluations`.
Phases are exclusive, as in `recorder/phases`.

Cannot tell: the data time of an iterator that is not a DataLoader (absent, never 0); work between the
phases (unknown time); units of work other than the batch's first dimension, or its samples if it has none; steps without a torch
optimizer (a handwritten update): none is recorded, since all of them would look like one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final, Protocol

from fireassay.steps import events
from fireassay.steps.contents import Contents
from fireassay.steps.evaluations import FORWARD, Evaluations
from fireassay.steps.events import COUNTS, GRADIENTS, PARAMETERS, TRAINING, Batch, Event, Source
from fireassay.steps.ledger import Ledger
from fireassay.steps.order import Order, Pass
from fireassay.steps.overlap import Evaluation, Overlap

BACKWARD, OPTIMIZER = 1, 2  # after `FORWARD`
MANY_LOSSES: Final = 256
BATCH_CONTENTS: Final = "batch_contents"
Times = tuple[int | None, int | None, int | None]


class Output(Protocol):
    """Takes what the events contain."""

    def step(
        self, step: int, begin: int, end: int, data: int | None, times: Times, pause: int | None, exposed: int | None, items: float | None
    ) -> None:
        """A step."""

    def loss(self, step: int, loss: Any) -> None:
        """The loss of a step: a number, or a tensor."""

    def samples(self, epoch: int, step: int, ids: list[int]) -> None:
        """Samples that a step was trained on."""

    def contents(self, what: str, step: int, contents: str) -> None:
        """Digests of what a step was trained on."""

    def evaluation(self, step: int, begin: int, ns: int) -> None:
        """An evaluation within a step."""

    def evaluated(self, now: int, step: int, data: str, evaluation: Evaluation) -> None:
        """How many evaluated samples were trained on."""

    def unknown_samples(self, now: int, step: int, reason: str) -> None:
        """The samples of this launch are unknown."""

    def dataset(self, step: int, size: int) -> None:
        """The size of the data set in the ledger."""


class Steps:
    """The state after the events so far."""

    def __init__(self, out: Output) -> None:
        self.out = out
        self.step = 0
        self.begun = False
        self.calls = 0  # of outermost modules
        self.order, self.ledger, self.overlap = Order(), Ledger(), Overlap(self._record_evaluated)
        # of the current step
        self.begin = 0
        self.current = Contents()
        self.derived = False  # gradients were requested
        self.settled = 0  # start of the time in which fetched batches belong to no evaluation
        # of the current phase
        self._stack: list[int] = []  # open phases, innermost last
        self._mark = 0  # when the innermost open phase last started
        self._paused = 0
        self._requested_at: int | None = None  # when the current batch was requested
        self._evaluating: int | None = None  # start of the current pass without gradients
        self._stepping: list[int] = []  # optimizers that are stepping now, nested
        self.passed = False  # a forward pass with gradients since an optimizer stepped
        self._last_update: tuple[int, int | None] = (0, None)  # end of the last optimizer step; paused time by then
        self.requests = False  # the script requests batches
        self.evaluations = Evaluations(self)
        # of a step that may have ended before
        self._part: Contents | None = None  # its contents up to there
        self._fed: list[Pass] = []  # trained on since
        self._doubted = ""
        self.now = 0
        self._read: tuple[Callable[[Event], None], ...] = self._readers()

    def _readers(self) -> tuple[Callable[[Event], None], ...]:
        by_kind = {
            events.ASK: self._request,
            events.GOT: self._got,
            events.SKIPPED: self._skipped,
            events.CONTENTS: self._contents,
            events.RAN_OUT: self._ran_out,
            events.LOST: self._lost,
            events.GONE: self._gone,
            events.FORWARD: self._forward,
            events.FORWARDED: self._forwarded,
            events.TRAINS: self._train,
            events.BACKWARD: self._backward,
            events.BACKWARDED: self._backwarded,
            events.MADE: self._made,
            events.UPDATE: self._update,
            events.STEP: self._step,
            events.STEPPED: self._stepped,
            events.MAY_END: self._may_end,
            events.GOES_ON: self._goes_on,
            events.BEGIN: self._begins,
            events.WITHDRAW: self._withdraw,
            events.TURN: self._turn,
            events.ASK_TURN: self._request_turn,
            events.PAUSE: self._pauses_now,
            events.RESUME: self._resume,
            events.SET_ASIDE: self._sets_aside,
            events.NUMBER: self._number,
            events.END: self._end,
        }
        return tuple(by_kind[kind] for kind in range(len(by_kind)))

    def read(self, some: Iterable[Event]) -> None:
        """Read more events."""
        read = self._read
        for event in some:
            read[event[0]](event)

    # ------------------------------------------------------------------ where steps begin and end

    def _begins(self, event: Event) -> None:
        _, self.begin, self.step = event
        self.begun = True
        earlier = self.current
        self._opened()
        self.current.losses, self.current.pauses = earlier.losses, earlier.pauses

    def _withdraw(self, _: Event) -> None:
        self.begun = False

    def _number(self, event: Event) -> None:
        _, _, self.step, epoch = event
        if epoch is not None:
            self.ledger.goes_on(epoch)

    def _opened(self) -> None:
        self.current = Contents()
        if self._stack:
            self._stack.clear()

    def _turn(self, event: Event) -> None:
        _, end, begin, exposed, earlier = event
        second, worked, derived = None, self.order.worked, self.derived
        if earlier:
            part, self._part = self._part, None
            second, self.current = self.current, part or Contents()
            if part is not None:
                end = part.end
        else:
            self.now = end
            self.evaluations.settle_step()  # in the step that ends
        self._finish(end, self.current.pause, exposed)
        self.step += 1
        self.begin = begin
        self.settled, self.derived = 0, False
        self.order.worked = False
        self._opened()
        if self._requested_at is not None:
            self._requested_at = begin
        if second is not None:
            self.begin, self.current = end, second
            self.order.worked, self.derived = worked, derived
            self._feed_withheld()

    def _request_turn(self, event: Event) -> None:
        now = event[1]
        self._request(event)
        if self._part is not None:
            self._goes_on(event)
        self._finish(now, self.current.pause, None)
        self.step += 1
        self._requested_at = self.begin = now
        self.settled, self.derived, self.order.worked = 0, False, False
        self._opened()

    def _finish(self, end: int, pause: int | None, exposed: int | None) -> None:
        current = self.current
        if losses := current.losses:
            self.out.loss(self.step, losses[0] if len(losses) == 1 else sum(losses))
        (f, b, o), (f_seen, b_seen, o_seen) = current.ns, current.seen
        times = (f if f_seen else None, b if b_seen else None, o if o_seen else None)
        self.out.step(self.step, self.begin, end, current.data, times, pause, exposed, current.items)

    def _end(self, event: Event) -> None:
        _, self.now, made, exposed, other_updates = event
        self._goes_on(event)
        self.order.check()
        self._record_doubt()
        self.overlap.evaluated(self.evaluations.batches)
        self.overlap.close()
        if made:
            if self.evaluations.ns and not self.requests:
                self.evaluations.settle_step()
            end, pause = self._last_update
            self._finish(end, pause, exposed)
        elif not other_updates:
            self.begun = False

    # ------------------------------------------------------------------ a step that may have ended before

    def _may_end(self, event: Event) -> None:
        if self._part is None:
            self._part, self.current = self.current, Contents()
            self._part.end = event[1]

    def _goes_on(self, _: Event) -> None:
        if self._part is not None:
            self.current.follow(self._part)
            self._part = None
            self._feed_withheld()

    def _feed_withheld(self) -> None:
        fed, self._fed = self._fed, []
        for item in fed:
            self._feed(item)

    # ------------------------------------------------------------------ phases and pauses

    def _enter(self, phase: int, now: int) -> None:
        stack = self._stack
        if self._paused:
            return
        if stack:
            self.current.ns[stack[-1]] += now - self._mark
        stack.append(phase)
        self.current.seen[phase] = True
        self._mark = now

    def _exit(self, phase: int, now: int) -> None:
        stack = self._stack
        if stack and stack[-1] == phase and not self._paused:
            stack.pop()
            self.current.ns[phase] += now - self._mark
            self._mark = now

    def _pauses_now(self, event: Event) -> None:
        if not self._paused and self._stack:
            self.current.ns[self._stack[-1]] += event[1] - self._mark
        self._paused += 1

    def _resume(self, event: Event) -> None:
        _, now, since, ns = event
        self._paused -= 1
        if not self._paused:
            self._mark = now
            if self.begun:
                self.current.exclude(ns)
        self.current.pauses.append((now - ns if since is None else since, now))

    def _sets_aside(self, event: Event) -> None:
        _, now, ns, since = event
        self.current.exclude(ns)
        begin = now - ns if since is None else since
        self.current.pauses.append((begin, begin + ns))

    # ------------------------------------------------------------------ data

    def _request(self, event: Event) -> None:
        now = self.now = event[1]
        self.requests = True
        if self._stepping:
            self._stepping.clear()  # a failed step has not reported its end
        if self.evaluations.ns:
            self.evaluations.request(now)
        self._requested_at = now

    def _got(self, event: Event) -> None:
        _, now, fetched = event
        items, ids, source, key, read_as = fetched
        batch = Batch(None if items is None else float(items), ids, source, key)
        read_as.append(batch)
        begin, self._requested_at = self._requested_at, None
        if begin is None:
            return
        ns = batch.ns = now - begin
        batch.begin = begin
        if source is not None and source.has_ids:
            source.left -= 1
            if not source.left:
                self._source_ended(source, now)
        if self.evaluations.since is None:
            self.current.wait(ns)
        else:
            batch.counted = False
        self.order.add(batch)

    def _contents(self, event: Event) -> None:
        _, _, (*_, read_as), contents = event
        read_as[0].contents = contents

    def _skipped(self, event: Event) -> None:
        event[2].left -= 1

    def _lost(self, event: Event) -> None:
        event[2].has_ids = False

    def _gone(self, event: Event) -> None:
        event[2].gone = True

    def _ran_out(self, event: Event) -> None:
        _, now, key, source = event
        if self._requested_at is not None and self.evaluations.since is None:
            self.current.wait(now - self._requested_at)
        self._requested_at = None
        if source is not None:
            self._source_ended(source, now)
        self.order.ran_out(key)

    def _source_ended(self, source: Source, now: int) -> None:
        size = self.ledger.ended(source, now)
        if size is not None:
            self.out.dataset(self.step, size)

    def _feed(self, item: Pass) -> None:
        """The current step trains on a batch, or some rows of it."""
        if self._part is not None:
            self._fed.append(item)
            return
        batch, rows, _, _ = item
        if not batch.counted and batch.begin >= max(self.settled, self.begin):
            batch.counted = True
            self.current.wait(batch.ns)
        items, ids = batch.worked_on(rows, self.step)
        if batch.contents is not None:
            self.out.contents(BATCH_CONTENTS, self.step, batch.contents)
            batch.contents = None
        if items == 0.0:
            return
        source = batch.source
        if ids is not None:
            if source is not None and (epoch := self.ledger.used(source)) is not None:
                self.out.samples(epoch, self.step, ids)
            self.overlap.trained(batch, ids)
        self.current.batches += 1
        if items is not None:
            self.current.items = (self.current.items or 0.0) + items
        if source is not None and source.ended:
            self._source_ended(source, self.now)
        if self.order.doubt:
            self._record_doubt()

    def _record_doubt(self) -> None:
        if self.order.doubt and not self._doubted:
            self._doubted = self.order.doubt
            self.out.unknown_samples(self.now, self.step, self._doubted)

    # ------------------------------------------------------------------ passes

    def _forward(self, event: Event) -> None:
        _, now, flags, found, unknown, sequence, module = event
        matches = [(read_as[0], rows) for (*_, read_as), rows in found]
        self.now = now
        self.calls += 1
        if flags & COUNTS:
            self.evaluations.trained_modules.add(module)
            if self.evaluations.unsettled:
                self.evaluations.end_before_training()
                self.evaluations.settle(module)
            else:
                self.passed = True
            if matches or unknown:
                self.order.passes(matches, unknown, sequence)
            self._enter(FORWARD, now)
            return
        if self._stepping:  # in a closure (LBFGS): this time must not also count as the optimizer's
            self._enter(FORWARD, now)
            return
        self.evaluations.module, self.evaluations.unsettled = module if flags & GRADIENTS else None, True
        if self.requests:
            if flags & GRADIENTS:
                self.evaluations.end_before_training()
            self.evaluations.add_batches(self.order.evaluates(matches, unknown), flags, module)
        elif flags & PARAMETERS:  # loss functions are rarely switched to evaluation mode
            self.evaluations.add_module(0 if flags & (GRADIENTS | TRAINING) else module)
        self._evaluating = now

    def _forwarded(self, event: Event) -> None:
        now = event[1]
        if self._evaluating is None:
            self._exit(FORWARD, now)
            return
        begin, self._evaluating = self._evaluating, None
        if self.begun:
            self.evaluations.add_time(begin, now)

    def _train(self, event: Event) -> None:
        self.evaluations.trained_modules |= event[2]

    def _backward(self, event: Event) -> None:
        _, now, nested, reached = event
        self.now = now
        if not nested and (self.order.fresh or self.evaluations.ns or not self.passed):
            # from functions, unknown modules, or passes that so far only evaluated
            self.evaluations.settle(self.evaluations.module)
        self.derived = True
        for item in self.order.derived(reached):
            self._feed(item)
        self._enter(BACKWARD, now)

    def _backwarded(self, event: Event) -> None:
        _, now, loss = event
        self._exit(BACKWARD, now)
        if loss is not None:
            self.current.losses.append(loss)
            if len(self.current.losses) >= MANY_LOSSES:  # without a torch optimizer no step collects them
                self.current.losses = [sum(self.current.losses)]

    # ------------------------------------------------------------------ optimizers

    def _made(self, _: Event) -> None:
        self.overlap.begins_anew()

    def _update(self, event: Event) -> None:
        self.now = event[1]
        self.evaluations.update()

    def _step(self, event: Event) -> None:
        _, now, optimizer = event
        self._stepping.append(optimizer)
        if len(self._stepping) > 1:  # nested in another's step: part of that
            return
        if self.evaluations.any:
            self._update(event)
        self._enter(OPTIMIZER, now)

    def _stepped(self, event: Event) -> None:
        now = event[1]
        if self._stepping:
            self._stepping.pop()
        if self._stepping:
            return
        self._exit(OPTIMIZER, now)
        if not self.derived and self.order.passing:  # gradients not computed by torch's engine
            for item in self.order.derived(None):
                self._feed(item)
        self.passed = False
        self._last_update = (now, self.current.pause)

    def _record_evaluated(self, data: str, evaluation: Evaluation) -> None:
        self.out.evaluated(self.now, self.step, data, evaluation)
