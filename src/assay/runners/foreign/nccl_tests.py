"""How do results of NVIDIA's nccl-tests become a record of collectives?  From the JSON of `-J FILE`, or from what is printed.

A run is one start of processes, and so a launch; runs of the same program with the same settings (a folder of files, or one file with
several) are launches of one record.  Types and operators of one run (-d all, -o all) are records of their own (types that assay does not
know are left out, and told); a size that comes again (-N) is another loop of its launch.  What mpirun or srun write before each line is
taken off. A line of the result is one row for each placement: its time is the mean over iterations that nccl-tests reports, over the ranks
as `-a` asks (the mean, unless told otherwise), and its `wrong` the elements of a separate iteration, not of the timed ones.  Both are
told in the manifest and stand in the definition of every number, so that none passes for one of assay's own.
Everything else of the file (configuration, devices, times of single iterations) is kept as it is in the manifest, but for the
environment, of which only NCCL's own variables are.
Columns of the text are found by the names in its header, which -I (i_min ...), -S (timestamp) and versions change.
Source: nccl-tests src/util.cu and src/common.cu, JSON version 2 (2.17 and later), and the text of all versions since 2.8.
Cannot tell: the times of each rank, nor whether the timed calls were right.
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

from assay.clock import Clock
from assay.errors import SpecError
from assay.record import files
from assay.record import folder as record_folder
from assay.record.secrets.redact import redact_arguments, redact_environment
from assay.runners.experiment.rows import launch_row, write_launch
from assay.runners.experiment.run import plan_signature
from assay.runners.foreign.support.base import Imported
from assay.runners.foreign.support.documents import Place, Words
from assay.spec.experiment import Experiment
from assay.spec.plan import plan
from assay.spec.sections.collectives import UNITS

NAME: Final = "nccl_tests"
TITLE: Final = "nccl-tests"
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
    "int": "int32",  # of NCCL 1
}
RANKS: Final = {0: "rank 0", 1: "mean of ranks", 2: "fastest", 3: "slowest"}
MOST_BYTES: Final = 64 << 20
PLACES: Final = ("out_of_place", "in_place")
_DEVICE = re.compile(r"#\s+Rank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?Pid\s+\d+ on\s+(\S+)\s+device\s+(\d+)\s+\[[^\]]*\]\s*(.*)")
OTHERS: Final = ("alltoallv", "hypercube", "bisection")
# wherever it stands, as in run1_all_reduce_perf_16gpus.txt; never the end of another word: allreduce_perf is no reduce_perf
_PROGRAM = re.compile(rf"(?<![a-z])(?<!all-)({'|'.join((*PROGRAMS, *OTHERS))})_perf")
# before a line of its own: mpirun --tag-output, torchrun, srun --label, pdsh
_PREFIX = re.compile(r"^(?:\[[^\]\s]*\](?:<\w+>)?:? ?|[\w.-]+: ?)(?=\s*(?:#|\d+\s+\d+\s))")
_START, _NAMED = "# nThread ", "# Collective test starting"
COLUMNS: Final = ("size", "count", "type", "redop", "root", "time", "algbw", "busbw", "#wrong", "time", "algbw", "busbw", "#wrong")
CPU_TIME: Final = "cputime"  # what a column of times is named with -C 1
STAMP: Final = "timestamp"  # -S 1: a day and a time of day, two words


Kind = tuple[str, str, int]  # type, operator, root


@dataclass(frozen=True, kw_only=True)
class Line:
    """A size and placement of a run."""

    nbytes: int
    in_place: bool
    seconds: float
    wrong: int | None
    algbw: float  # GB/s, as printed
    busbw: float


@dataclass(frozen=True, kw_only=True)
class Table:
    """Which words a line has, by the header above it."""

    first: tuple[str, ...]  # what the line is of: size count type redop root
    of_a_place: tuple[str, ...]  # time algbw busbw #wrong and what -I adds: out of place, then in place
    after: int  # words at the end: the timestamp of -S
    named: bool  # whether a header said so


@dataclass(frozen=True, kw_only=True)
class Run:
    """A file of nccl-tests."""

    file: str
    op: str
    ranks: int
    dtype: str
    redop: str
    root: int
    lines: tuple[Line, ...]
    aggregation: str  # how the ranks' times became one
    version: str
    seconds: float | None  # how long the run took, where the file says it
    kept: Mapping[str, Any] = field(repr=False)
    unsaid: tuple[str, ...] = ()


def recognises(name: str, head: str) -> bool:
    """Whether a file's beginning looks like nccl-tests'."""
    printed = "algbw" in head and "busbw" in head and "#wrong" in head
    started = "# nThread " in head and ("nGpus" in head) and "warmup iters" in head
    return printed or started or ('"nccl_version"' in head and '"args"' in head)


def import_runs(chosen: Sequence[Path], root: Path, *, clock: Clock, name: str = "") -> tuple[Imported, ...]:
    """Write the runs of these files as sealed records, one for each program and settings.

    Raises:
        SpecError: a file is wrong; nothing is left behind.
        RecordError: a record cannot be written.
    """
    groups: dict[str, list[Run]] = {}
    for path in chosen:
        for run in read(path):
            sizes = tuple((line.nbytes, line.in_place) for line in run.lines)
            same = (run.op, run.ranks, run.dtype, run.redop, run.root, run.aggregation, run.version, sizes)
            groups.setdefault(json.dumps(same), []).append(run)
    digests = {path.name: files.digest(path) for path in chosen}
    made = []
    for place, runs in enumerate(groups.values()):
        stem = re.sub(r"[^A-Za-z0-9._-]+", "-", name or f"nccl-tests-{runs[0].op}-{runs[0].ranks}").strip("-._")
        ending = f"-{place + 1}" if name and len(groups) > 1 else ""
        made.append(_record(runs, f"{stem[: 80 - len(ending)]}{ending}", {run.file: digests[run.file] for run in runs}, root, clock))
    return tuple(made)


# ---- reading -----------------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[Run, ...]:
    """The runs of one file.

    Raises:
        SpecError: it is no result of nccl-tests, or of an operation or type that assay does not know.
    """
    place = Place(path.name)
    if path.stat().st_size > MOST_BYTES:
        raise place.wrong(Words(f"{path.stat().st_size} bytes"), f"at most {MOST_BYTES}")
    text = path.read_text(encoding="utf-8", errors="replace")
    return _from_json(text, path, place) if text.lstrip().startswith("{") else _from_text(text, path, place)


def _from_json(text: str, path: Path, place: Place) -> tuple[Run, ...]:
    try:
        found = json.loads(text)
    except ValueError as error:
        raise place.wrong(
            Words(f"no JSON ({error})"), "what nccl-tests writes with -J", "A run that was ended early leaves it unfinished."
        ) from None
    config, results = found.get("config"), found.get("results")
    if not isinstance(config, dict) or not isinstance(results, list) or not results:
        raise place.wrong(Words("no results"), "a run with at least one size")
    for number, one in enumerate(results):
        if not isinstance(one, dict):
            raise place.at("results").at(number).wrong(one, "an object with size, type and times")
    arguments = [str(one) for one in _list(found.get("args"))]
    devices = [one for one in _list(config.get("devices")) if isinstance(one, dict)]
    own = [one for one in devices if one.get("group") == devices[0].get("group")]
    each = max(1, _whole(config.get("nthreads", 1))) * max(1, _whole(config.get("ngpus", 1)))
    rows = [
        (_kind(one.get("type"), one.get("redop"), one.get("root")), line)
        for number, one in enumerate(results)
        for line in _lines_of(one, place.at("results").at(number))
    ]
    average = _option(arguments, "-a", "--average")
    kept = {
        "version": found.get("version"),
        "start_time": found.get("start_time"),
        "end_time": found.get("end_time"),
        "config": config,
        "results": results,
        "args": redact_arguments(arguments),
        "out_of_bounds": found.get("out_of_bounds"),
        "average_bus_bandwidth": found.get("average_bus_bandwidth"),
        "errors": found.get("errors"),
        "env": _variables(found.get("env")),
    }
    return _runs(
        path,
        place,
        rows,
        program=_program(" ".join(arguments[:1]) or path.name, path, place),
        ranks=max(1, len(own)) * each,
        seconds=_lasted(found.get("start_time"), found.get("end_time")),
        aggregation=RANKS.get(_whole(average) if average is not None else 1, "not said"),
        version=str(found.get("nccl_version") or ""),
        kept=kept,
    )


def _lines_of(one: Mapping[str, Any], place: Place) -> Iterator[Line]:
    size = _number(one.get("size"))
    if not size:
        return  # sizes below one element for each rank send nothing
    for key in PLACES:
        part = one.get(key)
        if part is None:
            continue
        if not isinstance(part, dict):
            raise place.at(key).wrong(part, "an object with time, alg_bw and bus_bw")
        if "cpu_time" in part:
            raise _of_the_processor(place.at(key))
        yield _line(
            int(size),
            part.get("time"),
            part.get("alg_bw"),
            part.get("bus_bw"),
            part.get("nwrong"),
            in_place=key == "in_place",
            place=place.at(key).at("time"),
        )


def _of_the_processor(place: Place) -> SpecError:
    """How long the processor was busy with starting a call is not how long the call took."""
    return place.wrong(Words("times of the processor (-C 1)"), "times of the calls", "Run it again without -C.")


def _line(nbytes: int, time: Any, algbw: Any, busbw: Any, wrong: Any, *, in_place: bool, place: Place) -> Line:
    microseconds, elements = _number(time), _number(wrong)
    if microseconds is None or microseconds <= 0.0:
        raise place.wrong(time, "microseconds above 0")
    return Line(
        nbytes=nbytes,
        in_place=in_place,
        seconds=microseconds * 1e-6,
        wrong=None if elements is None else int(elements),
        algbw=_number(algbw) or 0.0,
        busbw=_number(busbw) or 0.0,
    )


def _from_text(text: str, path: Path, place: Place) -> tuple[Run, ...]:
    lines = [_PREFIX.sub("", line) for line in text.splitlines()]
    if not any(map(_DEVICE.match, lines)):
        raise place.wrong(Words("no line of a device"), "the whole output, with its lines # Rank ...")
    found: list[Run] = []
    for begin, end in itertools.pairwise([0, *_starts(lines), len(lines)]):
        found += _of_section(lines[begin:end], begin, path, place)
    if not found:
        raise place.wrong(Words("no line of a result"), "at least one size")
    return tuple(found)


def _starts(lines: Sequence[str]) -> list[int]:
    """Where the second run of a file begins, and every further one: what it says of itself first."""
    found: list[int] = []
    since = 0  # where the run at hand has been named
    for number, line in enumerate(lines):
        if line.startswith(_NAMED):
            since = number
        elif line.startswith(_START):
            found.append(since if any(one.startswith(_NAMED) for one in lines[since:number]) else number)
            since = number
    return found[1:]


def _of_section(lines: Sequence[str], before: int, path: Path, place: Place) -> tuple[Run, ...]:
    """One run of a file; none where it printed no result."""
    devices = [match.groups() for match in map(_DEVICE.match, lines) if match]
    table = _table(COLUMNS, place, named=False)
    rows: list[tuple[Kind, Line]] = []
    for number, line in enumerate(lines, before + 1):
        words, at = line.replace("#wrong", " #wrong").split(), Place(path.name, number)
        if words[:1] == ["#"] and {"size", "algbw", "busbw"} <= set(words):
            if CPU_TIME in words:
                raise _of_the_processor(at)
            table = _table(words[1:], at, named=True)
        elif len(words) > 2 and words[0].isdigit() and words[1].isdigit() and int(words[0]):  # 0: nothing is sent
            rows += _of_words(words, table, at)
    if not rows:
        return ()
    text = "\n".join(lines)
    version = re.search(r"nccl-library=(\d+)", text) or re.search(r"NCCL version (\S+)", text)
    kept = [line for line in lines if line.startswith("#") or (line.split()[:1] and line.split()[0].isdigit())]
    return _runs(
        path,
        place,
        rows,
        program=_program(text, path, place),
        ranks=sum(one[1] == devices[0][1] for one in devices) if devices else 1,
        seconds=None,
        aggregation="not said, by default the mean of ranks",
        version=version[1] if version else "",
        kept={"text": kept},
        headed=table.named,
    )


def _table(names: Sequence[str], place: Place, *, named: bool) -> Table:
    """Of the names of the columns: those of a place begin with its time and come twice."""
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
    """A line under its header: what it is, then the columns of out of place and those of in place."""
    words = _with_operator(words, table)
    first, each = len(table.first), len(table.of_a_place)
    held = len(words) - first - table.after
    if held not in (each, 2 * each):
        wanted = (
            f"{len(words) - held + each} or {len(words) - held + 2 * each} words below {' '.join((*table.first, *table.of_a_place))} ..."
        )
        half = "A run that was ended early leaves half a line: take it out."
        bare = "Leave the lines in that name the columns (# size count ...): -I and -S add some."
        raise place.wrong(Words(f"{len(words)} words"), wanted, half if table.named else f"{half} {bare}")
    known = dict(zip(table.first, words, strict=False))
    for number in range(held // each):
        part = dict(zip(table.of_a_place, words[first + number * each :], strict=False))
        if part["time"] != "N/A":
            # before version 2.11 there was no #wrong: error was the largest error, which is no count
            values = (part["time"], part["algbw"], part["busbw"], part.get("#wrong"))
            line = _line(int(words[0]), *values, in_place=number == 1, place=place)
            yield _kind(known.get("type"), known.get("redop"), known.get("root")), line


def _with_operator(words: Sequence[str], table: Table) -> list[str]:
    """The line with a word below redop: operations without an operator left it empty before they printed none."""
    at = table.first.index("redop") if "redop" in table.first else len(words)
    return [*words[:at], "none", *words[at:]] if at < len(words) and _number(words[at]) is not None else [*words]


def _kind(dtype: Any, redop: Any, root: Any) -> Kind:
    return str(dtype), str(redop), max(0, _whole(root))


def _runs(
    path: Path, place: Place, rows: Sequence[tuple[Kind, Line]], *, program: str, headed: bool = True, **rest: Any
) -> tuple[Run, ...]:
    """One for each type, operator and root."""
    if not rows:
        raise place.wrong(Words("no line of a result"), "at least one size")
    known = [(kind, line) for kind, line in rows if kind[0] in TYPES]
    if not known:
        raise place.wrong(rows[0][0][0], f"one of the types {', '.join(TYPES)}")
    unsaid = ["which ranks' times were averaged (-a)"] if str(rest["aggregation"]).startswith("not said") else []
    if not headed:
        unsaid.append("whether its times are those of the calls or of the processor (-C): the names of the columns are not there")
    for dtype in dict.fromkeys(kind[0] for kind, _ in rows if kind[0] not in TYPES):
        without = sum(kind[0] == dtype for kind, _ in rows)
        unsaid.append(f"what {dtype} is: {without:,} of {len(rows):,} results are of this type, and left out")
    return tuple(
        Run(
            file=path.name,
            op=PROGRAMS[program],
            dtype=TYPES[kind[0]],
            redop=kind[1],
            root=kind[2],
            lines=tuple(line for own, line in known if own == kind),
            unsaid=tuple(unsaid),
            **rest,
        )
        for kind in dict.fromkeys(kind for kind, _ in known)
    )


def _program(text: str, path: Path, place: Place) -> str:
    for match in (*_PROGRAM.finditer(text), *_PROGRAM.finditer(path.name)):
        if match[1] in OTHERS:
            raise place.wrong(match[0], f"one of {', '.join(f'{name}_perf' for name in PROGRAMS)}")
        return match[1]
    raise place.wrong(
        Words("no name of a program"),
        f"one of {', '.join(f'{name}_perf' for name in PROGRAMS)}",
        "Name the file after it: all_reduce_perf.txt",
    )


def _option(arguments: Sequence[str], *names: str) -> str | None:
    for place, word in enumerate(arguments[:-1]):
        if word in names:
            return arguments[place + 1]
    return next((word.partition("=")[2] for word in arguments if word.partition("=")[0] in names and "=" in word), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _whole(value: Any) -> int:
    try:
        return int(str(value).strip())
    except ValueError:
        return -1


def _number(value: Any) -> float | None:
    try:
        found = float(value)
    except (TypeError, ValueError):
        return None
    return found if math.isfinite(found) else None


def _lasted(begin: Any, end: Any) -> float | None:
    try:
        form = "%Y-%m-%d %H:%M:%S"
        return (datetime.strptime(str(end), form) - datetime.strptime(str(begin), form)).total_seconds()
    except ValueError:
        return None


def _variables(pairs: Any) -> dict[str, str]:
    """NCCL's own variables; others may hold anything."""
    found = dict(str(pair).partition("=")[::2] for pair in _list(pairs))
    return redact_environment({name: value for name, value in found.items() if name.startswith(("NCCL_", "CUDA_VISIBLE"))})


