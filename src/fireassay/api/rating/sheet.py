"""Which rating comes next for a rater, and which are kept?  An append-only CSV file, one row for each answer.

A row is on the disk (fsync) before the next thing is shown, so neither a reload nor SIGKILL loses an answer that was accepted.  A row cut short by a
crash was never accepted, and is cut off.  What was taken back is a row more, "undo": nothing is overwritten.  The order of things, and which
side is shown first, follow from seed and rater alone, so that a rater goes on after a restart where they were.

Raters of one item get their own order; a lock keeps a second `assay rate` out of the same folder.
"""

from __future__ import annotations

import csv
import fcntl
import io
import os
import random
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import combinations
from pathlib import Path
from typing import Final, Literal, Self

from fireassay.api.rating.items import RatedItem
from fireassay.clock import Clock
from fireassay.errors import refuse
from fireassay.quality.tasks.ratings_file import CODE, UNDO

NAME: Final = "ratings.csv"
Mode = Literal["pairs", "long"]
COLUMNS: Final[Mapping[Mode, tuple[str, ...]]] = {
    "pairs": ("item", "first", "second", "choice", "rater", "seconds", "utc"),
    "long": ("item", "side", "rating", "rater", "seconds", "utc"),
}
ANSWERS: Final[Mapping[Mode, tuple[str, ...]]] = {"pairs": ("first", "second", "tie"), "long": ("1", "2", "3", "4", "5")}
MAX_RATERS: Final = 1000
NS: Final = 1_000_000_000


@dataclass(frozen=True, kw_only=True)
class Thing:
    """What is rated at once: an item's two sides as they are shown, or one side."""

    item: str
    sides: tuple[str, ...]

    @property
    def key(self) -> Key:
        """The same whichever side is shown first."""
        return self.item, frozenset(self.sides)


Key = tuple[str, frozenset[str]]


@dataclass(kw_only=True)
class _Rater:
    """One rater's things in their order, and the answers in the order of answering."""

    things: tuple[Thing, ...]
    answers: dict[Key, tuple[Thing, str]] = field(default_factory=dict)
    since_ns: int = 0

    @property
    def next(self) -> int | None:
        """The number of the first thing without an answer."""
        return next((number for number, thing in enumerate(self.things) if thing.key not in self.answers), None)

    @property
    def last(self) -> tuple[Thing, str] | None:
        """The last answer."""
        return next(reversed(self.answers.values()), None)


@dataclass(frozen=True, kw_only=True)
class Turn:
    """Where a rater stands: the number of the next thing, None: all is done."""

    number: int | None
    thing: Thing | None
    done: int
    total: int


