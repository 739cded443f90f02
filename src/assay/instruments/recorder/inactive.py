"""What can a training script tell assay?  Every call of the probe, doing nothing: the probe outside of a launch.

`recorder.recorder` has the one that records.  This file is apart so that neither imports the other in a circle.
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
        """Hash the model's parameters at steps 0, 1, 2, 4, 8, ... and at the end, to see whether replicas stay equal.

        The hash of step 0 is taken when the first `steps` begins. Watch the model that is trained, wrapped or not.
        Its first gradient is kept as a sketch, and compared with that of one worker. `random` declares whether the
        random numbers of the ranks (dropout) are to be different, as in data parallelism, or equal.
        """

    def gradients(self, named: Mapping[str, Any]) -> None:
        """Tell the first step's gradients, name -> tensor, where the optimizer does not get them in `.grad`.

        `assay.instruments.fingerprints.gradient_sketch` makes them of a step of SGD or Adam.
        """

    def dataset(self, size: int) -> None:
        """Tell how many training samples an epoch has, so that lost and repeated ones can be found."""

    def steps(self, loader: Iterable[Batch], *, epoch: int = 0, start: int = 0) -> Iterator[Batch]:
        """Iterate over the loader; each turn of the loop is one training step.

        A step begins before waiting for its batch and ends when the next batch is asked for, or with the loop. Steps
        are numbered through all epochs. `start`: number of the first step after a checkpoint was loaded.
        """
        return iter(loader)

    def phase(self, name: PhaseName) -> AbstractContextManager[None]:
        """Time a phase of the step: forward, backward or optimizer. May be entered several times in a step."""
        return _NOTHING

    def samples(self, ids: Any) -> None:
        """Tell which training samples this rank used in this step: a tensor, array, list or range of whole numbers."""

    def log(self, *, loss: Any = None, grad_norm: Any = None, items: float | None = None, denominator: float | None = None) -> None:
        """Record the step's loss and gradient norm (numbers or one-element tensors) and its units of work on this rank.

        Without `items` the first dimension of the batch is taken. `denominator`: what this rank's sum of losses was
        divided by before the ranks were averaged; right is all ranks' items / workers. It is then checked exactly.
        """

    def checkpoint_save(self) -> AbstractContextManager[None]:
        """Round the saving of a checkpoint, with its barrier, on every rank; after the optimizer of the step."""
        return _NOTHING

    def checkpoint_load(self) -> AbstractContextManager[None]:
        """Round the loading of a checkpoint."""
        return _NOTHING

    def evaluation(self) -> AbstractContextManager[None]:
        """Round scoring on held-out data. Inside a step it does not count as training time."""
        return _NOTHING

    def example(
        self, id: Any, score: Any, *, prediction: Any = None, target: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """Record the score of one held-out example that this rank scored. `id` is the same in every launch.

        `cluster`: what it shares with other examples (a passage, a user, a problem), text or a whole number.
        """

    def examples(
        self, ids: Any, scores: Any, *, predictions: Any = None, targets: Any = None, metric: str = "accuracy", cluster: Any = None
    ) -> None:
        """Record the scores of many held-out examples: sequences, tensors or arrays of equal length.

        `cluster`: what each shares with others (a passage, a user, a problem), so that they may be lost together; None where it
        shares nothing. Without it quality is judged as if examples were independent, which calls too much of it held.
        """

    def useful_work(self, n: float) -> None:
        """Tell the useful units of work of the whole launch. Rank 0's word counts."""

    def close(self) -> None:
        """Record the end. Called by itself when the process ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()