# ---- writing -----------------------------------------------------------------------------------------------------------


def _record(runs: Sequence[Run], name: str, digests: Mapping[str, str], root: Path, clock: Clock) -> Imported:
    one = runs[0]
    experiment = _experiment(one, name, len(runs))
    record = record_folder.create(root, experiment, plan_signature(experiment), clock=clock)
    try:
        planned = plan(experiment)
        for number, run in enumerate(runs):
            writer = record.writer(number)
            for row in _rows(number, run):
                writer.append("collectives", row)
            length = run.seconds if run.seconds is not None else sum(line.seconds for line in run.lines)
            write_launch(
                writer,
                launch_row(
                    planned[number],
                    launch=number,
                    attempt=0,
                    begin_ns=0,
                    end_ns=round(length * 1e9),
                    begin_utc="",
                    status="ok",
                    reason="",
                    exit_code=None,
                    restarts=0,
                    placement="{}",
                ),
                record.path,
            )
        record.note(foreign=_manifest(runs, digests))
        record.finish("complete")
    except BaseException:
        record.finish("interrupted")
        files.remove_tree(record.path)
        raise
    missing = tuple(dict.fromkeys(words for run in runs for words in run.unsaid))
    return Imported(
        path=record.path,
        tool=NAME,
        title=TITLE,
        configurations=(planned[0].configuration,),
        launches=len(runs),
        requests=sum(len(run.lines) for run in runs),
        failed=sum(bool(line.wrong) for run in runs for line in run.lines),
        has_requests=True,
        missing=missing,
        doubts=(),
        unit="sizes",
    )


