"""Which fetched batches did a step train on, and which of their rows?

By identity, if visible: the tensors of a batch and the inputs of the outermost module's call share a storage, whatever views lie
between them (`.to` the same device, slices, reshaping). The storages are referenced weakly: nothing is kept in memory, and an address
is not reused while it is known.
By order, if the script copies (to a GPU, by a transform): the batch fetched last; the one before it if the script prefetches one batch
(accelerate's loaders); or each in turn if it fetches several before using them (transformers' accumulation). If the order is ambiguous,
the sample ledger of this launch is unknown, with the reason.

A batch counts when its gradients are requested, in the step of that backward pass. Of several forward passes since the last backward
pass, those count that its graph reaches (by autograd's sequence numbers): a discarded batch does not count.

Ids are recorded once per fetched row; items in each step that uses them (several updates on one batch, a replayed list of batches).

Cannot tell: gradients discarded after their backward pass; the rows of a non-contiguous slice (then the whole batch counts); by order,
a batch that is trained on again.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from fireassay.instruments.hooks.sample_sources import Source

MOST_TENSORS: Final = 8  # in a batch or a call
MOST_SHARED: Final = 4096  # batches that are views of one storage
MOST_NODES: Final = 20_000  # searched in a graph


@dataclass(slots=True, eq=False)
class Fetched:
    """A fetched batch."""

    begin: int
    ns: int
    items: float | None
    ids: list[int] | None
    source: Source | None
    counted: bool  # the wait is part of the step's data time
    key: Any  # of its iterator
    trained: bool = False
    evaluated: bool = False  # used in evaluation mode
    step: int = -1  # the last step that used it
    worked: set[int] | None = field(default_factory=set)  # rows used by this step; None: all of them
    recorded: set[int] | None = field(default_factory=set)  # rows whose ids were recorded; None: all of them

    def worked_on(self, rows: range | None, step: int) -> tuple[float | None, list[int] | None]:
        """(items new to this step, ids not recorded before); 0 items if nothing is new."""
        self.trained = True
        if self.step != step:
            self.step, self.worked = step, set()
        if self.worked is None or (rows is not None and self.worked.issuperset(rows)):
            return 0.0, None
        if rows is None or self.items is None or not rows:
            items = self.items if self.items is None else self.items - len(self.worked)
            self.worked = None
            return items, self._ids(None)
        items = float(len(self.worked.union(rows)) - len(self.worked))
        self.worked.update(rows)
        return items, self._ids(rows)

    def _ids(self, rows: range | None) -> list[int] | None:
        if self.ids is None or self.recorded is None:
            return None
        if rows is None:
            ids = [id for row, id in enumerate(self.ids) if row not in self.recorded] if self.recorded else self.ids
            self.recorded = None
            return ids or None
        ids = [self.ids[row] for row in rows if row not in self.recorded]
        self.recorded.update(rows)
        return ids or None


class Piece:
    """A tensor of a batch, by its weakly referenced storage."""

    __slots__ = ("_free", "fetched", "numel", "ptr", "row_bytes", "rows", "storage")

    def __init__(self, fetched: Fetched, tensor: Any, storage: Any) -> None:
        self.fetched, self.numel, self.ptr = fetched, tensor.numel(), tensor.data_ptr()
        self.rows = tensor.shape[0] if tensor.dim() else 0
        contiguous = self.rows and tensor.is_contiguous()
        self.row_bytes = self.numel // self.rows * tensor.element_size() if contiguous else 0
        self.storage, self._free = storage._weak_ref(), storage._free_weak_ref

    def __del__(self) -> None:
        self._free(self.storage)

    def slice_of(self, tensor: Any) -> range | None:
        """The rows that a tensor of the same storage covers; None: all of them."""
        fetched, numel = self.fetched, tensor.numel()
        if fetched.items != self.rows or (fetched.ids is not None and len(fetched.ids) != self.rows):  # rows are not samples
            return None
        if numel >= self.numel or not self.row_bytes or not tensor.is_contiguous():
            return None
        first, misaligned = divmod(tensor.data_ptr() - self.ptr, self.row_bytes)
        number, rest = divmod(numel * tensor.element_size(), self.row_bytes)
        if misaligned or rest or not 0 <= first < first + number <= self.rows:
            return None
        return range(first, first + number)


@dataclass(slots=True, eq=False)
class Queue:
    """The unused batches of an iterator."""

    source: Source | None
    waiting: deque[Fetched] = field(default_factory=deque)
    ahead: int | None = None  # batches prefetched, if matched by order; None: not yet known
    group: int = 0  # batches fetched before one pass for each; 0: no such groups
    passes: int = 0  # passes that took one batch each, by order
    short: bool = False  # the last group had fewer, as only the last of an epoch may
    ended: bool = False
    matched: bool = False  # by identity, at least once


@dataclass(slots=True, eq=False)
class Pass:
    """A forward pass, with gradients, of a batch or some of its rows."""

    fetched: Fetched
    rows: range | None
    begin: int  # autograd's sequence number
    end: int
    by_order: bool


class Batches:
    """The batches of this process."""

    def __init__(self, torch: Any) -> None:
        self._tensor, self._expired = torch.Tensor, torch.UntypedStorage._expired
        self._sequence = torch._C._autograd._get_sequence_nr
        self._pieces: dict[int, Piece | dict[int, Piece]] = {}
        self._sweep = 64
        self.queues: dict[Any, Queue] = {}  # by iterator
        self.fresh: list[Any] = []  # iterators used since the last forward pass
        self.feeds: set[Any] = set()  # iterators whose batches were trained on
        self._many_feeds = 64
        self.passing: list[Pass] = []  # forward passes with gradients since the last backward pass
        self._looked: list[Fetched] = []  # without gradients, before the pass
        self._worked = False  # a module received a batch, or a possible one, in the current step
        self._last: Queue | None = None  # the queue last matched by order
        self._ahead: set[Any] = set()  # data sets whose loaders prefetch, confirmed by a whole epoch
        self.doubt = ""  # why the trained batches are unknown

    # ------------------------------------------------------------------ fetching

    def add(self, fetched: Fetched, batch: Any) -> None:
        """A batch has arrived."""
        queue = self.queues.get(fetched.key)
        if queue is None:
            queue = self.queues[fetched.key] = Queue(fetched.source)
        if queue.group and fetched.key not in self.fresh and (queue.waiting or queue.short):
            self.doubt = f"batches were fetched in groups of {queue.group}, then in another order, and were copied before use"
        queue.waiting.append(fetched)
        self.refresh(fetched.key)
        self.register(fetched, batch)

    def register(self, fetched: Fetched, batch: Any) -> None:
        """Index a batch's tensors by storage."""
        for tensor in _tensors(batch, self._tensor):
            self._register(fetched, tensor)
        if len(self._pieces) > self._sweep:
            self._forget_expired()

    def _register(self, batch: Fetched, tensor: Any) -> None:
        try:
            piece = Piece(batch, tensor, tensor.untyped_storage())
        except (RuntimeError, NotImplementedError):  # sparse, or without storage
            return
        known = self._pieces.get(piece.storage)
        if known is None:
            self._pieces[piece.storage] = piece
            return
        shared = known if isinstance(known, dict) else {known.ptr: known}
        shared.pop(piece.ptr, None)  # the same rows, fetched again
        shared[piece.ptr] = piece
        if len(shared) > MOST_SHARED:
            shared.pop(next(iter(shared)))
        self._pieces[piece.storage] = shared

    def _forget_expired(self) -> None:
        for storage in [storage for storage in self._pieces if self._expired(storage)]:
            del self._pieces[storage]
        self._sweep = max(64, 2 * len(self._pieces))
        for key in [key for key, queue in self.queues.items() if _is_over(queue)]:
            if key not in self.fresh:
                del self.queues[key]

    def refresh(self, key: Any) -> None:
        """A batch is requested from this iterator."""
        if key not in self.fresh:
            self.fresh.append(key)

    def ran_out(self, key: Any) -> None:
        """An epoch has ended. A prefetched batch may still be used."""
        self.feeds.discard(key)
        queue = self.queues.get(key)
        if queue is None:
            return
        queue.ended = True
        if queue.waiting:
            self.refresh(key)
        else:
            self._over(key, queue)

    def feeds_training(self, key: Any) -> None:
        """Note that this iterator feeds the training; forget dead ones, since a script may create one per step."""
        self.feeds.add(key)
        if len(self.feeds) > self._many_feeds:
            self.feeds = {feed for feed in self.feeds if feed is key or getattr(feed, "alive", True)}
            self._many_feeds = max(64, 2 * len(self.feeds))

    def _over(self, key: Any, queue: Queue) -> None:
        """All batches of an iterator were used: the assumed order was right."""
        del self.queues[key]
        if queue.ahead == 1:
            self._ahead.add(_data(queue))

    def waiting(self) -> Iterator[Fetched]:
        """The unused batches."""
        return (batch for queue in self.queues.values() for batch in queue.waiting)

    # ------------------------------------------------------------------ by identity

    def _match(self, tensor: Any) -> tuple[Fetched, range | None] | None:
        try:
            piece = self._pieces.get(tensor.untyped_storage()._cdata)
        except (RuntimeError, NotImplementedError):
            return None
        if piece is None:
            return None
        if isinstance(piece, dict):
            piece = piece.get(tensor.data_ptr())
            return None if piece is None or tensor.numel() > piece.numel else (piece.fetched, piece.slice_of(tensor))
        return piece.fetched, piece.slice_of(tensor)

    def _matches(self, inputs: Any) -> tuple[list[tuple[Fetched, range | None]], bool]:
        """(batches passed to a call, whether it may also receive an unidentifiable one)."""
        matches: dict[Fetched, range | None] = {}
        computed = first = True
        for tensor in _tensors(inputs, self._tensor):
            if (match := self._match(tensor)) is not None:
                matches.setdefault(*match)
            if first:
                computed, first = tensor.requires_grad, False
        return list(matches.items()), not matches and (first or not computed)

    def _met(self, batch: Fetched) -> None:
        """The batch was passed to a module: no longer unused."""
        queue = self.queues.get(batch.key)
        if queue is None:
            return
        queue.matched = True
        if batch in queue.waiting:
            queue.waiting.remove(batch)
        if batch.key in self.fresh:
            self.fresh.remove(batch.key)
        if queue.ended and not queue.waiting:
            del self.queues[batch.key]

    # ------------------------------------------------------------------ passes

    def looks(self, inputs: Any) -> list[Fetched]:
        """The batches passed to a call without gradients and not trained on before."""
        matches, unknown = self._matches(inputs)
        for batch, _ in matches:
            self._met(batch)
        if matches or not unknown:
            return [batch for batch, _ in matches if not batch.trained]
        return self._take(self._looked_into())

    def looked(self, batches: Sequence[Fetched]) -> None:
        """Note batches used without gradients before the current pass: they may be trained on."""
        self._looked.extend(batches)

    def passes(self, inputs: Any) -> None:
        """A module is called with gradients."""
        matches, unknown = self._matches(inputs)
        begin = self._sequence()
        for batch, rows in matches:
            self._met(batch)
            self._give_back(batch)
            self.passing.append(Pass(batch, rows, begin, -1, by_order=False))
        if matches or unknown:
            self._worked = True
        if not matches and unknown:
            self._suppose(begin)

    def _suppose(self, begin: int) -> None:
        examined, self._looked = self._looked, []
        next_batches = self._take(self._trained_by_order()) if self.fresh else self._next_of_group()
        for batch in (*examined, *next_batches):
            self.passing.append(Pass(batch, None, begin, -1, by_order=True))

    def _give_back(self, batch: Fetched) -> None:
        """Undo a match by order, now that identity shows another batch."""
        for mistaken in [passing for passing in self.passing if passing.by_order and passing.fetched.key == batch.key]:
            self.passing.remove(mistaken)
            queue = self.queues.get(batch.key)
            if mistaken.fetched is not batch and queue is not None:
                queue.waiting.appendleft(mistaken.fetched)

    def passed(self) -> None:
        """The call has returned."""
        end = self._sequence()
        for passing in reversed(self.passing):
            if passing.end >= 0:
                break
            passing.end = end

    def next_step(self) -> None:
        """A step has ended."""
        self._worked = False

    def derived(self, roots: Any) -> list[Pass]:
        """The passes whose gradients are requested; all of them if the roots are unknown."""
        if not self.passing:
            if self._worked:  # another pass over the same graph
                return []
            self._suppose(0)
        passing, self.passing = self.passing, []
        self._looked = []
        if len({id(item.fetched) for item in passing}) > 1 and roots:
            passing = self._reached(roots, passing)
        for item in passing:
            self.feeds_training(item.fetched.key)
        return passing

    def _reached(self, roots: Any, passing: list[Pass]) -> list[Pass]:
        """The passes in the backward graph; later ones may still get their own, earlier ones were discarded."""
        begins = [item.begin for item in passing]
        sought, reached = {item.begin for item in passing}, set[int]()
        nodes = [node for root in roots if (node := getattr(root, "grad_fn", None) or getattr(root, "node", None)) is not None]
        seen = set(nodes)
        while nodes and reached != sought:
            node = nodes.pop()
            number = node._sequence_nr()
            index = bisect_right(begins, number) - 1
            if index >= 0 and (number < passing[index].end or passing[index].end < 0):
                reached.add(begins[index])
            fresh = [item for item, _ in node.next_functions if item is not None and item not in seen]
            seen.update(fresh)
            nodes.extend(fresh)
            if len(seen) > MOST_NODES:
                self.doubt = "several forward passes preceded one backward pass, whose graph is too large to tell which batch it belongs to"
                return passing
        last = max((index for index, item in enumerate(passing) if item.begin in reached), default=len(passing))
        self.passing = [item for item in passing[last + 1 :] if item.begin not in reached]
        return [item for item in passing if item.begin in reached]

    # ------------------------------------------------------------------ by order

    def _looked_into(self) -> list[Any]:
        """The iterators that an evaluation reads, if several are in use.

        A loop's own batch was requested before an evaluation in its body and is trained on afterwards, so an iterator that feeds the
        training is excluded if there is another; before the first step, the evaluation reads the iterator used last.
        """
        fresh = self.fresh
        if len(fresh) < 2:
            return fresh[:]
        if not self.feeds:
            return fresh[-1:]
        return [key for key in fresh if key not in self.feeds] or fresh[:]

    def _trained_by_order(self) -> list[Any]:
        """The iterators whose batches are trained on: those still alive, else the one used last.

        The others were only peeked at, left early, or read to the end for data statistics.
        """
        alive = [key for key in self.fresh if _is_alive(self.queues.get(key))]
        chosen = alive or self.fresh[-1:]
        by_loader: dict[Any, Any] = {}
        for key in chosen:
            queue = self.queues.get(key)
            by_loader[key if queue is None or queue.source is None else queue.source.loader] = key
        if len(by_loader) < len(chosen):
            self.doubt = "two iterators of one loader were advanced before a pass that used a copied batch; which batch it was is unknown"
        self.fresh = [key for key in chosen if key in by_loader.values()]
        return self.fresh[:]

    def _take(self, keys: Sequence[Any]) -> list[Fetched]:
        """The next batch by order, from each of these iterators that was used since the last time."""
        batches = []
        for key in keys:
            queue = self.queues.get(key)
            if queue is not None and queue.waiting:
                batches.append(self._next(queue))
            self.fresh.remove(key)
            if queue is not None and queue.ended and not queue.waiting:
                self._over(key, queue)
        return batches

    def _next(self, queue: Queue) -> Fetched:
        """The batch of an iterator that was used again."""
        waiting, self._last = queue.waiting, queue
        if queue.group:
            queue.short = len(waiting) < queue.group
            return waiting.popleft()
        if queue.ahead is None:
            self._check(queue)
            queue.ahead = len(waiting) - 1
            if queue.ahead > 1:
                self._begin_groups(queue, len(waiting))
                return waiting.popleft()
        for _ in range(len(waiting) - 1 - queue.ahead):
            waiting.popleft()  # discarded
        queue.passes += 1
        return waiting.popleft()

    def _next_of_group(self) -> list[Fetched]:
        """The batch of an iterator that was not used again."""
        queue = self._last
        if queue is None or not queue.waiting:
            return []
        if not queue.group and queue.ahead == 1 and queue.passes == 1:
            self._begin_groups(queue, 2)
        return [queue.waiting.popleft()] if queue.group else []

    def _begin_groups(self, queue: Queue, size: int) -> None:
        queue.ahead, queue.group = 0, size
        if queue.ended and size > 2:
            self.doubt = f"{size} batches were fetched before the first of them was used, as a copy"

    def close(self) -> None:
        """Training has ended."""
        self._check(None)

    def _check(self, current: Queue | None) -> None:
        """Check the orders assumed for earlier iterators."""
        for queue in self.queues.values():
            left = queue.waiting and queue is not current and not queue.matched
            if left and (queue.group or (queue.ahead == 1 and _data(queue) not in self._ahead)):
                self.doubt = "a prefetched batch was never used; which batches were used, as copies, is unknown"


