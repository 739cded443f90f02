"""In which steps is the communication of a DistributedDataParallel watched?  In all at first, then in one of 4, later of 8.

Timing a collective that the reducer requests takes two calls of Python and a callback: 1 to 13 % of steps below 10 ms on a CPU, a bias of
every speedup over one worker.  So once `ALIKE` watched steps in a row have reduced the same bytes, only some steps are watched; in the others
the reducer has the engine's own group, and the step says in the record that nobody watched it (`communication`, method unwatched).
What a script requests through `torch.distributed` itself is noted in every step, and steps, phases, samples and losses are those of all steps.

Which steps are watched follows from their number alone: the same on every rank, and of no period that a script may have.  Other bytes in a
watched step bring all steps back: averaging now and then (local SGD) is never sampled.
The group changes where a step begins, never in a backward pass: the reducer holds a lock there.
Calls that nobody noted are counted by the engine (`_get_sequence_number_for_group`), so that the same call keeps the same number on every rank.
Source: torch 2.13, `Reducer::update_process_group`; without it (before torch 2.3) every step is watched.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from assay.instruments._groups import Calls

FIRST: Final = 32  # steps that are watched anyway
OFTEN: Final = 256  # steps until which one of 4 is watched
ALIKE: Final = 16
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
        self._bytes, self._alike = 0, 0
        self._counted: dict[str, int] = {}  # calls of each group, by the engine, that nobody notes
        calls.catch_up = self._catch_up
        self.missed = 0  # steps that were not watched

    def add(self, model: Any, timed: Any) -> None:
        """The reducer of this model was given a timed group."""
        self.all()
        if hasattr(model.reducer, "_update_process_group") and _counted(timed) is not None:
            self._groups.append((model, timed, timed._inner))

    def ended(self) -> None:
        """A step is over."""
        if self._calls.unwatched:
            self.missed += 1
            return
        reduced, self._calls.reduced_bytes = self._calls.reduced_bytes, 0
        self._alike = self._alike + 1 if reduced == self._bytes else 0
        self._bytes = reduced

    def begins(self, step: int) -> None:
        """A step begins, in no backward pass."""
        unwatched = bool(self._groups) and self._alike >= ALIKE and self._bytes > 0 and not chosen(step)
        if unwatched is not self._calls.unwatched:
            self._give(timed=not unwatched)

    def all(self) -> None:
        """Every step from here on, until they are alike again."""
        self._alike = 0
        if self._calls.unwatched:
            self._give(timed=True)

    def _give(self, *, timed: bool) -> None:
        if any(model.process_group is not own for model, _, own in self._groups):  # the script has given it another one
            self._groups = [one for one in self._groups if one[0].process_group is one[2]]
            self._alike, timed = 0, True
        for model, ours, own in self._groups:
            model.reducer._update_process_group(ours if timed else own)
        if self._calls.unwatched:
            self._catch_up()
        else:
            self._counted = {name: now - self._calls.noted(name) for name, now in self._now()}
        self._calls.unwatched = not timed

    def _catch_up(self) -> None:
        """Numbers go on behind the calls that nobody noted."""
        for name, now in self._now():
            missed = now - self._calls.noted(name) - self._counted.get(name, 0)
            if name in self._counted and missed > 0:
                self._calls.skip(name, missed)
                self._counted[name] += missed

    def _now(self) -> list[tuple[str, int]]:
        """Collectives that the engine has begun in each group."""
        groups = {group._name: group for _, group, _ in self._groups}
        return [(name, _counted(group) or 0) for name, group in groups.items()]


def _counted(timed: Any) -> int | None:
    """How many collectives the engine has begun in this group; None: it does not say."""
    try:
        return int(timed._inner._get_sequence_number_for_group())
    except RuntimeError:
        return None
