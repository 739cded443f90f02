"""Which of the fetched batches did a step train on?

By identity, if visible: a batch and the inputs of a call share memory (the hooks match them, `instruments/hooks/batches`).
By order, if the script copies (to a GPU, by a transform): the batch fetched last; the one before it if the script prefetches one batch
(accelerate's loaders); or each in turn if it fetches several before using them (transformers' accumulation). If the order is ambiguous,
the sample ledger of this launch is unknown, with the reason.

A batch counts when its gradients are requested, in the step of that backward pass. Of several forward passes since the last backward
pass, those count that its graph reaches: a discarded batch does not count.

Cannot tell: gradients discarded after their backward pass; by order, a batch that is trained on again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any

from fireassay.steps.events import TOO_LARGE, Batch, Source

Match = tuple[Batch, range | None]


class Queue:
    """The unused batches of an iterator."""

    __slots__ = ("ahead", "ended", "group", "matched", "passes", "short", "source", "waiting")

    def __init__(self, source: Source | None) -> None:
        self.source = source
        self.waiting: deque[Batch] = deque()
        self.ahead: int | None = None  # batches prefetched, if matched by order; None: not yet known
        self.group = 0  # batches fetched before one pass for each; 0: no such groups
        self.passes = 0  # passes that took one batch each, by order
        self.short = False  # the last group had fewer, as only the last of an epoch may
        self.ended = False
        self.matched = False  # by identity, at least once


Pass = tuple[Batch, range | None, int, bool]  # a forward pass with gradients: batch, rows, sequence number, whether matched by order


class Order:
    """The batches of this process, in the order of their use."""

    def __init__(self) -> None:
        self.queues: dict[Any, Queue] = {}  # by iterator
        self.fresh: list[Any] = []  # iterators used since the last forward pass
        self.feeds: set[Any] = set()  # iterators whose batches were trained on
        self._fed: set[Any] = set()  # data sets whose batches were trained on
        self._trains = False  # gradients were requested before
        self._many_feeds = self._many_queues = 64
        self.passing: list[Pass] = []  # forward passes with gradients since the last backward pass
        self._evaluated: list[Batch] = []  # without gradients, before the pass
        self.worked = False  # a module received a batch, or a possible one, in the current step
        self._last: Queue | None = None  # the queue last matched by order
        self._ahead: set[Any] = set()  # data sets whose loaders prefetch, confirmed by a whole epoch
        self.doubt = ""  # why the trained batches are unknown

    # ------------------------------------------------------------------ fetching

    def add(self, batch: Batch) -> None:
        """A batch has arrived."""
        key = batch.key
        queue = self.queues.get(key)
        if queue is None:
            queue = self._queue(key, batch.source)
        if queue.group and key not in self.fresh and (queue.waiting or queue.short):
            self.doubt = f"batches were fetched in groups of {queue.group}, then in another order, and were copied before use"
        queue.waiting.append(batch)
        if key not in self.fresh:
            self.fresh.append(key)

    def _queue(self, key: Any, source: Source | None) -> Queue:
        queue = self.queues[key] = Queue(source)
        if len(self.queues) > self._many_queues:
            for over in [key for key, other in self.queues.items() if _is_over(other) and key not in self.fresh]:
                del self.queues[over]
            self._many_queues = max(64, 2 * len(self.queues))
        return queue

    def ran_out(self, key: Any) -> None:
        """An epoch has ended. A prefetched batch may still be used."""
        self.feeds.discard(key)
        queue = self.queues.get(key)
        if queue is None:
            return
        queue.ended = True
        if not queue.waiting:
            self._over(key, queue)
        elif key not in self.fresh:
            self.fresh.append(key)

    def feeds_training(self, key: Any) -> None:
        """Note that this iterator feeds the training; forget dead ones, since a script may create one per step."""
        self.feeds.add(key)
        if len(self.feeds) > self._many_feeds:
            self.feeds = {feed for feed in self.feeds if feed is key or not getattr(feed, "gone", False)}
            self._many_feeds = max(64, 2 * len(self.feeds))

    def _over(self, key: Any, queue: Queue) -> None:
        """All batches of an iterator were used: the assumed order was right."""
        del self.queues[key]
        if queue.ahead == 1:
            self._ahead.add(_data(queue))

    def waiting(self) -> Iterator[Batch]:
        """The unused batches."""
        return (batch for queue in self.queues.values() for batch in queue.waiting)

    def _use(self, batch: Batch) -> None:
        """The batch was passed to a module: no longer unused."""
        key = batch.key
        queue = self.queues.get(key)
        if queue is None:
            return
        queue.matched = True
        waiting, fresh = queue.waiting, self.fresh
        if waiting:
            if waiting[0] is batch:
                waiting.popleft()
            elif batch in waiting:
                waiting.remove(batch)
        if fresh and key in fresh:
            fresh.remove(key)
        if queue.ended and not waiting:
            del self.queues[key]

    # ------------------------------------------------------------------ passes

    def evaluates(self, matches: Sequence[Match], unknown: bool) -> list[Batch]:
        """The batches passed to a call without gradients and not trained on before."""
        for batch, _ in matches:
            self._use(batch)
        if matches or not unknown:
            return [batch for batch, _ in matches if not batch.trained]
        return self._take(self._evaluated_iterators())

    def add_evaluated(self, batches: Sequence[Batch]) -> None:
        """Note batches used without gradients before the current pass: they may be trained on."""
        self._evaluated.extend(batches)

    def passes(self, matches: Sequence[Match], unknown: bool, begin: int) -> None:
        """A module is called with gradients."""
        for batch, rows in matches:
            self._use(batch)
            if self.passing:
                self._give_back(batch)
            self.passing.append((batch, rows, begin, False))
        if matches or unknown:
            self.worked = True
        if not matches and unknown:
            self._suppose(begin)

    def _suppose(self, begin: int) -> None:
        examined, self._evaluated = self._evaluated, []
        next_batches = self._take(self._trained_by_order()) if self.fresh else self._next_of_group()
        for batch in (*examined, *next_batches):
            self.passing.append((batch, None, begin, True))

    def _give_back(self, batch: Batch) -> None:
        """Undo a match by order, now that identity shows another batch."""
        for mistaken in [item for item in self.passing if item[3] and item[0].key == batch.key]:
            self.passing.remove(mistaken)
            queue = self.queues.get(batch.key)
            if mistaken[0] is not batch and queue is not None:
                queue.waiting.appendleft(mistaken[0])

    def derived(self, reached: Any) -> list[Pass]:
        """The passes whose gradients are requested, given the sequence numbers that the graph reaches; all of them if these are unknown."""
        self._trains = True
        if not self.passing:
            if self.worked:  # another pass over the same graph
                return []
            self._suppose(0)
        passing, self.passing = self.passing, []
        if self._evaluated:
            self._evaluated = []
        if reached is not None and len({id(item[0]) for item in passing}) > 1:
            passing = self._reached(reached, passing)
        for item in passing:
            if item[0].key not in self.feeds:
                self.feeds_training(item[0].key)
                self._fed.add(_kind(item[0]))
        return passing

    def only_scored(self, batch: Batch) -> bool:
        """True if the trained module itself scored it without gradients, and its data never fed the training that is under way."""
        return batch.scored and self._trains and _kind(batch) not in self._fed

    def _reached(self, reached: Any, passing: list[Pass]) -> list[Pass]:
        """The passes in the backward graph; later ones may still get their own, earlier ones were discarded."""
        if reached == TOO_LARGE:
            self.doubt = "several forward passes preceded one backward pass, whose graph is too large to tell which batch it belongs to"
            return passing
        inside = [not item[2] or item[2] in reached for item in passing]
        last = max((index for index, known in enumerate(inside) if known), default=len(passing))
        self.passing = [item for item, known in zip(passing[last + 1 :], inside[last + 1 :], strict=True) if not known]
        return [item for item, known in zip(passing, inside, strict=True) if known]

    # ------------------------------------------------------------------ by order

    def _evaluated_iterators(self) -> list[Any]:
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

    def _take(self, keys: Sequence[Any]) -> list[Batch]:
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

    def _next(self, queue: Queue) -> Batch:
        """The batch of an iterator that was used again."""
        waiting, self._last = queue.waiting, queue
        if queue.group:
            queue.short = len(waiting) < queue.group
            return waiting.popleft()
        if queue.ahead is None:
            self.check(queue)
            queue.ahead = len(waiting) - 1
            if queue.ahead > 1:
                self._begin_groups(queue, len(waiting))
                return waiting.popleft()
        for _ in range(len(waiting) - 1 - queue.ahead):
            waiting.popleft()  # discarded
        queue.passes += 1
        return waiting.popleft()

    def _next_of_group(self) -> list[Batch]:
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

    def check(self, current: Queue | None = None) -> None:
        """Check the orders assumed for earlier iterators."""
        for queue in self.queues.values():
            left = queue.waiting and queue is not current and not queue.matched
            if left and (queue.group or (queue.ahead == 1 and _data(queue) not in self._ahead)):
                self.doubt = "a prefetched batch was never used; which batches were used, as copies, is unknown"


def _kind(batch: Batch) -> Any:
    """The data set of a batch; its iterator if that is unknown."""
    return batch.key if batch.source is None else batch.source.key


def _data(queue: Queue) -> Any:
    return None if queue.source is None else queue.source.key


def _is_alive(queue: Queue | None) -> bool:
    return queue is None or queue.source is None or not queue.source.gone


def _is_over(queue: Queue) -> bool:
    """True if its iterator is gone, so that its batches cannot be used any more. An unconfirmed order is kept."""
    return not _is_alive(queue) and queue.ahead != 1
