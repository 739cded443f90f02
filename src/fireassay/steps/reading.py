"""Which steps, phases, evaluations and samples do a training's events contain?

A step is one update: it begins before waiting for its first batch and ends where the next one begins. The hooks decide where (`Turns` in
`instruments/hooks/turns`), since hashes, watched steps and the limit depend on it; everything else about a step is decided here.
A batch used only without gradients or by a module in evaluation mode is an evaluation, from its request until the request of the next
batch that is trained on. It is excluded from the step, like an evaluation that a script marks. A batch that is evaluated and
trained on, in either order (a teacher, a target network), is training, and the evaluation is part of the forward pass.
Without a loader, passes by the trained module in evaluation mode are an evaluation too, from the first to the last.
Phases are exclusive, as in `recorder/phases`.

An evaluation in the body of a loop leaves the loop's own batch to the training.

Cannot tell: before the first step, and in an epoch that was left early, an evaluation with several loaders at once from the loop's own
batch; a one-batch evaluation in a loop's body from a pass whose batch is trained on; without a loader, an evaluation from a rollout in
evaluation mode that is learned from afterwards; the data time of an iterator that is not a DataLoader (absent, never 0); work between the
phases (unknown time); units of work other than the batch's first dimension, or its samples if it has none; steps without a torch
optimizer (a handwritten update): none is recorded, since all of them would look like one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from fireassay.steps import events
from fireassay.steps.events import COUNTS, GRADIENTS, PARAMETERS, TRAINING, Batch, Event, Source
from fireassay.steps.ledger import Ledger
from fireassay.steps.order import Order, Pass
from fireassay.steps.overlap import Evaluation, Overlap

FORWARD, BACKWARD, OPTIMIZER = range(3)
MANY_LOSSES: Final = 256
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

    def evaluation(self, step: int, begin: int, ns: int) -> None:
        """An evaluation within a step."""

    def evaluated(self, now: int, step: int, data: str, evaluation: Evaluation) -> None:
        """How many evaluated samples were trained on."""

    def unknown_samples(self, now: int, step: int, reason: str) -> None:
        """The samples of this launch are unknown."""

    def dataset(self, step: int, size: int) -> None:
        """The size of the data set in the ledger."""


@dataclass(slots=True)
class Part:
    """A step's data up to where it may have ended."""

    end: int
    data: int | None
    pause: int | None
    items: float | None
    batches: int
    ns: list[int]
    seen: list[bool]
    losses: list[Any]
    pauses: list[tuple[int, int]]


