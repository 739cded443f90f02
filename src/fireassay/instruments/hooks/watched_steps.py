"""In which steps is the communication of a DistributedDataParallel timed?

In all at first, then in one of 4, later of 8. Timing a reducer's collective takes two Python calls and a callback: with all other hooks
5 % of steps of 5 ms and 13 % of 0.7 ms (two ranks, gloo, two processors: `benchmarks/results/attach_overhead.md`), a bias of every
speedup over one worker. So once `ALIKE` consecutive watched steps have reduced the same bytes, only some steps are watched; in the
others the reducer has the engine's own group, and the record marks the step (`communication`, method unwatched). A script's own calls
through `torch.distributed` are recorded in every step, and steps, phases, samples and losses cover all steps.

The choice depends on the step number alone: equal on every rank, without any period that a script may have. A different byte count in a
watched step restores the watching of all steps, so periodic averaging (local SGD) is never sampled.
The group changes where a step begins, never in a backward pass: the reducer holds a lock there.
Unrecorded calls keep their numbers: as many per step as in the watched ones. The engine's own count (`_get_sequence_number_for_group`)
must agree in every step; if it does not (point-to-point calls, functional collectives), every step is watched from there on.
Source: torch 2.13, `Reducer::update_process_group`; without it (before torch 2.3) every step is watched.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from fireassay.instruments.hooks.collective_calls import Calls

FIRST: Final = 32  # steps that are always watched
OFTEN: Final = 256  # until this step one in 4 is watched
ALIKE: Final = 16
SETTLED: Final = 4  # watched steps after which an unknown call is no start-up effect
LOGGED_EVERY: Final = 8  # one in so many steps reads a reducer's own log
_AT: Final = tuple(byte % 8 for byte in hashlib.shake_256().digest(1024))


def chosen(step: int) -> bool:
    """True if this step is watched when steps are sampled."""
    stride = 4 if step < OFTEN else 8
    return step < FIRST or step % stride == _AT[step // stride % len(_AT)] % stride


class WatchedSteps:
    """Gives reducers the timed group or the engine's own."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls
        self._groups: list[tuple[Any, Any, Any]] = []  # model; the timed group and the engine's own
        self._like: tuple[int, int] = (0, 0)  # (bytes, calls) of the reducers in the last watched step
        self._alike = 0
        self._apart = 0  # the engine's count minus the recorded calls, when the step began
        self._skipped = False  # the reducers' calls in the current step were numbered
        self._never = False
        calls.catch_up = self._catch_up
        self.missed = self.watched = 0  # numbers of steps

    def add(self, model: Any, timed: Any) -> None:
        """Add a model whose reducer has a timed group."""
        self._alike = 0
        if hasattr(model.reducer, "_update_process_group") and not self._never:
            self._groups.append((model, timed, timed._inner))
            if len(self._groups) == 1:
                self._apart = self._engine_alone()

    def ended(self) -> None:
        """A step is over. If the engine counted more calls than expected, sampling ends here."""
        requested, unwatched = self.calls.requested(), self.calls.unwatched
        if unwatched:
            self.missed += 1
        else:
            self.watched += 1
            self._alike = self._alike + 1 if requested == self._like else 0
            self._like = requested
        if self._groups:
            apart = self._engine_alone()
            self._compare(apart - self._apart, self._like[1] if unwatched else 0)
            self._apart, self._skipped = apart, False

    def _compare(self, alone: int, expected: int) -> None:
        """Compare the engine's count of unrecorded calls with the expected one: fewer if reducers did not reduce."""
        if expected:
            self._skip(min(alone, expected))
        if alone != expected:
            self._alike = 0
        if alone > expected and self.watched > SETTLED:
            self._never = True

    def goes_on(self, step: int) -> bool:
        """True if this unwatched step ends as expected and the next is unwatched too, so nothing else is due.

        The usual case in few calls: between the parts of a step of 5 ms each Python call takes 4 microseconds, as its code is not cached.
        """
        _, timed, group = self._groups[0]
        if self._skipped or chosen(step + 1) or step % LOGGED_EVERY in (1, LOGGED_EVERY - 1):
            return False
        expected = self._like[1]
        try:
            counted = int(group._get_sequence_number_for_group())
        except RuntimeError:
            return False
        if not self.calls.passed_over(timed._name, expected, counted - self._apart - expected):
            return False
        self.missed += 1
        self._apart += expected
        return True

    def begins(self, step: int) -> None:
        """A step begins, outside any backward pass."""
        sampled = bool(self._groups) and not self._never and self._alike >= ALIKE and self._like[0] > 0
        unwatched = sampled and not chosen(step)
        if unwatched is not self.calls.unwatched:
            self._give(timed=not unwatched)

    def all(self) -> None:
        """Watch every step from now on, until they are alike again."""
        self._alike = 0
        if self.calls.unwatched:
            self._give(timed=True)

    def _give(self, *, timed: bool) -> None:
        groups = [entry for entry in self._groups if entry[0].process_group is entry[2]]
        if len(groups) < len(self._groups) or any(getattr(model, "_comm_hooks", ()) for model, _, _ in groups):
            self._never = timed = True  # the script has changed a model's group, or uses its own comm hook
        for model, ours, group in groups:
            model.reducer._update_process_group(ours if timed else group)
        self.calls.unwatched = not timed

    def _catch_up(self) -> None:
        """Number a call in an unwatched step: after the reducers' calls, if any."""
        if self._engine_alone() - self._apart >= self._like[1]:
            self._skip(self._like[1])

    def _skip(self, calls: int) -> None:
        if not self._skipped:
            self._skipped = True
            self.calls.skip(self._groups[0][1]._name, calls)

    def _engine_alone(self) -> int:
        """The engine's count of calls in the reducers' (world) group, minus the recorded ones."""
        _, timed, group = self._groups[0]
        try:
            return int(group._get_sequence_number_for_group()) - self.calls.noted(timed._name)
        except RuntimeError:
            self._never = True
            return 0
