"""What does a log of NVIDIA's nccl-tests hold: which operation, types, sizes and times, in the JSON of -J or as printed?

Columns of printed output are identified by their header names, which vary with -I (i_min ...), -S (timestamp) and the version.  Prefixes that
mpirun or srun add to lines are removed.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from fireassay.errors import SpecError
from fireassay.importers.support.documents import Place, Words
from fireassay.record.secrets.redact import redact_arguments, redact_environment

PROGRAMS: Final = {
    "all_reduce": "all_reduce",
    "all_gather": "all_gather",
    "reduce_scatter": "reduce_scatter",
    "alltoall": "all_to_all",
    "broadcast": "broadcast",
    "reduce": "reduce",
    "gather": "gather",
    "scatter": "scatter",
    "sendrecv": "send_recv",
}
TYPES: Final = {
    "float": "float32",
    "double": "float64",
    "half": "float16",
    "bfloat16": "bfloat16",
    "int8": "int8",
    "uint8": "uint8",
    "int32": "int32",
    "int64": "int64",
    "uint32": "uint32",
    "uint64": "uint64",
    "f8e4m3": "float8_e4m3fn",
    "f8e5m2": "float8_e5m2",
    "char": "int8",
    "int": "int32",  # NCCL 1
}
PLACES: Final = ("out_of_place", "in_place")
OTHERS: Final = ("alltoallv", "hypercube", "bisection")
# anywhere in a name, as in run1_all_reduce_perf_16gpus.txt, but not as a word's end: allreduce_perf is not reduce_perf
_PROGRAM = re.compile(rf"(?<![a-z])(?<!all-)({'|'.join((*PROGRAMS, *OTHERS))})_perf")
Kind = tuple[str, str, int]  # type, operator, root


@dataclass(frozen=True, kw_only=True)
class Line:
    """The result for one size and placement of a run."""

    nbytes: int
    in_place: bool
    seconds: float
    wrong: int | None
    algbw: float  # GB/s, as printed
    busbw: float


@dataclass(frozen=True, kw_only=True)
class Run:
    """A run of nccl-tests."""

    file: str
    op: str
    ranks: int
    dtype: str
    redop: str
    root: int
    lines: tuple[Line, ...]
    aggregation: str  # of times over ranks
    version: str
    seconds: float | None  # duration of the run, if the file gives it
    kept: Mapping[str, Any] = field(repr=False)
    missing: tuple[str, ...] = ()  # sentences: what the file does not say
    doubts: tuple[str, ...] = ()  # sentences: why it should not be trusted
    backend: str = "nccl"
    time: str = "mean over iterations of a loop"


def processor_times(place: Place) -> SpecError:
    """The error for -C 1: it reports the CPU time to enqueue a call, not the call's duration."""
    return place.wrong(Words("processor times (-C 1)"), "times of the calls", "Run it again without -C.")


def line_of(nbytes: int, time: Any, algbw: Any, busbw: Any, wrong: Any, *, in_place: bool, place: Place) -> Line:
    microseconds, elements = number_of(time), number_of(wrong)
    if microseconds is None or microseconds <= 0.0:
        raise place.wrong(time, "microseconds above 0")
    return Line(
        nbytes=nbytes,
        in_place=in_place,
        seconds=microseconds * 1e-6,
        wrong=None if elements is None else int(elements),
        algbw=number_of(algbw) or 0.0,
        busbw=number_of(busbw) or 0.0,
    )


def kind_of(dtype: Any, redop: Any, root: Any) -> Kind:
    return str(dtype), str(redop), max(0, whole(root))


