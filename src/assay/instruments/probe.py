"""What does a training script tell assay about itself?  The public API for the user's script.

    from assay import probe

    with probe.start() as p:
        p.watch(model)                              # after wrapping it in DistributedDataParallel
        for epoch in range(epochs):
            for batch, ids in p.steps(loader, epoch=epoch):
                with p.phase("forward"):
                    loss = loss_of(model, batch)
                with p.phase("backward"):
                    loss.backward()
                with p.phase("optimizer"):
                    optimizer.step()
                p.samples(ids)
                p.log(loss=loss)

Outside of a launch by assay (no ASSAY_LAUNCH_DIR) `start` returns this file's `Probe`, whose methods do nothing, and
nothing is imported.  Inside a launch it returns the recording one of `_recorder.py`.  Neither touches a random number
generator, synchronises a GPU per step, or lets an error of its own reach the training.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from functools import cache
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

Batch = TypeVar("Batch")
PhaseName = Literal["forward", "backward", "optimizer"]

_NOTHING: AbstractContextManager[None] = nullcontext()
_current: Probe | None = None  # the recording probe of this process


class Probe:
    """Marks steps, samples, scores and checkpoints. This class does nothing; a launch by assay gets one that records."""

    active: bool = False  # whether anything is recorded
    seed: int = 0  # the launch's training seed; equal for all worker counts of a block
    rank: int = 0
    workers: int = 1

    def watch(self, model: Any) -> None:
        """Hash the model's parameters at steps 0, 1, 2, 4, 8, ... and at the end, to see whether replicas stay equal.

        The hash of step 0 is taken when the first `steps` begins. Watch the model that is trained, wrapped or not.
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

    def log(self, *, loss: Any = None, grad_norm: Any = None, items: float | None = None) -> None:
        """Record the step's loss and gradient norm (numbers or one-element tensors) and its units of work on this rank.

        Without `items` the first dimension of the batch is taken.
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
        self, id: Any, score: Any, *, prediction: Any = None, target: Any = None, metric: str = "accuracy"
    ) -> None:
        """Record the score of one held-out example that this rank scored. `id` is the same in every launch."""

    def examples(
        self, ids: Any, scores: Any, *, predictions: Any = None, targets: Any = None, metric: str = "accuracy"
    ) -> None:
        """Record the scores of many held-out examples: sequences, tensors or arrays of equal length."""

    def useful_work(self, n: float) -> None:
        """Tell the useful units of work of the whole launch. Rank 0's word counts."""

    def close(self) -> None:
        """Record the end. Called by itself when the process ends."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()


def start() -> Probe:
    """The probe of this process: recording inside a launch by assay, else doing nothing. Never raises."""
    global _current
    if _current is not None:
        return _current
    folder = os.environ.get("ASSAY_LAUNCH_DIR")
    if not folder or _is_helper_process():
        return _idle()
    try:
        from assay.instruments._recorder import open_recorder

        _current = open_recorder(folder, os.environ, on_close=_forget)
    except Exception as error:
        with suppress(OSError, ValueError, AttributeError):  # standard error may be closed
            print(f"assay: this worker is not recorded: {type(error).__name__}: {error}", file=sys.stderr, flush=True)
        return _idle()
    _watch_forks()
    return _current


@cache
def _watch_forks() -> None:
    os.register_at_fork(after_in_child=_silence)


def _silence() -> None:
    """In a forked child, such as a DataLoader's worker: this rank's record belongs to the parent."""
    global _current
    if _current is not None:
        _current.active = False
        _current = _idle()


def _idle() -> Probe:
    idle = Probe()
    with suppress(ValueError):  # whatever these variables mean then, they are not torchrun's
        idle.rank, idle.workers = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    return idle


def _forget() -> None:
    global _current
    _current = None


def _is_helper_process() -> bool:
    """Whether this is a daemonic child such as a DataLoader's worker, which runs the script's top level again."""
    multiprocessing = sys.modules.get("multiprocessing.process")
    return bool(multiprocessing is not None and multiprocessing.current_process().daemon)
