"""What must an importer of a profiler's traces declare, and how are events from outside made safe to summarise?

One module holds one `PROFILER`; its stem is the tool's name.  A file is read into captures, one for each rank or device, whose content has the
form of torch.profiler's Chrome trace: the summary of `assay profile` then applies to all of them.  Events are a stream, read once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support.base import MAX_INTEGER, clean, is_number

MAX_NAME: Final = 200  # characters of an event's name
MAX_NAMES: Final = 200_000  # distinct names whose cleaned form is remembered
MAX_DIGITS: Final = 40
MAX_US: Final = 1e17  # microseconds: 3,000 years
_NUMBERS: Final = (
    "correlation",
    "stream",
    "device",
    "Group size",
    "In msg nelems",
    "Out msg nelems",
    "Device Type",
    "Device Id",
    "Total Allocated",
    "Bytes",
)
_WORDS: Final = ("Collective name", "Process Group Name", "dtype")


@dataclass
class Notes:
    """What a file's events turned out to be; complete once its last event was taken."""

    invalid: int = 0  # events without a usable time
    unended: int = 0  # begins without an end, ends without a begin
    events: int = 0


@dataclass(frozen=True, kw_only=True)
class Capture:
    """The events of one rank, or of one device."""

    file: str
    content: dict[str, Any]  # a Chrome trace; `traceEvents` is taken once, the other keys are complete after that
    notes: Notes = field(default_factory=Notes)
    device: str = ""  # if the file holds several
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Profiler:
    """A tool whose traces can be imported."""

    name: str
    title: str
    files: str  # which of its files are read, for help and errors
    recognises: Callable[[Path], bool]
    read: Callable[[Path], Iterator[Capture]]  # raises SpecError


class Names:
    """Cleaned names, one string for each: a trace repeats few names millions of times."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def __call__(self, name: object) -> str:
        words = name if isinstance(name, str) else "" if name is None else str(name)[:MAX_NAME]
        known = self._known.get(words)
        if known is None:
            known = clean(words, MAX_NAME)
            if len(self._known) < MAX_NAMES:
                self._known[words] = known
        return known


def time_us(value: object) -> float | None:
    """Microseconds of an event, a number or its digits; None if it is no usable number."""
    if isinstance(value, str) and len(value) <= MAX_DIGITS:
        with suppress(ValueError):
            value = float(value)
    return value if is_number(value) and -MAX_US <= value <= MAX_US else None


def arguments(args: object, names: Names) -> dict[str, Any]:
    """The arguments that a summary uses, if they have their types."""
    if not isinstance(args, Mapping):
        return {}
    kept: dict[str, Any] = {}
    for key in _NUMBERS:
        if is_number(value := args.get(key)) and abs(value) <= MAX_INTEGER:
            kept[key] = int(value)
    for key in _WORDS:
        if isinstance(value := args.get(key), str):
            kept[key] = names(value)
    return kept
