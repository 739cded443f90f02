"""How does a Chrome trace become a profile?  One file per rank, as torch.profiler exports it, or of any other program.

    torch.profiler (Kineto)   kernels, copies, operators and steps; `distributedInfo` names rank and world
    other programs            threads and categories only: which of their events compute or communicate is unknown

Begin and end events (B, E) are joined within their thread.  An event without a finite time, or that ends before it begins, is left out and
counted.  The file is read event by event, so that only the needed ones are in memory; .gz is decompressed up to a limit.
Source: Google, Trace Event Format; PyTorch's Kineto, output_json.cpp.
Cannot tell: which rank wrote a file whose `distributedInfo` and name lack it.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from fireassay.importers.profiles.support.base import Capture, Names, Notes, Profiler, arguments, time_us
from fireassay.importers.support.base import clean, is_number
from fireassay.importers.support.documents import CUT, GZIP, Place, Words, head, opened
from fireassay.record.untrusted import chrome_trace
from fireassay.units import MIB

ENDS: Final = ("ends in the middle", "Unterminated", "Expecting")  # of messages about text that stops
MAX_RANK: Final = 100_000  # as of `factor.levels`
MAX_EPOCH_NS: Final = 4 * 10**18  # the year 2096
_EVENTS: Final = re.compile(r'"traceEvents"\s*:\s*\[|^\s*\[\s*\{[^}]*"ph"\s*:')
_RANK: Final = re.compile(r"rank[-_=. ]?(\d{1,6})(?!\d)", re.IGNORECASE)
_UNNEEDED: Final = frozenset({"python_function", "ac2g", "fwdbwd", "overhead", "gpu_user_annotation", "async_cpu_to_gpu"})
_OLDER: Final = {"operator": "cpu_op", "runtime": "cuda_runtime"}  # Kineto before torch 1.12, whose categories are capitalised
_KEYS: Final = ("baseTimeNanoseconds", "assay_first_step", "assay_wall_minus_monotonic_ns")


def recognises(path: Path) -> bool:
    """True if a file's beginning is that of a Chrome trace."""
    return bool(_EVENTS.search(head(path)))


@contextmanager
def _opened(path: Path) -> Iterator[chrome_trace.Stream]:
    with path.open("rb") as file:
        packed = file.read(2) == GZIP
        file.seek(0)
        if packed:
            with gzip.open(file) as stream:
                yield stream
        else:
            yield file


def read(path: Path) -> Iterator[Capture]:
    """The events of one file. Raises SpecError: no trace, truncated, or too large."""
    content: dict[str, Any] = {}
    notes = Notes()
    opened(path).close()
    with _opened(path) as stream:
        content[chrome_trace.EVENTS] = _Cleaned(path, content, notes).events(stream)
        yield Capture(file=path.name, content=content, notes=notes)


@contextmanager
def _explained(place: Place) -> Iterator[None]:
    """Raises SpecError for whatever a damaged trace raises."""
    try:
        yield
    except chrome_trace.TooLarge:
        limit = chrome_trace.MAX_TRACE_BYTES // MIB
        raise place.wrong(Words(f"more than {limit} MiB uncompressed"), f"a trace of at most {limit} MiB", "Profile fewer steps.") from None
    except chrome_trace.UNREADABLE as error:
        ends = isinstance(error, EOFError | zlib.error) or any(words in str(error) for words in ENDS)
        found = Words(f"no readable trace ({clean(str(error), 120)})")
        raise place.wrong(found, "a whole Chrome trace, .json or .json.gz", CUT if ends else "") from None


