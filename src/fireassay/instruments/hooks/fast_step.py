"""How do we record an ordinary step in as few Python calls as possible?

Between torch's work, each Python call of a hook costs about a microsecond, since its code and data are not cached.
`Attached`, which handles any step, takes a hundred calls for one. Most steps are alike: one batch of the same loader, its forward pass
and those of loss functions, one backward pass, one step of the one optimizer. For these the hooks (`fast_step_hooks`) write times into
the fields of `Ordinary`, each hook in one call, and the end of a step appends one raw row; the writing thread expands it.
Anything unexpected (an evaluation, a slice of a batch, a pause, a second optimizer, the end of an epoch) falls back: `leave` restores
the state that `Attached` would have, which continues from there.

Steps with additional work (hashes, scans for unknown modules: those at 2^k) are left to `Attached`, and so is everything on a GPU.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from fireassay.instruments.hooks.batches import Fetched, Pass, Queue
from fireassay.instruments.hooks.watched_steps import UNWATCHED
from fireassay.instruments.recorder.phases import BACKWARD, FORWARD, OPTIMIZER, HostPhases

if TYPE_CHECKING:
    from fireassay.instruments.hooks.exposed_communication import ExposedCommunication
    from fireassay.instruments.hooks.sample_sources import Source

# Progress of a step: batch requested, received, in forward, forward done, ...
ASKED, GOT, IN_FORWARD, PASSED, IN_BACKWARD, DERIVED, IN_STEP, STEPPED = range(8)
PHASES: Final = ("data", "between", "forward", "between", "backward", "between", "optimizer", "between")
TIMED: Final = 16  # one in so many ordinary steps is timed for its own cost
MOST_RECENT: Final = 64  # batches
MOST_FAILURES: Final = 6  # doublings of the steps before the next attempt: at most 64
WORTH: Final = 8  # consecutive ordinary steps after which an exception (an evaluation) does not count as a failure
Row = tuple[Any, ...]


class Ordinary:
    """The current step, as long as it is ordinary."""

    __slots__ = (
        "_attached",
        "_batches",
        "_entered",
        "_failures",
        "_progress",
        "_recent",
        "_recent_ns",
        "_recorder",
        "_retry",
        "_take",
        "_tensor",
        "_until",
        "allowed",
        "backward_ns",
        "batch",
        "begin",
        "blocked",
        "by_order",
        "cost_ns",
        "epoch",
        "first",
        "forward_ns",
        "gradients",
        "hook",
        "known",
        "loss",
        "now",
        "on",
        "optimizer_id",
        "optimizer_ns",
        "requested_ns",
        "roots",
        "source",
        "state",
        "step",
        "stepped_at",
        "steps",
        "timing",
    )

    def __init__(self, attached: ExposedCommunication, torch: Any) -> None:
        self.on = self.timing = False
        self.allowed = True  # the fast path may be entered
        self._attached, self._recorder = attached, attached._recorder
        self.now, self._batches = attached._now, attached.batches
        self.gradients, self._tensor = torch.is_grad_enabled, torch.Tensor
        self._take = self._recorder._sink.folded(_folding(self._recorder._key))
        self._progress = self._recorder._sink.step
        self._failures = self._retry = self._until = 0
        self._recent: list[Row] = []
        self._recent_ns = 0  # a step's share of the cost of recording them
        self.cost_ns = self.steps = self._entered = 0  # steps: number of ordinary ones
        self.step = self.requested_ns = self.stepped_at = self.blocked = self.optimizer_id = self.optimizer_ns = 0
        self.source: Source | None = None
        self.epoch: int | None = None  # the source's, once a batch of it was trained on
        self.known = self.by_order = False
        self.state = STEPPED
        self.roots = self.hook = None
        self._clear(0)

    def _clear(self, begin: int) -> None:
        """Start a step."""
        self.begin = begin
        self.batch: Any = None  # weak references, request time, ns, items, ids
        self.first: Any = None  # weak reference to its first tensor
        self.forward_ns = self.backward_ns = 0
        self.loss: float | None = None

    # ------------------------------------------------------------------ enter and leave

    def enter(self, requested_ns: int) -> None:
        """The first batch of a step is requested: try the fast path."""
        attached, recorder = self._attached, self._recorder
        step, batches = recorder._step, self._batches
        plain = (
            self.allowed
            and step >= self._retry
            and step & (step - 1)
            and attached._watched
            and attached._cycle is not None
            and len(attached._cycle) == 1
            and "_turn" not in vars(attached)
            and not (attached._stepping or attached._looked or attached._looked_ns or attached._evaluating is not None)
            and not (batches.passing or batches.fresh or batches._looked or batches.doubt or attached._passes)
            and recorder.plain
            and type(recorder._phases) is HostPhases
        )
        if not plain:
            return
        self._clear(recorder._begin)
        self.step, self.requested_ns, self.state = step, requested_ns, ASKED
        self._entered = step
        self._until = min(1 << step.bit_length(), recorder.due)
        self.optimizer_id = next(iter(attached._cycle or (0,)))
        self.source, self.epoch = None, None
        attached._asked = None
        self.on = True

    def leave(self) -> None:
        """Hand the current step back to `Attached`."""
        if not self.on:
            return
        self.on = self.timing = False
        self.steps += self.step - self._entered
        attached, recorder, position = self._attached, self._recorder, self.state
        phases: Any = recorder._phases  # HostPhases, unchanged since `enter`
        passed, derived, stepped = position >= IN_FORWARD, position >= IN_BACKWARD, position == STEPPED
        if position > ASKED and self.batch is not None:
            recorder._data = self.batch[2]
            recorder._items = self.batch[3] if derived else None
        phases.ns[:] = (self.forward_ns, self.backward_ns, self.optimizer_ns if stepped else 0)
        phases.seen[:] = (passed, derived, stepped)
        phases.mark = self.requested_ns
        attached._derived, attached._passed = derived, passed and not stepped
        attached._stepped = {self.optimizer_id: None} if stepped else {}
        if stepped:
            attached.last_update = (self.stepped_at, None, self.blocked)
        if self.loss is not None:
            attached._losses = [self.loss, *attached._losses]
        self._give_back_batch(passed, derived)
        self._give_back_phase()

    def _give_back_phase(self) -> None:
        """Continue the current phase in `Attached`."""
        attached, position = self._attached, self.state
        phases: Any = self._recorder._phases
        if position == ASKED:
            attached._asked = self.requested_ns
        elif position in (IN_FORWARD, IN_BACKWARD, IN_STEP):
            phase = {IN_FORWARD: FORWARD, IN_BACKWARD: BACKWARD}.get(position, OPTIMIZER)
            phases.stack[:] = [phase]
            phases.seen[phase] = True
            if position == IN_BACKWARD:
                attached._passes.append((False, self.roots, self.hook))
            elif position == IN_STEP:
                attached._stepping.append(self.optimizer_id)

    def _give_back_batch(self, passed: bool, derived: bool) -> None:
        """Register the fetched batch with `Attached`."""
        batch, source = self.batch, self.source
        if derived:
            times = (self.forward_ns, self.backward_ns, self.optimizer_ns)
            row = (self.step, self.begin, None, times, None, self.loss, self.epoch, source, batch)
            self._recent.append(row)
            if self.epoch is not None and batch[4] is not None:
                key = self._recorder._key
                self._recorder._append("samples", (*key, self.epoch, self.step, batch[4]))
        self._tell_recent()
        if source is not None and self.by_order and source not in self._batches.queues:
            self._batches.queues[source] = Queue(source, ahead=0, passes=1)
        self._batches._worked = passed
        if batch is None or source is None or derived:  # it is among the recent ones
            return
        refs, begin, ns, items, ids = batch
        fetched = Fetched(begin, ns, items, ids, source, counted=True, key=source)
        if not passed:
            self._batches.add(fetched, _still(refs))
            return
        self._batches.register(fetched, _still(refs))
        self._batches.passing.append(Pass(fetched, None, 0, -1, by_order=self.by_order))

    def _tell_recent(self) -> None:
        """Register the last steps' batches that the script still holds, as trained on."""
        recent, self._recent = self._recent, []
        for row in recent:
            (refs, begin, ns, items, ids), source, step = row[BATCH], row[SOURCE], row[STEP]
            fetched = Fetched(begin, ns, items, ids, source, counted=True, key=source, trained=True, step=step, worked=None, recorded=None)
            if alive := _still(refs):
                self._batches.register(fetched, alive)
            if ids is not None:
                self._attached.evaluated.trained(fetched, ids)

    def refuse(self) -> None:
        """The current step is not an ordinary one."""
        if not self.on:
            return
        step = self._recorder._step
        if self.step - self._entered >= WORTH:
            self._failures = 0
        self._failures = min(self._failures + 1, MOST_FAILURES)
        self._retry = step + (1 << self._failures)
        try:
            self.leave()
        except Exception as error:
            self.fail(error)

    def fail(self, error: Exception) -> None:
        """Handle an internal error."""
        self.on = False
        self._attached.failed(error)

    def phase(self) -> str | None:
        """The current phase, as `Attached` would report it."""
        return None if self._attached._computed is not None else PHASES[self.state]

    # ------------------------------------------------------------------ called by the hooks

    def turns(self, now: int) -> bool:
        """A batch is requested. Whether the ending step was ordinary and the next may be."""
        try:
            attached, step = self._attached, self.step + 1
            if self.state != STEPPED:  # it accumulates, or evaluates
                self.refuse()
                return False
            if step >= self._until:
                self.leave()
                return False
            if attached._losses:
                self._lost()
            exposed = self._communicated(now) if attached._others or attached.reducers or attached.calls.seen else None
            times = (self.forward_ns, self.backward_ns, self.optimizer_ns)
            row = (self.step, self.begin, now, times, exposed, self.loss, self.epoch, self.source, self.batch)
            self._take(row)
            self._recent.append(row)
            self.step = self._recorder._step = attached.calls.step = step
            self._recorder._begin = self.begin = self.requested_ns = now
            self._progress(step, now)
            self.batch = self.loss = None
            self.forward_ns = self.backward_ns = self.state = 0
            if self.timing or not step % TIMED or (attached.reducers and self._sampled()):
                self._time(step, watched=exposed != NOT_LOOKED)
            return True
        except Exception as error:
            self.fail(error)
            return False

    def batch_ready(self, iterator: Any, batch: Any, came: int) -> bool:
        """The batch has arrived. Whether it is as expected."""
        try:
            source = getattr(iterator, "_assay_source", None)
            if self.state != ASKED or source is None or (source is not self.source and not self._begins(source)):
                self.refuse()
                return False
            kind = type(batch)
            tensors = batch if kind is list or kind is tuple else tuple(batch.values()) if kind is dict else (batch,)
            if not tensors or type(tensors[0]) is not self._tensor or not (shape := tensors[0].shape):
                self.refuse()
                return False
            if type(ids := iterator._assay_ids()) is not list:
                ids = None
            try:
                refs = tuple(map(ref, tensors))
            except TypeError:  # it holds objects without weak references: numbers, strings, lists
                refs = tuple(ref(tensor) for tensor in tensors if type(tensor) is self._tensor)
            self.batch = (refs, self.requested_ns, came - self.requested_ns, float(shape[0]), ids)
            self.first, self.state = refs[0], GOT
            if source.tells:
                source.left -= 1
                if not source.left:
                    self._attached.sources.ended(source, self._recorder)
            if self.timing:
                self.cost_ns += self.now() - came
            return True
        except Exception as error:
            self.fail(error)
            return False

    def forward(self, module: Any, inputs: Any) -> bool:
        """The outermost module is called. Whether this is a forward pass of the step."""
        try:
            begun = self.now() if self.timing else 0
            attached = self._attached
            whole = self.state == GOT and not self.by_order and type(inputs) is tuple and self.first() is inputs[0]
            if not (whole and module.training and self.gradients()) and not self._is_part(module, inputs):
                self.refuse()
                return False
            attached.inside, self.state = True, IN_FORWARD
            if attached.outermost._looking:
                attached.outermost.met(type(module))
            else:
                attached.outermost.calls += 1
            self.requested_ns = self.now()
            if begun:
                self.cost_ns += self.requested_ns - begun
            return True
        except Exception as error:
            self.fail(error)
            return False

    def forwarded(self) -> None:
        """The call has returned."""
        if not self.on:
            self._attached.shielded(self._attached.forwarded)
            return
        self.forward_ns += self.now() - self.requested_ns
        self._attached.inside, self.state = False, PASSED

    def _begins(self, source: Source) -> bool:
        """Another iterator is used."""
        queue = self._batches.queues.get(source)
        if queue is not None and (queue.waiting or queue.ahead or queue.group):
            return False
        self.source, self.epoch, self.known = source, None, False
        self.by_order = queue is not None and queue.ahead == 0
        return True

    def _is_part(self, module: Any, inputs: Any) -> bool:
        """Whether the call of an outermost module is a forward pass of this step: of the whole batch, or of a loss function."""
        if not module.training or not self.gradients():
            return False
        first: Any = inputs[0] if type(inputs) is tuple else next(iter(inputs.values()), None)
        if self.state == PASSED:
            return type(first) is self._tensor and bool(first.requires_grad)
        return self.state == GOT and ((not self.by_order and self.first() is first) or self._is_given(first))

    def _is_given(self, first: Any) -> bool:
        """Whether a call gets the whole batch: a view of it, or a copy in the established order."""
        known = self.first()
        if type(first) is not self._tensor:
            return False
        storage = first.untyped_storage()._cdata
        if known is not None and known.untyped_storage()._cdata == storage:
            return not self.by_order and known.numel() == first.numel()
        return self.by_order and not first.requires_grad and storage not in self._batches._pieces

    def begins_epoch(self) -> None:
        """The first batch of this source is trained on."""
        source: Any = self.source
        attached, recorder = self._attached, self._recorder
        self.known, self.epoch = True, attached.sources.used(source)
        self._batches.feeds_training(source)
        if source.ended:
            attached.sources.ended(source, recorder)
        if self.epoch is not None:
            recorder._epoch = self.epoch

    # ------------------------------------------------------------------ the end of a step

    def _lost(self) -> None:
        """Handle a loss that is not a plain number here, or not the only one."""
        attached = self._attached
        losses = attached._losses if self.loss is None else [self.loss, *attached._losses]
        self._recorder.record_loss(losses[0] if len(losses) == 1 else sum(losses))
        self.loss, attached._losses = None, []

    def _communicated(self, now: int) -> int | None:
        """Record this step's communication; its exposed nanoseconds, or `NOT_LOOKED` if it was not watched."""
        attached, recorder = self._attached, self._recorder
        exposed: int | None = NOT_LOOKED
        recorder._exposed = None
        usual = False
        if not attached.calls.unwatched:
            attached._tell_communication()
            exposed = recorder._exposed
        elif not (usual := attached.watched_steps.goes_on(self.step)):
            attached.pass_over(self.step)
        if recorder._flights is not None:
            recorder._flights.ended((self.step, self.begin, now))
        if attached.reducers and not usual:
            attached._log(self.step + 1)
            attached.watched_steps.ended()
            attached.watched_steps.begins(self.step + 1)
        return exposed

    def _sampled(self) -> bool:
        """Whether the beginning step is one of the few that are watched."""
        return self._attached.watched_steps.missed > 0 and not self._attached.calls.unwatched

    def _time(self, step: int, *, watched: bool) -> None:
        """Time one step in many; a batch of rows adds its share to each."""
        if self.timing:
            self._attached._own_ordinary[watched].append(self.cost_ns + self._recent_ns + self._attached.calls.own_ns)
        self.timing = not step % TIMED or self._sampled()
        self.cost_ns = self._attached.calls.own_ns = 0
        if len(self._recent) >= MOST_RECENT:
            begin, count = time.perf_counter_ns(), len(self._recent)
            self._tell_recent()
            self._recent_ns = (time.perf_counter_ns() - begin) // count


STEP, SOURCE, BATCH = 0, 7, 8  # columns of a raw row
NOT_LOOKED: Final = -1  # exposed communication of an unwatched step


def _folding(key: Row) -> Callable[[Sequence[Row]], Mapping[str, list[Row]]]:
    """A function that expands raw rows into table rows; it runs in the writing thread."""

    def fold(raw: Sequence[Row]) -> Mapping[str, list[Row]]:
        steps, prints, samples, unwatched = [], [], [], []
        for step, begin, end, times, exposed, loss, epoch, _, (_, _, data, items, ids) in raw:
            if exposed == NOT_LOOKED:
                unwatched.append((*key, step, UNWATCHED, None, None, None, None))
                exposed = None
            steps.append((*key, step, begin, end, data, *times, None, exposed, items, "monotonic"))
            if loss is not None:
                prints.append((*key, step, "loss", loss, None))
            if epoch is not None and ids is not None:
                samples.append((*key, epoch, step, ids))
        return {"steps": steps, "fingerprints": prints, "samples": samples, "communication": unwatched}

    return fold


def _still(refs: tuple[Any, ...]) -> list[Any]:
    """The referents that are still alive."""
    return [referent for referent in (reference() for reference in refs) if referent is not None]
