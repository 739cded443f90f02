"""How are files with `:::MLLOG` lines read?  Within the limits of every file from outside; other lines may be of any kind."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from fireassay.importers.support.documents import Place, Words, head, opened
from fireassay.record.mllog import MARK, Log, log

MAX_BYTES: Final = 256 << 20
LOADGEN: Final = ('"effective_', '"requested_', '"loadgen_version"')  # keys that only LoadGen's detailed log has
TRAINING: Final = ('"submission_', '"cache_clear"', '"init_start"', '"run_start"', '"eval_accuracy"', '"global_batch_size"')


def is_training(beginning: str) -> bool:
    """True if a file's beginning looks like a training's log, not LoadGen's detailed one."""
    return MARK in beginning and not any(key in beginning for key in LOADGEN) and any(key in beginning for key in TRAINING)


def is_loadgen(beginning: str) -> bool:
    """True if a file's beginning looks like LoadGen's detailed log."""
    return MARK in beginning and any(key in beginning for key in LOADGEN)


def is_loadgen_log(path: Path) -> bool:
    """True if a file is LoadGen's detailed log."""
    return path.is_file() and is_loadgen(head(path))


def read_log(path: Path, name: str = "", *, least: int = 1) -> Log:
    """The lines with the marker. `name`: how the file is called in results. Raises SpecError: missing, unreadable, too large, fewer than `least`."""
    place = Place(name or path.name)
    with opened(path) as file:
        size = path.stat().st_size
        if size > MAX_BYTES:
            raise place.wrong(
                Words(f"{size:,} bytes"), f"at most {MAX_BYTES:,} bytes", "Keep the lines with the marker: grep :::MLLOG FILE."
            )
        file.reconfigure(errors="replace")  # type: ignore[attr-defined]  # as the checkers read Latin-1: what others printed may be in any encoding
        found = log(place.file, enumerate(file, start=1))
    if len(found.entries) + len(found.broken) < least:
        fix = "Give the output of a program that logs with mlperf-logging, or LoadGen's mlperf_log_detail.txt, in UTF-8."
        raise place.wrong(Words("no line with the marker"), f"lines with {MARK} {{...}}", fix)
    return found