class Steps:
    """The state after the events so far."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self.step = 0
        self.begun = False
        self.calls = 0  # of outermost modules
        self.order, self.ledger, self.overlap = Order(), Ledger(), Overlap(self._tell_evaluated)
        # of the current step
        self._begin = 0
        self._data: int | None = None  # waiting for batches
        self._pause: int | None = None
        self.items: float | None = None
        self.batches = 0
        self._ns, self._seen = [0, 0, 0], [False, False, False]
        self._losses: list[Any] = []
        self._pauses: list[tuple[int, int]] = []  # as reported
        self.derived = False  # gradients were requested
        self._settled = 0  # start of the time in which fetched batches belong to no evaluation
        # of the current phase
        self._stack: list[int] = []  # open phases, innermost last
        self._mark = 0  # when the innermost open phase last started
        self._paused = 0
        self._asked: int | None = None  # when the current batch was requested
        self._looking: int | None = None  # start of the current pass without gradients
        self._stepping: list[int] = []  # optimizers that are stepping now, nested
        self._passed = False  # a forward pass with gradients since an optimizer stepped
        self._last_update: tuple[int, int | None] = (0, None)  # end of the last optimizer step; paused time by then
        # of evaluations
        self._asks = False  # the script requests batches
        self._looked: list[Batch] = []  # used without gradients since the last request
        self._looked_ns = self._look_begin = self._look_end = 0
        self._lookers: set[int] = set()  # their modules, if called without gradients in evaluation mode; else 0
        self._looker: int | None = None  # the last module in evaluation mode, if its gradients may be requested
        self._trains: set[int] = set()  # modules trained without a loader
        self._asked_since_look: int | None = None
        self._evaluating: int | None = None  # start of the current evaluation
        self._unsettled = True  # there may be an evaluation to end
        # of a step that may have ended before
        self._part: Part | None = None
        self._fed: list[Pass] = []  # trained on since
        self._doubted = ""
        self._now = 0
        self._read: tuple[Callable[[Event], None], ...] = self._readers()

    def _readers(self) -> tuple[Callable[[Event], None], ...]:
        by_kind = {
            events.ASK: self._ask,
            events.GOT: self._got,
            events.SKIPPED: self._skipped,
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
            events.ASK_TURN: self._ask_turn,
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
        _, self._begin, self.step = event
        self.begun = True
        self._opened()

    def _withdraw(self, _: Event) -> None:
        self.begun = False

    def _number(self, event: Event) -> None:
        _, _, self.step, epoch = event
        if epoch is not None:
            self.ledger.goes_on(epoch)

    def _opened(self) -> None:
        self.batches = 0
        self._data = self._pause = self.items = None
        self._ns, self._seen = [0, 0, 0], [False, False, False]
        if self._stack:
            self._stack.clear()

    def _turn(self, event: Event) -> None:
        _, end, begin, exposed, earlier = event
        second, worked, derived = None, self.order.worked, self.derived
        if earlier:
            second = self._take(end)
            part, self._part = self._part, None
            if part is not None:
                self._put_back(part)
                end = part.end
        else:
            self._tell_looks(end)  # in the step that ends
        self._finish(end, self._pause, exposed)
        self.step += 1
        self._begin = begin
        self._pauses, self._settled, self.derived = [], 0, False
        self.order.worked = False
        self._opened()
        if self._asked is not None:
            self._asked = begin
        if second is not None:
            self._begin = end
            self._put_back(second)
            self.order.worked, self.derived = worked, derived
            self._feed_withheld()

    def _ask_turn(self, event: Event) -> None:
        now = event[1]
        self._ask(event)
        if self._part is not None:
            self._goes_on(event)
        self._finish(now, self._pause, None)
        self.step += 1
        self._asked = self._begin = now
        if self._pauses:
            self._pauses = []
        self._settled, self.derived, self.order.worked = 0, False, False
        self._opened()

    def _finish(self, end: int, pause: int | None, exposed: int | None) -> None:
        if self._losses:
            self._out.loss(self.step, self._losses[0] if len(self._losses) == 1 else sum(self._losses))
            self._losses = []
        (f, b, o), (f_seen, b_seen, o_seen) = self._ns, self._seen
        times = (f if f_seen else None, b if b_seen else None, o if o_seen else None)
        self._out.step(self.step, self._begin, end, self._data, times, pause, exposed, self.items)

    def _end(self, event: Event) -> None:
        _, self._now, made, exposed, other_updates = event
        self._goes_on(event)
        self.order.check()
        self._tell_doubt()
        self.overlap.looked(self._looked)
        self.overlap.close()
        if made:
            if self._looked_ns and not self._asks:
                self._tell_looks(self._now)
            end, pause = self._last_update
            self._finish(end, pause, exposed)
        elif not other_updates:
            self.begun = False

    # ------------------------------------------------------------------ a step that may have ended before

    def _may_end(self, event: Event) -> None:
        if self._part is None:
            self._part = self._take(event[1])

    def _goes_on(self, _: Event) -> None:
        if self._part is not None:
            part, self._part = self._part, None
            self._put_back(part)
            self._feed_withheld()

    def _feed_withheld(self) -> None:
        fed, self._fed = self._fed, []
        for item in fed:
            self._feed(item)

    def _take(self, end: int) -> Part:
        """Take the current data and reset them."""
        part = Part(end, self._data, self._pause, self.items, self.batches, self._ns, self._seen, self._losses, self._pauses)
        self._data = self._pause = self.items = None
        self.batches, self._losses, self._pauses = 0, [], []
        self._ns, self._seen = [0, 0, 0], [False, False, False]
        return part

    def _put_back(self, part: Part) -> None:
        self._data, self._pause = _sum(part.data, self._data), _sum(part.pause, self._pause)
        self.items, self.batches = _sum(part.items, self.items), part.batches + self.batches
        self._ns = [before + since for before, since in zip(part.ns, self._ns, strict=True)]
        self._seen = [before or since for before, since in zip(part.seen, self._seen, strict=True)]
        self._losses, self._pauses = part.losses + self._losses, part.pauses + self._pauses

    # ------------------------------------------------------------------ phases and pauses

    def _enter(self, phase: int, now: int) -> None:
        stack = self._stack
        if self._paused:
            return
        if stack:
            self._ns[stack[-1]] += now - self._mark
        stack.append(phase)
        self._seen[phase] = True
        self._mark = now

    def _exit(self, phase: int, now: int) -> None:
        stack = self._stack
        if stack and stack[-1] == phase and not self._paused:
            stack.pop()
            self._ns[phase] += now - self._mark
            self._mark = now

    def _pauses_now(self, event: Event) -> None:
        if not self._paused and self._stack:
            self._ns[self._stack[-1]] += event[1] - self._mark
        self._paused += 1

    def _resume(self, event: Event) -> None:
        _, now, since, ns = event
        self._paused -= 1
        if not self._paused:
            self._mark = now
            if self.begun:
                self._pause = (self._pause or 0) + ns
        if since is not None:
            self._pauses.append((since, now))

    def _sets_aside(self, event: Event) -> None:
        _, _, ns, since = event
        self._pause = (self._pause or 0) + ns
        if since is not None:
            self._pauses.append((since, since + ns))

    # ------------------------------------------------------------------ data

    def _waited(self, ns: int) -> None:
        self._data = (self._data or 0) + ns

    def _ask(self, event: Event) -> None:
        now = self._now = event[1]
        self._asks = True
        if self._stepping:
            self._stepping.clear()  # a failed step has not reported its end
        if self._looked_ns:
            self._evaluated(now)
        self._asked = now

    def _got(self, event: Event) -> None:
        _, now, fetched = event
        items, ids, source, key, read_as = fetched
        batch = Batch(None if items is None else float(items), ids, source, key)
        read_as.append(batch)
        begin, self._asked = self._asked, None
        if begin is None:
            return
        ns = batch.ns = now - begin
        batch.begin = begin
        if source is not None and source.tells:
            source.left -= 1
            if not source.left:
                self._source_ended(source, now)
        if self._evaluating is None:
            self._data = (self._data or 0) + ns
        else:
            batch.counted = False
        self.order.add(batch)

    def _skipped(self, event: Event) -> None:
        event[2].left -= 1

    def _lost(self, event: Event) -> None:
        event[2].tells = False

    def _gone(self, event: Event) -> None:
        event[2].gone = True

    def _ran_out(self, event: Event) -> None:
        _, now, key, source = event
        if self._asked is not None and self._evaluating is None:
            self._waited(now - self._asked)
        self._asked = None
        if source is not None:
            self._source_ended(source, now)
        self.order.ran_out(key)

    def _source_ended(self, source: Source, now: int) -> None:
        size = self.ledger.ended(source, now)
        if size is not None:
            self._out.dataset(self.step, size)

    def _feed(self, item: Pass) -> None:
        """The current step trains on a batch, or some rows of it."""
        if self._part is not None:
            self._fed.append(item)
            return
        batch, rows, _, _ = item
        if not batch.counted and batch.begin >= max(self._settled, self._begin):
            batch.counted = True
            self._waited(batch.ns)
        items, ids = batch.worked_on(rows, self.step)
        if items == 0.0:
            return
        source = batch.source
        if ids is not None:
            if source is not None and (epoch := self.ledger.used(source)) is not None:
                self._out.samples(epoch, self.step, ids)
            self.overlap.trained(batch, ids)
        self.batches += 1
        if items is not None:
            self.items = (self.items or 0.0) + items
        if source is not None and source.ended:
            self._source_ended(source, self._now)
        if self.order.doubt:
            self._tell_doubt()

    def _tell_doubt(self) -> None:
        if self.order.doubt and not self._doubted:
            self._doubted = self.order.doubt
            self._out.unknown_samples(self._now, self.step, self._doubted)

    # ------------------------------------------------------------------ passes

    def _forward(self, event: Event) -> None:
        _, now, flags, found, unknown, sequence, module = event
        matches = [(read_as[0], rows) for (*_, read_as), rows in found]
        self._now = now
        self.calls += 1
        if flags & COUNTS:
            if self._unsettled:
                self._settle(module)
            else:
                self._passed = True
            if matches or unknown:
                self.order.passes(matches, unknown, sequence)
            self._enter(FORWARD, now)
            return
        if self._stepping:  # in a closure (LBFGS): this time must not also count as the optimizer's
            self._enter(FORWARD, now)
            return
        self._looker, self._unsettled = module if flags & GRADIENTS else None, True
        if self._asks:
            looked = self.order.looks(matches, unknown)
            for batch in looked:
                batch.evaluated = not flags & TRAINING
            self._looked.extend(looked)
        elif flags & PARAMETERS:  # loss functions are rarely switched to evaluation mode
            self._lookers.add(0 if flags & (GRADIENTS | TRAINING) else module)
        self._looking = now

    def _forwarded(self, event: Event) -> None:
        now = event[1]
        if self._looking is None:
            self._exit(FORWARD, now)
            return
        begin, self._looking = self._looking, None
        if self.begun:
            self._look_begin = self._look_begin if self._looked_ns else begin
            self._look_end = now
            self._looked_ns += now - begin

    def _train(self, event: Event) -> None:
        self._trains |= event[2]

    def _settle(self, module: int | None) -> None:
        """Training continues: the requested batches are in use, evaluations are excluded."""
        self._unsettled = False
        end = self._asked_since_look or 0
        if self.overlap.under_way:
            self.overlap.ended()
        if self._evaluating is not None:
            self._set_aside(self._evaluating, end)
            self._evaluating = None
        self._asked_since_look = None
        if self._looked_ns:
            if not self._asks and module is not None:
                self._tell_looks(self._now)
            self._count_looks()
        if end > self._settled:
            self._settled = end
        if self._looked:
            self.order.looked(self._looked)
        self._forget_looks()
        self._passed = True

    def _backward(self, event: Event) -> None:
        _, now, nested, reached = event
        self._now = now
        if not nested and (self.order.fresh or self._looked_ns or not self._passed):
            # from functions, unknown modules, or passes that so far only evaluated
            self._settle(self._looker)
        self.derived = True
        for item in self.order.derived(reached):
            self._feed(item)
        self._enter(BACKWARD, now)

    def _backwarded(self, event: Event) -> None:
        _, now, loss = event
        self._exit(BACKWARD, now)
        if loss is not None:
            self._losses.append(loss)
            if len(self._losses) >= MANY_LOSSES:  # without a torch optimizer no step collects them
                self._losses = [sum(self._losses)]

    # ------------------------------------------------------------------ optimizers

    def _made(self, _: Event) -> None:
        self.overlap.begins_anew()

    def _update(self, event: Event) -> None:
        """What was evaluated before an update is in the step of that update."""
        self._now = event[1]
        if self._asks:
            ahead = any(batch.key in self.order.feeds for batch in self._looked)  # trained on later
            if self._passed and (self._looked or self._evaluating is not None) and not ahead:
                self._evaluated_before_the_update()
        elif self._looked_ns:
            self._tell_looks(self._now)

    def _step(self, event: Event) -> None:
        _, now, optimizer = event
        self._stepping.append(optimizer)
        if len(self._stepping) > 1:  # nested in another's step: part of that
            return
        if self._looked_ns or self._looked or self._evaluating is not None:
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
        self._passed = False
        self._last_update = (now, self._pause)

    # ------------------------------------------------------------------ evaluations

    def _evaluated(self, now: int) -> None:
        """The batch was not trained on: it was an evaluation, from the time its batch was requested."""
        self.overlap.looked(self._looked)
        if not self._looked:
            self._pause = (self._pause or 0) + self._looked_ns
            self._out.evaluation(self.step, now - self._looked_ns, self._looked_ns)
        elif self._evaluating is None:
            since = self._evaluating = self._looked[0].begin
            for batch in (*self._looked, *self.order.waiting()):
                if batch.counted and batch.begin >= max(since, self._begin):
                    batch.counted = False
                    self._waited(-batch.ns)
        self._asked_since_look = now
        self._forget_looks()
        self._unsettled = True

    def _evaluated_before_the_update(self) -> None:
        """An evaluation between the last gradient and the optimizer's step: recorded now, since the next step begins after that."""
        self.overlap.looked(self._looked)
        since = self._looked[0].begin if self._evaluating is None else self._evaluating
        for batch in (*self._looked, *self.order.waiting()):
            if batch.counted and batch.begin >= max(since, self._begin):
                self._waited(-batch.ns)
        self._set_aside(since, self._look_end if self._looked else self._asked_since_look or since)
        self._evaluating = self._asked_since_look = None
        self._forget_looks()

    def _forget_looks(self) -> None:
        self._looked_ns, self._looker = 0, None
        self._unsettled = self._evaluating is not None or self._asked_since_look is not None or bool(self.overlap.under_way)
        if self._looked:
            self._looked = []
        if self._lookers:
            self._lookers.clear()

    def _tell_looks(self, now: int) -> None:
        """Record the current step's passes without gradients: as an evaluation or as forward time.

        Evaluations are passes by a trained module in evaluation mode, from the first to the last of them. Recorded before the step ends
        and before an optimizer steps.
        """
        self._now = now
        if not self._looked_ns and not self._lookers:
            return
        if self._asks:
            self._count_looks()
            return
        if self._looked_ns and self._lookers and self._lookers <= self._trains:
            self._set_aside(self._look_begin, self._look_end)
            self._looked_ns = 0
        self._count_looks()
        self._forget_looks()

    def _count_looks(self) -> None:
        """Count the passes without gradients so far towards the current step's forward pass."""
        if self._looked_ns:
            self._ns[FORWARD] += self._looked_ns
            self._seen[FORWARD] = True
            self._looked_ns = 0

    def _set_aside(self, begin: int, end: int) -> None:
        """Exclude an evaluation, minus what was already reported; for a prefetched batch, only its part in the current step."""
        begin = max(begin, self._begin)
        if end <= begin:
            return
        paused = covered((max(since, begin), min(other, end)) for since, other in self._pauses if other > begin)
        ns = max(0, end - begin - paused)
        self._pause = (self._pause or 0) + ns
        self._out.evaluation(self.step, begin, ns)

    def _tell_evaluated(self, data: str, evaluation: Evaluation) -> None:
        self._out.evaluated(self._now, self.step, data, evaluation)


def covered(intervals: Iterable[tuple[int, int]]) -> int:
    """The total length of the union of the intervals."""
    total, reach = 0, None
    for begin, end in sorted(intervals):
        if reach is None or begin > reach:
            total, reach = total + end - begin, end
        elif end > reach:
            total, reach = total + end - reach, end
    return total


def _sum(first: Any, second: Any) -> Any:
    return second if first is None else first if second is None else first + second


__all__ = ["Output", "Sequence", "Steps", "covered"]