class _Cleaned:
    """The events that a summary needs, with the types that it needs."""

    def __init__(self, path: Path, content: dict[str, Any], notes: Notes) -> None:
        self._path, self._content, self._notes = path, content, notes
        self._names = Names()
        self._open: dict[tuple[str, str], list[tuple[Mapping[str, Any], float]]] = {}  # begins without an end yet, by thread
        self._threads: dict[str, dict[str, str]] = {}  # "pid" or "pid/tid" -> its name

    def events(self, stream: chrome_trace.Stream) -> Iterator[Mapping[str, Any]]:
        """The events; afterwards the other keys are in the content."""
        raw: dict[str, Any] = {}
        with _explained(Place(self._path.name)):
            for event in chrome_trace.events(stream, chrome_trace.MAX_TRACE_BYTES, raw, alone=True):
                self._notes.events += 1
                if (kept := self._event(event)) is not None:
                    yield kept
        self._notes.unended += sum(map(len, self._open.values()))
        if raw.get(chrome_trace.EVENTS) is not chrome_trace.LISTED:
            raise Place(self._path.name).wrong(Words("no traceEvents"), "a Chrome trace, with its list of events")
        self._content.update(self._facts(raw))

    def _event(self, event: Mapping[str, Any]) -> Mapping[str, Any] | None:
        phase = event.get("ph")
        if event.get("name") == "[memory]":
            return {"name": "[memory]", "args": arguments(event.get("args"), self._names)}
        if phase == "M":
            self._named(event)
            return None
        category = str(event.get("cat") or "").lower()
        if category in _UNNEEDED or phase not in ("X", "B", "E"):
            return None
        begin = time_us(event.get("ts"))
        if begin is None:
            self._notes.invalid += 1
            return None
        if phase != "X":
            return self._joined(event, begin)
        duration = time_us(event.get("dur"))
        if duration is None or duration < 0:
            self._notes.invalid += 1
            return None
        return self._complete(event, begin, duration)

    def _joined(self, event: Mapping[str, Any], ts: float) -> Mapping[str, Any] | None:
        begun = self._open.setdefault((str(event.get("pid")), str(event.get("tid"))), [])
        if event["ph"] == "B":
            begun.append((event, ts))
            return None
        if not begun:
            self._notes.unended += 1
            return None
        first, begin = begun.pop()
        if ts < begin:
            self._notes.invalid += 1
            return None
        return self._complete(first, begin, ts - begin)

    def _complete(self, event: Mapping[str, Any], begin: float, duration: float) -> Mapping[str, Any]:
        category = str(event.get("cat") or "").lower()
        return {
            "ph": "X",
            "cat": self._names(_OLDER.get(category, category)),
            "name": self._names(event.get("name")),
            "pid": self._names(event.get("pid")),
            "tid": self._names(event.get("tid")),
            "ts": begin,
            "dur": duration,
            "args": arguments(event.get("args"), self._names),
        }

    def _named(self, event: Mapping[str, Any]) -> None:
        kind, args = event.get("name"), event.get("args")
        if kind in ("process_name", "thread_name") and isinstance(args, Mapping) and isinstance(args.get("name"), str):
            pid = self._names(event.get("pid"))
            key = pid if kind == "process_name" else f"{pid}/{self._names(event.get('tid'))}"
            self._threads.setdefault(str(kind), {})[key] = self._names(args["name"])

    def _facts(self, raw: Mapping[str, Any]) -> dict[str, Any]:
        """The other keys of the trace, as far as they have their types."""
        info = raw.get("distributedInfo")
        job = info if isinstance(info, Mapping) else {}
        facts: dict[str, Any] = {key: int(raw[key]) for key in _KEYS if is_number(raw.get(key)) and abs(raw[key]) <= MAX_EPOCH_NS}
        rank, world = _index(job.get("rank"), 0), _index(job.get("world_size"), 1)
        if rank is None and (named := _RANK.search(self._path.name)):
            rank = int(named.group(1))
        backend = job.get("backend")
        facts["distributedInfo"] = {"rank": rank, "world_size": world, "backend": clean(backend, 40) if isinstance(backend, str) else ""}
        facts["threads"] = self._threads
        return facts


def _index(value: object, least: int) -> int | None:
    return int(value) if is_number(value) and least <= value <= MAX_RANK and value == int(value) else None


PROFILER: Final = Profiler(
    name="chrome_trace",
    title="a Chrome trace",
    files="torch.profiler's *.pt.trace.json(.gz), one per rank, or another program's traceEvents",
    recognises=recognises,
    read=read,
)
