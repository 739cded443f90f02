"""How does a result file of airspeed velocity become a record of calls?  `results/MACHINE/COMMIT-ENVIRONMENT.json`, format 2.

Only benchmarks that time are read (`time_*`, `Time*`, `timeraw_*`, by asv's own rule of names); each parameter combination is one.  A file merges the
samples of its processes (`rounds`), so that it is one launch of each benchmark; files of other runs are further launches.  Without
`--record-samples` the file holds the median only, which stands for the samples.
Source: asv 0.6, `asv/results.py`.
Cannot tell: which process made a sample.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fireassay.importers.support.base import inner, is_number, listed, mapping, time_of_day
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.timings.support.base import Benchmark, Timer, Timings, calls_of, figures, label, stated, trials_of
from fireassay.printable import some

VERSION: Final = 2
TIMES: Final = re.compile(r"(^|\.)(time_|timeraw_|Time[A-Z_])[^.]*$")
MACHINE: Final = {
    "asv_machine": "machine",
    "cpu": "cpu",
    "cpus": "num_cpu",
    "machine": "arch",
    "os": "os",
    "ram": "ram",
    "python": "python",
}
MAX_COMBINATIONS: Final = 10_000
MAX_MS: Final = 4e12  # of a date: the year 2096


def read(source: Mapping[str, Any], place: Place) -> Timings:
    """The benchmarks of one file. Raises SpecError."""
    if source.get("version") != VERSION:
        found = source.get("version", Words("nothing"))
        raise place.at("version").wrong(found, f"format {VERSION} of asv", "Convert the results: asv update.")
    columns = [str(column) for column in listed(source, "result_columns", place)]
    benchmarks: list[Benchmark] = []
    failed: list[str] = []
    untimed: list[str] = []
    for name, row in mapping(source.get("results"), place.at("results")).items():
        where = place.at("results").at(label(name, place))
        if TIMES.search(name) is None:
            untimed.append(name)
            continue
        if not isinstance(row, list):
            raise where.wrong(row, "a list of columns")
        benchmarks += _benchmarks(label(name, where), dict(zip(columns, row, strict=False)), where, failed)
    if not benchmarks:
        raise place.at("results").wrong(Words("no benchmark with a time"), "at least one", "Their names begin with time_.")
    date = source.get("date")
    requirements = {f"requires {key}": value for key, value in inner(source, "requirements").items() if isinstance(value, str)}
    return Timings(
        benchmarks=tuple(benchmarks),
        begin_utc=time_of_day(date / 1e3) if is_number(date) and 0 <= date <= MAX_MS else "",
        conditions={**stated({"python": source.get("python"), **inner(source, "params")}, MACHINE), **requirements},
        missing=(
            *((f"benchmarks that have no result: {some(failed, 5)}",) if failed else ()),
            *((f"benchmarks that time nothing: {some(untimed, 5)}",) if untimed else ()),
        ),
        kept={"commit": source.get("commit_hash"), "environment": source.get("env_name")},
    )


def _benchmarks(name: str, row: Mapping[str, Any], place: Place, failed: list[str]) -> Iterator[Benchmark]:
    """One for each combination of parameters."""
    results, params = row.get("result"), listed(row, "params", place)
    if results is None:
        failed.append(name)
        return
    if not isinstance(results, list):
        raise place.at("result").wrong(results, "a list of results")
    if any(not isinstance(values, list) for values in params) or math.prod(len(values) for values in params) > MAX_COMBINATIONS:
        raise place.at("params").wrong(params, f"lists of values, at most {MAX_COMBINATIONS:,} combinations")
    combinations = list(itertools.product(*params))
    if len(combinations) != len(results):
        raise place.at("result").wrong(Words(f"{len(results)} results"), f"one for each of {len(combinations)} combinations of parameters")
    for index, values in enumerate(combinations):
        called = label(f"{name}({', '.join(map(str, values))})" if values else name, place)
        if results[index] is None or (isinstance(results[index], float) and math.isnan(results[index])):
            failed.append(called)
        else:
            yield _one(called, index, results[index], row, place)


def _one(name: str, index: int, result: object, row: Mapping[str, Any], place: Place) -> Benchmark:
    def at(column: str) -> Any:
        values = row.get(column)
        return values[index] if isinstance(values, list) and index < len(values) else None

    calls = calls_of(at("stats_number"), place.at("stats_number").at(index))
    trials, totals = trials_of({"samples": at("samples"), "median": result}, "samples", place.at("result").at(index), calls)
    return Benchmark(
        name=name,
        processes=(trials,),
        figures=figures({"median": result}, ("median",)),
        totals=totals,
        settings={"version": row.get("version"), "samples": at("stats_repeat")},
    )


TIMER = Timer(
    name="asv",
    title="airspeed velocity",
    files="results/MACHINE/COMMIT-ENVIRONMENT.json",
    runs="function",
    meanings={
        "launch": "a file: it merges the samples of its processes",
        "trial": "a sample of `number` calls",
        "time": "seconds of a call",
        "waits": "for the return of the function only",
    },
    marks=(("commit_hash",), ("result_columns", "env_name")),
    read=read,
    trials="samples",
    saved_by="--record-samples",
    missing=("which process made a sample, warm-up, processor time and memory",),
)
