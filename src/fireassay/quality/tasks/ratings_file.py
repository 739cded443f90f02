"""What did people say of each side?  Ratings, long or wide, or choices between two sides, as answers with their raters.

A rating is an answer whose text is the number; a choice gives both of its sides an answer: 1 won, 0.5 tie, 0 lost.  A cell without anything is
not rated, and never a low rating.  A row with "undo" takes back the same rater's last row on the same thing, as `assay rate` writes it; otherwise two
rows of one rater on one thing are refused.  A rater's name that is no plain code (an address of e-mail, a name with spaces) is kept as a
digest: a record holds no person's name.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from fireassay.printable import some
from fireassay.quality.scoring.items import Item
from fireassay.quality.tasks.answer_file import TABLES, Answers
from fireassay.quality.tasks.support import files
from fireassay.quality.tasks.support.own_task import weight_of
from fireassay.spec.sections.evaluation import MAX_NAME_LENGTH, Evaluation, Fields
from fireassay.spec.sections.ratings import ITEM, Ratings

CODE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
DIGEST: Final = 10  # digits of a name's digest
WIDE: Final = re.compile(r"(.+?)_?Human_?Ratings?", re.IGNORECASE)  # GenAI-Bench's columns
NESTED: Final = "HumanRatings"  # its object of lists
UNDO: Final = "undo"
TIE: Final = ("tie", "equal", "both", "draw", "0.5")
MAX_RATERS: Final = 10_000
MAX_SIDES: Final = 100


@dataclass(frozen=True, kw_only=True)
class Choice:
    """A choice between two sides, as they were shown; None: none was made."""

    item: str
    first: str
    second: str
    rater: str
    outcome: str | None  # "first", "second" or "tie"
    position: int  # its place in the file
    seconds: float | None


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The answers of one side, with who gave each, the other side of its pair, and what the automatic scores say; equal lengths."""

    answers: Answers
    raters: tuple[str, ...]
    against: tuple[str | None, ...]
    positions: tuple[int, ...]
    seconds: tuple[float | None, ...]
    automatic: Mapping[str, tuple[float | None, ...]]


@dataclass(frozen=True, kw_only=True)
class RatingsFile:
    """What a file of ratings holds."""

    sides: Mapping[str, Judged]  # by its name in configurations
    named: Mapping[str, str]  # that name -> the name in the file
    choices: tuple[Choice, ...]
    digests: int  # raters whose names are kept as digests


@dataclass(frozen=True, kw_only=True)
class _Said:
    """One row of the file: of one side, or of a pair."""

    where: str
    item: Item
    sides: tuple[str, ...]
    rater: str
    value: str | None  # the rating as it is written, or the choice; None: none
    automatic: tuple[float | None, ...]
    seconds: float | None

    @property
    def thing(self) -> tuple[object, ...]:
        """What a rater says once."""
        return self.item.id, frozenset(self.sides), self.rater


