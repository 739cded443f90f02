"""What did a program leave as its result, and as numbers, scores and rankings of it?  Read between its end and the next launch.

The digest of a result covers contents, not names: the workers may write as many files as they like. In order, it is the SHA-256 of all files one
after the other, by name; in any order, the sum of the lines' BLAKE2 digests modulo 2^128, which is the same however lines are shuffled over files.
A file outside {out} that is older than the launch was left by another one, and is refused.
Cannot tell: numbers that differ in their last digits only because they were added in another order; score them instead.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from fireassay.errors import SpecError, refuse
from fireassay.record.secrets.redact import redact
from fireassay.spec import user_file
from fireassay.spec.explain import NOTHING, shown
from fireassay.spec.sections.program import MAX_COUNT, Program

AT_ONCE: Final = 1 << 20  # bytes read
TICK_S: Final = 0.05  # files carry the time of the kernel's last tick, which is before that of a clock
MODULUS: Final = 1 << 128
MAX_IDS: Final = 100_000  # of one ranking

Grades = Mapping[str, float]
T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Score:
    """A held-out item's score."""

    id: str
    score: float
    cluster: str | None


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """What a search found for a query, best first, and what is relevant to it: ids with grades, or a better ranking; None: not known."""

    query: str
    ids: tuple[str, ...]
    relevant: Grades | tuple[str, ...] | None