def _experiment(run: Run, name: str, launches: int) -> Experiment:
    sizes = sorted({line.nbytes for line in run.lines})
    return Experiment.model_validate(
        {
            "name": name,
            "workload": {"runner": "collectives", "work": "calls"},
            "factor": {"levels": [run.ranks]},
            "launches": {"per_configuration": launches},
            "gates": {"efficiency": "none"},
            "collectives": {
                "operations": [run.op],
                "sizes": [_written(size) for size in sizes],
                "dtype": run.dtype,
                "backend": "nccl",
                "root": min(run.root, run.ranks - 1),
            },
        }
    )


def _written(size: int) -> str:
    for unit in ("G", "M", "K"):
        if size % UNITS[unit] == 0 and size:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)


def _rows(launch: int, run: Run) -> Iterator[tuple[Any, ...]]:
    """Of a launch; a size that comes again is in a loop of its own, and so behind a barrier."""
    seen: set[tuple[int, bool]] = set()
    for place, line in enumerate(run.lines):
        if (key := (line.nbytes, line.in_place)) in seen:
            yield (
                launch,
                0,
                0,
                "nccl-tests",
                2 * place - 1,
                None,
                "barrier",
                run.ranks,
                0,
                run.dtype,
                "timed",
                None,
                0,
                0,
                None,
                None,
                None,
                "host",
            )
            seen.clear()
        seen.add(key)
        yield _row(launch, 2 * place, run, line)


