"""How does a capture of Nsight Systems become a profile?  From `nsys export --type sqlite`: one part for each process and device.

    CUPTI_ACTIVITY_KIND_KERNEL, _MEMCPY, _MEMSET   work of a device, by the names in StringIds; NCCL's kernels communicate
    NVTX_EVENTS                                    ranges of the host; those named like steps ("step 7", "iteration_7") are the steps
    CUPTI_ACTIVITY_KIND_RUNTIME                    launches, which assign kernels to steps by their correlation
    TARGET_INFO_GPU                                names of the devices

Tables and columns that an older or newer nsys lacks are left out; only plain tables are read, since a view or a virtual table from
outside may run for ever.  Source: NVIDIA, Nsight Systems User Guide, "SQLite Export Schema Reference" and "Serialized process and thread identifiers".
Cannot tell: ranks (processes and devices are numbered in their order), bytes of collectives, and operators without NVTX.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from fireassay.errors import SpecError
from fireassay.importers.profiles.support.base import MAX_US, Capture, Names, Notes, Profiler
from fireassay.importers.support.base import clean
from fireassay.importers.support.documents import Place, Words, opened
from fireassay.printable import shell_word

MAGIC: Final = b"SQLite format 3\0"
MAX_ROWS: Final = 4_000_000  # of one table; a kernel takes some 400 bytes of memory
MAX_PARTS: Final = 1024  # processes and devices of one capture
NS: Final = 1000.0  # nanoseconds in a microsecond
MAX_NS: Final = int(MAX_US)  # nanoseconds: three years
KERNELS: Final = "CUPTI_ACTIVITY_KIND_KERNEL"
RUNTIME: Final = "CUPTI_ACTIVITY_KIND_RUNTIME"
RANGES: Final = "NVTX_EVENTS"
COPIES: Final = {"CUPTI_ACTIVITY_KIND_MEMCPY": ("gpu_memcpy", "Memcpy"), "CUPTI_ACTIVITY_KIND_MEMSET": ("gpu_memset", "Memset")}
PROCESS_BITS: Final = 24  # a global id is the process's in its upper bits, the thread's in these
_STEP: Final = re.compile(r"^(?:profiler|train(?:ing|er)?)?[\s_.:-]*(step|iter(?:ation)?|batch)[\s_.:#=-]*(\d{1,12})?$", re.IGNORECASE)
Key = tuple[int | None, int]  # process, device


def recognises(path: Path) -> bool:
    """True if a file is an SQLite database with tables of Nsight Systems, or a capture that is not exported yet."""
    if not path.is_file():
        return False
    if path.suffix in (".nsys-rep", ".qdrep"):
        return True
    try:
        with path.open("rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                return False
        with _database(path) as tables:
            return bool(tables.columns.keys() & {KERNELS, RANGES, "TARGET_INFO_GPU", "StringIds"})
    except (OSError, sqlite3.Error, SpecError):
        return False


def read(path: Path) -> Iterator[Capture]:
    """The devices of a capture. Raises SpecError: not exported, damaged, or without work of a device."""
    place = Place(path.name)
    opened(path).close()
    if path.suffix in (".nsys-rep", ".qdrep"):
        export = f"nsys export --type sqlite --output {shell_word(path.stem)}.sqlite {shell_word(path.name)}"
        raise place.wrong(Words("a capture that is not exported"), "its export as sqlite", f"Where nsys is installed: {export}")
    with _explained(place), _database(path) as tables:
        parts = _parts(tables, place)
        for number, key in enumerate(parts):
            yield _capture(path, tables, key, number if len(parts) > 1 else None)


@contextmanager
def _explained(place: Place) -> Iterator[None]:
    """Raises SpecError for whatever a damaged database raises."""
    try:
        yield
    except (sqlite3.Error, OverflowError, MemoryError) as error:
        raise place.wrong(Words(f"a damaged database ({clean(str(error), 120)})"), "a whole export of Nsight Systems") from None


@contextmanager
def _database(path: Path) -> Iterator[_Tables]:
    with closing(sqlite3.connect(f"file:{quote(str(path.resolve()))}?mode=ro&immutable=1", uri=True)) as connection:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        yield _Tables(connection)


class _Tables:
    """The plain tables of an export, and their columns."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        rows = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
        plain = [name for name, sql in rows if str(sql).upper().startswith("CREATE TABLE") and re.fullmatch(r"[A-Za-z_]\w*", str(name))]
        self.columns = {
            name: {str(row[1]) for row in connection.execute(f'PRAGMA table_info("{name}")')}  # without generated columns
            for name in plain[:4096]
        }

    def rows(self, table: str, columns: tuple[str, ...], where: str = "1") -> Iterator[tuple[Any, ...]]:
        """Columns of a table, null where it lacks one; nothing if there is no such table."""
        if table not in self.columns:
            return iter(())
        chosen = ", ".join(f'"{column}"' if column in self.columns[table] else "NULL" for column in columns)
        return self._connection.execute(f'SELECT {chosen} FROM "{table}" WHERE {where}')

    def count(self, table: str) -> int:
        """The number of rows; 0 if there is no such table."""
        if table not in self.columns:
            return 0
        total: int = self._connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
        return total

    def distinct(self, table: str, first: str, second: str, most: int) -> list[tuple[Any, Any]]:
        """The pairs of values of two expressions."""
        return self._connection.execute(f'SELECT DISTINCT {first}, {second} FROM "{table}" LIMIT {most}').fetchall()

    def of_process(self, table: str, column: str, process: int | None) -> str:
        """The condition on rows of a process."""
        return f'"{column}" >> {PROCESS_BITS} = {process}' if process is not None and column in self.columns.get(table, ()) else "1"

    def of_device(self, table: str, key: Key) -> str:
        """The condition on rows of a device of a process."""
        device = f'"deviceId" = {key[1]}' if "deviceId" in self.columns.get(table, ()) else "1"
        return f"{self.of_process(table, 'globalPid', key[0])} AND {device}"


