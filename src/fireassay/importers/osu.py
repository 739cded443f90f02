"""How does the printed output of the OSU micro-benchmarks become a record of collectives?

A benchmark's output, below its title, is a run, and so a launch; several of one program with the same settings are launches of one record, and
each program is a record.  Times are the mean over iterations and ranks ("Avg Latency"); osu_latency shows half a round trip, and of osu_bw the time
of a message is its bytes over the bandwidth (MB/s of 10^6 bytes), with a window of messages in flight; of osu_mbw_mr, over its pair's share of it.
Of a non-blocking collective it is "Pure Comm.", the call and its wait without computing; its overlap has no metric here.  Bytes are converted to
nccl-tests' count: gathers, scatters and exchanges have the message of every rank.  The ranks of a collective are not printed: they are taken from
the command line in the output, else from the file's name.
Source: OMB 7.4 c/util/osu_util_mpi.c, c/mpi and c/xccl, 5.6 util/osu_util_mpi.c; outputs of 5.x to 7.5 that people posted.
Cannot tell the times of each rank; -f's slowest and fastest are kept in the manifest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from fireassay.clock import Clock
from fireassay.importers.support.base import Imported
from fireassay.importers.support.collective_runs import Suite, write
from fireassay.importers.support.documents import Place, Words, lines
from fireassay.importers.support.nccl_logs import Line, Run, number_of, unread_lines
from fireassay.record.secrets.redact import redact
from fireassay.spec.sections.collectives import WHOLE

NAME: Final = "osu"
TITLE: Final = "OSU micro-benchmarks"
SUITE: Final = Suite(name=NAME, title="OSU", check="with -c the results of every size, outside of the timed calls")
MAX_LINES: Final = 100_000
OPERATIONS: Final = {
    "Allreduce Latency": "all_reduce",
    "Allgather Latency": "all_gather",
    "All-to-All Personalized Exchange Latency": "all_to_all",
    "Broadcast Latency": "broadcast",
    "Gather Latency": "gather",
    "Reduce Latency": "reduce",
    "Reduce_scatter Latency": "reduce_scatter",
    "Scatter Latency": "scatter",
    "Latency": "send_recv",
    "Bandwidth": "send_recv",
    "Multiple Bandwidth / Message Rate": "send_recv",
    "Non-blocking Allreduce Latency": "all_reduce",
    "Non-blocking Allgather Latency": "all_gather",
    "Non-blocking All-to-All Latency": "all_to_all",
    "Non-blocking Broadcast Latency": "broadcast",
    "Non-blocking Gather Latency": "gather",
    "Non-blocking Reduce Latency": "reduce",
    "Non-blocking Reduce_scatter Latency": "reduce_scatter",
    "Non-blocking Scatter Latency": "scatter",
}
ALONE: Final = "the call and its wait, nothing computed between them, mean over iterations"
OVERLAP: Final = "how much of its time is hidden by computing: its overlap has no metric here, and is kept as printed"
ONE_SIDED: Final = "one-sided, in which the target takes no part: every operation of a record has two sides"
IN_TOTAL: Final = ("reduce_scatter",)  # operations whose printed size is that of all ranks already
TYPES: Final = {"MPI_CHAR": "int8", "MPI_INT": "int32", "MPI_FLOAT": "float32"}
TIMES: Final = {
    "Latency": "half a round trip, mean over iterations",
    "Bandwidth": "bytes over the bandwidth of a window of messages in flight",
    "Multiple Bandwidth / Message Rate": "bytes over a pair's share of the bandwidth of all pairs at once, each with a window of messages in flight",
}
# what mpirun --tag-output, srun --label, pdsh and collectors put before a line
PREFIX: Final = re.compile(r"^\s*(?:\[[^\]]*\](?:<\w+>)?:?\s?|\d+:\s|\d{4}-\d\d-\d\d[T ]\S+\s|[\w.-]+:\s|[\w.-]+ \| )")
HEADER: Final = re.compile(r"# OSU (MPI|NCCL|RCCL)(?:-[A-Z]+(?: [A-Z]+)?)?[ _](.+) Test(?: v(\S+))?\s*$")
PAIRS: Final = re.compile(r"# \[ pairs: (\d{1,6}) \]")
COLUMN: Final = re.compile(
    r"(?:Avg |Min |Max )?Latency ?\(us\)|Bandwidth \(MB/s\)|Iterations|Validation|P\d+ Tail (?:Lat|BW)\([^)]*\)|Transmit Size|MB/s|Messages/s"
    r"|(?:Overall|Compute|Coll\. Init|MPI_Test|MPI_Wait|Pure Comm\.)\(us\)|Overlap\(%\)"
)
OURS: Final = re.compile(r"# |\d+(?:\s|$)")
MAX_PREFIXES: Final = 3
LAUNCHER: Final = re.compile(r"osu_|\b(?:mpirun|mpiexec\S*|[sp]run|aprun|jsrun|flux)\b")
RANKS: Final = re.compile(r"\s(?:-np|-n|--np|--ntasks)(?:\s+|=|)(\d{1,7})\b")
NODES: Final = re.compile(r"\s(?:-N|--nodes)\s*=?\s*(\d{1,6})\b")
EACH: Final = re.compile(r"\s--(?:n?tasks-per-node|npernode)(?:\s+|=)(\d{1,5})\b")
OF_NAME: Final = re.compile(r"(?<![a-z\d])(?:np|n)[-_=]?(\d{1,7})(?!\d)|(?<!\d)(\d{1,7})[-_]?(?:ranks?|procs?|tasks?)", re.IGNORECASE)


def recognises(_: str, beginning: str) -> bool:
    """True if a file's beginning has the title of a benchmark, after any prefix."""
    return any(HEADER.search(line) for line in beginning.splitlines())