@dataclass(frozen=True, kw_only=True)
class Left:
    """What one launch left."""

    digest: str = ""
    size: int = 0  # bytes of the result
    items: float | None = None
    moved: float | None = None  # bytes between workers
    scores: tuple[Score, ...] = ()
    rankings: tuple[Ranking, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a launch left its files."""

    folder: Path  # its working folder
    out: Path  # its own new folder
    begin_s: float  # when it began, seconds since 1970

    def path(self, name: str) -> Path:
        return self.folder / name.replace("{out}", str(self.out))

    def named(self, path: Path) -> str:
        """A path as the user knows it; never this machine's."""
        for root, word in ((self.out, "{out}/"), (self.folder, "")):
            if path.is_relative_to(root):
                return word + str(path.relative_to(root))
        return path.name

    def fresh(self, path: Path, key: str) -> Path:
        """The file, if this launch wrote it. Raises SpecError: another launch did."""
        if not path.is_relative_to(self.out) and path.stat().st_mtime < self.begin_s - TICK_S:
            fix = "Let the program write it into {out}, a new folder of each launch, or into the working folder with --fresh-folder."
            raise refuse(key, f"{self.named(path)}, older than the launch", "a file that this launch wrote", fix)
        return path


def read(program: Program, place: Place) -> Left:
    """What the program left.

    Raises:
        SpecError: a file is missing, older than the launch, or not in the form that its key says.
    """
    digest, size = _digest(program, place) if program.result else ("", 0)
    numbers = _numbers(program, place)
    return Left(
        digest=digest,
        size=size,
        items=numbers.get("items", program.items),
        moved=numbers.get("bytes"),
        scores=tuple(_rows(program.scores, place, "program.scores", _score)) if program.scores else (),
        rankings=tuple(_rankings(program, place)) if program.rankings else (),
    )


# ---- the result ------------------------------------------------------------------------------------------------------


def _digest(program: Program, place: Place) -> tuple[str, int]:
    paths = [path for pattern in program.result for path in _files(pattern, place)]
    try:
        return (_of_lines if program.any_order else _in_order)(paths)
    except OSError as error:
        raise refuse("program.result", f"{error.strerror}: {place.named(Path(str(error.filename)))}", "files that can be read") from None


def _files(pattern: str, place: Place) -> Iterator[Path]:
    """The files of a pattern, by name; those of a folder with all below it."""
    whole = place.path(pattern)
    found = sorted(Path(whole.anchor).glob(str(whole.relative_to(whole.anchor)))) if any(c in pattern for c in "*?[") else [whole]
    files = [file for path in found for file in (sorted(path.rglob("*")) if path.is_dir() else [path]) if file.is_file()]
    if not files:
        raise _missing("program.result", pattern, "a file with the result")
    yield from (place.fresh(file, "program.result") for file in files)


def _missing(key: str, name: str, what: str) -> SpecError:
    return refuse(
        key, f"{shown(name)}, which the program did not write", what, "Relative paths are in the working folder; {out} is the launch's own."
    )


def _in_order(paths: Sequence[Path]) -> tuple[str, int]:
    digest, size = hashlib.sha256(), 0
    for path in paths:
        with path.open("rb") as file:
            while part := file.read(AT_ONCE):
                digest.update(part)
                size += len(part)
    return digest.hexdigest(), size


def _of_lines(paths: Sequence[Path]) -> tuple[str, int]:
    total, lines, size = 0, 0, 0
    for path in paths:
        with path.open("rb") as file:
            for line in file:
                size += len(line)
                lines += 1
                total += int.from_bytes(hashlib.blake2b(line.rstrip(b"\r\n"), digest_size=16).digest(), "big")
    return f"{lines}:{total % MODULUS:032x}", size


# ---- numbers, scores, rankings ---------------------------------------------------------------------------------------


def _numbers(program: Program, place: Place) -> Mapping[str, float]:
    if not program.numbers:
        return {}
    value = _json(_text(program.numbers, place, "program.numbers"), "program.numbers", program.numbers)
    if not isinstance(value, dict):
        raise refuse("program.numbers", shown(value), 'a JSON object with "items" or "bytes"')
    known = {name: value[name] for name in ("items", "bytes") if value.get(name) is not None}
    for name, number in known.items():
        if not _is_number(number) or not 0 <= number <= MAX_COUNT:
            raise refuse(f"program.numbers: {name}", shown(number), f"a number from 0 to {MAX_COUNT:g}")
    if not known:
        raise refuse("program.numbers", f"an object with {shown(sorted(value)[:5])}", 'a JSON object with "items" or "bytes"')
    return {name: float(number) for name, number in known.items()}


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _text(name: str, place: Place, key: str) -> str:
    path = place.path(name)
    if not path.is_file():
        raise _missing(key, name, "a file that the program writes")
    try:
        return user_file.content(place.fresh(path, key), user_file.MAX_DATA).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise refuse(key, f"{place.named(path)}: {getattr(error, 'strerror', None) or error}", "UTF-8 text") from None


def _json(text: str, key: str, name: str) -> Any:
    try:
        return json.loads(text, parse_constant=lambda word: math.nan)
    except (ValueError, RecursionError) as error:
        raise refuse(key, f"{name}: {error}", "JSON") from None


def _rows(name: str, place: Place, key: str, of: Callable[[Mapping[str, Any], str], T]) -> Iterator[T]:
    """The JSON lines of a file. Raises SpecError: one is no object, or an id occurs twice."""
    seen: set[str] = set()
    count = 0
    for number, line in enumerate(_text(name, place, key).splitlines(), 1):
        if not line.strip():
            continue
        where = f"{key}, line {number}"
        value = _json(line, where, name)
        if not isinstance(value, dict):
            raise refuse(where, shown(value), "a JSON object")
        row = of(value, where)
        identity = str(value.get("id", value.get("query")))
        if identity in seen:
            raise refuse(where, f"{shown(identity)} again", "each item once")
        seen.add(identity)
        count += 1
        yield row
    if not count:
        raise refuse(key, f"{name}, which is empty", "a JSON object for every item")


def _score(row: Mapping[str, Any], where: str) -> Score:
    score = row.get("score")
    if not _is_number(score):
        raise refuse(where, f"score {NOTHING if score is None else shown(score)}", "a finite number")
    cluster = row.get("cluster")
    return Score(id=_id(row.get("id"), where, "id"), score=float(score), cluster=None if cluster is None else redact(str(cluster)))  # type: ignore[arg-type]


def _id(value: object, where: str, name: str) -> str:
    if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
        return redact(str(value))
    raise refuse(where, f"{name} {NOTHING if value is None else shown(value)}", "text or a whole number")


def _rankings(program: Program, place: Place) -> Iterator[Ranking]:
    """The rankings, all against one reference: what is said to be relevant, and nothing to a query of which nothing is said; else the base's."""
    known = relevant_of(place.folder / program.relevant, program.relevant) if program.relevant else {}
    rows = list(_rows(program.rankings, place, "program.rankings", _ranking))
    if known and not any(row.query in known for row in rows):
        raise refuse("program.relevant", "no query of the rankings", "the queries that --rankings has", "Both name a query alike.")
    known = known or {row.query: row.relevant for row in rows if row.relevant is not None}
    for row in rows:
        yield Ranking(query=row.query, ids=row.ids, relevant=known.get(row.query, {}) if known else None)


def relevant_of(path: Path, name: str) -> Mapping[str, Grades | tuple[str, ...]]:
    """What is relevant to each query, or the ranking to be found, of a file of the user's. Raises SpecError: it has another form."""
    place = Place(folder=path.parent, out=path.parent, begin_s=-math.inf)
    rows = _rows(path.name, place, "program.relevant", lambda row, where: _ranking(row, where, bare=True))
    return {row.query: row.relevant or row.ids for row in rows}


def _ranking(row: Mapping[str, Any], where: str, *, bare: bool = False) -> Ranking:
    relevant = _grades(row.get("relevant"), where)
    ids = row.get("ids", [] if bare and relevant is not None else None)
    if not isinstance(ids, list) or len(ids) > MAX_IDS:
        raise refuse(where, f"ids {NOTHING if ids is None else shown(ids)}", f"a list of at most {MAX_IDS:,} ids, the best first")
    names = tuple(_id(one, where, "an id") for one in ids)
    if len(set(names)) < len(names):
        raise refuse(where, "an id twice", "each id once in a ranking")
    return Ranking(query=_id(row.get("query"), where, "query"), ids=names, relevant=relevant)


def _grades(value: object, where: str) -> Grades | None:
    if value is None:
        return None
    if isinstance(value, list):
        return {_id(one, where, "a relevant id"): 1.0 for one in value}
    if isinstance(value, dict) and all(_is_number(grade) and grade >= 0 for grade in value.values()):
        return {_id(name, where, "a relevant id"): float(grade) for name, grade in value.items()}
    raise refuse(where, f"relevant {shown(value)}", "a list of ids, or an object of ids with grades of at least 0")