def _row(launch: int, place: int, run: Run, line: Line) -> tuple[Any, ...]:
    times = (0, round(line.seconds * 1e9))
    return (
        launch,
        0,
        0,
        "nccl-tests",
        place,
        None,
        run.op,
        run.ranks,
        line.nbytes,
        run.dtype,
        "timed",
        int(line.in_place),
        *times,
        None,
        line.wrong,
        "not named by nccl-tests" if line.wrong else None,
        f"nccl-tests: mean of iterations, {run.aggregation}",
    )


def _manifest(runs: Sequence[Run], digests: Mapping[str, str]) -> dict[str, Any]:
    one = runs[0]
    main = next(iter(digests))
    return {
        "tool": NAME,
        "title": TITLE,
        "version": one.version or None,
        "file": main,
        "sha256": digests[main],
        "files": dict(digests),
        "clock": "host",
        "times": "none",
        "requests": False,
        "begin_utc": None,
        "meanings": {
            "time": "mean over iterations of a loop",
            "rank": one.aggregation,
            "check": "a separate iteration, not the timed ones",
            "backend": "nccl",
            "convention": "nccl-tests",
            "nccl": one.version or None,
        },
        "unsaid": [],
        "missing": list(dict.fromkeys(words for run in runs for words in run.unsaid)),
        "doubts": [],
        "reported": [],
        "printed": [[*key, busbw] for key, busbw in _printed(runs).items()],
        "kept": [dict(run.kept) for run in runs],
    }


def _printed(runs: Sequence[Run]) -> dict[tuple[int, int, bool], float]:
    """(launch, bytes, in place) -> busbw as printed, the first where a size came again."""
    found: dict[tuple[int, int, bool], float] = {}
    for number, run in enumerate(runs):
        for line in run.lines:
            found.setdefault((number, line.nbytes, line.in_place), line.busbw)
    return found
