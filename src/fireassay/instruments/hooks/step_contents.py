"""What do a step's batch and the calls of its modules contain?

Taken in few steps (`fingerprints.batch_contents.due`), outside of training time.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final
from weakref import ref

from fireassay.instruments.fingerprints import batch_contents
from fireassay.instruments.fingerprints.drawn import drawn
from fireassay.instruments.hooks.batches import tensors
from fireassay.instruments.hooks.live_optimizers import trained_parameters
from fireassay.steps.events import CONTENTS, Fetched

if TYPE_CHECKING:
    from fireassay.instruments.hooks.steps import Attached

MAX_CALLS: Final = 8  # of a step
MAX_GRADIENTS: Final = 8  # examined


class StepContents:
    """Records the contents of the steps in which that is due."""

    def __init__(self, torch: Any, attached: Attached) -> None:
        self._tensor, self._attached = torch.Tensor, attached
        self.due = 0  # the last step in which they are recorded
        self._called = (0, 0)  # step, its calls so far
        self._passed = (0, 0)  # step, its backward passes so far
        self._fetched: list[Any] = []  # the tensors of the newest batch, weakly

    @contextmanager
    def _aside(self) -> Iterator[None]:
        """Exclude the work in this block from training time and from the cost of a step's hooks."""
        begin = self._attached.used()
        with self._attached.recorder.set_aside_hashing():
            yield
        self._attached.entered += self._attached.used() - begin

    def fetched(self, batch: Fetched, content: Any, iterator: Any) -> None:
        """A batch has arrived; whether a step trains on it is not known yet."""
        attached = self._attached
        with self._aside():
            _, ids, source, *_ = batch
            several = tensors(content, self._tensor)
            self._fetched = list(map(ref, several))
            told = batch_contents.text(several, ids=ids, of=None if source is None else source.size, drawn=drawn(iterator))
        if told is not None:
            attached.append((CONTENTS, attached.now(), batch, told))

    def backward(self, roots: Any) -> None:
        """Gradients are requested, of what labels? At first in a step, are there any of earlier steps? Only with one optimizer, which owns
        them all.
        """
        attached, step = self._attached, self._attached.recorder.step_number
        self._labels(roots, step)
        passes = self._passed[1] if self._passed[0] == step else 0
        self._passed = (step, passes + 1)
        watch = attached.recorder.model.current
        if passes or not step or watch is None or attached.turns.stepping or len(attached.turns.known) != 1:
            return
        with self._aside():
            held = {id_ for optimizer in attached.optimizers for id_ in trained_parameters(optimizer)}
            gradients = [value.grad for value in watch.model.parameters() if value.grad is not None and id(value) in held][:MAX_GRADIENTS]
            old = sum(bool(gradient.any()) for gradient in gradients if not hasattr(gradient, "to_local"))
        attached.recorder.rows.number("old_gradients", step, float(old))

    def _labels(self, roots: Any, step: int) -> None:
        with self._aside():
            batch = next((tensor for reference in self._fetched if (tensor := reference()) is not None), None)
            found = batch_contents.targets(roots or (), None if batch is None or not batch.dim() else len(batch))
            texts = [batch_contents.text([labels], module=name) for name, labels in found]
        for text in texts:
            if text is not None:
                self._attached.recorder.rows.contents(batch_contents.INPUT, step, text)

    def ended(self) -> None:
        """The step has ended."""
        step, passes = self._passed
        if step == self.due and passes:
            self._attached.recorder.rows.number("backward_passes", step, float(passes))

    def called(self, module: Any, inputs: Any) -> None:
        """A module is called in training; what it gets from other modules is left out."""
        attached, step = self._attached, self._attached.recorder.step_number
        calls = self._called[1] if self._called[0] == step else 0
        self._called = (step, calls + 1)
        if calls >= MAX_CALLS:
            return
        with self._aside():
            given = [tensor for tensor in tensors(inputs, self._tensor) if not tensor.requires_grad]
            told = batch_contents.text(given, module=type(module).__name__)
            before = [tensor for reference in self._fetched if (tensor := reference()) is not None]
            added = None if calls else batch_contents.change(before, given)
        for what, text in ((batch_contents.INPUT, told), (batch_contents.CHANGE, added)):
            if text is not None:
                attached.recorder.rows.contents(what, step, text)
