"""Which passes without gradients are an evaluation, and from when to when?

A batch used only without gradients or by a module in evaluation mode is an evaluation, from its request until the request of the next
batch that is trained on. It is excluded from the step, like an evaluation that a script marks. A batch that is evaluated and
trained on, in either order (a teacher, a target network), is training, and the evaluation is part of the forward pass.
Without a loader, passes by the trained module in evaluation mode are an evaluation too, from the first to the last.
An evaluation in the body of a loop leaves the loop's own batch to the training.

Cannot tell: before the first step, and in an epoch that was left early, an evaluation with several loaders at once from the loop's own
batch; a one-batch evaluation in a loop's body from a pass whose batch is trained on; without a loader, an evaluation from a rollout in
evaluation mode that is learned from afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

from fireassay.steps.events import GRADIENTS, TRAINING, Batch

if TYPE_CHECKING:
    from fireassay.steps.reading import Steps

FORWARD: Final = 0  # a phase: where passes count that are no evaluation


class Evaluations:
    """The passes without gradients since the last request, and the current evaluation."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self.batches: list[Batch] = []  # of these passes
        self.ns = self._begin = self._end = 0  # their time; of the first and the last
        self._modules: set[int] = set()  # theirs, if called without gradients in evaluation mode; else 0
        self.module: int | None = None  # the last module in evaluation mode, if its gradients may be requested
        self.trained_modules: set[int] = set()
        self._request: int | None = None  # since the last of them
        self.since: int | None = None  # start of the current evaluation
        self.unsettled = True  # there may be an evaluation to end

    @property
    def any(self) -> bool:
        """True if there are such passes, or an evaluation."""
        return bool(self.ns or self.batches) or self.since is not None

    def add_batches(self, batches: Sequence[Batch], flags: int, module: int) -> None:
        """A pass uses these batches. A loss that is a module sees them after the model, and is never in evaluation mode."""
        for batch in batches:
            batch.evaluated |= not flags & TRAINING
            batch.scored |= not flags & (GRADIENTS | TRAINING) and module in self.trained_modules
            if batch not in self.batches:
                self.batches.append(batch)

    def add_module(self, module: int) -> None:
        """A pass by this module, without a loader."""
        self._modules.add(module)

    def add_time(self, begin: int, end: int) -> None:
        """A pass has ended."""
        self._begin = self._begin if self.ns else begin
        self._end = end
        self.ns += end - begin

    def request(self, now: int) -> None:
        """A batch is requested, and the last was not trained on: it was an evaluation, from the time its batch was requested."""
        steps = self._steps
        steps.overlap.evaluated(self.batches)
        if not self.batches:
            steps.current.exclude(self.ns)
            steps.out.evaluation(steps.step, now - self.ns, self.ns)
        elif self.since is None:
            since = self.since = self.batches[0].begin
            for batch in self._waited_for(since):
                batch.counted = False
                steps.current.wait(-batch.ns)
        self._request = now
        self._forget()
        self.unsettled = True

    def _waited_for(self, since: int) -> list[Batch]:
        """The batches of these passes and the unused ones, if the current step has waited for them."""
        steps = self._steps
        since = max(since, steps.begin)
        return [batch for batch in (*self.batches, *steps.order.waiting()) if batch.counted and batch.begin >= since]

    def end_before_training(self) -> None:
        """A pass that may be trained on follows: what the trained module scored, from data that never fed the training, is no part of it."""
        if self.batches and self.ns and all(map(self._steps.order.only_scored, self.batches)):
            self._end_now()

    def update(self) -> None:
        """An optimizer is about to step: what was evaluated before that is in the step of that update."""
        steps = self._steps
        if steps.requests:
            ahead = any(batch.key in steps.order.feeds for batch in self.batches)  # trained on later
            if steps.passed and (self.batches or self.since is not None) and not ahead:
                self._end_now()
        elif self.ns:
            self.settle_step()

    def _end_now(self) -> None:
        """An evaluation ends without another request, as between the last gradient and the optimizer's step: it is recorded now."""
        steps = self._steps
        steps.overlap.evaluated(self.batches)
        since = self.batches[0].begin if self.since is None else self.since
        for batch in self._waited_for(since):
            steps.current.wait(-batch.ns)
        self._exclude(since, self._end if self.batches else self._request or since)
        self.since = self._request = None
        self._forget()

    def settle(self, module: int | None) -> None:
        """Training continues: the requested batches are in use, evaluations are excluded."""
        steps, end = self._steps, self._request or 0
        self.unsettled = False
        if steps.overlap.under_way:
            steps.overlap.ended()
        if self.since is not None:
            self._exclude(self.since, end)
            self.since = None
        self._request = None
        if self.ns:
            if not steps.requests and module is not None:
                self.settle_step()
            self._count()
        if end > steps.settled:
            steps.settled = end
        if self.batches:
            steps.order.add_evaluated(self.batches)
        self._forget()
        steps.passed = True

    def settle_step(self) -> None:
        """Record the current step's passes: as an evaluation or as forward time.

        Evaluations are passes by a trained module in evaluation mode, from the first to the last of them. Recorded before the step ends
        and before an optimizer steps.
        """
        if not self.ns and not self._modules:
            return
        if self._steps.requests:
            self._count()
            return
        if self.ns and self._modules and self._modules <= self.trained_modules:
            self._exclude(self._begin, self._end)
            self.ns = 0
        self._count()
        self._forget()

    def _count(self) -> None:
        """Count the passes so far towards the current step's forward pass."""
        if self.ns:
            self._steps.current.ns[FORWARD] += self.ns
            self._steps.current.seen[FORWARD] = True
            self.ns = 0

    def _forget(self) -> None:
        self.ns, self.module = 0, None
        self.unsettled = self.since is not None or self._request is not None or bool(self._steps.overlap.under_way)
        if self.batches:
            self.batches = []
        if self._modules:
            self._modules.clear()

    def _exclude(self, begin: int, end: int) -> None:
        """Exclude an evaluation, minus what was already reported; for a prefetched batch, only its part in the current step."""
        steps = self._steps
        begin = max(begin, steps.begin)
        if end <= begin:
            return
        paused = covered((max(since, begin), min(other, end)) for since, other in steps.current.pauses if since < end and other > begin)
        ns = max(0, end - begin - paused)
        steps.current.exclude(ns)
        steps.out.evaluation(steps.step, begin, ns)


def covered(intervals: Iterable[tuple[int, int]]) -> int:
    """The total length of the union of the intervals."""
    total, reach = 0, None
    for begin, end in sorted(intervals):
        if reach is None or begin > reach:
            total, reach = total + end - begin, end
        elif end > reach:
            total, reach = total + end - reach, end
    return total