def import_runs(chosen: Sequence[Path], root: Path, *, clock: Clock, name: str = "") -> tuple[Imported, ...]:
    """Write the runs in these files as sealed records, one per program and settings.

    Raises:
        SpecError: a file is invalid; nothing is left behind.
        RecordError: a record cannot be written.
    """
    return write(SUITE, {path: read(path) for path in chosen}, root, clock=clock, name=name)


@dataclass(frozen=True, kw_only=True)
class _Section:
    """The lines from a benchmark's title to the next, without prefixes, and the text between the benchmark before and it."""

    title: re.Match[str]
    place: Place
    before: str
    lines: tuple[tuple[Place, str], ...]


def read(path: Path) -> tuple[Run, ...]:
    """The runs in one file. Raises SpecError: no benchmark that is read, or a line that is none of its columns."""
    place = Place(path.name)
    sections = list(_sections(path, place))
    known = [section for section in sections if section.title[2] in OPERATIONS]
    if not known:
        found = sections[0].title[0][2:].strip() if sections else "no title of a benchmark"
        why = f" ({ONE_SIDED})" if sections and sections[0].title[0].startswith("# OSU MPI_") else ""
        raise place.wrong(Words(f"{found}{why}"), f"one of the tests {', '.join(OPERATIONS)}", "Keep the line # OSU MPI ... Test.")
    others = sorted({section.title[2] for section in sections} - set(OPERATIONS))
    missing = tuple(f"what is meant by {other} Test: it is left out" for other in others)
    return tuple(_run(path, section, missing) for section in known)


def _sections(path: Path, place: Place) -> Iterator[_Section]:
    title: re.Match[str] | None = None
    before: list[str] = []
    inside: list[tuple[Place, str]] = []
    for at, raw in lines(path):
        if at.line > MAX_LINES:
            raise place.wrong(Words("more lines"), f"at most {MAX_LINES:,}", "Import the output of the benchmarks alone.")
        line = _bare(raw.rstrip())
        if match := HEADER.match(line):
            if title is not None:
                yield _Section(title=title, place=inside[0][0], before="\n".join(before), lines=tuple(inside))
                before = [text for _, text in inside[-20:]]
            title, inside = match, [(at, line)]
        elif title is None:
            before.append(line)
        else:
            inside.append((at, line))
    if title is not None:
        yield _Section(title=title, place=inside[0][0], before="\n".join(before), lines=tuple(inside))


def _bare(line: str) -> str:
    """A line without what a launcher or a collector put before it; unchanged if no benchmark's line follows."""
    bare = line.lstrip()
    for _ in range(MAX_PREFIXES):
        if OURS.match(bare):
            return bare
        bare = PREFIX.sub("", bare, count=1).lstrip()
    return bare if OURS.match(bare) else line


