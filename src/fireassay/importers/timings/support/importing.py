"""How do files of a timing tool become sealed records of calls?

Files whose machine, interpreter and version agree are one record: each benchmark is a configuration, and each process that timed it a launch, in
the order of the files.  So two files of the same benchmark are two launches.  Trials have durations and no times of day.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, NamedTuple

from fireassay import catalog
from fireassay.clock import Clock
from fireassay.errors import refuse
from fireassay.importers.support.base import Imported, clean, first, is_number, new_record, record_name
from fireassay.importers.support.documents import Place, Words, head, opened, refuse_links
from fireassay.importers.timings.support.base import Benchmark, Timer, Timings, Trial, contradictions
from fireassay.record import files
from fireassay.record.declared import LAUNCHES, TRIALS
from fireassay.record.folder import RecordFolder, check_written, launch_row, table_row
from fireassay.record.writer import ROWS_PER_BATCH
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import MAX_LAUNCHES, configurations, plan
from fireassay.units import NS_PER_S

PACKAGE: Final = "importers.timings"
LONGEST: Final = 1 << 20  # characters of a beginning: a job prints much before its first step
MACHINE: Final = "machine.json"  # asv's description
MAX_TRIALS: Final = 5_000_000
MAX_TOTAL_S: Final = 9e9  # of a launch: its nanoseconds are a 64-bit number
END: Final = TRIALS.column_names.index("end_ns")
Process = tuple[tuple[Trial, ...], str]  # its trials, and the date of its file


class Source(NamedTuple):
    """A file, and its SHA-256."""

    file: str
    sha256: str


File = tuple[Timings, Source]


def recognised(paths: Sequence[Path]) -> str:
    """The timing tool that wrote all of these files and folders; empty if none did."""
    beginnings = [head(file, LONGEST) for file in _files(paths)]
    for name, timer in catalog.load_all(PACKAGE).items():
        if beginnings and all(map(timer.recognises, beginnings)):
            return str(name)
    return ""


def _files(paths: Sequence[Path]) -> list[Path]:
    """The files, and the results in the folders: asv and pytest-benchmark have a subfolder for each machine, which asv describes."""
    found: list[Path] = []
    for path in paths:
        described = path.is_dir() and any(path.glob(f"*/{MACHINE}"))
        inside = [] if described else _results(path.glob("*"))
        found += (inside or _results(path.glob("*/*"))) if path.is_dir() else [path]
    return found


def _results(entries: Iterable[Path]) -> list[Path]:
    return sorted(entry for entry in entries if entry.name.endswith((".json", ".json.gz")) and entry.name != MACHINE)


def import_timings(tool: str, paths: Sequence[Path], root: Path, *, clock: Clock, name: str = "") -> tuple[Imported, ...]:
    """Import files of one timing tool as sealed records below `root`, one per machine, interpreter and version.

    Raises:
        SpecError: a file is invalid; nothing is left behind.
        EnvironmentLacks: no such tool.
        RecordError: a record cannot be written.
    """
    timer: Timer = catalog.load(PACKAGE, tool)
    for path in paths:
        refuse_links(path)
    chosen = _files(paths)
    if not chosen:
        raise Place(str(paths[0])).wrong(Words("no JSON file"), f"results of {timer.title}: {timer.files}")
    for file in chosen:
        opened(file).close()
    sources = _sources(chosen)
    name = name or f"{timer.name}-{paths[0].name if paths[0].is_dir() else paths[0].stem}"
    return write(timer, [timer.content(file) for file in chosen], root, clock=clock, name=name, sources=sources)


def _sources(chosen: Sequence[Path]) -> list[Source]:
    """The files with their SHA-256. Raises SpecError: two are the same."""
    seen: dict[str, Path] = {}
    for file in chosen:
        other = seen.setdefault(files.digest(file), file)
        if other is not file:
            fix = "Each file is a launch: import it once."
            raise refuse("assay import", f"{file.name}, the same as {other.name}", "files of different runs", fix, source="the import")
    names = [file.name for file in chosen]
    return [Source(file.name if names.count(file.name) == 1 else str(file), digest) for digest, file in seen.items()]


def write(
    timer: Timer, timings: Sequence[Timings], root: Path, *, clock: Clock, name: str, sources: Sequence[Source]
) -> tuple[Imported, ...]:
    """Write what files hold as sealed records; `sources`: one per file."""
    groups: dict[str, list[File]] = {}
    for one, source in zip(timings, sources, strict=True):
        same = json.dumps([dict(one.conditions), one.version], sort_keys=True)
        groups.setdefault(same, []).append((one, source))
    imported = []
    with ExitStack() as stack:
        for index, group in enumerate(groups.values()):
            processes = _processes(group)
            experiment = _experiment(timer, record_name(name, timer.name, index, len(groups)), group[0][0], processes)
            record = stack.enter_context(new_record(root, experiment, clock))
            imported.append(_record(timer, group, processes, record))
    return tuple(imported)


def _processes(group: Sequence[File]) -> dict[str, list[Process]]:
    """Benchmark -> the processes that timed it. Raises SpecError: too many of them."""
    processes: dict[str, list[Process]] = {}
    for timings, _ in group:
        for benchmark, called in _named(timings):
            processes.setdefault(called, []).extend((trials, timings.begin_utc) for trials in benchmark.processes)
    _refuse_too_much(group[0][1].file, processes)
    return processes


def _record(timer: Timer, group: Sequence[File], processes: Mapping[str, Sequence[Process]], record: RecordFolder) -> Imported:
    launches = _write(record, processes)
    manifest = _manifest(timer, group)
    record.note(foreign=manifest)
    record.finish("complete")
    counted = [trial for launches in processes.values() for trials, _ in launches for trial in trials if not trial.warm_up]
    return Imported(
        path=record.path,
        tool=timer.name,
        title=timer.title,
        configurations=tuple(processes),
        launches=launches,
        requests=len(counted),
        failed=sum(bool(trial.exit_code) for trial in counted),
        has_requests=True,
        missing=tuple(manifest["missing"]),
        doubts=tuple(manifest["doubts"]),
        unit="trials",
    )


def _write(record: RecordFolder, processes: Mapping[str, Sequence[Process]]) -> int:
    """Write all launches into one stream per table: a file for each would take milliseconds. Returns their number."""
    planned = {(item.configuration, item.block): item for item in plan(record.experiment)}
    writer, numbers, pending = record.writer(0), itertools.count(), 0
    for configuration, launches in zip(configurations(record.experiment), processes.values(), strict=True):
        for block, (trials, begin_utc) in enumerate(launches):
            number, end_ns = next(numbers), 0
            for row in _rows(number, trials):
                writer.append(TRIALS.name, row)
                end_ns = row[END]
                pending += 1
                if pending % ROWS_PER_BATCH == 0:
                    writer.flush()
            outcome = launch_row(planned[configuration.name, block], launch=number, begin_ns=0, end_ns=end_ns, begin_utc=begin_utc)
            writer.append(LAUNCHES.name, table_row(LAUNCHES, **outcome))
    writer.close()
    check_written(writer, record.path)
    return next(numbers)


def _named(timings: Timings) -> Iterator[tuple[Benchmark, str]]:
    """The benchmarks of a file; a name that comes again is numbered."""
    seen: dict[str, int] = {}
    for benchmark in timings.benchmarks:
        seen[benchmark.name] = seen.get(benchmark.name, 0) + 1
        yield benchmark, benchmark.name if seen[benchmark.name] == 1 else f"{benchmark.name} ({seen[benchmark.name]})"


def _refuse_too_much(file: str, processes: Mapping[str, Sequence[Process]]) -> None:
    each = max(len(launches) for launches in processes.values())
    trials = sum(len(trials) for launches in processes.values() for trials, _ in launches)
    if each * len(processes) > MAX_LAUNCHES or trials > MAX_TRIALS:
        found = Words(f"{len(processes):,} benchmarks with up to {each:,} launches, {trials:,} trials")
        raise Place(file).wrong(found, f"at most {MAX_LAUNCHES:,} launches and {MAX_TRIALS:,} trials", "Import parts of it.")
    for called, launches in processes.items():
        if any(sum(trial.seconds * trial.calls for trial in trials) > MAX_TOTAL_S for trials, _ in launches):
            raise Place(file).wrong(
                Words(f"trials of {called} of more than {MAX_TOTAL_S:g} s in all"), "seconds of one call, and its calls"
            )


def _experiment(timer: Timer, name: str, timings: Timings, processes: Mapping[str, Sequence[Any]]) -> Experiment:
    return Experiment.model_validate(
        {
            "name": name,
            "workload": {"runner": timer.runs, "script": timer.title, "work": "calls"},
            "factor": {"levels": [1]},
            "launches": {"per_configuration": max(len(launches) for launches in processes.values())},
            "timing": {"benchmarks": list(processes), "warm_up": 0},
            "conditions": dict(timings.conditions),
            "gates": {"efficiency": "none"},
        }
    )


def _rows(launch: int, trials: Sequence[Trial]) -> Iterator[tuple[Any, ...]]:
    """The trials of a process one after the other: the files do not say when they were."""
    now = 0
    for number, trial in enumerate(trials):
        end = now + round(trial.seconds * trial.calls * NS_PER_S)
        cpu = None if trial.cpu_s is None else round(trial.cpu_s * trial.calls * NS_PER_S)
        yield table_row(
            TRIALS,
            launch=launch,
            trial=number,
            begin_ns=now,
            end_ns=end,
            calls=trial.calls,
            warm_up=int(trial.warm_up),
            exit_code=trial.exit_code,
            user_ns=cpu,
            system_ns=None if cpu is None else 0,
            max_rss_bytes=trial.rss_bytes,
            involuntary_switches=None,
        )
        now = end


def _manifest(timer: Timer, group: Sequence[File]) -> dict[str, Any]:
    timings, (main, digest) = [one for one, _ in group], group[0][1]
    own = [(source.file, benchmark, called) for one, source in group for benchmark, called in _named(one)]
    found = [sentence for _, benchmark, _ in own for sentence in contradictions(benchmark)]
    return {
        "tool": timer.name,
        "title": timer.title,
        "version": timings[0].version or None,
        "file": main,
        "sha256": digest,
        "files": dict(source for _, source in group),
        "clock": "host",
        "times": "none",
        "requests": False,
        "begin_utc": first(one.begin_utc for one in timings) or None,
        "meanings": dict(timer.meanings),
        "unsaid": [],
        "missing": list(dict.fromkeys(sentence for one in timings for sentence in timer.absent(one))),
        "doubts": list(dict.fromkeys((*(sentence for one in timings for sentence in one.doubts), *found))),
        "totals": sorted({called for _, benchmark, called in own if benchmark.totals}),
        "reported": [
            {"file": file, "benchmark": called, **asdict(figure)} for file, benchmark, called in own for figure in benchmark.figures
        ],
        "kept": [
            _plain({"file": source.file, **one.kept, "benchmarks": {called: dict(benchmark.settings) for benchmark, called in _named(one)}})
            for one, source in group
        ],
    }


def _plain(value: Any) -> Any:
    """A value of a file as a manifest may hold it: texts redacted and cut, and no number that JSON has no word for."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, Mapping):
        return {clean(str(name)): _plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return value if value is None or isinstance(value, bool) or is_number(value) else str(value)