def _parts(tables: _Tables, place: Place) -> list[Key]:
    """The processes and devices that ran kernels, devices first."""
    if KERNELS not in tables.columns:
        found = f"tables of {len(tables.columns)} kinds, and none of kernels"
        raise place.wrong(Words(found), f"an export with {KERNELS}", "Capture with: nsys profile --trace cuda,nvtx")
    process = f'"globalPid" >> {PROCESS_BITS}' if "globalPid" in tables.columns[KERNELS] else "NULL"
    device = '"deviceId"' if "deviceId" in tables.columns[KERNELS] else "0"
    for table in (KERNELS, RANGES, RUNTIME, "StringIds", *COPIES):
        if (total := tables.count(table)) > MAX_ROWS:
            raise place.wrong(Words(f"{total:,} rows in {table}"), f"at most {MAX_ROWS:,}", "Capture fewer steps.")
    rows = tables.distinct(KERNELS, process, device, MAX_PARTS + 1)
    parts = [(pid, number) for pid, number in rows if isinstance(number, int) and (pid is None or isinstance(pid, int))]
    if not parts or len(parts) > MAX_PARTS:
        raise place.wrong(Words("no kernel" if not parts else f"kernels of more than {MAX_PARTS} devices"), "a capture of work on a GPU")
    return sorted(parts, key=lambda part: (part[1], part[0] or 0))


def _capture(path: Path, tables: _Tables, key: Key, number: int | None) -> Capture:
    notes = Notes()
    events = _Events(tables, key, notes)
    content = {
        "distributedInfo": {"rank": number},
        "threads": {},
        "baseTimeNanoseconds": events.origin,
        "traceEvents": events.explained(Place(path.name)),
    }
    return Capture(
        file=path.name,
        content=content,
        notes=notes,
        device=_device(tables, key) if number is not None else "",
        missing=("ranks: processes and devices are numbered in their order",) if number == 0 else (),
    )


def _device(tables: _Tables, key: Key) -> str:
    names = {row[0]: row[1] for row in tables.rows("TARGET_INFO_GPU", ("id", "name"))}
    name = names.get(key[1]) if len(set(names.values())) > 1 else next(iter(names.values()), None)
    process = f", process {key[0] & 0xFFFFFF}" if key[0] is not None else ""
    return f"device {key[1]}{process}" + (f", {clean(str(name), 40)}" if name else "")


