"""How does `hyperfine --export-json` become a record of calls?  Every execution is a process, and so a launch of its command.

Its executions follow one another, commands one after the other and not in turn: a slow drift of the machine is a difference between commands.
Without `-N` the estimated time of starting the shell has been subtracted, so that short commands may take 0.
Source: hyperfine 1.20, `src/export/json.rs`; versions since 1.5 have `times`, since 1.9 `exit_codes`.
Cannot tell: the machine, the number of warm-up runs, and the processor time of single executions, of which the file holds means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fireassay.importers.support.base import inner, is_number, listed
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.timings.support.base import Benchmark, Timer, Timings, figures, label, rows_of, trials_of

UNKNOWN_SIGNAL: Final = -1  # hyperfine writes null
FIGURES: Final = ("mean", "stddev", "median", "min", "max", "user", "system")


def read(source: Mapping[str, Any], place: Place) -> Timings:
    """The commands of one file. Raises SpecError."""
    benchmarks = tuple(_benchmark(row, where) for row, where in rows_of(source, "results", place, "Was hyperfine interrupted?"))
    return Timings(benchmarks=benchmarks, doubts=tuple(doubt for benchmark in benchmarks for doubt in _doubts(benchmark)))


def _doubts(benchmark: Benchmark) -> Iterator[str]:
    signals = sum(trial.exit_code == UNKNOWN_SIGNAL for process in benchmark.processes for trial in process)
    if signals:
        yield f"{benchmark.name}: {signals} of {len(benchmark.seconds)} executions were ended by a signal"
    zeros = sum(value == 0.0 for value in benchmark.seconds)
    if zeros:
        subtracted = "since more than they took was subtracted for the shell (use -N)"
        yield f"{benchmark.name}: {zeros} of {len(benchmark.seconds)} executions take 0 s, {subtracted}"


def _benchmark(row: Mapping[str, Any], place: Place) -> Benchmark:
    trials, totals = trials_of(row, "times", place)
    codes = listed(row, "exit_codes", place)
    if codes and not totals:
        if len(codes) != len(trials):
            raise place.at("exit_codes").wrong(Words(f"{len(codes)} exit codes of {len(trials)} times"), "one for each")
        trials = tuple(replace(trial, exit_code=_exit_code(code)) for trial, code in zip(trials, codes, strict=True))
    return Benchmark(
        name=label(row.get("command"), place.at("command")),
        processes=tuple((trial,) for trial in trials),
        figures=figures(row, FIGURES),
        totals=totals,
        settings={"parameters": dict(inner(row, "parameters"))},
    )


def _exit_code(value: object) -> int:
    return int(value) if is_number(value) and abs(value) < 2**31 else UNKNOWN_SIGNAL


TIMER = Timer(
    name="hyperfine",
    title="hyperfine",
    files="--export-json FILE",
    runs="command",
    meanings={
        "launch": "one execution of the command",
        "trial": "the same",
        "time": "seconds of the execution, less the start of the shell unless -N was given",
        "order": "commands one after the other, not in turn",
        "waits": "for the end of the process",
    },
    marks=(("results",), ("command",), ("stddev",), ("median", "times")),
    read=read,
    trials="executions",
    missing=("the machine and its state", "warm-up runs", "processor time and memory of single executions"),
)
