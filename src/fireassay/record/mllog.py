"""What does a line of an MLPerf log say?  `:::MLLOG {"key", "value", "metadata", "time_ms"}`, of training and of LoadGen alike.

As mlperf-logging reads it (compliance_checker/mlp_parser, 4.1.68): whatever stands before the last marker of a line is a prefix of the launcher
and ignored; a line must be a JSON object with these four keys.  Of an imported log the record keeps every line as an event of kind `mllog`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

MARK: Final = ":::MLLOG"
EVENT: Final = "mllog"  # kind of the events that hold such lines in a record
MAX_SHOWN: Final = 120  # characters of a broken line that are shown
SCORES: Final = ("eval_accuracy", "eval_error", "averaged_validation_loss")  # keys of an evaluation's score
LARGEST: Final = 1e300
NEEDED: Final = ("key", "value", "metadata", "time_ms")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One line: what was logged, when, and where it stands."""

    key: str
    value: Any
    metadata: Mapping[str, Any] = field(default_factory=dict)
    time_ms: float  # since the epoch in a training's log, since the start of the run in LoadGen's
    file: str = ""
    line: int = 0  # from 1
    event_type: str = ""  # as logged; "": that of its key

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(frozen=True, kw_only=True)
class Broken:
    """A line with the marker that cannot be read."""

    file: str
    line: int
    reason: str

    @property
    def where(self) -> str:
        """File and line."""
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, kw_only=True)
class Log:
    """One log file: its lines in their order."""

    file: str
    entries: tuple[Entry, ...] = ()
    broken: tuple[Broken, ...] = ()

    def all(self, key: str) -> tuple[Entry, ...]:
        """The lines with this key."""
        return tuple(entry for entry in self.entries if entry.key == key)

    def first(self, key: str) -> Entry | None:
        """The first such line, which is the one that LoadGen's checker reads."""
        return next((entry for entry in self.entries if entry.key == key), None)

    def value(self, key: str) -> Any:
        """The first such line's value; None: there is none."""
        entry = self.first(key)
        return None if entry is None else entry.value


def log(file: str, lines: Iterable[tuple[int, str]]) -> Log:
    """The lines of a file that hold the marker, as entries. `lines`: number from 1, text."""
    read = [one for number, text in lines if MARK in text and (one := _line(text, file, number)) is not None]
    return Log(
        file=file,
        entries=tuple(one for one in read if isinstance(one, Entry)),
        broken=tuple(one for one in read if isinstance(one, Broken)),
    )


def _line(text: str, file: str, number: int) -> Entry | Broken | None:
    source = text.rsplit(MARK, 1)[1].strip()
    if not source.startswith("{"):  # a program's source code that was printed, or a cut line
        return Broken(file=file, line=number, reason=f"no JSON object: {source[:MAX_SHOWN]}")
    try:
        value = json.loads(source)
    except (ValueError, RecursionError) as error:
        return Broken(file=file, line=number, reason=f"not JSON ({type(error).__name__}): {source[:MAX_SHOWN]}")
    missing = [name for name in NEEDED if name not in value]
    if missing:
        return Broken(file=file, line=number, reason=f"without {', '.join(missing)}")
    return entry_of(value, file, number)


def finite(value: object) -> float | None:
    """A value from a log as a number; None: it is none, or not a finite one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < LARGEST else None  # false for NaN; of a whole number of any length no error


def entry_of(value: Mapping[str, Any], file: str, number: int) -> Entry | Broken:
    """An entry from its JSON object, whose four keys exist."""
    try:
        time_ms = float(value["time_ms"])
    except (TypeError, ValueError, OverflowError):
        time_ms = math.nan
    if not math.isfinite(time_ms):
        return Broken(file=file, line=number, reason=f"time_ms is {str(value['time_ms'])[:MAX_SHOWN]}, no time")
    if not isinstance(value["key"], str):
        return Broken(file=file, line=number, reason=f"key is {str(value['key'])[:MAX_SHOWN]}, no name")
    metadata = value["metadata"] if isinstance(value["metadata"], Mapping) else {}
    kind = value.get("event_type")
    return Entry(
        key=value["key"],
        value=value["value"],
        metadata=metadata,
        time_ms=time_ms,
        file=file,
        line=number,
        event_type=kind if isinstance(kind, str) else "",
    )


def written(entries: Sequence[Entry]) -> str:
    """Lines as the logger of MLPerf writes them, in their order."""
    rows = (
        {
            "namespace": "",
            "time_ms": round(entry.time_ms),
            "event_type": entry.event_type or event_type(entry.key),
            "key": entry.key,
            "value": entry.value,
            "metadata": dict(entry.metadata),
        }
        for entry in entries
    )
    return "".join(f"{MARK} {json.dumps(row, ensure_ascii=True)}\n" for row in rows)


def event_type(key: str) -> str:
    """The event type of a key: of intervals their start and end, else a point in time."""
    return "INTERVAL_START" if key.endswith("_start") else "INTERVAL_END" if key.endswith("_stop") else "POINT_IN_TIME"


def kept(entry: Entry) -> dict[str, Any]:
    """An entry as the detail of an event."""
    return {
        "key": entry.key,
        "value": entry.value,
        "metadata": dict(entry.metadata),
        "time_ms": entry.time_ms,
        "event_type": entry.event_type,
        "file": entry.file,
        "line": entry.line,
    }


def kept_broken(broken: Broken) -> dict[str, Any]:
    """A line that cannot be read, likewise."""
    return {"broken": broken.reason, "file": broken.file, "line": broken.line}


def restored(details: Iterable[str]) -> Log:
    """The log of a launch from the details of its events, in their order."""
    read: list[Entry | Broken] = []
    for number, detail in enumerate(details, start=1):
        value = json.loads(detail)
        file, line = str(value.get("file", "")), value.get("line", number)
        whole = all(name in value for name in NEEDED)
        read.append(entry_of(value, file, line) if whole else Broken(file=file, line=line, reason=str(value.get("broken", ""))))
    entries = sorted((one for one in read if isinstance(one, Entry)), key=lambda entry: entry.line)
    return Log(
        file=entries[0].file if entries else "", entries=tuple(entries), broken=tuple(one for one in read if isinstance(one, Broken))
    )