class _Events:
    """The rows of a device, in the form of torch.profiler's events."""

    def __init__(self, tables: _Tables, key: Key, notes: Notes) -> None:
        self._tables, self._key, self._notes = tables, key, notes
        self._names = Names()
        first = next(tables.rows(KERNELS, ("start",), f"{tables.of_device(KERNELS, key)} AND typeof(\"start\") = 'integer'"), (0,))
        self.origin: int = first[0]
        strings = tables.rows("StringIds", ("id", "value"))
        self._strings = {number: self._names(text) for number, text in strings if isinstance(number, int)}

    def explained(self, place: Place) -> Iterator[Mapping[str, Any]]:
        """The events. Raises SpecError: the database is damaged."""
        with _explained(place):
            yield from self._all()

    def _all(self) -> Iterator[Mapping[str, Any]]:
        """Kernels and copies, then the steps and ranges of the host, and the launches that assign kernels to steps."""
        columns = ("start", "end", "demangledName", "shortName", "streamId", "correlationId")
        for begin, end, name, short, stream, correlation in self._tables.rows(KERNELS, columns, self._tables.of_device(KERNELS, self._key)):
            named = self._strings.get(name) or self._strings.get(short) or "unnamed"
            yield from self._event("kernel", named, begin, end, stream=stream, correlation=correlation)
        for table, (category, name) in COPIES.items():
            where = self._tables.of_device(table, self._key)
            for begin, end, stream, correlation in self._tables.rows(table, ("start", "end", "streamId", "correlationId"), where):
                yield from self._event(category, name, begin, end, stream=stream, correlation=correlation)
        steps = False
        for event in self._ranges():
            steps |= event["cat"] == "user_annotation"
            yield event
        if steps:
            where = self._tables.of_process(RUNTIME, "globalTid", self._key[0])
            for begin, correlation in self._tables.rows(RUNTIME, ("start", "correlationId"), where):
                yield from self._event("cuda_runtime", "", begin, begin, correlation=correlation)

    def _ranges(self) -> Iterator[Mapping[str, Any]]:
        """The ranges of NVTX: those of the family that marks steps are steps, the others operators."""
        found: list[tuple[int, int, str, int]] = []
        where = self._tables.of_process(RANGES, "globalTid", self._key[0])
        for begin, end, text, number, thread in self._tables.rows(RANGES, ("start", "end", "text", "textId", "globalTid"), where):
            name = self._names(text) if text is not None else self._strings.get(number, "")
            if end is not None and name:  # marks have no end
                if _whole(begin) and _whole(end) and end >= begin:
                    found.append((begin, end, name, thread if isinstance(thread, int) else 0))
                else:
                    self._notes.invalid += 1
        steps = _steps(found)
        for begin, end, name, thread in found:
            number = steps.get((begin, end, name, thread))
            category, shown = ("cpu_op", name) if number is None else ("user_annotation", f"ProfilerStep#{number}")
            yield from self._event(category, shown, begin, end, thread=thread)

    def _event(self, category: str, name: str, begin: Any, end: Any, thread: int = 0, **args: Any) -> Iterator[Mapping[str, Any]]:
        self._notes.events += 1
        if not (_whole(begin) and _whole(end)) or end < begin:
            self._notes.invalid += 1
            return
        known = {key: value for key, value in args.items() if _whole(value)}
        yield {
            "ph": "X",
            "cat": category,
            "name": name,
            "pid": self._key[0] or 0,
            "tid": thread & 0xFFFFFF,
            "ts": (begin - self.origin) / NS,  # microseconds since the first kernel keep their nanoseconds
            "dur": (end - begin) / NS,
            "args": known,
        }


def _whole(value: object) -> bool:
    return isinstance(value, int) and -MAX_NS <= value <= MAX_NS


def _steps(ranges: list[tuple[int, int, str, int]]) -> dict[tuple[int, int, str, int], int]:
    """The ranges that mark steps, with their numbers: of the thread and spelling with the longest time in all."""
    families: dict[tuple[int, str], list[tuple[int, int, str, int]]] = {}
    for one in ranges:
        if (marked := _STEP.match(one[2])) is not None:
            families.setdefault((one[3], marked.group(1).lower()), []).append(one)
    if not families:
        return {}
    longest = sorted(max(families.values(), key=lambda some: sum(end - begin for begin, end, *_ in some)))
    matches = [_STEP.match(one[2]) for one in longest]
    numbers = [int(marked.group(2)) for marked in matches if marked is not None and marked.group(2)]
    distinct = len(numbers) == len(longest) == len(set(numbers))
    return dict(zip(longest, numbers if distinct else range(len(longest)), strict=True))


PROFILER: Final = Profiler(
    name="nsys", title="Nsight Systems", files="its export: nsys export --type sqlite", recognises=recognises, read=read
)
