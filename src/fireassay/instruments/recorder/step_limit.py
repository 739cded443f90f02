"""When does a worker with a step limit end?

After its last step, once all ranks have finished theirs. `workload.steps` measures a few hundred steps of a job that takes days. Each
rank closes its recording after the same step, leaves a file in the launch's folder, waits for the others' files, and exits with 0. It
waits because its exit would close sockets and abort GPU collectives that others may still need. No collective is added.

The process ends by `os._exit`, between two steps. SystemExit would be caught by some loops and would run a script's end: a final
evaluation, or saving a half-trained model over a good one. Helpers that load data are ended first.
A rank that keeps the others waiting longer than `PATIENCE_S` counts as hung: the launch then fails and says so. Ranks of other machines may
write to a folder not visible here: they get a short grace period.
A limit may be of time too (`assay run --quick`). The first rank whose time is over writes, after its step k, that all end after step k + 2,
which no rank that waits for the others in each step has begun; every rank looks for that file after each step.
Does not cover: a thread of the script that is writing a file; a recording that failed or has no step (the job then runs to its end, or
to limits.launch_timeout_s).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, Protocol

from fireassay.units import NS_PER_S

VARIABLE: Final = "FIREASSAY_STEPS"
SECONDS: Final = "FIREASSAY_STEP_SECONDS"  # after which no further step is begun, from the beginning of the first
KIND: Final = "steps_reached"  # the event: value = steps made
PATIENCE_S: Final = 600.0  # a rank may save or evaluate alone between two steps
QUICK_PATIENCE_S: Final = 30.0  # where time ended the steps: ranks that meet seldom (local SGD) may then wait for each other
ELSEWHERE_S: Final = 2.0  # for ranks of other machines, which finish the same step
POLL_S: Final = 0.02
MORE_STEPS: Final = 2  # that every rank makes after the first one saw that its time is over


class EndedRecorder(Protocol):
    """A recorder that closes with the last step."""

    rank: int
    workers: int
    now: Callable[[], int]  # ns

    def reached(self, step: int, made: int) -> None:
        """End this rank after the requested number of steps."""

    def close(self) -> None:
        """The recording ends."""


class StepLimit:
    """The number of steps that this rank makes."""

    def __init__(
        self,
        steps: int,
        folder: Path,
        recorder: EndedRecorder,
        incarnation: int,
        *,
        local: range | None = None,
        exits: Callable[[int], object] = lambda status: os._exit(status),
        patience_s: float = PATIENCE_S,
        seconds: float | None = None,
    ) -> None:
        """`local`: the ranks of this machine; default: all. Others may write to a folder that is not visible here.

        `seconds`: after which a few steps more are the last, even if fewer than `steps` were made.
        """
        self._steps, self._folder, self._recorder, self._incarnation = steps, folder, recorder, incarnation
        self._exits, self._patience_s = exits, patience_s if seconds is None else min(patience_s, QUICK_PATIENCE_S)
        self._every = range(recorder.workers)
        self.local = self._every if local is None else local
        self._first: int | None = 0 if incarnation else None  # a restarted job continues the first one's numbers
        self._seconds, self._deadline_ns = seconds, 0
        self._agreed = folder / f"last.incarnation={incarnation}"

    @property
    def last(self) -> int | None:
        """The number of the first step beyond the limit; None before the first step."""
        return None if self._first is None else self._first + self._steps

    def reached(self, finished: int) -> bool:
        """True if the limit is reached, given the number of the next step."""
        if self._first is None:
            self._first = finished
        if self._seconds is not None:
            self._shorten(finished - self._first, self._seconds)
        return finished - self._first >= self._steps

    @property
    def timed(self) -> bool:
        """True if time may end the steps, so that every step has to ask."""
        return self._seconds is not None

    def _shorten(self, made: int, seconds: float) -> None:
        """Take over the number of steps that the first rank whose time was over wrote; write it if that is this one."""
        now = self._recorder.now()
        self._deadline_ns = self._deadline_ns or now + round(seconds * NS_PER_S)
        if now >= self._deadline_ns and not self._agreed.exists():
            own = self._agreed.with_name(f"{self._agreed.name}.rank={self._recorder.rank}")
            own.write_text(str(made + MORE_STEPS))
            with suppress(FileExistsError):  # another rank was faster
                os.link(own, self._agreed)  # at once, and with its content
        if self._agreed.exists():
            self._steps, self._seconds = min(self._steps, int(self._agreed.read_text())), None

    def end(self, finished: int) -> None:
        """Close the recording, wait for the other ranks, and end this process, whatever errors occur."""
        together = False
        try:
            self._synchronise()
            _close(self._recorder, finished, finished - (self._first or 0))
            mark(self._folder, self._incarnation, self._recorder.rank)
            together = self._wait()
            _end_helpers()
        except Exception as error:
            self._say(f"could not end after its steps: {type(error).__name__}: {error}")
        for stream in (sys.stdout, sys.stderr):
            with suppress(Exception):
                stream.flush()
        self._exits(0 if together else 1)

    def _synchronise(self) -> None:
        """Finish the GPU work that other ranks wait for."""
        torch = sys.modules.get("torch")
        if torch is not None and torch.cuda.is_initialized():
            torch.cuda.synchronize()

    def _wait(self) -> bool:
        """True if all ranks of this machine have finished; ranks of others get a grace period."""
        deadline = time.monotonic() + self._patience_s
        elsewhere = None
        while not all_ended(self._folder, self._incarnation, self._every):
            now = time.monotonic()
            if all_ended(self._folder, self._incarnation, self.local):
                elsewhere = elsewhere or min(deadline, now + ELSEWHERE_S)
                if now >= elsewhere:
                    return True
            elif now > deadline:
                self._say(
                    f"finished its {self._steps} steps and waited {self._patience_s:g} s for the other ranks, which did not finish theirs: they "
                    "hang, or make a different number of steps"
                )
                return False
            time.sleep(POLL_S)
        return True

    def _say(self, what: str) -> None:
        with suppress(OSError, ValueError, AttributeError):  # standard error may be closed
            print(f"assay: rank {self._recorder.rank} {what}", file=sys.stderr, flush=True)


def limit_from(environ: Mapping[str, str], folder: Path, recorder: EndedRecorder, incarnation: int) -> StepLimit | None:
    """The launch's step limit.

    Raises:
        ValueError: the variable is not an integer.
    """
    limit = environ.get(VARIABLE)
    if not limit:
        return None
    first = recorder.rank - int(environ.get("LOCAL_RANK") or recorder.rank)
    local = range(first, first + int(environ.get("LOCAL_WORLD_SIZE") or recorder.workers))
    seconds = float(environ[SECONDS]) if environ.get(SECONDS) else None
    return StepLimit(int(limit), folder, recorder, incarnation, local=local, seconds=seconds)


def mark(folder: Path, incarnation: int, rank: int) -> None:
    """Mark this rank as finished."""
    ended = folder / "ended"
    ended.mkdir(parents=True, exist_ok=True)
    (ended / f"incarnation={incarnation}.rank={rank}").touch()


def all_ended(folder: Path, incarnation: int, ranks: Iterable[int]) -> bool:
    """True if these ranks of an incarnation have finished."""
    ended = folder / "ended"
    return all((ended / f"incarnation={incarnation}.rank={rank}").exists() for rank in ranks)


def _close(recorder: EndedRecorder, finished: int, steps: int) -> None:
    attach = sys.modules.get("fireassay.instruments.attach")
    attached: Any = attach.current() if attach is not None else None
    if attached is not None:
        attached.close()
    recorder.reached(finished, steps)
    recorder.close()


def _end_helpers() -> None:
    """End the loader processes; torch's handler would raise an exception for each of them."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is None:
        return
    with suppress(ValueError):  # not in the main thread: no handler runs here
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for child in multiprocessing.active_children():
        with suppress(Exception):
            child.terminate()
