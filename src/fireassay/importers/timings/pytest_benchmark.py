"""How does a file of pytest-benchmark become a record of calls?  From `--benchmark-json` or `--benchmark-save`, with or without its rounds.

One pytest process makes one file, and so one launch of each of its benchmarks, however many rounds there are; further files are further launches.
Without `--benchmark-save-data` a saved file holds statistics only: the median stands for the rounds.
Source: pytest-benchmark 5.3, `Stats.as_dict` and `BenchmarkSession.save_json`; versions since 3.0 write the same keys.
Cannot tell: the order of benchmarks in time, nor the warm-up rounds, which it does not save.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fireassay.importers.support.base import inner, mapping, text
from fireassay.importers.support.documents import Place
from fireassay.importers.timings.support.base import Benchmark, Timer, Timings, calls_of, figures, label, rows_of, stated, trials_of

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


def read(source: Mapping[str, Any], place: Place) -> Timings:
    """The benchmarks of one file. Raises SpecError."""
    rows = rows_of(source, "benchmarks", place, "Run pytest with tests that use the fixture benchmark.")
    options = {name: ", ".join(sorted({str(inner(row, "options").get(name)) for row, _ in rows})) for name in OPTIONS}
    machine = inner(source, "machine_info")
    return Timings(
        benchmarks=tuple(_benchmark(row, where) for row, where in rows),
        version=text(source, "version", place) or "",
        begin_utc=text(source, "datetime", place) or "",
        conditions={**stated(machine, MACHINE), **options},
        kept={"commit": dict(inner(source, "commit_info")), "node": machine.get("node")},
    )


def _benchmark(row: Mapping[str, Any], place: Place) -> Benchmark:
    stats, where = mapping(row.get("stats"), place.at("stats")), place.at("stats")
    trials, totals = trials_of(stats, "data", where, calls_of(stats.get("iterations"), where.at("iterations")))
    return Benchmark(
        name=label(row.get("fullname") or row.get("name"), place.at("name")),
        processes=(trials,),
        figures=figures(stats, FIGURES),
        totals=totals,
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
    marks=(("machine_info",), ("commit_info", "python_implementation")),
    read=read,
    trials="rounds",
    saved_by="--benchmark-save-data",
    missing=("warm-up rounds, processor time and memory",),
)