def side_name(text: str) -> str:
    """The name of a side in configurations and reports: what a name may hold, the rest made plain."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip("-._")[:MAX_NAME_LENGTH] or "side"


def read(path: Path, evaluation: Evaluation, alone: str = "") -> RatingsFile:
    """The ratings in a file. `alone`: who rated where a row has no field of the rater, which is then no flag's; empty: it must have one.

    Raises:
        SpecError: it cannot be read, a row is invalid, a rater rated one thing twice, or a wanted side is not there.
    """
    assert evaluation.ratings is not None
    file = files.read(path)
    delimiter = TABLES.get(path.suffix.lower())
    rows = files.table(file, delimiter) if delimiter else files.json_lines(file)
    reading = _Reading(evaluation.ratings, evaluation.fields, file.sha256, alone)
    said = _once(path.name, [one for row in rows for one in reading.said(row)], alone)
    if not said:
        raise files.wrong(path.name, "no rating", "at least one row with a rating")
    named = _sides(path.name, said, evaluation.ratings)
    kept = [one for one in said if all(side in named.values() for side in one.sides)]
    choices, sides = _folded(path.name, kept, named, evaluation.ratings)
    made = {name: _judged(sides[name], evaluation.ratings, file.sha256) for name in named}
    return RatingsFile(sides=made, named=named, choices=choices, digests=len(reading.digests))


class _Reading:
    """Reads rows of one form; keeps which raters were made digests."""

    def __init__(self, ratings: Ratings, fields: Fields, salt: str, alone: str) -> None:
        self.ratings, self.fields, self.salt, self.alone = ratings, fields, salt, alone
        self.id, self.side = fields.id or ITEM, fields.side or ratings.side
        self.digests: set[str] = set()

    def said(self, row: files.SourceRow) -> Iterator[_Said]:
        """What a row says."""
        if self.ratings.form == "pairs":
            yield self._pair(row)
        elif self.ratings.form == "long":
            value = self._rating(row, _cell(row, self.ratings.rating))
            yield self._one(row, files.text_of(row, self.side), self._rater(row), value)
        elif self.ratings.raters:
            for column in self.ratings.raters:
                yield self._one(row, files.text_of(row, self.side), self._code(column), self._rating(row, _cell(row, column)))
        else:
            yield from self._wide(row)

    def _pair(self, row: files.SourceRow) -> _Said:
        first, second = (files.text_of(row, name) for name in (self.ratings.first, self.ratings.second))
        if first == second:
            raise files.wrong(row.where, f"{files.shown(first)} beside itself", "two sides")
        said = _cell(row, self.ratings.choice)
        return self._made(row, (first, second), self._rater(row), self._choice(row, said, first, second))

    def _choice(self, row: files.SourceRow, said: object, first: str, second: str) -> str | None:
        text = str(said).strip() if said is not None else ""
        if not text:
            return None
        if text in (first, second):
            return "first" if text == first else "second"
        plain = text.lower()
        if plain in TIE:
            return "tie"
        if plain not in ("first", "second", UNDO):
            allowed = f"first, second, tie, {files.shown(first)}, {files.shown(second)}, or nothing"
            raise files.wrong(row.where, f"{files.shown(text)} in {self.ratings.choice!r}", allowed)
        return plain

    def _wide(self, row: files.SourceRow) -> Iterator[_Said]:
        cells = {name: value for name, value in self._cells(row).items() if value is not None and value != ""}
        if not cells:
            raise files.wrong(row.where, "no column of ratings", "columns such as MODEL_HumanRating, or the sides' names as --sides A,B")
        for side, value in cells.items():
            values = _listed(value)
            rater = self._rater(row) if self.ratings.rater in row.values and len(values) == 1 else ""
            for place, one in enumerate(values):
                yield self._one(row, side, rater or f"{place + 1}", self._rating(row, one))

    def _cells(self, row: files.SourceRow) -> Mapping[str, Any]:
        if isinstance(nested := row.values.get(NESTED), dict):
            return nested
        if self.ratings.sides:
            present = {side: name for side in self.ratings.sides for name in row.values if side == name or side == _model(name)}
            return {side: row.values[name] for side, name in present.items()}
        return {model: value for name, value in row.values.items() if (model := _model(name))}

    def _one(self, row: files.SourceRow, side: str, rater: str, value: str | None) -> _Said:
        return self._made(row, (side,), rater, value)

    def _made(self, row: files.SourceRow, sides: tuple[str, ...], rater: str, value: str | None) -> _Said:
        automatic = tuple(_number(row, name) for name in self.ratings.automatic)
        return _Said(
            where=row.where,
            item=self._item(row),
            sides=sides,
            rater=rater,
            value=value,
            automatic=automatic,
            seconds=_finite(row.values.get("seconds")),
        )

    def _item(self, row: files.SourceRow) -> Item:
        fields, prompt = self.fields, row.values.get(self.fields.prompt)
        return Item(
            id=files.text_of(row, self.id),
            prompt=prompt if isinstance(prompt, str) else "",
            cluster=files.text_of(row, fields.cluster) if fields.cluster else None,
            groups={name: files.text_of(row, name) for name in fields.groups},
            weight=weight_of(row, fields.weight) if fields.weight else 1.0,
        )

    def _rater(self, row: files.SourceRow) -> str:
        return self.alone if self.alone and self.ratings.rater not in row.values else self._code(files.text_of(row, self.ratings.rater))

    def _code(self, name: str) -> str:
        if CODE.fullmatch(name):
            return name
        self.digests.add(name)
        return f"rater-{sha256(f'{self.salt}|{name}'.encode('utf-8', 'surrogatepass')).hexdigest()[:DIGEST]}"

    def _rating(self, row: files.SourceRow, value: object) -> str | None:
        """A rating as it is written, "undo", or None."""
        if value is None or (isinstance(value, str) and not value.strip()):
            return None
        if isinstance(value, str) and value.strip().lower() == UNDO:
            return UNDO
        low, high = self.ratings.scale
        number = _finite(value)
        if number is None or not low <= number <= high:
            fix = "Leave a cell empty where nothing was rated."
            if number is not None:
                fix = "The scale is that of the rubric." if self.alone else "Give the scale with --scale LOW,HIGH."
            raise files.wrong(row.where, f"the rating {files.shown(value)}", f"a number from {low:g} to {high:g}", fix)
        return f"{number:.12g}"


def _model(name: str) -> str:
    """ "DALLE_3" of "DALLE_3_HumanRating"; empty of another column."""
    found = WIDE.fullmatch(name)
    return found[1] if found else ""


def _listed(value: object) -> list[Any]:
    """The ratings in a cell: a list, or a text that is one."""
    if isinstance(value, str) and value.strip().startswith("["):
        try:
            found = json.loads(value)
        except (ValueError, RecursionError):
            return [value]
        return found if isinstance(found, list) else [value]
    return value if isinstance(value, list) else [value]


def _cell(row: files.SourceRow, name: str) -> Any:
    """What stands in a field that every row has, which may be nothing."""
    return row.values[name] if name in row.values else files.value(row, name)


def _finite(value: object) -> float | None:
    try:
        number = float(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else math.nan
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _number(row: files.SourceRow, name: str) -> float | None:
    """A number of a row; None where nothing stands."""
    value = _cell(row, name)
    if value is None or value == "":
        return None
    if (number := _finite(value)) is None:
        raise files.wrong(row.where, f"{files.shown(value)} in {name!r}", "a number, or nothing")
    return number


def _once(name: str, said: Iterable[_Said], alone: str) -> list[_Said]:
    """The rows that count: without what was taken back, and each thing once."""
    counted: dict[tuple[object, ...], _Said] = {}
    for one in said:
        if one.value == UNDO:
            counted.pop(one.thing, None)
        elif one.thing in counted:
            unnamed = one.rater == alone
            whose = "without a rater" if unnamed else f"of rater {files.shown(one.rater)}"
            what = f"a second row {whose} on item {files.shown(one.item.id)}, after {counted[one.thing].where}"
            fix = "Keep the row that counts." if alone else "Is --rater, or --id, the right field?"
            fix = "Give each person a code in a column rater." if unnamed else fix
            raise files.wrong(one.where, what, "one row for each rater and thing", fix)
        else:
            counted[one.thing] = one
    raters = len({one.rater for one in counted.values()})
    if raters > MAX_RATERS:
        raise files.wrong(name, f"{raters:,} raters", f"at most {MAX_RATERS:,}", "Is --rater the right field?")
    return list(counted.values())


def _sides(name: str, said: Sequence[_Said], ratings: Ratings) -> dict[str, str]:
    """The sides' names in configurations, and in the file."""
    there = dict.fromkeys(side for one in said for side in one.sides)
    if unknown := [side for side in ratings.sides if side not in there]:
        fix = files.did_you_mean(unknown[0], sorted(there))
        raise files.wrong(name, f"no rating of {files.shown(unknown[0])}", f"the sides {some(map(files.shown, there), 12)}", fix)
    wanted = dict.fromkeys(ratings.sides or there)
    named = {side_name(side): side for side in wanted}
    if len(named) < len(wanted):
        raise files.wrong(name, "sides whose names differ in special characters only", "names that differ in letters or digits")
    if len(named) > MAX_SIDES:
        raise files.wrong(name, f"{len(named):,} sides", f"at most {MAX_SIDES}", "Name those to compare: --sides A,B")
    if ratings.form == "pairs" and len(named) < 2:
        raise files.wrong(name, f"{len(named)} side", "two sides or more")
    return named


