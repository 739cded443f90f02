"""How does a file of pyperf become a record of calls?  From `-o FILE`: runs with their values, loops and warm-ups.

A run is a worker process, and so a launch; a run without values only calibrated the number of loops and is none.  Values are seconds of one
call, over `loops` times `inner_loops` calls.  Warm-up values are kept as warm-up.
Source: pyperf 2.11, `_bench.py` and `_run.py`, format version 1.0.
Cannot tell: processor time.
"""

from __future__ import annotations

from collections.abc import Mapping
from statistics import fmean, median, stdev
from typing import Any, Final

from fireassay.importers.support.base import inner, is_number, listed, text
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.timings.support.base import (
    Benchmark,
    Figure,
    Timer,
    Timings,
    Trial,
    calls_of,
    label,
    rows_of,
    stated,
    time_of,
    times_of,
)

MACHINE: Final = {
    "cpu": "cpu_model_name",
    "cpus": "cpu_count",
    "cpu_affinity": "cpu_affinity",
    "os": "platform",
    "python": "python_version",
    "python_implementation": "python_implementation",
    "timer": "timer",
}
FORMAT: Final = "1."  # "1.0" and, of old files, a number


def read(source: Mapping[str, Any], place: Place) -> Timings:
    """The benchmarks of one file. Raises SpecError."""
    if not str(source.get("version", "")).startswith(FORMAT):
        raise place.at("version").wrong(
            source.get("version", Words("nothing")), "format 1.0 of pyperf", "Convert it: python -m pyperf convert."
        )
    rows = rows_of(source, "benchmarks", place)
    common, benchmarks, left_out = inner(source, "metadata"), [], []
    for row, where in rows:
        metadata = {**common, **inner(row, "metadata")}
        if metadata.get("unit", "second") != "second":
            left_out.append(f"{label(metadata.get('name'), where)} in {metadata.get('unit')}")
        else:
            benchmarks.append(_benchmark(row, metadata, where))
    if not benchmarks:
        found = f"no timed benchmarks, but {', '.join(left_out[:3])}" if left_out else "no timed benchmarks"
        raise place.at("benchmarks").wrong(Words(found), "at least one in seconds", "Time it without --track-memory." if left_out else "")
    # What all runs share is common metadata; of a file with one benchmark it stands there, else some stands in each benchmark.
    first = {**common, **inner(rows[0][0], "metadata")}
    return Timings(
        benchmarks=tuple(benchmarks),
        version=text(first, "perf_version", place) or "",
        begin_utc=_date([run for row, _ in rows for run in listed(row, "runs", place)]),
        conditions=stated(first, MACHINE),
        missing=(f"benchmarks in other units than time: {', '.join(left_out)}",) if left_out else (),
        kept={"hostname": first.get("hostname")},
    )


def _date(runs: list[Any]) -> str:
    return next((value for run in runs if isinstance(value := inner(run, "metadata").get("date"), str)), "")


def _benchmark(row: Mapping[str, Any], metadata: Mapping[str, Any], place: Place) -> Benchmark:
    runs = rows_of(row, "runs", place)
    processes = tuple(process for run, where in runs if (process := _process(run, metadata, where)))
    name = label(metadata.get("name", "benchmark"), place.at("metadata.name"))
    if not processes:
        raise place.at("runs").wrong(Words("no run with values"), "at least one", "Its runs only calibrated the loops: run it again.")
    seconds = [trial.seconds for process in processes for trial in process if not trial.warm_up]
    counted = [Figure(name="mean", value=fmean(seconds)), Figure(name="median", value=median(seconds))]
    spread = [Figure(name="stddev", value=stdev(seconds))] if len(seconds) > 1 else []
    return Benchmark(
        name=name,
        processes=processes,
        figures=(*counted, *spread, Figure(name="min", value=min(seconds)), Figure(name="max", value=max(seconds))),
        settings={"calibrating runs": len(runs) - len(processes), "description": metadata.get("description")},
    )


def _process(run: Mapping[str, Any], shared: Mapping[str, Any], place: Place) -> tuple[Trial, ...]:
    """The trials of a run; none if it has no values."""
    metadata = {**shared, **inner(run, "metadata")}
    inside = calls_of(metadata.get("inner_loops"), place.at("metadata.inner_loops"))
    calls = calls_of(metadata.get("loops"), place.at("metadata.loops")) * inside
    memory = metadata.get("mem_max_rss")
    rss = int(memory) if is_number(memory) and memory > 0 else None
    values = times_of(run, "values", place)
    warm = []
    for index, pair in enumerate(listed(run, "warmups", place)):
        where = place.at("warmups").at(index)
        if not isinstance(pair, list) or len(pair) != 2:
            raise where.wrong(pair, "a pair: loops, seconds of one")
        warm.append(Trial(seconds=time_of(pair[1], where), calls=calls_of(pair[0], where) * inside, warm_up=True))
    return (*warm, *(Trial(seconds=value, calls=calls, rss_bytes=rss) for value in values)) if values else ()


TIMER = Timer(
    name="pyperf",
    title="pyperf",
    files="-o FILE.json, or FILE.json.gz",
    runs="function",
    meanings={
        "launch": "a worker process with values",
        "trial": "a value: a loop of `loops` times `inner_loops` calls",
        "time": "seconds of a call, over the loop",
        "waits": "for the return of the code only",
        "figures": "mean, median, stddev, min and max over all values, as `pyperf stats` computes them from the same file",
    },
    marks=tuple(("perf_version", other) for other in ("benchmarks", "runs", "warmups")),
    read=read,
    missing=("processor time",),
)
