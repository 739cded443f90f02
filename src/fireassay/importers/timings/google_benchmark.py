"""How does a file of Google Benchmark become a record of calls?  From `--benchmark_out=FILE --benchmark_out_format=json`.

One process makes one file, and so one launch of each benchmark, whose repetitions are trials; further files are further launches.  With
`--benchmark_report_aggregates_only` the median (else the mean) stands for the repetitions.
Source: Google Benchmark 1.9, `src/json_reporter.cc`; files without `run_type` (before 1.5) are read by the endings of their names.
Cannot tell: the warm-up, nor the split of processor time into user mode and kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support.base import inner, is_number, text
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.timings.support.base import (
    Benchmark,
    Figure,
    Row,
    Timer,
    Timings,
    Trial,
    calls_of,
    label,
    rows_of,
    stated,
    time_of,
    total,
)
from fireassay.printable import some

UNITS: Final = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
AGGREGATES: Final = ("mean", "median", "stddev", "cv", "min", "max")
MACHINE: Final = {"cpus": "num_cpus", "library": "library_version", "build": "library_build_type"}


def read(source: Mapping[str, Any], place: Place) -> Timings:
    """The benchmarks of one file. Raises SpecError."""
    context, failed = inner(source, "context"), []
    groups: dict[str, list[Row]] = {}
    for row, where in rows_of(source, "benchmarks", place):
        name = label(row.get("run_name") or _without_aggregate(row.get("name")), where.at("name"))
        if row.get("error_occurred") or row.get("skipped"):
            failed.append(name)
        else:
            groups.setdefault(name, []).append((row, where))
    benchmarks = tuple(benchmark for name, rows in groups.items() if (benchmark := _benchmark(name, rows)) is not None)
    if not benchmarks:
        raise place.at("benchmarks").wrong(Words("no timed benchmarks"), "at least one")
    return Timings(
        benchmarks=benchmarks,
        version=text(context, "library_version", place) or "",
        begin_utc=text(context, "date", place) or "",
        conditions=stated(context, MACHINE),
        missing=(f"benchmarks that failed or were skipped: {some(dict.fromkeys(failed), 5)}",) if failed else (),
        doubts=tuple(_doubts(context)),
        kept={"host_name": context.get("host_name"), "executable": Path(str(context.get("executable", ""))).name},
    )


def _doubts(context: Mapping[str, Any]) -> Sequence[str]:
    return [
        *(["the benchmark library was built as debug, which slows what it times"] if context.get("library_build_type") == "debug" else []),
        *(["the processor's clock was scaled while it ran (cpu_scaling_enabled)"] if context.get("cpu_scaling_enabled") is True else []),
    ]


def _aggregate(row: Mapping[str, Any]) -> str:
    """The statistic of an aggregate row; empty for a repetition."""
    if "run_type" in row:
        return str(row.get("aggregate_name") or "other") if row["run_type"] == "aggregate" else ""
    return next((name for name in (*AGGREGATES, "BigO", "RMS") if str(row.get("name")).endswith(f"_{name}")), "")


def _without_aggregate(name: object) -> object:
    return next(
        (name.removesuffix(f"_{end}") for end in (*AGGREGATES, "BigO", "RMS") if isinstance(name, str) and name.endswith(f"_{end}")), name
    )


def _benchmark(name: str, rows: Sequence[Row]) -> Benchmark | None:
    """None if there are only fits of complexity."""
    trials = [_trial(row, place) for row, place in rows if not _aggregate(row)]
    found = {_aggregate(row): _seconds(row, "real_time", place) for row, place in rows if _aggregate(row) in AGGREGATES[:3]}
    totals = "" if trials else next((wanted for wanted in ("median", "mean") if wanted in found), "")
    if totals:
        trials = [total(found[totals])]
    if not trials:
        return None
    counters = {key: value for key, value in rows[0][0].items() if key.endswith("_per_second") and is_number(value)}
    return Benchmark(
        name=name,
        processes=(tuple(trials),),
        figures=tuple(Figure(name=aggregate, value=value) for aggregate, value in found.items()),
        totals=totals,
        settings={"threads": rows[0][0].get("threads"), "first": counters},
    )


def _trial(row: Mapping[str, Any], place: Place) -> Trial:
    cpu = _seconds(row, "cpu_time", place) if row.get("cpu_time") is not None else None
    return Trial(seconds=_seconds(row, "real_time", place), calls=calls_of(row.get("iterations"), place.at("iterations")), cpu_s=cpu)


def _seconds(row: Mapping[str, Any], key: str, place: Place) -> float:
    unit = row.get("time_unit", "ns")
    if not isinstance(unit, str) or unit not in UNITS:
        raise place.at("time_unit").wrong(unit, f"one of {', '.join(UNITS)}")
    return time_of(row.get(key), place.at(key), UNITS[unit])


TIMER = Timer(
    name="google_benchmark",
    title="Google Benchmark",
    files="--benchmark_out=FILE --benchmark_out_format=json",
    runs="function",
    meanings={
        "launch": "a process: all repetitions of a file are one launch",
        "trial": "a repetition of `iterations` iterations",
        "time": "real_time of an iteration",
        "cpu": "cpu_time of an iteration, user mode and kernel together",
        "waits": "for the end of the loop only",
    },
    marks=(("context",), ("benchmarks",), ("cpu_scaling_enabled", "library_build_type")),
    read=read,
    trials="repetitions",
    missing=("warm-up and memory",),
)
