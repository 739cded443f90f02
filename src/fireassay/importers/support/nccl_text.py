"""What does the printed output of nccl-tests contain?

Columns are identified by their header names, which vary with -I (i_min ...), -S (timestamp) and the version.  Prefixes that mpirun or
srun add to lines are removed.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fireassay.importers.support import nccl_runs
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.support.nccl_runs import PLACES, Kind, Line, Run, kind_of, line_of, number_of, program_of, runs_of

_DEVICE = re.compile(r"#\s+Rank\s+(\d+)\s+(?:Group\s+(\d+)\s+)?Pid\s+\d+ on\s+(\S+)\s+device\s+(\d+)\s+\[[^\]]*\]\s*(.*)")
# prefixes of mpirun --tag-output, torchrun, srun --label, pdsh
_PREFIX = re.compile(r"^(?:\[[^\]\s]*\](?:<\w+>)?:? ?|[\w.-]+: ?)(?=\s*(?:#|\d+\s+\d+\s))")
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
    lines = [_PREFIX.sub("", line) for line in text.splitlines()]
    if not any(map(_DEVICE.match, lines)):
        raise place.wrong(Words("no device line"), "the whole output, with its lines # Rank ...")
    runs: list[Run] = []
    for begin, end in itertools.pairwise([0, *_starts(lines), len(lines)]):
        runs += _of_section(lines[begin:end], begin, path, place)
    if not runs:
        raise place.wrong(Words("no result line"), "at least one size")
    return tuple(runs)


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
    for number, line in enumerate(lines, before + 1):
        words, at = line.replace("#wrong", " #wrong").split(), Place(path.name, number)
        if words[:1] == ["#"] and {"size", "algbw", "busbw"} <= set(words):
            if CPU_TIME in words:
                raise nccl_runs.processor_times(at)
            table = _table(words[1:], at, named=True)
        elif len(words) > 2 and words[0].isdigit() and words[1].isdigit() and int(words[0]):  # size 0 sends nothing
            rows += _of_words(words, table, at)
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
    )


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
