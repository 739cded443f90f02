"""How do the traces of a profiler become one sealed record: a profiled launch, with the same summary as `assay profile`?

Every file (or every device of a capture) is a rank of one launch.  Its summary is made by the function that is passed in, since summaries are
judging, which an importer does not see.  The traces themselves stay where they are: the record holds their names and SHA-256.  Times of
different ranks are never compared: their clocks are.  Ranks that the files do not name are numbered in the order of their names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fireassay import catalog
from fireassay.clock import Clock
from fireassay.errors import SpecError
from fireassay.importers.profiles.support.base import Capture, Profiler
from fireassay.importers.support.base import UNSAID, Imported, new_record, record_name
from fireassay.importers.support.documents import Place, Words, refuse_links
from fireassay.printable import some
from fireassay.record import files, trace_summaries
from fireassay.record.folder import check_written, launch_row, write_launch
from fireassay.record.untrusted.chrome_trace import UNREADABLE
from fireassay.spec.experiment import Experiment
from fireassay.spec.plan import plan

PACKAGE: Final = "importers.profiles"
MAX_FILES: Final = 4096
MAX_SPAN_NS: Final = 366 * 86_400 * 10**9
_WINDOW: Final = re.compile(r"\.\d+(?=\.pt\.trace\.json)")
Summarise = Callable[[Mapping[str, Any]], dict[str, Any]]
Rank = dict[str, Any]  # the summary of a capture, with `file`, `rank`, `workers`
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Job:
    """The traces of one job."""

    tool: str
    title: str
    name: str  # of the record
    ranks: list[Rank]
    missing: list[str]
    doubts: list[str]


def recognised(paths: Sequence[Path]) -> str:
    """The profiler that wrote the files, or the first file of each folder; empty if none did."""
    for name, profiler in catalog.load_all(PACKAGE).items():
        if paths and all(_found(profiler, path) for path in paths):
            return str(name)
    return ""


def _found(profiler: Profiler, path: Path) -> bool:
    return any(map(profiler.recognises, _files_in(path))) if path.is_dir() else profiler.recognises(path)


def _files_in(folder: Path) -> list[Path]:
    try:
        return sorted(file for file in folder.iterdir() if file.is_file() and not file.name.startswith("."))
    except OSError:
        return []


def import_traces(
    tool: str, paths: Sequence[Path], root: Path, *, clock: Clock, summarise: Summarise, name: str = "", on_progress: Progress | None = None
) -> tuple[Imported, ...]:
    """Import the traces of one job as one sealed record below `root`.

    Raises:
        SpecError: a file is invalid, or the files are of different jobs; nothing is left behind.
        EnvironmentLacks: no such profiler.
        RecordError: the record cannot be written.
    """
    profiler: Profiler = catalog.load(PACKAGE, tool)
    chosen = _chosen(profiler, paths)
    ranks: list[Rank] = []
    doubts: list[str] = []
    missing: list[str] = []
    for number, path in enumerate(chosen, start=1):
        for capture in profiler.read(path):
            ranks.append(_summary(capture, path, summarise))
            doubts += _doubts(capture, ranks[-1])
            missing += capture.missing
        if on_progress is not None:
            on_progress(number, len(chosen) + 1)
    missing += _numbered(ranks, Place(chosen[0].name))
    title = "torch.profiler" if tool == "chrome_trace" and all(rank["torch"] for rank in ranks) else profiler.title
    stem = paths[0].name if paths[0].is_dir() else chosen[0].name.partition(".")[0]
    job = Job(tool=tool, title=title, name=record_name(name or f"profile-{stem}", tool, 0, 1), ranks=ranks, missing=missing, doubts=doubts)
    return (_record(job, {path.name: files.digest(path) for path in chosen}, root, clock),)


def _chosen(profiler: Profiler, paths: Sequence[Path]) -> list[Path]:
    """The files to read: those that are given, and the traces in the folders."""
    chosen: list[Path] = []
    for path in paths:
        refuse_links(path)
        if not path.exists():
            raise Place(str(path)).wrong(Words("no such file"), f"a trace of {profiler.title}, or a folder of them")
        chosen += [file for file in _files_in(path) if profiler.recognises(file)] if path.is_dir() else [path]
    if not chosen:
        raise Place(str(paths[0])).wrong(Words("no trace"), f"a folder of {profiler.files}")
    if len(chosen) > MAX_FILES:
        raise Place(str(paths[0])).wrong(Words(f"{len(chosen):,} traces"), f"at most {MAX_FILES:,}")
    names = [path.name for path in chosen]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise Place(twice[0]).wrong(Words("two traces of this name"), "one name for each", "Rename one: the record names its traces.")
    return chosen


def _summary(capture: Capture, path: Path, summarise: Summarise) -> Rank:
    try:
        summary = summarise(capture.content)
    except SpecError:
        raise
    except (*UNREADABLE, OverflowError) as error:
        raise Place(path.name).wrong(Words(f"no readable trace ({type(error).__name__}: {error})"), "a whole trace") from None
    if not summary["whole"]["window_ns"] and not summary["threads"]:
        found = f"{capture.notes.events:,} events, none of them with a duration"
        raise Place(path.name).wrong(
            Words(found), "a trace of operators, kernels or threads", "Was the profiler stopped before it exported?"
        )
    if summary["whole"]["window_ns"] > MAX_SPAN_NS:
        found = f"events that are {summary['whole']['window_ns'] / MAX_SPAN_NS:,.0f} years apart"
        raise Place(path.name).wrong(Words(found), "events of one run, in microseconds")
    device = {"device": capture.device} if capture.device else {}
    return {"file": capture.file, "bytes": path.stat().st_size, "absent": "", **summary, **device}


def _doubts(capture: Capture, rank: Rank) -> Iterator[str]:
    notes = capture.notes
    if unread := rank["unread"]:
        names = some((f"{name} ({number:,})" for name, number in sorted(unread.items(), key=lambda one: -one[1])), 3)
        yield f"{capture.file}: events of unknown categories count for nothing, also if they are work of a device: {names}"
    if notes.invalid:
        yield f"{capture.file}: {notes.invalid:,} of {notes.events:,} events have no usable time and are left out"
    if notes.unended:
        yield f"{capture.file}: {notes.unended:,} begin and end events have no counterpart and are left out"


def _numbered(ranks: list[Rank], place: Place) -> list[str]:
    """Give every entry its rank and number of workers; sentences on what the files leave open.

    Raises:
        SpecError: the files disagree about the job.
    """
    worlds = sorted({rank["workers"] for rank in ranks if rank["workers"]})
    if len(worlds) > 1:
        raise place.wrong(
            Words(f"traces of jobs of {' and '.join(map(str, worlds))} workers"), "the traces of one job", "Import each job alone."
        )
    sentences: list[str] = []
    named = {rank["rank"] for rank in ranks}
    unnamed = list(dict.fromkeys(_process(rank) for rank in ranks if rank["rank"] is None))
    free = (number for number in range(len(ranks) + len(named)) if number not in named)
    numbers = dict(zip(unnamed, free, strict=False))
    for rank in ranks:
        rank["rank"] = numbers[_process(rank)] if rank["rank"] is None else rank["rank"]
    if unnamed and len(numbers.keys() | named - {None}) > 1:
        sentences.append("which rank wrote which trace: they are numbered in the order of their names")
    _refuse_repeated(ranks, place)
    workers = worlds[0] if worlds else max(rank["rank"] for rank in ranks) + 1
    for rank in ranks:
        rank["workers"] = workers
    ranks.sort(key=lambda rank: (rank["rank"], rank["steps"][0]["step"] if rank["steps"] else 0))
    present = {rank["rank"] for rank in ranks}
    if over := sorted(number for number in present if number >= workers):
        raise place.wrong(Words(f"rank {over[0]} of a job of {workers} workers"), "ranks below the number of workers")
    if absent := workers - len(present):
        sentences.append(f"the traces of {absent} of {workers} ranks")
    return sentences


def _process(rank: Rank) -> str:
    """The process that wrote a trace, by its file's name: TensorBoard's handler writes WORKER.TIMESTAMP.pt.trace.json for every window."""
    return str(rank.get("device") or _WINDOW.sub("", rank["file"]))


def _refuse_repeated(ranks: Sequence[Rank], place: Place) -> None:
    """Several files of a rank are windows of one process if their steps differ."""
    seen: dict[tuple[int, int | None], str] = {}
    for rank in ranks:
        for step in [step["step"] for step in rank["steps"]] or [None]:
            other = seen.setdefault((rank["rank"], step), rank["file"])
            if other != rank["file"]:
                found = f"rank {rank['rank']} in {other} and in {rank['file']}" + (f", both with step {step}" if step is not None else "")
                raise place.wrong(Words(found), "one trace for each rank, or windows of different steps", "Import each job alone.")


# ---- the record ------------------------------------------------------------------------------------------------------


def _experiment(job: Job, workers: int) -> Experiment:
    return Experiment.model_validate(
        {
            "name": job.name,
            "workload": {"runner": "training", "script": UNSAID},
            "factor": {"levels": [workers]},
            "profile": {"only": True, "tool": "nsys" if job.tool == "nsys" else "torch"},
            "launches": {"per_configuration": 1},
            "gates": {"efficiency": "none"},
        }
    )


def _record(job: Job, digests: Mapping[str, str], root: Path, clock: Clock) -> Imported:
    workers = job.ranks[0]["workers"]
    experiment = _experiment(job, workers)
    with new_record(root, experiment, clock) as record:
        (planned,) = plan(experiment)
        summary = {"configuration": planned.configuration, "imported": job.title, "ranks": job.ranks, "nsys": []}
        trace_summaries.write(record, 0, summary, workers=workers)
        longest = max(rank["whole"]["window_ns"] for rank in job.ranks)
        write_launch(record.writer(0), launch_row(planned, launch=0, begin_ns=0, end_ns=longest), record.path)
        check_written(record.writer(0), record.path)
        record.note(foreign=_manifest(job, digests))
        record.finish("complete")
    return Imported(
        path=record.path,
        tool=job.tool,
        title=job.title,
        configurations=(planned.configuration,),
        launches=1,
        requests=len(job.ranks),
        failed=0,
        has_requests=True,
        missing=tuple(job.missing),
        doubts=tuple(job.doubts),
        unit="traces",
    )


def _manifest(job: Job, digests: Mapping[str, str]) -> dict[str, Any]:
    main = next(iter(digests))
    return {
        "tool": job.tool,
        "title": job.title,
        "version": None,
        "file": main,
        "sha256": digests[main],
        "files": dict(digests),
        "clock": "host",
        "times": "none",
        "requests": True,
        "begin_utc": None,
        "meanings": {"times": "of profiled steps, which are slower than others"},
        "unsaid": [],
        "missing": list(job.missing),
        "doubts": list(job.doubts),
        "reported": [],
    }