def _data(queue: Queue) -> Any:
    return None if queue.source is None else queue.source.key


def _is_alive(queue: Queue | None) -> bool:
    return queue is None or queue.source is None or queue.source.alive


def _is_over(queue: Queue) -> bool:
    """Whether its iterator is gone, so that its batches cannot be used any more. An unconfirmed order is kept."""
    return not _is_alive(queue) and queue.ahead != 1


def _tensors(value: Any, kind: type) -> Sequence[Any]:
    """The tensors of a batch or of a call's inputs, two levels deep."""
    if type(value) in (list, tuple) and 0 < len(value) <= MOST_TENSORS and all(type(item) is kind for item in value):
        flat: Sequence[Any] = value
        return flat
    tensors: list[Any] = []
    _collect(value, kind, tensors, 3)
    return tensors


def _collect(value: Any, kind: type, tensors: list[Any], depth: int) -> None:
    if isinstance(value, kind):
        tensors.append(value)
    elif depth and isinstance(value, (list, tuple)):
        for item in value[:MOST_TENSORS]:
            _collect(item, kind, tensors, depth - 1)
            if len(tensors) >= MOST_TENSORS:
                return
    elif depth and isinstance(value, Mapping):
        for item in value.values():
            _collect(item, kind, tensors, depth - 1)
            if len(tensors) >= MOST_TENSORS:
                return
