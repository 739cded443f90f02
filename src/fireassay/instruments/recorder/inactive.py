"""What can a training script report to assay?

The probe outside a launch: every call does nothing. `recorder.recorder` has the recording one; separate files avoid an import cycle.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

Batch = TypeVar("Batch")
PhaseName = Literal["forward", "backward", "optimizer"]
RandomState = Literal["different", "equal"]

_NOTHING: AbstractContextManager[None] = nullcontext()


class Probe:
    """Marks steps, samples, scores and checkpoints. This class does nothing; a launch by assay gets one that records."""

    active: bool = False  # whether anything is recorded
    seed: int = 0  # the launch's training seed; equal for all worker counts of a block
    rank: int = 0
    workers: int = 1

    def watch(self, model: Any, *, random: RandomState | None = None) -> None:
        """Hash the model's parameters at steps 0, 1, 2, 4, 8, ... and at the end, to check that replicas stay equal.

        The hash of step 0 is taken when the first `steps` begins. Watch the model that is trained, wrapped or not. Its first gradient is
        kept as a sketch and compared with that of one worker. `random` declares whether the ranks' random numbers (dropout) should differ,
        as in data parallelism, or be equal.
        """

    def gradients(self, named: Mapping[str, Any]) -> None:
        """Report the first step's gradients, name -> tensor, if the optimizer does not get them in `.grad`.

        `fireassay.instruments.fingerprints.gradient_sketch` derives them from a step of SGD or Adam.
        """

    def dataset(self, size: int) -> None:
        """Report the number of training samples per epoch, so that lost and repeated ones can be found."""

    def steps(self, loader: Iterable[Batch], *, epoch: int = 0, start: int = 0) -> Iterator[Batch]:
        """Iterate over the loader; each iteration is one training step.

        A step begins before waiting for its batch and ends when the next batch is requested, or with the loop. Steps are numbered across
        epochs. `start`: number of the first step after a checkpoint was loaded.
        """
        return iter(loader)

    def phase(self, name: PhaseName) -> AbstractContextManager[None]:
        """Time a phase of the step: forward, backward or optimizer. May be entered several times in a step."""
        return _NOTHING

    def samples(self, ids: Any) -> None:
        """Report the training samples that this rank used in this step: a tensor, array, list or range of integers."""

    def log(self, *, loss: Any = None, grad_norm: Any = None, items: float | None = None, denominator: float | None = None) -> None:
        """Record the step's loss and gradient norm (numbers or one-element tensors) and its units of work on this rank.

        `items` defaults to the first dimension of the batch. `denominator`: the divisor of this rank's loss sum before averaging over
        ranks. It is checked exactly against all ranks' items / workers.
        """

    def checkpoint_save(self) -> AbstractContextManager[None]:
        """Wrap the saving of a checkpoint, including its barrier, on every rank; after the optimizer of the step."""
        return _NOTHING

    def checkpoint_load(self) -> AbstractContextManager[None]:
        """Wrap the loading of a checkpoint."""
        return _NOTHING

    def evaluation(self) -> AbstractContextManager[None]:
        """Wrap scoring on held-out data. Inside a step it does not count as training time."""
        return _NOTHING

    def example(
        self, id: Any, score: Any, *, prediction: Any = None, target: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """Record the score of one held-out example that this rank scored. `id` is the same in every launch.

        `cluster`: the group it shares with other examples (a passage, a user, a problem), text or an integer.
        """

    def examples(
        self, ids: Any, scores: Any, *, predictions: Any = None, targets: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """Record the scores of many held-out examples: sequences, tensors or arrays of equal length.

        `cluster`: the group each shares with others (a passage, a user, a problem); None for none. Without it examples are treated as
        independent, which understates the uncertainty of quality.
        """

    def evaluate(self, step: int, score: Any, *, name: str = "accuracy", samples: float | None = None) -> None:
        """Record the score of an evaluation after so many steps: a number or a one-element tensor, by the name of the target.

        Call it as soon as the score is known, at every evaluation. `samples`: training samples used so far by all ranks; without it, the
        items of the steps before the evaluation count. Scores that several ranks report of one step are averaged.
        """

    def useful_work(self, n: float) -> None:
        """Report the useful units of work of the whole launch; rank 0's value counts."""

    def close(self) -> None:
        """Record the end. Runs automatically when the process ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()
