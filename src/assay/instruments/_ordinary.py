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
        self._recent: list[tuple[Fetched, tuple[Any, ...]]] = []
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
        self._asked, self._at, self._until = asked, ASKED, 1 << step.bit_length()
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
        for one, refs in self._recent:
            self._batches.register(one, [tensor for tensor in (each() for each in refs) if tensor is not None])
        self._recent.clear()
        source, batch = self._source, self._batch
        if source is not None and self._by_order and source not in self._batches.queues:
            self._batches.queues[source] = Queue(source, ahead=0, passes=1)
        self._batches._worked = self._passed
        if batch is None or source is None or self._derived:  # it is one of the recent ones
            return
        refs, begin, ns, items, ids = batch
        one = Fetched(begin, ns, items, ids, source, counted=True, key=source)
        there = [tensor for tensor in (each() for each in refs) if tensor is not None]
        if not self._passed:
            self._batches.add(one, there)
            return
        self._batches.register(one, there)
        self._batches.passing.append(Pass(one, None, 0, -1, by_order=self._by_order))
        self._batch = None

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
            if self._stepped:
                if self._recorder._step + 1 >= self._until:
                    self.leave()
                    return False
                self._turn(now)
            else:  # it accumulates
                return self._refuse()
            self._asked, self._at = now, ASKED
            return True
        except Exception as error:
            return self._fail(error)

    def got(self, iterator: Any, batch: Any) -> bool:
        """It is here."""
        try:
            source = getattr(iterator, "_assay_source", None)
            if source is not self._source and not self._begins(source):
                return self._refuse()
            asked = self._asked
            ns = self._now() - asked
            kind = type(batch)
            if kind is list or kind is tuple:
                tensors = batch
            elif kind is dict:
                tensors = tuple(batch.values())
            else:
                tensors = (batch,)
            if source is None or type(tensors[0]) is not self._tensor:
                return self._refuse()
            ids = source.ids.popleft() if source.ids else None
            self._data, self._at = ns, BETWEEN
            self._batch = (_weakly(tensors), asked, ns, float(tensors[0].shape[0]), ids)
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
                if self._batch is None or not self._is_given(first):
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
        """Whether a call is given the whole batch: as it is, as a view, or a copy by the order that was seen before."""
        known = self._batch[0][0]() if self._batch is not None and self._batch[0] else None
        if known is first and known is not None:
            return not self._by_order
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
            if accumulates and attached._others:
                self._hook = attached._watch_engine(roots[0])
            self._asked = self._now()
            return True
        except Exception as error:
            return self._fail(error)

    def _feed(self) -> None:
        """The batch is trained on in the step under way."""
        refs, begin, ns, items, ids = self._batch  # type: ignore[misc]
        source: Any = self._source
        self._items, recorder = items, self._recorder
        one = Fetched(
            begin,
            ns,
            items,
            ids,
            source,
            counted=True,
            key=source,
            trained=True,
            step=recorder._step,
            worked=None,
            told=None,
        )
        self._recent.append((one, refs))
        if len(self._recent) > LONGEST_WAIT:
            self._recent = [each for each in self._recent if each[1] and each[1][0]() is not None]
            if len(self._recent) > LONGEST_WAIT:  # the script keeps them
                for kept, there in self._recent:
                    self._batches.register(
                        kept, [tensor for tensor in (each() for each in there) if tensor is not None]
                    )
                self._recent.clear()
        if ids is None:
            return
        if not self._known:
            self._known, self._epoch = True, self._attached.sources.used(source)
            self._batches.feeds.add(source)
            if source.ended:
                self._attached.sources.ended(source, recorder)
        if not source.noted:
            self._attached.evaluated.trained(one, ids)
        if self._epoch is not None:
            recorder._epoch = self._epoch
            self._append("samples", (*recorder._key, self._epoch, recorder._step, ids))

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
            if self._roots is not None:
                attached._lose(self._roots)
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
            self._optimizer, self._at, self._stepped = self._now() - self._asked, BETWEEN, True
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
            recorder.lost(losses[0] if len(losses) == 1 else sum(losses))
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


def _weakly(tensors: Any) -> tuple[Any, ...]:
    try:
        return tuple(map(ref, tensors))
    except TypeError:  # among them are what cannot be referenced weakly: numbers, texts, lists
        return tuple(ref(one) for one in tensors if hasattr(one, "untyped_storage"))
