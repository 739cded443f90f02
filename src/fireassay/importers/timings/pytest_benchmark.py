"""How does a file of pytest-benchmark become a record of calls?  From `--benchmark-json` or `--benchmark-save`, with or without its rounds.

One pytest process makes one file, and so one launch of each of its benchmarks, however many rounds there are; further files are further launches.
Without `--benchmark-save-data` a saved file holds statistics only: the median stands for the rounds.
Source: pytest-benchmark 5.3, `Stats.as_dict` and `BenchmarkSession.save_json`; versions since 3.0 write the same keys.
Cannot tell: the order of benchmarks in time, nor the warm-up rounds, which it does not save.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support.base import inner, listed, mapping, text
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.timings.support.base import (
    Benchmark,
    Timer,
    Timings,
    Trial,
    calls_of,
    document,
    figures,
    label,
    stated,
    time_of,
    times_of,
    total,
)

FIGURES: Final = ("min", "max", "mean", "stddev", "median", "iqr")
MACHINE: Final = {
    "cpu": "cpu.brand_raw",
    "cpus": "cpu.count",
    "machine": "machine",
    "os": "system",
    "python": "python_version",
    "python_implementation": "python_implementation",
}
OPTIONS: Final = ("timer", "disable_gc")


def recognises(name: str, head: str) -> bool:
    """True if a file's beginning is that of pytest-benchmark."""
    return '"machine_info"' in head and ('"commit_info"' in head or '"python_implementation"' in head)


def read(path: Path) -> Timings:
    """The benchmarks of one file. Raises SpecError."""
    source, place = document(path)
    rows = [
        (mapping(row, place.at("benchmarks").at(i)), place.at("benchmarks").at(i))
        for i, row in enumerate(listed(source, "benchmarks", place))
    ]
    if not rows:
        raise place.at("benchmarks").wrong(Words("no benchmarks"), "at least one", "Run pytest with tests that use the fixture benchmark.")
    benchmarks = tuple(_benchmark(row, where) for row, where in rows)
    options = {name: ", ".join(sorted({str(inner(row, "options").get(name)) for row, _ in rows})) for name in OPTIONS}
    totals = sum(bool(benchmark.totals) for benchmark in benchmarks)
    return Timings(
        file=path.name,
        benchmarks=benchmarks,
        version=text(source, "version", place) or "",
        begin_utc=text(source, "datetime", place) or "",
        conditions={**stated(inner(source, "machine_info"), MACHINE), **options},
        missing=(f"the rounds of {totals} of {len(benchmarks)} benchmarks: their median stands for them (--benchmark-save-data)",)
        if totals
        else (),
        kept={"commit": dict(inner(source, "commit_info")), "node": inner(source, "machine_info").get("node")},
    )


def _benchmark(row: Mapping[str, Any], place: Place) -> Benchmark:
    stats, where = mapping(row.get("stats"), place.at("stats")), place.at("stats")
    calls = calls_of(stats.get("iterations"), where.at("iterations"))
    seconds = times_of(stats, "data", where)
    trials = [Trial(seconds=value, calls=calls) for value in seconds]
    if not seconds:
        trials = [total(time_of(stats.get("median"), where.at("median")))]
    return Benchmark(
        name=label(row.get("fullname") or row.get("name"), place.at("name")),
        processes=(tuple(trials),),
        figures=figures(stats, FIGURES),
        totals="" if seconds else "median",
        settings={"group": row.get("group"), "rounds": stats.get("rounds"), "options": dict(inner(row, "options"))},
    )


TIMER = Timer(
    name="pytest_benchmark",
    title="pytest-benchmark",
    files="--benchmark-json FILE, or a file of --benchmark-save",
    runs="function",
    meanings={
        "launch": "a pytest process: all rounds of a file are one launch",
        "trial": "a round of `iterations` calls",
        "time": "seconds of a round over its calls, by the option `timer`",
        "waits": "for the return of the function only",
    },
    recognises=recognises,
    read=read,
    missing=("warm-up rounds, processor time and memory",),
)
