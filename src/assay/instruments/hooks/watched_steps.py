"""In which steps is the communication of a DistributedDataParallel watched?  In all at first, then in one of 4, later of 8.

Timing a collective that the reducer requests takes two calls of Python and a callback: with all other hooks 5 % of steps of 5 ms and 13 %
of 0.7 ms (two ranks, gloo, two processors: `benchmarks/results/attach_overhead.md`), a bias of every speedup over one worker.
So once `ALIKE` watched steps in a row have reduced the same bytes, only some steps are watched; in the others
the reducer has the engine's own group, and the step says in the record that nobody watched it (`communication`, method unwatched).
What a script requests through `torch.distributed` itself is noted in every step, and steps, phases, samples and losses are those of all
steps.

Which steps are watched follows from their number alone: the same on every rank, and of no period that a script may have.  Other bytes in a
watched step bring all steps back: averaging now and then (local SGD) is never sampled.
The group changes where a step begins, never in a backward pass: the reducer holds a lock there.
Calls that nobody noted keep their numbers: as many a step as in the watched ones.  The engine's own count
(`_get_sequence_number_for_group`) must agree
in every step; where it does not (calls from rank to rank, functional collectives), every step is watched from there on.
Source: torch 2.13, `Reducer::update_process_group`; without it (before torch 2.3) every step is watched.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from assay.instruments.hooks.collective_calls import Calls

FIRST: Final = 32  # steps that are watched anyway
OFTEN: Final = 256  # steps until which one of 4 is watched
ALIKE: Final = 16
SETTLED: Final = 4  # watched steps after which a call that nobody knows is no matter of the beginning
LOGGED_EVERY: Final = 8  # steps, of one of which a reducer's own log is read
UNWATCHED: Final = "unwatched"  # of the table `communication`
_AT: Final = tuple(byte % 8 for byte in hashlib.shake_256().digest(1024))


def chosen(step: int) -> bool:
    """Whether this step is watched wherever steps are sampled."""
    every = 4 if step < OFTEN else 8
    return step < FIRST or step % every == _AT[step // every % len(_AT)] % every


class WatchedSteps:
    """Gives reducers the timed group or the engine's own."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._groups: list[tuple[Any, Any, Any]] = []  # model; the timed group and the engine's own
        self._like: tuple[int, int] = (0, 0)  # bytes and calls that reducers requested in the last watched step
        self._alike = 0
        self._apart = 0  # calls by the engine's count less those noted, when the step began
        self._skipped = False  # the reducers' calls of the step under way have their numbers
        self._never = False
        calls.catch_up = self._catch_up
        self.missed = self.watched = 0  # steps

    def add(self, model: Any, timed: Any) -> None:
        """The reducer of this model was given a timed group."""
        self._alike = 0
        if hasattr(model.reducer, "_update_process_group") and not self._never:
            self._groups.append((model, timed, timed._inner))
            if len(self._groups) == 1:
                self._apart = self._engine_alone()

    def ended(self) -> None:
        """A step is over.  Where the engine has counted more calls than the known ones, nothing is sampled from here on."""
        requested, unwatched = self._calls.requested(), self._calls.unwatched
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
        """Calls of a step that the engine alone has counted, beside those that were expected: fewer where reducers did not reduce."""
        if expected:
            self._skip(min(alone, expected))
        if alone != expected:
            self._alike = 0
        if alone > expected and self.watched > SETTLED:
            self._never = True

    def goes_on(self, step: int) -> bool:
        """Whether this step, which was not watched, ends as expected and the next is not watched either: then nothing else is due.
        The usual case in few calls: between the parts of a step of 5 ms each call of Python takes 4 microseconds, for its code is in no
        cache.
        """
        _, timed, own = self._groups[0]
        if self._skipped or chosen(step + 1) or step % LOGGED_EVERY in (1, LOGGED_EVERY - 1):
            return False
        expected = self._like[1]
        try:
            counted = int(own._get_sequence_number_for_group())
        except RuntimeError:
            return False
        if not self._calls.passed_over(timed._name, expected, counted - self._apart - expected):
            return False
        self.missed += 1
        self._apart += expected
        return True

    def begins(self, step: int) -> None:
        """A step begins, in no backward pass."""
        sampled = bool(self._groups) and not self._never and self._alike >= ALIKE and self._like[0] > 0
        unwatched = sampled and not chosen(step)
        if unwatched is not self._calls.unwatched:
            self._give(timed=not unwatched)

    def all(self) -> None:
        """Every step from here on, until they are alike again."""
        self._alike = 0
        if self._calls.unwatched:
            self._give(timed=True)

    def _give(self, *, timed: bool) -> None:
        kept = [one for one in self._groups if one[0].process_group is one[2]]
        if len(kept) < len(self._groups) or any(getattr(model, "_comm_hooks", ()) for model, _, _ in kept):
            self._never = timed = True  # the script has given a model another group, or reduces by a hook of its own
        for model, ours, own in kept:
            model.reducer._update_process_group(ours if timed else own)
        self._calls.unwatched = not timed

    def _catch_up(self) -> None:
        """A call is numbered in a step that is not watched: behind the reducers' calls, if these were made."""
        if self._engine_alone() - self._apart >= self._like[1]:
            self._skip(self._like[1])

    def _skip(self, calls: int) -> None:
        if not self._skipped:
            self._skipped = True
            self._calls.skip(self._groups[0][1]._name, calls)

    def _engine_alone(self) -> int:
        """How many calls of their group, the world's, the engine has counted beyond those that were noted."""
        _, timed, own = self._groups[0]
        try:
            return int(own._get_sequence_number_for_group()) - self._calls.noted(timed._name)
        except RuntimeError:
            self._never = True
            return 0
