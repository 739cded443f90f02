"""How is an ordinary step seen in as few calls as possible?

Between torch's own work each Python call of a hook costs a microsecond or so: neither its code nor its data are in the caches.  `Attached`, which
sees any step rightly, takes a hundred calls for one.  Most steps are alike: one batch of the same loader, its forward pass and those
of loss functions, one backward pass, one step of the one optimizer.  For these the hooks call what is here, which keeps the state of the
step under way in its own fields and writes the same rows.  Whatever is not as expected (an evaluation, a slice of a batch, a pause, a second
optimizer, the end of an epoch) is given back: `leave` puts the step under way where `Attached` would have it, which goes on from there.

Steps in which more is due (hashes, looks for unknown modules: those at 2^k) are `Attached`'s, and so is everything on a GPU.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from assay.instruments._batches import Fetched, Pass, Queue
from assay.instruments._phases import BACKWARD, FORWARD, OPTIMIZER, HostPhases

if TYPE_CHECKING:
    from assay.instruments._attached import Attached
    from assay.instruments._sources import Source

BETWEEN, ASKED, IN_FORWARD, IN_BACKWARD, IN_STEP = range(5)
TIMED: Final = 16  # one of so many ordinary steps is timed: what it takes itself
MOST_RECENT: Final = 64  # batches
LONGEST_WAIT: Final = 64  # steps before the next attempt, where steps turn out not to be ordinary
METHODS: Final = ("ask", "got", "forward", "forwarded", "backward", "backwarded", "step", "stepped")


class Ordinary:
    """The step under way, while it is like the others.  Its methods say whether they took what the hook saw."""

    def __init__(self, attached: Attached, torch: Any) -> None:
        self.on = False
        self._attached, self._recorder = attached, attached._recorder
        self._now, self._batches = attached._now, attached.batches
        self._gradients, self._tensor = torch.is_grad_enabled, torch.Tensor
        self._append = self._recorder._append
        self._progress = self._recorder._sink.step
        self._failures = self._streak = self._retry = self._until = 0
        self._recent: list[tuple[Any, Source, int]] = []
        self._own = 0
        self._clear(0)
        self._at, self._source, self._epoch = BETWEEN, None, None  # type: tuple[int, Source | None, int | None]

    def _clear(self, begin: int) -> None:
        """A step begins."""
        self._begin = begin
        self._data: int | None = None
        self._forward = self._backward = self._optimizer = 0
        self._items: float | None = None
        self._batch: tuple[Any, ...] | None = None  # fetched and not worked on: weak references, begin, ns, items, ids
        self._passed = False  # it was given to a module
        self._derived = self._stepped = False

    # ------------------------------------------------------------------ in and out

    def enter(self, asked: int) -> None:
        """The first batch of a step is asked for: this step may be an ordinary one."""
        attached, recorder = self._attached, self._recorder
        step, batches = recorder._step, self._batches
        plain = (
            step >= self._retry
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
        self._asked, self._at, self._until = asked, ASKED, min(1 << step.bit_length(), recorder.due)
        self._optimizer_id = next(iter(attached._cycle or (0,)))
        self._source, self._epoch = None, None
        attached._asked = None
        self.on = True

    def leave(self) -> None:
        """Give the step under way back."""
        if not self.on:
            return
        self.on = False
        self._timed(timed=False)
        attached, recorder = self._attached, self._recorder
        phases: Any = recorder._phases  # HostPhases, as they were when this began
        recorder._begin, recorder._data, recorder._items = self._begin, self._data, self._items
        phases.ns[:] = (self._forward, self._backward, self._optimizer)
        phases.seen[:] = (self._passed, self._derived, self._stepped)
        phases.mark = self._asked
        attached._derived, attached._passed = self._derived, self._passed and not self._stepped
        attached._stepped = {self._optimizer_id: None} if self._stepped else {}
        self._give_back_batch()
        if self._at == ASKED:
            attached._asked = self._asked
        elif self._at != BETWEEN:
            phase = (FORWARD, BACKWARD, OPTIMIZER)[self._at - IN_FORWARD]
            phases.stack[:] = [phase]
            phases.seen[phase] = True
            if self._at == IN_BACKWARD:
                attached._passes.append((False, self._roots, self._hook))
            elif self._at == IN_STEP:
                attached._stepping.append(self._optimizer_id)
        self._at = BETWEEN

    def _give_back_batch(self) -> None:
        """What was fetched here is known there too."""
        self._tell_recent()
        source, batch = self._source, self._batch
        if source is not None and self._by_order and source not in self._batches.queues:
            self._batches.queues[source] = Queue(source, ahead=0, passes=1)
        self._batches._worked = self._passed
        if batch is None or source is None or self._derived:  # it is one of the recent ones
            return
        refs, begin, ns, items, ids = batch
        one = Fetched(begin, ns, items, ids, source, counted=True, key=source)
        if not self._passed:
            self._batches.add(one, _still(refs))
            return
        self._batches.register(one, _still(refs))
        self._batches.passing.append(Pass(one, None, 0, -1, by_order=self._by_order))
        self._batch = None

    def _tell_recent(self) -> None:
        """The batches of the last steps: what the script keeps of them, and that they were trained on."""
        recent, self._recent = self._recent, []
        for (refs, begin, ns, items, ids), source, step in recent:
            one = Fetched(
                begin, ns, items, ids, source, counted=True, key=source, trained=True, step=step, worked=None, told=None
            )
            if there := _still(refs):
                self._batches.register(one, there)
            if ids is not None:
                self._attached.evaluated.trained(one, ids)

    def _refuse(self) -> bool:
        """This step is not an ordinary one."""
        self._failures = min(self._failures + 1, 6)
        self._streak = 0
        self._retry = self._recorder._step + (1 << self._failures)
        self.leave()
        return False

    def _fail(self, error: Exception) -> bool:
        self.on = False
        self._attached.failed(error)
        return False

    # ------------------------------------------------------------------ what the hooks see

    def ask(self) -> bool:
        """A batch is asked for."""
        try:
            if self._at != BETWEEN or (self._batch is not None and not self._derived):
                return self._refuse()
            now = self._now()
            if not self._stepped:  # it accumulates
                return self._refuse()
            if self._recorder._step + 1 >= self._until:
                self.leave()
                return False
            self._turn(now)
            self._asked, self._at = now, ASKED
            return True
        except Exception as error:
            return self._fail(error)

    def got(self, iterator: Any, batch: Any) -> bool:
        """It is here."""
        try:
            ns = self._now() - self._asked
            source = getattr(iterator, "_assay_source", None)
            if source is not self._source and not self._begins(source):
                return self._refuse()
            kind = type(batch)
            if kind is list or kind is tuple:
                tensors = batch
            elif kind is dict:
                tensors = tuple(batch.values())
            else:
                tensors = (batch,)
            if source is None or not tensors or type(tensors[0]) is not self._tensor or not (shape := tensors[0].shape):
                return self._refuse()
            ids = source.ids.popleft() if source.ids else None
            self._data, self._at = ns, BETWEEN
            try:
                refs = tuple(map(ref, tensors))
            except TypeError:  # among them are what cannot be referenced weakly: numbers, texts, lists
                refs = tuple(ref(one) for one in tensors if type(one) is self._tensor)
            self._batch = (refs, self._asked, ns, float(shape[0]), ids)
            if source.tells:
                source.left -= 1
                if not source.left:
                    self._attached.sources.ended(source, self._recorder)
            return True
        except Exception as error:
            return self._fail(error)

    def _begins(self, source: Source | None) -> bool:
        """Another iterator is asked."""
        if source is None:
            return False
        queue = self._batches.queues.get(source)
        if queue is not None and (queue.waiting or queue.ahead or queue.group):
            return False
        self._source, self._epoch, self._known = source, None, False
        self._by_order = queue is not None and queue.ahead == 0
        return True

    def forward(self, module: Any, inputs: Any) -> bool:
        """The outermost module is called."""
        try:
            if self._at != BETWEEN or self._stepped or not module.training or not self._gradients():
                return self._refuse()
            first = inputs[0] if type(inputs) is tuple else next(iter(inputs.values()), None)
            if not self._passed:
                batch = self._batch
                if batch is None or ((self._by_order or batch[0][0]() is not first) and not self._is_given(first)):
                    return self._refuse()
                self._passed = True
            elif type(first) is not self._tensor or not getattr(
                first, "requires_grad", False
            ):  # not of a loss function
                return self._refuse()
            attached = self._attached
            attached.inside, self._at = True, IN_FORWARD
            if attached.outermost._looking:
                attached.outermost.met(type(module))
            else:
                attached.outermost.calls += 1
            self._asked = self._now()
            return True
        except Exception as error:
            return self._fail(error)

    def _is_given(self, first: Any) -> bool:
        """Whether a call is given the whole batch: a view of it, or a copy by the order that was seen before."""
        known = self._batch[0][0]() if self._batch is not None else None
        if type(first) is not self._tensor:
            return False
        storage = first.untyped_storage()._cdata
        if known is not None and known.untyped_storage()._cdata == storage:
            return not self._by_order and known.numel() == first.numel()
        return self._by_order and not first.requires_grad and storage not in self._batches._pieces

    def forwarded(self) -> None:
        """It has answered."""
        if not self.on:
            self._attached.shielded(self._attached.forwarded)
            return
        self._forward += self._now() - self._asked
        self._attached.inside, self._at = False, BETWEEN

    def backward(self, roots: Any, accumulates: bool) -> bool:
        """Gradients are asked for."""
        try:
            if self._at != BETWEEN or self._derived or self._stepped or not self._passed:
                return self._refuse()
            attached = self._attached
            attached.inside, self._at, self._derived = True, IN_BACKWARD, True
            self._feed()
            self._roots = roots if accumulates else None
            attached._computed = self._hook = None
            if accumulates and attached._together():
                self._hook = attached._watch_engine(roots[0])
            self._asked = self._now()
            return True
        except Exception as error:
            return self._fail(error)

    def _feed(self) -> None:
        """The batch is trained on in the step under way."""
        batch: Any = self._batch
        source: Any = self._source
        ids, self._items, recorder = batch[4], batch[3], self._recorder
        step = recorder._step
        self._recent.append((batch, source, step))
        if len(self._recent) > MOST_RECENT:
            self._tell_recent()
        if ids is None:
            return
        if not self._known:
            self._known, self._epoch = True, self._attached.sources.used(source)
            self._batches.feeds.add(source)
            if source.ended:
                self._attached.sources.ended(source, recorder)
        if self._epoch is not None:
            recorder._epoch = self._epoch
            self._append("samples", (*recorder._key, self._epoch, step, ids))

    def backwarded(self) -> None:
        """They are there."""
        attached = self._attached
        if not self.on:
            attached.shielded(attached.backwarded)
            return
        try:
            ended = self._now()
            self._backward = ended - self._asked
            attached.inside, self._at = False, BETWEEN
            if self._hook is not None:
                attached._computed_until(self._hook, "backward", ended)
            roots = self._roots
            if roots is not None and len(roots) == 1:
                root = roots[0]
                if type(root) is self._tensor and root.is_cpu and root.numel() == 1:
                    attached._losses.append((attached.unscaled(root) if attached.scales else root).item())
                else:
                    attached._lose(roots)
        except Exception as error:
            self._fail(error)
        self._roots = self._hook = None

    def step(self, optimizer: Any) -> bool:
        """The optimizer begins to step."""
        try:
            if self._at != BETWEEN or self._stepped or not self._derived or id(optimizer) != self._optimizer_id:
                return self._refuse()
            self._at, self._asked = IN_STEP, self._now()
            return True
        except Exception as error:
            return self._fail(error)

    def stepped(self, optimizer: Any) -> bool:
        """It has stepped."""
        try:
            if self._at != IN_STEP or id(optimizer) != self._optimizer_id:
                return self._refuse()
            now = self._now()
            self._optimizer, self._at, self._stepped = now - self._asked, BETWEEN, True
            self._attached.last_update = (now, None, self._attached.calls.blocked_ns)
            return True
        except Exception as error:
            return self._fail(error)

    def phase(self) -> str | None:
        """The phase under way, as `Attached` would tell it."""
        if self._attached._computed is not None:
            return None
        return ("between", "data", "forward", "backward", "optimizer")[self._at]

    # ------------------------------------------------------------------ the end of a step

    def _turn(self, now: int) -> None:
        attached, recorder = self._attached, self._recorder
        losses, step, key = attached._losses, recorder._step, recorder._key
        if losses:
            if len(losses) == 1 and type(losses[0]) is float:
                self._append("fingerprints", (*key, step, "loss", losses[0], None))
            else:
                recorder.lost(sum(losses))
            attached._losses = []
        exposed = None
        if attached._others or attached.reducers or attached.calls.seen:
            recorder._exposed = None
            attached._tell_communication()
            exposed = recorder._exposed
            if recorder._flights is not None:
                recorder._flights.ended((step, self._begin, now))
            if attached.reducers:
                attached._log(step + 1)
        times = (self._data, self._forward, self._backward, self._optimizer)
        self._append("steps", (*key, step, self._begin, now, *times, None, exposed, self._items, "monotonic"))
        step = recorder._step = attached.calls.step = step + 1
        recorder._begin, recorder._batches = now, 0
        self._progress(step, now)
        self._begin, self._batch, self._data, self._items = now, None, None, None
        self._forward = self._backward = self._optimizer = 0
        self._passed = self._derived = self._stepped = False
        self._streak += 1
        if self._streak == LONGEST_WAIT:
            self._failures = 0
        if attached._pauses:
            attached._pauses = []
        if not step % TIMED:
            self._timed(timed=True)
        elif step % TIMED == 1 and "ask" in self.__dict__:
            self._timed(timed=False)

    def _timed(self, *, timed: bool) -> None:
        """Time what is done here, for one step."""
        own = self.__dict__
        if not timed:
            if "ask" in own:
                for name in METHODS:
                    del own[name]
                self._attached._own.append(self._own + self._attached.calls.own_ns)
            self._attached.calls.own_ns = 0
            return
        self._own = self._attached.calls.own_ns = 0
        for name in METHODS:
            own[name] = self._timing(getattr(self, name))

    def _timing(self, method: Any) -> Any:
        def timed(*arguments: Any) -> Any:
            begin = time.perf_counter_ns()
            taken = method(*arguments)
            self._own += time.perf_counter_ns() - begin
            return taken

        return timed


def _still(refs: tuple[Any, ...]) -> list[Any]:
    """Those that are still there."""
    return [one for one in (each() for each in refs) if one is not None]
