"""How do results of NVIDIA's nccl-tests become a record of collectives?  From the JSON of `-J FILE` or the printed output.

A run is one process start, and so a launch; runs of the same program with the same settings (a folder of files, or one file with
several) are launches of one record.  Each type and operator of a run (-d all, -o all) becomes a separate record (unknown types are
omitted and reported); a repeated size (-N) is a further loop of its launch.  A result line is one row per placement: its time is the
mean over iterations that nccl-tests reports, aggregated over ranks by `-a` (default: mean), and its `wrong` counts elements of a
separate iteration, not of the timed ones.  The manifest and the definition of every number say so, so that none is mistaken for
assay's own.  Everything else in the file (configuration, devices, times of single iterations) is kept verbatim in the manifest, except
the environment, of which only NCCL's variables are kept.
Source: nccl-tests src/util.cu and src/common.cu, JSON version 2 (2.17 and later), and the text output of all versions since 2.8.
Cannot tell the times of each rank, nor whether the timed calls were correct.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fireassay.clock import Clock
from fireassay.importers.support.base import Imported, new_record, record_name
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.support.nccl_logs import Run, runs_in_json, runs_in_text
from fireassay.record import files
from fireassay.record.declared import COLLECTIVES
from fireassay.record.folder import launch_row, table_row, write_launch
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan
from fireassay.spec.sections.collectives import UNITS

NAME: Final = "nccl_tests"
TITLE: Final = "nccl-tests"
MAX_BYTES: Final = 64 << 20


def recognises(name: str, head: str) -> bool:
    """True if a file's beginning looks like output of nccl-tests."""
    printed = "algbw" in head and "busbw" in head and "#wrong" in head
    started = "# nThread " in head and ("nGpus" in head) and "warmup iters" in head
    return printed or started or ('"nccl_version"' in head and '"args"' in head)


def import_runs(chosen: Sequence[Path], root: Path, *, clock: Clock, name: str = "") -> tuple[Imported, ...]:
    """Write the runs in these files as sealed records, one per program and settings.

    Raises:
        SpecError: a file is invalid; nothing is left behind.
        RecordError: a record cannot be written.
    """
    groups: dict[str, list[Run]] = {}
    for path in chosen:
        for run in read(path):
            sizes = tuple((line.nbytes, line.in_place) for line in run.lines)
            same = (run.op, run.ranks, run.dtype, run.redop, run.root, run.aggregation, run.version, sizes)
            groups.setdefault(json.dumps(same), []).append(run)
    digests = {path.name: files.digest(path) for path in chosen}
    imported = []
    for index, runs in enumerate(groups.values()):
        proposed, of = (name, len(groups)) if name else (f"nccl-tests-{runs[0].op}-{runs[0].ranks}", 1)
        files_of_runs = {run.file: digests[run.file] for run in runs}
        imported.append(_record(runs, record_name(proposed, NAME, index, of), files_of_runs, root, clock))
    return tuple(imported)


def read(path: Path) -> tuple[Run, ...]:
    """The runs in one file. Raises SpecError: not a result of nccl-tests, or of an unknown operation or type."""
    place = Place(path.name)
    if path.stat().st_size > MAX_BYTES:
        raise place.wrong(Words(f"{path.stat().st_size} bytes"), f"at most {MAX_BYTES}")
    text = path.read_text(encoding="utf-8", errors="replace")
    return runs_in_json(text, path, place) if text.lstrip().startswith("{") else runs_in_text(text, path, place)


def _record(runs: Sequence[Run], name: str, digests: Mapping[str, str], root: Path, clock: Clock) -> Imported:
    first = runs[0]
    experiment = _experiment(first, name, len(runs))
    with new_record(root, experiment, clock) as record:
        planned = plan(experiment)
        for number, run in enumerate(runs):
            writer = record.writer(number)
            for row in _rows(number, run):
                writer.append("collectives", row)
            seconds = run.seconds if run.seconds is not None else sum(line.seconds for line in run.lines)
            write_launch(writer, launch_row(planned[number], launch=number, begin_ns=0, end_ns=round(seconds * 1e9)), record.path)
        record.note(foreign=_manifest(runs, digests))
        record.finish("complete")
    return Imported(
        path=record.path,
        tool=NAME,
        title=TITLE,
        configurations=(planned[0].configuration,),
        launches=len(runs),
        requests=sum(len(run.lines) for run in runs),
        failed=sum(bool(line.wrong) for run in runs for line in run.lines),
        has_requests=True,
        missing=_missing(runs),
        doubts=(),
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
                "backend": "nccl",
                "root": min(run.root, run.ranks - 1),
            },
        }
    )


def _written(size: int) -> str:
    for unit in ("G", "M", "K"):
        if size % UNITS[unit] == 0 and size:
            return f"{size // UNITS[unit]}{unit}"
    return str(size)


def _rows(launch: int, run: Run) -> Iterator[tuple[Any, ...]]:
    """The rows of a launch; a repeated size is in a separate loop, and so behind a barrier."""
    common = {"launch": launch, "rank": 0, "incarnation": 0, "group": "nccl-tests", "size": run.ranks, "dtype": run.dtype, "phase": "timed"}
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
            fault="not named by nccl-tests" if line.wrong else None,
            method=f"nccl-tests: mean of iterations, {run.aggregation}",
        )


def _manifest(runs: Sequence[Run], digests: Mapping[str, str]) -> dict[str, Any]:
    first = runs[0]
    main = next(iter(digests))
    return {
        "tool": NAME,
        "title": TITLE,
        "version": first.version or None,
        "file": main,
        "sha256": digests[main],
        "files": dict(digests),
        "clock": "host",
        "times": "none",
        "requests": False,
        "begin_utc": None,
        "meanings": {
            "time": "mean over iterations of a loop",
            "rank": first.aggregation,
            "check": "a separate iteration, not the timed ones",
            "backend": "nccl",
            "convention": "nccl-tests",
            "nccl": first.version or None,
        },
        "unsaid": [],
        "missing": list(_missing(runs)),
        "doubts": [],
        "reported": [],
        "printed": [[*key, busbw] for key, busbw in _printed(runs).items()],
        "kept": [dict(run.kept) for run in runs],
    }


def _missing(runs: Sequence[Run]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(sentence for run in runs for sentence in run.missing))


def _printed(runs: Sequence[Run]) -> dict[tuple[int, int, bool], float]:
    """(launch, bytes, in place) -> busbw as printed; the first for a repeated size."""
    printed: dict[tuple[int, int, bool], float] = {}
    for number, run in enumerate(runs):
        for line in run.lines:
            printed.setdefault((number, line.nbytes, line.in_place), line.busbw)
    return printed
