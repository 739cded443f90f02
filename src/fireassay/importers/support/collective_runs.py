"""How do runs of a suite of collective benchmarks become sealed records?

Runs of the same program with the same settings are launches of one record. A result line is one row per placement: its time is the mean over
iterations that the suite reports, and the manifest and the definition of every number say so.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from fireassay.clock import Clock
from fireassay.importers.support.base import Imported, new_record, record_name
from fireassay.importers.support.documents import open_end
from fireassay.importers.support.nccl_logs import Run
from fireassay.record import files
from fireassay.record.declared import COLLECTIVES
from fireassay.record.folder import launch_row, table_row, write_launch
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan
from fireassay.spec.sections.collectives import UNITS


@dataclass(frozen=True, kw_only=True)
class Suite:
    """A suite of benchmarks."""

    name: str
    title: str
    check: str  # which calls' data it checks
    shows_busbw: bool = False  # whether its lines show one, which must follow from the time


def write(suite: Suite, read: Mapping[Path, Sequence[Run]], root: Path, *, clock: Clock, name: str = "") -> tuple[Imported, ...]:
    """Write the runs of these files as sealed records, one per program and settings.

    Raises:
        RecordError: a record cannot be written; nothing is left behind.
    """
    groups: dict[str, list[Run]] = {}
    for path, runs in read.items():
        unended = open_end(path)
        for run in (replace(run, missing=(*run.missing, *unended)) for run in runs):
            sizes = tuple((line.nbytes, line.in_place) for line in run.lines)
            same = (run.op, run.time, run.backend, run.ranks, run.dtype, run.redop, run.root, run.aggregation, run.version, sizes)
            groups.setdefault(json.dumps(same), []).append(run)
    digests = {path.name: files.digest(path) for path in read}
    imported = []
    for index, runs in enumerate(groups.values()):
        proposed, of = (name, len(groups)) if name else (f"{suite.title}-{runs[0].op}-{runs[0].ranks}", 1)
        files_of_runs = {run.file: digests[run.file] for run in runs}
        imported.append(_record(suite, runs, record_name(proposed, suite.name, index, of), files_of_runs, root, clock))
    return tuple(imported)


def _record(suite: Suite, runs: Sequence[Run], name: str, digests: Mapping[str, str], root: Path, clock: Clock) -> Imported:
    first = runs[0]
    experiment = _experiment(first, name, len(runs))
    with new_record(root, experiment, clock) as record:
        planned = plan(experiment)
        for number, run in enumerate(runs):
            writer = record.writer(number)
            for row in _rows(suite, number, run):
                writer.append("collectives", row)
            seconds = run.seconds if run.seconds is not None else sum(line.seconds for line in run.lines)
            write_launch(writer, launch_row(planned[number], launch=number, begin_ns=0, end_ns=round(seconds * 1e9)), record.path)
        record.note(foreign=_manifest(suite, runs, digests))
        record.finish("complete")
    return Imported(
        path=record.path,
        tool=suite.name,
        title=suite.title,
        configurations=(planned[0].configuration,),
        launches=len(runs),
        requests=sum(len(run.lines) for run in runs),
        failed=sum(bool(line.wrong) for run in runs for line in run.lines),
        has_requests=True,
        missing=_sentences(run.missing for run in runs),
        doubts=_sentences(run.doubts for run in runs),
        unit="sizes",
    )


def _experiment(run: Run, name: str, launches: int) -> Experiment:
    sizes = sorted({line.nbytes for line in run.lines})
    return Experiment.model_validate(
        {
            "name": name,
            "workload": {"runner": "collectives", "work": "calls"},
            "factor": {"levels": [run.ranks]},
            "launches": {"per_configuration": launches},
            "gates": {"efficiency": "none"},
            "collectives": {
                "operations": [run.op],
                "sizes": [_written(size) for size in sizes],
                "dtype": run.dtype,
                "backend": run.backend,
                "root": min(run.root, run.ranks - 1),
            },
        }
    )


def _written(size: int) -> str:
    for unit in ("G", "M", "K"):
        if size % UNITS[unit] == 0 and size:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)


def _rows(suite: Suite, launch: int, run: Run) -> Iterator[tuple[Any, ...]]:
    """The rows of a launch; a repeated size is in a separate loop, and so behind a barrier."""
    common = {"launch": launch, "rank": 0, "incarnation": 0, "group": suite.title, "size": run.ranks, "dtype": run.dtype, "phase": "timed"}
    seen: set[tuple[int, bool]] = set()
    for index, line in enumerate(run.lines):
        if (key := (line.nbytes, line.in_place)) in seen:
            yield table_row(COLLECTIVES, **common, call=2 * index - 1, op="barrier", bytes=0, begin_ns=0, end_ns=0, method="host")
            seen.clear()
        seen.add(key)
        yield table_row(
            COLLECTIVES,
            **common,
            call=2 * index,
            op=run.op,
            bytes=line.nbytes,
            in_place=int(line.in_place),
            begin_ns=0,
            end_ns=round(line.seconds * 1e9),
            wrong=line.wrong,
            fault=f"not named by {suite.title}" if line.wrong else None,
            method=f"{suite.title}: mean of iterations, {run.aggregation}",
        )


def _manifest(suite: Suite, runs: Sequence[Run], digests: Mapping[str, str]) -> dict[str, Any]:
    first = runs[0]
    main = next(iter(digests))
    return {
        "tool": suite.name,
        "title": suite.title,
        "version": first.version or None,
        "file": main,
        "sha256": digests[main],
        "files": dict(digests),
        "clock": "host",
        "times": "none",
        "requests": False,
        "begin_utc": None,
        "meanings": {
            "time": first.time,
            "rank": first.aggregation,
            "check": suite.check,
            "backend": first.backend,
            "convention": "nccl-tests",
            **({"nccl": first.version or None} if first.backend == "nccl" else {}),
        },
        "unsaid": [],
        "missing": list(_sentences(run.missing for run in runs)),
        "doubts": list(_sentences(run.doubts for run in runs)),
        "reported": [],
        "printed": [[*key, busbw] for key, busbw in _printed(runs).items() if suite.shows_busbw],
        "kept": [dict(run.kept) for run in runs],
    }


def _sentences(each: Iterable[Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(itertools.chain.from_iterable(each)))


def _printed(runs: Sequence[Run]) -> dict[tuple[int, int, bool], float]:
    """(launch, bytes, in place) -> busbw as printed; the first for a repeated size."""
    printed: dict[tuple[int, int, bool], float] = {}
    for number, run in enumerate(runs):
        for line in run.lines:
            printed.setdefault((number, line.nbytes, line.in_place), line.busbw)
    return printed
