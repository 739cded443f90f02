"""What does the training loop iterate over?

The iterator over its batches, and the pauses inside the loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, Protocol, TypeVar

T = TypeVar("T")


class StepRecorder(Protocol):
    """Receives steps and pauses."""

    active: bool
    step_number: int

    def next_step(self) -> None:
        """The next batch is requested."""

    def batch_ready(self, batch: Any) -> None:
        """The batch has arrived."""

    def note_contents(self, batch: Any) -> None:
        """Record digests of its rows."""

    def leave(self, loop: int) -> None:
        """The loop was left before its loader ended."""

    def fail(self, error: Exception) -> None:
        """The recorder failed."""

    def pause(self, kind: str) -> int:
        """Begin a pause; returns its start."""

    def resume(self, kind: str, begin: int, succeeded: bool) -> None:
        """End a pause."""


class Steps(Iterator[T]):
    """The iterator of a training loop. The loader's errors pass through untouched."""

    __slots__ = ("_fresh", "_loop", "_next", "_recorder")

    def __init__(self, recorder: StepRecorder, loader: Iterable[T], loop: int) -> None:
        self._recorder = recorder
        self._loop = loop
        self._fresh = True  # the first step has begun already, so that starting the loader's workers counts as data time
        self._next = iter(loader).__next__

    def __next__(self) -> T:
        recorder = self._recorder
        if not recorder.active:
            return self._next()
        if self._fresh:
            self._fresh = False
        else:
            recorder.next_step()
        batch = self._next()
        recorder.batch_ready(batch)
        if not (step := recorder.step_number) & (step - 1):
            recorder.note_contents(batch)
        return batch

    def __del__(self) -> None:
        """A loop left by break or by an exception drops its iterator at once."""
        recorder = getattr(self, "_recorder", None)
        if recorder is not None and recorder.active:
            try:
                recorder.leave(self._loop)
            except Exception as error:
                recorder.fail(error)


class Pause:
    """`with probe.checkpoint_save():` and its like."""

    __slots__ = ("_begin", "_kind", "_recorder")

    def __init__(self, recorder: StepRecorder, kind: str) -> None:
        self._recorder, self._kind, self._begin = recorder, kind, 0

    def __enter__(self) -> None:
        self._begin = self._recorder.pause(self._kind)

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self._recorder.resume(self._kind, self._begin, kind is None)
