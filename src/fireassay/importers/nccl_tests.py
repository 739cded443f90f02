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

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from fireassay.clock import Clock
from fireassay.importers.support.base import Imported
from fireassay.importers.support.collective_runs import Suite, write
from fireassay.importers.support.documents import Place, Words
from fireassay.importers.support.nccl_logs import Run, runs_in_json, runs_in_text

NAME: Final = "nccl_tests"
TITLE: Final = "nccl-tests"
MAX_BYTES: Final = 64 << 20
SUITE: Final = Suite(name=NAME, title=TITLE, check="a separate iteration, not the timed ones", shows_busbw=True)


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
    return write(SUITE, {path: read(path) for path in chosen}, root, clock=clock, name=name)


def read(path: Path) -> tuple[Run, ...]:
    """The runs in one file. Raises SpecError: not a result of nccl-tests, or of an unknown operation or type."""
    place = Place(path.name)
    if path.stat().st_size > MAX_BYTES:
        raise place.wrong(Words(f"{path.stat().st_size} bytes"), f"at most {MAX_BYTES}")
    text = path.read_text(encoding="utf-8", errors="replace")
    return runs_in_json(text, path, place) if text.lstrip().startswith("{") else runs_in_text(text, path, place)
