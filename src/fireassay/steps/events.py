"""Which events do the hooks record?

Each is a tuple (kind, nanoseconds, then what the comment lists). An object in it is an identity: a batch, an iterator or a module. It is
given a number where the events are stored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

Event = tuple[Any, ...]

# fmt: off
(
    ASK,        # a batch is requested
    GOT,        # it has arrived: `Fetched`
    SKIPPED,    # it could not be read: source
    CONTENTS,   # what has arrived contains: `Fetched`, digests
    RAN_OUT,    # an epoch has ended: key of the iterator, source or None
    LOST,       # batches of it bypass the hooks: source
    GONE,       # its iterator no longer exists: source
    FORWARD,    # the outermost module is called: flags, matches, unknown, sequence number, module
    FORWARDED,  # it has returned
    TRAINS,     # a module is trained without a loader: ids of it and of the modules inside
    BACKWARD,   # gradients are requested: nested, sequence numbers of the passes that they reach (None: not looked up)
    BACKWARDED,  # they are ready: their root, a number, or a tensor that is read later; None: it is no number, or not the step's
    MADE,       # a new optimizer
    UPDATE,     # an optimizer is about to step again: its id
    STEP,       # it steps: its id
    STEPPED,    # it has stepped
    MAY_END,    # the step may have ended here: a pass begins after an optimizer stepped
    GOES_ON,    # it had not
    BEGIN,      # the first step begins: its number
    WITHDRAW,   # it has not begun yet
    TURN,       # a step ends: where the next begins, exposed communication, whether at `MAY_END`
    ASK_TURN,   # both: a batch is requested and a step ends, with nothing in between
    PAUSE,      # training pauses
    RESUME,     # it continues: since when, if reported; duration
    SET_ASIDE,  # other work in the step: duration, begin if it was a reported pause
    NUMBER,     # the step's number after a restart: number, epoch
    END,        # the process ends: whether a step was made, exposed communication, whether any optimizer ever stepped
) = range(27)
# fmt: on

GRADIENTS, TRAINING, PARAMETERS, COUNTS = 1, 2, 4, 8  # flags of a pass; COUNTS: it is a training pass whatever its module's mode
TOO_LARGE: Final = -1  # instead of sequence numbers: the graph was too large to search
NOT_WATCHED: Final = -1  # instead of exposed communication: this step's was not timed


Fetched = tuple[float | None, list[int] | None, "Source | None", Any, list["Batch"]]  # items, ids, source, key; and what it was read as


@dataclass(slots=True, eq=False)
class Source:
    """The data set that an iterator reads, in one of its epochs."""

    key: tuple[int, int | None]  # of the data set; its size
    has_ids: bool  # its indices identify samples
    left: int  # batches until its end: a script that counts batches does not request another
    indexed: bool = False  # its indices are those of the data set's samples, in any selection
    loader: int = 0
    name: str = ""  # of the data set, for display
    opened: int = 0  # order
    gone: bool = False  # its iterator
    view: Any = None  # of the data below the data set
    reference: Any = None  # to its iterator, weakly
    epoch: int | None = None  # set once it was trained on
    ended: int = 0  # read to its end; order

    @property
    def size(self) -> int | None:
        """Samples per epoch."""
        return self.key[1]


class Batch:
    """A fetched batch. What most batches have is kept by the class: making one is part of every step."""

    begin = ns = 0
    counted = True  # the wait is part of the step's data time
    trained = evaluated = False  # evaluated: used in evaluation mode
    scored = False  # by the trained module itself, in evaluation mode and without gradients
    step = -1  # the last step that used it
    contents: str | None = None  # digests, until a step trains on it
    worked: frozenset[int] | None = frozenset()  # rows used by this step; None: all of them
    recorded: frozenset[int] | None = frozenset()  # rows whose ids were recorded; None: all of them

    def __init__(self, items: float | None, ids: list[int] | None, source: Source | None, key: Any) -> None:
        self.items, self.ids, self.source, self.key = items, ids, source, key

    def worked_on(self, rows: range | None, step: int) -> tuple[float | None, list[int] | None]:
        """(items new to this step, ids not recorded before); 0 items if nothing is new."""
        self.trained = True
        worked: frozenset[int] | None = frozenset() if self.step != step else self.worked
        self.step, self.worked = step, worked
        if worked is None or (rows is not None and worked.issuperset(rows)):
            return 0.0, None
        if rows is None or self.items is None or not rows:
            self.worked = None
            return self.items if self.items is None else self.items - len(worked), self._ids(None)
        self.worked = worked.union(rows)
        return float(len(self.worked) - len(worked)), self._ids(rows)

    def _ids(self, rows: range | None) -> list[int] | None:
        recorded = self.recorded
        if self.ids is None or recorded is None:
            return None
        if rows is None:
            self.recorded = None
            return ([id for row, id in enumerate(self.ids) if row not in recorded] if recorded else self.ids) or None
        ids = [self.ids[row] for row in rows if row not in recorded]
        self.recorded = recorded.union(rows)
        return ids or None
