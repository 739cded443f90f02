"""How do results of another load generator, harness, timing tool or profiler become records?"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from fireassay import catalog
from fireassay.clock import SystemClock
from fireassay.errors import did_you_mean, refuse
from fireassay.importers.harnesses.support.importing import Wanted, import_evaluations
from fireassay.importers.harnesses.support.importing import recognised as harness_of
from fireassay.importers.support.base import Imported
from fireassay.importers.support.importing import import_results
from fireassay.importers.support.tools import EVERY, HARNESSES, PACKAGES, PROFILERS, TIMERS
from fireassay.importers.timings.support.importing import import_timings
from fireassay.importers.timings.support.importing import recognised as timer_of
from fireassay.record.staging import staged
from fireassay.spec.explain import shown

Progress = Callable[[int, int], None]
NOTHING = Wanted()


def imported_from(
    files: Sequence[Path], root: Path, *, tool: str = "", wanted: Wanted = NOTHING, on_progress: Progress | None = None
) -> tuple[Imported, ...]:
    """Import results of other tools as sealed records below `root`: all, or none.

    Args:
        files: a file or folder; of a harness a side each, of a timing tool a launch each, of a profiler the traces of one job.
        root: parent of the records.
        tool: the tool that wrote them, as `assay import --from` names it; "": recognised from them.
        wanted: the records' name; and of a harness what decides.
        on_progress: called with what is done so far, and all of it.

    Raises:
        SpecError: no known tool writes such a file, it is invalid, or `wanted` is not for it; with field and line. Nothing is left behind.
        EnvironmentLacks: a capture that cannot be exported here.
        RecordError: a record cannot be written.
    """
    with staged(root) as place:
        records = _imported(files, place, _known(tool), wanted, on_progress)
    return tuple(dataclasses.replace(record, path=root / record.path.name) for record in records)


def _imported(files: Sequence[Path], root: Path, tool: str, wanted: Wanted, on_progress: Progress | None) -> tuple[Imported, ...]:
    """What is wanted of a harness is wrong for a load generator, which has one file or folder."""
    if timer := tool if tool in TIMERS else "" if tool else timer_of(files):
        _refuse_sides(files, wanted, several=True)
        return import_timings(timer, files, root, clock=SystemClock(), name=wanted.name)
    if profiler := _profiler(tool, files):
        _refuse_sides(files, wanted, several=True)
        return _traces(profiler, files, root, wanted.name, on_progress)
    if harness := tool if tool in HARNESSES else "" if tool else harness_of(files):
        return import_evaluations(harness, files, root, clock=SystemClock(), wanted=wanted, on_progress=on_progress)
    _refuse_sides(files, wanted)
    (file,) = files
    return import_results(file, root, clock=SystemClock(), tool=tool, name=wanted.name, on_progress=on_progress)


def _profiler(tool: str, files: Sequence[Path]) -> str:
    """The profiler that wrote the files; empty if none did."""
    from fireassay.importers.profiles.support.importing import recognised

    return tool if tool in PROFILERS else "" if tool else recognised(files)


def _traces(profiler: str, files: Sequence[Path], root: Path, name: str, on_progress: Progress | None) -> tuple[Imported, ...]:
    """The record of a job's traces, with the summary that `assay profile` makes of its own."""
    from fireassay.api.records.nsight import exported
    from fireassay.frames.training.profile_summary import summary
    from fireassay.importers.profiles.support.importing import import_traces

    with exported(files) as traces:
        return import_traces(profiler, traces, root, clock=SystemClock(), summarise=summary, name=name, on_progress=on_progress)


def _known(given: str) -> str:
    """The tool's name, if there is such a tool. Raises SpecError: there is none."""
    tool = given.replace("-", "_")
    named = (*EVERY, *(name for package in PACKAGES for name in catalog.third_party(package)))
    if tool and tool not in named:
        words = [name.replace("_", "-") for name in named]
        raise refuse("--from", shown(given), f"one of {', '.join(words)}", did_you_mean(given, words), source="the import")
    return tool


def _refuse_sides(files: Sequence[Path], wanted: Wanted, *, several: bool = False) -> None:
    """Refuse what is wanted of a harness; and several paths, unless they are launches of a timing tool or traces of one job."""
    names = ("margin", "metric", "varying", "most_failed")
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(wanted, name) != getattr(NOTHING, name)]
    paths = [f"{len(files)} paths"] if len(files) > 1 and not several else []
    if paths or given:
        harnesses = " or ".join(name.replace("_", "-") for name in HARNESSES)
        allowed = f"one file or folder of a load generator; several paths and these flags of {harnesses}; several paths of one timing tool or profiler"
        fix = f"Import each alone, or name the harness: --from {harnesses}"
        raise refuse("assay import", ", ".join((*paths, *given)), allowed, fix, source="the import")