def _run(path: Path, section: _Section, missing: tuple[str, ...]) -> Run:
    test, op = section.title[2], OPERATIONS[section.title[2]]
    text = "\n".join(line for _, line in section.lines)
    pairs = _pairs(section, text) if test.startswith("Multiple") else 1
    ranks = 2 * pairs if op == "send_recv" else _ranks(path, section)
    types = dict.fromkeys(re.findall(r"# Datatype: (\w+)", text))
    if len(types) > 1:
        raise section.place.wrong(Words(f"the types {', '.join(types)}"), "results of one type", "Run it once for each: -T.")
    named = next(iter(types), "")
    unread: list[Place] = []
    rows = tuple(_rows(section, op, ranks, unread))
    rows = tuple(replace(row, seconds=row.seconds * pairs) for row in rows)  # MB/s are those of all pairs
    if not rows:
        raise section.place.wrong(Words("no result line"), "at least one size above 0")
    waits = test.startswith("Non-blocking")
    unnamed = () if named else ("the element type, taken for char, of reductions for float",)
    unsized = ("its line of 0 bytes, which sends nothing: it is left out",) if re.search(r"(?m)^0\s", text) else ()
    return Run(
        file=path.name,
        op=op,
        ranks=ranks,
        dtype=TYPES.get(named, "int8") if named else "float32" if "educe" in test else "int8",
        redop="sum" if "educe" in test else "none",
        root=0,
        lines=rows,
        aggregation="mean of ranks" if op != "send_recv" else "one pair" if pairs == 1 else f"mean of {pairs} pairs at once",
        version=section.title[3] or "",
        seconds=None,
        kept={"text": [redact(line)[:200] for _, line in section.lines if OURS.match(line)]},
        missing=(*unnamed, *unsized, *((OVERLAP,) if waits else ()), *missing),
        doubts=unread_lines(unread),
        backend="mpi" if section.title[1] == "MPI" else "nccl",
        time=ALONE if waits else TIMES.get(test, "mean over iterations, each behind a barrier"),
    )


def _pairs(section: _Section, text: str) -> int:
    match = PAIRS.search(text)
    if match is None or not int(match[1]):
        raise section.place.wrong(Words(match[0] if match else "no number of pairs"), "the line # [ pairs: N ] below the title")
    return int(match[1])


def _ranks(path: Path, section: _Section) -> int:
    """The ranks of a collective, at least 1."""
    ranks = _said(path, section)
    if ranks:
        return ranks
    found = "no number of ranks" if ranks is None else "0 ranks"
    fix = "Keep the command line (mpirun -np 16 osu_...) above the output, or name the file after it: osu_allreduce_np16.txt."
    raise section.place.wrong(Words(found), "the number of ranks, without which no bandwidth is known", fix)


def _said(path: Path, section: _Section) -> int | None:
    """The ranks in the last command line before a collective, else in the file's name."""
    for line in filter(LAUNCHER.search, reversed(section.before.splitlines())):
        if match := RANKS.search(line):
            return int(match[1])
        if (nodes := NODES.search(line)) and (each := EACH.search(line)):
            return int(nodes[1]) * int(each[1])
    match = OF_NAME.search(path.stem)
    return int(match[1] or match[2]) if match else None


def _rows(section: _Section, op: str, ranks: int, unread: list[Place]) -> Iterator[Line]:
    """The result lines; the places of those that begin like one and are none go to `unread`."""
    columns: tuple[str, ...] = ()
    for place, line in section.lines:
        if line.startswith("# Size"):
            columns = tuple(match.replace(" (", "(") for match in COLUMN.findall(line))
        elif (words := line.split()) and words[0].isdigit() and columns:
            if not all(map(_is_cell, words)):
                unread.append(place)
                continue
            if len(words) != 1 + len(columns):
                fix = "A run that ended early leaves half a line: remove it."
                raise place.wrong(Words(f"{len(words)} words"), f"{1 + len(columns)}: a size and {', '.join(columns)}", fix)
            if int(words[0][:19]):
                yield _line(int(words[0][:19]), dict(zip(columns, words[1:], strict=True)), op, ranks, place)


def _is_cell(word: str) -> bool:
    return word in ("Pass", "Fail") or number_of(word) is not None or word in ("nan", "-nan", "inf", "-inf")


def _line(size: int, cells: Mapping[str, str], op: str, ranks: int, place: Place) -> Line:
    nbytes = size * ranks if op in WHOLE and op not in IN_TOTAL else size
    key = next((key for key in ("Avg Latency(us)", "Latency(us)", "Bandwidth(MB/s)", "MB/s", "Pure Comm.(us)") if key in cells), "")
    value = number_of(cells.get(key))
    if value is None or value <= 0.0 or nbytes > 2**36:
        raise place.wrong(
            Words(f"{size} bytes, {key or 'no time'} {cells.get(key, '')}"), "a size up to 64 GiB, and microseconds or MB/s above 0"
        )
    checked = cells.get("Validation")
    return Line(
        nbytes=nbytes,
        in_place=False,
        seconds=nbytes / (value * 1e6) if "MB/s" in key else value * 1e-6,
        wrong=None if checked is None else int(checked != "Pass"),
        algbw=0.0,
        busbw=0.0,
    )
