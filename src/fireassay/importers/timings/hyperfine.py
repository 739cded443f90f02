"""How does `hyperfine --export-json` become a record of calls?  Every execution is a process, and so a launch of its command.

Its executions follow one another, commands one after the other and not in turn: a slow drift of the machine is a difference between commands.
Without `-N` the estimated time of starting the shell has been subtracted, so that short commands may take 0.
Source: hyperfine 1.20, `src/export/json.rs`; versions since 1.5 have `times`, since 1.9 `exit_codes`.
Cannot tell: the machine, the number of warm-up runs, and the processor time of single executions, of which the file holds means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from fireassay.importers.support.base import inner, is_number, listed, mapping
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.timings.support.base import Benchmark, Timer, Timings, Trial, document, figures, label, time_of, times_of, total

UNKNOWN_SIGNAL: Final = -1  # hyperfine writes null
FIGURES: Final = ("mean", "stddev", "median", "min", "max", "user", "system")


def recognises(name: str, head: str) -> bool:
    """True if a file's beginning is that of hyperfine."""
    return '"results"' in head and '"command"' in head and '"stddev"' in head and ('"median"' in head or '"times"' in head)


def read(path: Path) -> Timings:
    """The commands of one file. Raises SpecError."""
    source, place = document(path)
    rows = listed(source, "results", place)
    if not rows:
        raise place.at("results").wrong(Words("no results"), "at least one command")
    benchmarks = tuple(_benchmark(mapping(row, where), where) for i, row in enumerate(rows) for where in [place.at("results").at(i)])
    totals = sum(bool(benchmark.totals) for benchmark in benchmarks)
    return Timings(
        file=path.name,
        benchmarks=benchmarks,
        missing=(f"the executions of {totals} of {len(benchmarks)} commands: their median stands for them",) if totals else (),
        doubts=tuple(doubt for benchmark in benchmarks for doubt in _doubts(benchmark)),
    )


def _doubts(benchmark: Benchmark) -> Iterator[str]:
    signals = sum(trial.exit_code == UNKNOWN_SIGNAL for process in benchmark.processes for trial in process)
    if signals:
        yield f"{benchmark.name}: {signals} of {len(benchmark.seconds)} executions were ended by a signal"
    zeros = sum(value == 0.0 for value in benchmark.seconds)
    if zeros:
        subtracted = "since more than they took was subtracted for the shell (use -N)"
        yield f"{benchmark.name}: {zeros} of {len(benchmark.seconds)} executions take 0 s, {subtracted}"


def _benchmark(row: Mapping[str, Any], place: Place) -> Benchmark:
    seconds, codes = times_of(row, "times", place), listed(row, "exit_codes", place)
    if codes and len(codes) != len(seconds):
        raise place.at("exit_codes").wrong(Words(f"{len(codes)} exit codes of {len(seconds)} times"), "one for each")
    name = label(row.get("command"), place.at("command"))
    trials = [Trial(seconds=value, exit_code=_exit_code(codes[i]) if codes else None) for i, value in enumerate(seconds)]
    if not seconds:
        trials = [total(time_of(row.get("median"), place.at("median")))]
    return Benchmark(
        name=name,
        processes=tuple((trial,) for trial in trials),
        figures=figures(row, FIGURES),
        totals="" if seconds else "median",
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
    recognises=recognises,
    read=read,
    missing=("the machine and its state", "warm-up runs", "processor time and memory of single executions"),
)
