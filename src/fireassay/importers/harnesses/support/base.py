"""What must a reader of an evaluation harness's logs declare, and what can such a log contain?

One module holds one `HARNESS`; its stem is the harness's name.  A reader turns a file or a folder into `Run`s: a model that was asked
the items of some tasks.  Of every item it gives the harness's own scores, as they stand in the log; nothing is scored again.  What the
harness made of them (`Total`) is kept beside it, and compared with ours.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Literal

from fireassay.errors import SpecError
from fireassay.importers.support.base import clean, is_number
from fireassay.importers.support.documents import Place, Words

Form = Literal["mean", "ratio"]  # of item scores; ratio: the sum of the first statistic over the sum of the second
Better = Literal["higher", "lower"]
Of = Literal["mean", "stderr"]
GREATEST: Final = 1e100  # of a score
MAX_SETTING_LENGTH: Final = 4000  # characters of a setting
MAX_NAME_LENGTH: Final = 200  # characters of a score's or task's name


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """An item with its one outcome and the harness's scores."""

    item: str
    repetition: int = 0
    prompt: str = ""
    references: tuple[str, ...] = ()
    outcome: str = "ok"
    text: str | None = None
    answer: str | None = None  # what the harness found in the text, and scored; None: nothing
    rule: str = "none"  # how it was found
    finish_reason: str | None = None
    cluster: str | None = None
    groups: Mapping[str, str] = field(default_factory=dict)
    scores: Mapping[str, tuple[float, ...]] = field(default_factory=dict)  # statistics by score; missing: it has none


@dataclass(frozen=True, kw_only=True)
class ForeignScore:
    """A score of the harness under its own name."""

    name: str  # "acc", "exact_match,strict-match"
    signature: str
    better: Better = "higher"
    form: Form = "mean"


@dataclass(frozen=True, kw_only=True)
class Total:
    """A number over items that the harness reported."""

    name: str  # as in its file
    value: float
    score: str = ""  # ours: the score that it is a number of; empty: none
    of: Of = "mean"
    same: bool = False  # whether the definitions are equal, so that the numbers must agree
    group: Mapping[str, str] = field(default_factory=dict)  # of these items alone


class WithoutScores(SpecError):
    """A task or log without a score for any item: it is not imported, as `sentence` says; the others are."""

    def __init__(self, refused: SpecError, sentence: str) -> None:
        super().__init__(refused.problems, refused.source)
        self.sentence = sentence


@dataclass(frozen=True, kw_only=True)
class TaskRun:
    """The items of one task."""

    name: str
    file: str  # that holds its items
    scores: tuple[ForeignScore, ...]  # the deciding one first
    facts: Mapping[str, Any]  # what identifies the task: version, shots, digests, settings
    rows: Callable[[], Iterator[Answered]]
    totals: tuple[Total, ...] = ()
    missing: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    empty: int = 0  # replies without any text, which the harness scored
    cluster: str = ""  # what the clusters are
    grouping: tuple[str, int] | None = (
        None  # a field of the documents that groups them though they are no clusters, and its number of groups
    )


@dataclass(frozen=True, kw_only=True)
class Run:
    """A model that was asked items."""

    model: str
    settings: Mapping[str, Any]  # of the model: its arguments; these may differ between sides
    tasks: tuple[TaskRun, ...]
    files: tuple[Path, ...]
    version: str = ""  # the harness's
    begin_utc: str = ""
    duration_s: float | None = None
    missing: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Harness:
    """A harness whose logs can be imported."""

    name: str
    title: str
    files: str  # which files are read, for help and errors
    meanings: Mapping[str, str]
    missing: tuple[str, ...]  # sentences: what its files never contain
    recognises: Callable[[Path], bool]  # a file or a folder
    read: Callable[[Path, ExitStack], Sequence[Run]]  # raises SpecError; the stack closes the rows' resources


@dataclass
class Digests:
    """A hash of what every item was asked, so that two sides can be held against each other."""

    hashes: dict[str, dict[str, str]] = field(default_factory=lambda: defaultdict(dict))  # its part (prompt, target ...) -> item -> hash

    def digest(self, part: str) -> str:
        """One SHA-256 over all items, in the order of their ids; empty if the log has none."""
        known = self.hashes[part]
        return digest([f"{item} {known[item]}" for item in sorted(known)]) if known else ""


def usable(reads: Iterable[Callable[[], Run]]) -> list[Run]:
    """The runs that hold scores; what is missing of the others stands in the first. Raises WithoutScores: none does."""
    runs: list[Run] = []
    lacking: list[WithoutScores] = []
    for read in reads:
        try:
            runs.append(read())
        except WithoutScores as lack:
            lacking.append(lack)
    if not runs and lacking:
        raise lacking[0]
    return [replace(run, missing=(*run.missing, *(lack.sentence for lack in lacking))) if run is runs[0] else run for run in runs]


# ---- values in a log -------------------------------------------------------------------------------------------------


def plain(text: str) -> str:
    """A text as a record may hold it: without lone surrogates."""
    return text.encode("utf-8", "replace").decode()


def named(value: object, place: Place, what: str = "a name") -> str:
    """A short name of a task, a score or an item. Raises SpecError: no text, or an unusable one."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value) if abs(value) < 10**18 else None
    if not isinstance(value, str) or not value or len(value) > MAX_NAME_LENGTH or not plain(value).isprintable():
        raise place.wrong(value if value is not None else Words("nothing"), f"{what} of 1 to {MAX_NAME_LENGTH} printable characters")
    return plain(value)


def one_kind(kinds: dict[str, type], value: object, place: Place) -> None:
    """Take note of an id. Raises SpecError: 1 and "1" both occur, which would become one item."""
    if kinds.setdefault(str(value), type(value)) is not type(value):
        raise place.wrong(Words(f"{clean(str(value), 80)}, as a text and as a number"), "ids of one kind", "Give one of them another id.")


def score_of(value: object) -> float | None:
    """A score in a log: true, false or a number whose square can be summed; None for everything else, NaN included."""
    if isinstance(value, bool):
        return float(value)
    return float(value) if is_number(value) and abs(value) <= GREATEST else None


def unusable(value: object) -> bool:
    """True for a number that is no score: NaN, infinite or beyond use; null says that there is none."""
    if isinstance(value, str):
        return value.strip().lower().lstrip("+-") in ("nan", "inf", "infinity")
    return isinstance(value, int | float) and score_of(value) is None


def digest(parts: Sequence[str]) -> str:
    """SHA-256 of texts in this order."""
    made = sha256()
    for part in parts:
        made.update(part.encode("utf-8", "replace"))
        made.update(b"\0")
    return made.hexdigest()


def setting(value: object) -> str:
    """A setting as text, redacted and cut; empty if there is none."""
    if value is None or value in ("", {}, []):
        return ""
    return clean(value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str), MAX_SETTING_LENGTH)