Row = tuple[_Said, str | None, str | None, int]  # what was said, its text, the other side of the pair, its place in the file


def _folded(
    name: str, said: Sequence[_Said], named: Mapping[str, str], ratings: Ratings
) -> tuple[tuple[Choice, ...], dict[str, list[Row]]]:
    """Choices, and the rows of each side."""
    short, sides = {side: key for key, side in named.items()}, {key: list[Row]() for key in named}
    choices, items = [], dict[str, _Said]()
    for turn, one in enumerate(said):
        if items.setdefault(one.item.id, one).item != one.item:
            found = f"item {files.shown(one.item.id)} with another prompt, cluster, group or weight than in {items[one.item.id].where}"
            raise files.wrong(one.where, found, "the same in every row of an item")
        keys = [short[side] for side in one.sides]
        if ratings.form != "pairs":
            sides[keys[0]].append((one, one.value, None, turn))
            continue
        won = {None: (None, None), "first": ("1", "0"), "second": ("0", "1"), "tie": ("0.5", "0.5")}[one.value]
        for at in (0, 1):
            sides[keys[at]].append((one, won[at], keys[1 - at], turn))
        choices.append(
            Choice(item=one.item.id, first=keys[0], second=keys[1], rater=one.rater, outcome=one.value, position=turn, seconds=one.seconds)
        )
    if empty := [key for key, rows in sides.items() if all(text is None for _, text, _, _ in rows)]:
        raise files.wrong(name, f"no rating of {files.shown(named[empty[0]])} beside another of the sides", "ratings of every side")
    return tuple(choices), sides


def _judged(rows: Sequence[Row], ratings: Ratings, digest: str) -> Judged:
    seen: dict[str, int] = {}
    repetitions = []
    for one, *_ in rows:
        seen[one.item.id] = seen.get(one.item.id, -1) + 1
        repetitions.append(seen[one.item.id])
    answers = Answers(
        items=tuple(one.item for one, *_ in rows),
        texts=tuple(text for _, text, _, _ in rows),
        repetitions=tuple(repetitions),
        sha256=digest,
        ends=(None,) * len(rows),
    )
    return Judged(
        answers=answers,
        raters=tuple(one.rater for one, *_ in rows),
        against=tuple(other for _, _, other, _ in rows),
        positions=tuple(turn for *_, turn in rows),
        seconds=tuple(one.seconds for one, *_ in rows),
        automatic={name: tuple(one.automatic[at] for one, *_ in rows) for at, name in enumerate(ratings.automatic)},
    )