class Sheet:
    """The file of ratings of a folder, and where each rater stands.  Thread-safe."""

    def __init__(self, folder: Path, items: tuple[RatedItem, ...], mode: Mode, seed: int, clock: Clock) -> None:
        """Open or make the file, and read what it holds.

        Raises:
            SpecError: another `assay rate` has it open, or it is a file of another form.
        """
        self.path, self.mode, self.seed, self.clock = folder / NAME, mode, seed, clock
        self.things = _things(items, mode)
        self.known = {thing.key for thing in self.things}
        self.raters: dict[str, _Rater] = {}
        self.order: dict[tuple[str, Key], tuple[Thing, str]] = {}  # rater and thing -> its answer, as they came
        self.lock, self.cut, self.foreign = threading.Lock(), 0, 0
        self.file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
        try:
            self._open()
        except BaseException:
            os.close(self.file)
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self.file)

    def turn(self, rater: str) -> Turn:
        """What is next. Raises ValueError: the code is no plain code, or too many raters came."""
        with self.lock:
            return self._turn(self._rater(rater))

    def thing(self, rater: str, number: int) -> Thing | None:
        """Thing `number` of the rater's order; None if there is none."""
        with self.lock:
            things = self._rater(rater).things
            return things[number] if 0 <= number < len(things) else None

    def answer(self, rater: str, number: int, answer: str) -> Turn:
        """Keep an answer to thing `number`; the same answer again changes nothing.

        Raises:
            ValueError: no such answer, or the rater is not at this thing.
        """
        if answer not in ANSWERS[self.mode]:
            raise ValueError("no such answer")
        with self.lock:
            state = self._rater(rater)
            if not 0 <= number < len(state.things):
                raise ValueError("no such number")
            thing = state.things[number]
            if state.answers.get(thing.key, (thing, ""))[1] == answer:  # its reply was lost
                return self._turn(state)
            if state.next != number:
                raise ValueError("not at this number")
            self._append(rater, thing, answer, state)
            self._note(rater, thing, answer)
            return self._turn(state)

    def undo(self, rater: str) -> Turn:
        """Take the rater's last answer back; nothing if there is none."""
        with self.lock:
            state = self._rater(rater)
            if (last := state.last) is not None:
                self._append(rater, last[0], UNDO, state)
                self._note(rater, last[0], UNDO)
            return self._turn(state)

    def shares(self, side: str, each: int) -> list[float]:
        """Pairs of two sides: the share of `side` in the first `each` choices of every item that has so many, as they became complete."""
        with self.lock:
            taken: dict[str, list[float]] = {}
            complete: list[str] = []
            for thing, answer in self.order.values():
                won = 0.5 if answer == "tie" else float(thing.sides[answer == "second"] == side)
                if len(found := taken.setdefault(thing.item, [])) < each:
                    found.append(won)
                    complete += [thing.item] if len(found) == each else []
            return [sum(taken[item]) / each for item in complete]

    # ---- inside the lock ----

    def _rater(self, rater: str) -> _Rater:
        if rater not in self.raters:
            if not CODE.fullmatch(rater):
                raise ValueError("a rater's code has letters, digits, dots, hyphens and underscores, 40 at most")
            if len(self.raters) >= MAX_RATERS:
                raise ValueError(f"at most {MAX_RATERS} raters")
            self.raters[rater] = _Rater(things=_shuffled(self.things, self.seed, rater))
        return self.raters[rater]

    def _turn(self, state: _Rater) -> Turn:
        state.since_ns, number = self.clock.now_ns(), state.next
        thing = None if number is None else state.things[number]
        return Turn(number=number, thing=thing, done=len(state.answers), total=len(state.things))

    def _note(self, rater: str, thing: Thing, answer: str) -> None:
        state = self._rater(rater)
        state.answers.pop(thing.key, None)
        self.order.pop((rater, thing.key), None)
        if answer != UNDO:
            state.answers[thing.key] = thing, answer
            self.order[rater, thing.key] = thing, answer

    @property
    def kept(self) -> int:
        """How many answers count."""
        return len(self.order)

    def _append(self, rater: str, thing: Thing, answer: str, state: _Rater) -> None:
        seconds = (self.clock.now_ns() - state.since_ns) / NS if state.since_ns else 0.0
        utc = self.clock.utc().isoformat(timespec="milliseconds")
        self._write([thing.item, *thing.sides, answer, rater, f"{seconds:.3f}", utc])

    def _write(self, row: list[str]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(row)
        content, size = text.getvalue().encode(), os.fstat(self.file).st_size
        try:
            while content:
                content = content[os.write(self.file, content) :]
            os.fsync(self.file)
        except OSError:
            os.ftruncate(self.file, size)  # the next row must not continue half a one
            raise

    # ---- what was kept before ----

    def _open(self) -> None:
        try:
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            fix = "End the other one, or rate in another folder."
            raise refuse(str(self.path), "a file that another assay rate has open", "a file of its own", fix, source="the folder") from None
        content = self.path.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        self.cut = len(content) - len(whole)
        if self.cut:
            os.ftruncate(self.file, len(whole))
        rows = list(csv.reader(io.StringIO(whole.decode("utf-8", "replace"), newline="")))
        wanted = list(COLUMNS[self.mode])
        if not rows:
            self._write(wanted)
            folder = os.open(self.path.parent, os.O_RDONLY)
            os.fsync(folder)
            os.close(folder)
        elif rows[0] != wanted:
            found = f"the columns {', '.join(rows[0])}"
            raise refuse(str(self.path), found, ", ".join(wanted), "Rate in another folder, or move the file away.", source="the folder")
        for row in rows[1:]:
            self._read(row)

    def _read(self, row: list[str]) -> None:
        """One row of an earlier session; one of items or raters that are no more is left as it stands."""
        if len(row) != len(COLUMNS[self.mode]):
            self.foreign += 1
            return
        sides = row[1:3] if self.mode == "pairs" else row[1:2]
        answer, rater = row[-4:-2]
        thing = Thing(item=row[0], sides=tuple(sides))
        if thing.key not in self.known or answer not in (*ANSWERS[self.mode], UNDO) or not CODE.fullmatch(rater):
            self.foreign += 1
            return
        self._note(rater, thing, answer)


def _things(items: tuple[RatedItem, ...], mode: Mode) -> tuple[Thing, ...]:
    many = 2 if mode == "pairs" else 1
    return tuple(Thing(item=item.id, sides=sides) for item in items for sides in combinations(item.sides, many))


def _shuffled(things: tuple[Thing, ...], seed: int, rater: str) -> tuple[Thing, ...]:
    """The rater's own order, and which side comes first."""
    drawn = random.Random(sha256(f"{seed}|{rater}".encode()).digest())
    order = drawn.sample(things, len(things))
    return tuple(Thing(item=one.item, sides=one.sides if drawn.random() < 0.5 else one.sides[::-1]) for one in order)