def runs_of(
    path: Path, place: Place, rows: Sequence[tuple[Kind, Line]], *, program: str, headed: bool = True, **rest: Any
) -> tuple[Run, ...]:
    """One run per type, operator and root."""
    if not rows:
        raise place.wrong(Words("no result line"), "at least one size")
    known = [(kind, line) for kind, line in rows if kind[0] in TYPES]
    if not known:
        raise place.wrong(rows[0][0][0], f"one of the types {', '.join(TYPES)}")
    missing = ["which ranks' times were averaged (-a)"] if str(rest["aggregation"]).startswith("not said") else []
    if not headed:
        missing.append("whether its times are those of the calls or of the processor (-C): the column names are missing")
    for dtype in dict.fromkeys(kind[0] for kind, _ in rows if kind[0] not in TYPES):
        omitted = sum(kind[0] == dtype for kind, _ in rows)
        missing.append(f"the meaning of type {dtype}: {omitted:,} of {len(rows):,} results have it and are left out")
    return tuple(
        Run(
            file=path.name,
            op=PROGRAMS[program],
            dtype=TYPES[kind[0]],
            redop=kind[1],
            root=kind[2],
            lines=tuple(line for line_kind, line in known if line_kind == kind),
            missing=tuple(missing),
            **rest,
        )
        for kind in dict.fromkeys(kind for kind, _ in known)
    )


def program_of(text: str, path: Path, place: Place) -> str:
    allowed = f"one of {', '.join(f'{name}_perf' for name in PROGRAMS)}"
    for match in (*_PROGRAM.finditer(text), *_PROGRAM.finditer(path.name)):
        if match[1] in OTHERS:
            raise place.wrong(match[0], allowed)
        return match[1]
    raise place.wrong(Words("no program name"), allowed, "Name the file after the program: all_reduce_perf.txt")


def whole(value: Any) -> int:
    try:
        return int(str(value).strip())
    except ValueError:
        return -1


