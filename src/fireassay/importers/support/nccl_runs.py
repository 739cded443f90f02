"""What defines a run of NVIDIA's nccl-tests: which operation, types, sizes and times?"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from fireassay.errors import SpecError
from fireassay.importers.support.documents import Place, Words

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