def number_of(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if math.isfinite(number) else None


KEPT: Final = ("version", "start_time", "end_time", "out_of_bounds", "average_bus_bandwidth", "errors")
RANKS: Final = {0: "rank 0", 1: "mean of ranks", 2: "fastest", 3: "slowest"}


def runs_in_json(text: str, path: Path, place: Place) -> tuple[Run, ...]:
    try:
        document = json.loads(text)
    except ValueError as error:
        fix = "A run that ended early leaves it unfinished."
        raise place.wrong(Words(f"not JSON ({error})"), "a file that nccl-tests writes with -J", fix) from None
    config, results = document.get("config"), document.get("results")
    if not isinstance(config, dict) or not isinstance(results, list) or not results:
        raise place.wrong(Words("no results"), "a run with at least one size")
    for number, item in enumerate(results):
        if not isinstance(item, dict):
            raise place.at("results").at(number).wrong(item, "an object with size, type and times")
    arguments = [str(item) for item in _list(document.get("args"))]
    devices = [item for item in _list(config.get("devices")) if isinstance(item, dict)]
    group = [item for item in devices if item.get("group") == devices[0].get("group")]
    ranks_per_process = max(1, whole(config.get("nthreads", 1))) * max(1, whole(config.get("ngpus", 1)))
    rows = [
        (kind_of(item.get("type"), item.get("redop"), item.get("root")), line)
        for number, item in enumerate(results)
        for line in _lines_of(item, place.at("results").at(number))
    ]
    average = _option(arguments, "-a", "--average")
    kept = {
        **{name: document.get(name) for name in KEPT},
        "config": config,
        "results": results,
        "args": redact_arguments(arguments),
        "env": _variables(document.get("env")),
    }
    return runs_of(
        path,
        place,
        rows,
        program=program_of(" ".join(arguments[:1]) or path.name, path, place),
        ranks=max(1, len(group)) * ranks_per_process,
        seconds=_duration(document.get("start_time"), document.get("end_time")),
        aggregation=RANKS.get(whole(average) if average is not None else 1, "not said"),
        version=str(document.get("nccl_version") or ""),
        kept=kept,
    )


def _lines_of(result: Mapping[str, Any], place: Place) -> Iterator[Line]:
    size = number_of(result.get("size"))
    if not size:
        return  # sizes below one element per rank send nothing
    for key in PLACES:
        part = result.get(key)
        if part is None:
            continue
        if not isinstance(part, dict):
            raise place.at(key).wrong(part, "an object with time, alg_bw and bus_bw")
        if "cpu_time" in part:
            raise processor_times(place.at(key))
        values = (part.get(name) for name in ("time", "alg_bw", "bus_bw", "nwrong"))
        yield line_of(int(size), *values, in_place=key == "in_place", place=place.at(key).at("time"))


def _option(arguments: Sequence[str], *names: str) -> str | None:
    for index, word in enumerate(arguments[:-1]):
        if word in names:
            return arguments[index + 1]
    return next((word.partition("=")[2] for word in arguments if word.partition("=")[0] in names and "=" in word), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _duration(begin: Any, end: Any) -> float | None:
    try:
        form = "%Y-%m-%d %H:%M:%S"
        return (datetime.strptime(str(end), form) - datetime.strptime(str(begin), form)).total_seconds()
    except ValueError:
        return None


def _variables(pairs: Any) -> dict[str, str]:
    """NCCL's variables only; others may hold secrets."""
    variables = dict(str(pair).partition("=")[::2] for pair in _list(pairs))
    return redact_environment({name: value for name, value in variables.items() if name.startswith(("NCCL_", "CUDA_VISIBLE"))})


_DEVICE = re.compile(r"#\s+Rank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?Pid\s+\d+ on\s+(\S+)\s+device\s+(\d+)\s+\[[^\]]*\]\s*(.*)")
# prefixes of mpirun --tag-output, torchrun, srun --label (padded), pdsh, Ray, and time stamps of kubectl, journald and others
_PREFIX = re.compile(
    r"^ *(?:\[[^\]]*\](?:<\w+>)?:? ?|\([^)]*\) ?|\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* ?|[\w.-]+: ?|[\w.-]+ \| ?)"
    r"(?=\s*(?:#|\d+\s+\d+\s|[\[(\w]))"
)
MAX_PREFIXES: Final = 3  # a time stamp, a pod or rank, a stream
END: Final = "# Avg bus bandwidth"
_START, _NAMED = "# nThread ", "# Collective test starting"
COLUMNS: Final = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong")
CPU_TIME: Final = "cputime"  # name of the time column with -C 1
STAMP: Final = "timestamp"  # -S 1: date and time, two words


@dataclass(frozen=True, kw_only=True)
class Table:
    """The layout of result lines, from the header above them."""

    first: tuple[str, ...]  # leading columns: size count type redop root
    of_a_place: tuple[str, ...]  # per placement, out of place then in place: time algbw busbw #wrong and the columns of -I
    after: int  # number of trailing words: the timestamp of -S
    named: bool  # whether it comes from a header


def runs_in_text(text: str, path: Path, place: Place) -> tuple[Run, ...]:
    lines = [_bare(line) for line in text.splitlines()]
    if not any(map(_DEVICE.match, lines)):
        raise place.wrong(Words("no device line"), "the whole output, with its lines # Rank ...")
    runs: list[Run] = []
    for begin, end in itertools.pairwise([0, *_starts(lines), len(lines)]):
        runs += _of_section(lines[begin:end], begin, path, place)
    if not runs:
        raise place.wrong(Words("no result line"), "at least one size")
    return tuple(runs)


_RESULT = re.compile(r"\s*(?:#|\d+\s+\d+\s)")


def _bare(line: str) -> str:
    """A line without what a launcher or a collector put before it; unchanged if nothing of nccl-tests follows."""
    bare = line
    for _ in range(MAX_PREFIXES):
        if _RESULT.match(bare):
            return bare.lstrip() if bare.lstrip().startswith("#") else bare
        bare = _PREFIX.sub("", bare, count=1)
    return bare.lstrip() if _RESULT.match(bare) else line


def _starts(lines: Sequence[str]) -> list[int]:
    """The line at which the second and each later run of a file begins."""
    starts: list[int] = []
    since = 0  # line that names the current run
    for number, line in enumerate(lines):
        if line.startswith(_NAMED):
            since = number
        elif line.startswith(_START):
            starts.append(since if any(earlier.startswith(_NAMED) for earlier in lines[since:number]) else number)
            since = number
    return starts[1:]


def _of_section(lines: Sequence[str], before: int, path: Path, place: Place) -> tuple[Run, ...]:
    """The runs in one section of a file; none without results."""
    devices = [match.groups() for match in map(_DEVICE.match, lines) if match]
    table = _table(COLUMNS, place, named=False)
    rows: list[tuple[Kind, Line]] = []
    unread: list[Place] = []
    for number, line in enumerate(lines, before + 1):
        words, at = line.replace("#wrong", " #wrong").split(), Place(path.name, number)
        if words[:1] == ["#"] and {"size", "algbw", "busbw"} <= set(words):
            if CPU_TIME in words:
                raise processor_times(at)
            table = _table(words[1:], at, named=True)
        elif len(words) > 2 and words[0].isdigit() and words[1].isdigit() and int(words[0]):  # size 0 sends nothing
            rows += _of_words(words, table, at)
        elif rows and words[:1] and words[0].isdigit() and int(words[0]):
            unread.append(at)
    if not rows:
        return ()
    text = "\n".join(lines)
    version = re.search(r"nccl-library=(\d+)", text) or re.search(r"NCCL version (\S+)", text)
    kept = [line for line in lines if line.startswith("#") or (line.split()[:1] and line.split()[0].isdigit())]
    return runs_of(
        path,
        place,
        rows,
        program=program_of(text, path, place),
        ranks=sum(device[1] == devices[0][1] for device in devices) if devices else 1,
        seconds=None,
        aggregation="not said, by default the mean of ranks",
        version=version[1] if version else "",
        kept={"text": kept},
        headed=table.named,
        doubts=(*unread_lines(unread), *(() if END in text else (f"it has no line {END}, which ends a run: sizes may be missing",))),
    )


def unread_lines(places: Sequence[Place]) -> tuple[str, ...]:
    """That lines which begin like results are none."""
    several = f"{len(places)} lines begin" if len(places) > 1 else "a line begins"
    return (f"{several} with a size and cannot be read, the first is line {places[0].line}",) if places else ()


def _table(names: Sequence[str], place: Place, *, named: bool) -> Table:
    """The layout from the column names: those of a placement begin with its time and occur twice."""
    times = [at for at, name in enumerate(names) if name == "time"]
    if not 1 <= len(times) <= len(PLACES):
        raise place.wrong(Words(f"{len(times)} columns named time"), "one for each of out-of-place and in-place")
    begin = times[0]
    ends = [at for at, name in enumerate(names) if name == STAMP] or [len(names)]
    of_a_place = tuple(names[begin : times[1] if len(times) > 1 else ends[0]])
    end = begin + len(times) * len(of_a_place)
    if tuple(names[begin:end]) != of_a_place * len(times):
        raise place.wrong(Words(" ".join(names[begin:])), f"the columns {' '.join(of_a_place)} twice")
    after = sum(2 if name == STAMP else 1 for name in names[end:])
    return Table(first=tuple(names[:begin]), of_a_place=of_a_place, after=after, named=named)


def _of_words(words: Sequence[str], table: Table, place: Place) -> Iterator[tuple[Kind, Line]]:
    """A result line: leading columns, then those of out of place and of in place."""
    words = _with_operator(words, table)
    first, each = len(table.first), len(table.of_a_place)
    held = len(words) - first - table.after
    if held not in (each, 2 * each):
        rest = len(words) - held
        allowed = f"{rest + each} or {rest + 2 * each} words below {' '.join((*table.first, *table.of_a_place))} ..."
        half = "A run that ended early leaves half a line: remove it."
        bare = "Keep the lines with the column names (# size count ...): -I and -S add columns."
        raise place.wrong(Words(f"{len(words)} words"), allowed, half if table.named else f"{half} {bare}")
    known = dict(zip(table.first, words, strict=False))
    for number in range(held // each):
        part = dict(zip(table.of_a_place, words[first + number * each :], strict=False))
        if part["time"] != "N/A":
            # before version 2.11 there was no #wrong, only the maximum error, which is not a count
            values = (part["time"], part["algbw"], part["busbw"], part.get("#wrong"))
            line = line_of(int(words[0]), *values, in_place=number == 1, place=place)
            yield kind_of(known.get("type"), known.get("redop"), known.get("root")), line


def _with_operator(words: Sequence[str], table: Table) -> list[str]:
    """The line with a placeholder below redop, which older versions left empty for operations without operator."""
    at = table.first.index("redop") if "redop" in table.first else len(words)
    return [*words[:at], "none", *words[at:]] if at < len(words) and number_of(words[at]) is not None else [*words]
