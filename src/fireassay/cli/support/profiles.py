"""How are the profiles of a record shown, by `assay profile` and by `assay resume`?"""

from __future__ import annotations

import argparse
import json
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fireassay.cli.support.output import Output, emit
from fireassay.errors import AssayError
from fireassay.frames.record_data import from_record
from fireassay.record.reader import judged_from, open_record
from fireassay.record.unsealed import launch_name
from fireassay.reports.pages.profile import of_record, page

NOTHING_KEPT: Final = 4  # exit code: no step was kept


def show_profiles(path: Path, arguments: argparse.Namespace) -> int:
    """Show a record's profiles; returns the exit code."""
    profile = profile_of(path)
    emit(output(profile), arguments)
    return 0 if kept(profile) else NOTHING_KEPT


def show_what_is_left(path: Path, arguments: argparse.Namespace) -> None:
    """Show the profiles completed before a failure; the failure itself is reported last."""
    with suppress(AssayError, OSError):
        if kept(profile := profile_of(path)):
            emit(output(profile), arguments)


def output(profile: dict[str, Any]) -> Output:
    """The summary, as a page and as JSON."""
    return Output(name="profile", page=lambda: page(profile), document=lambda: json.dumps(profile, indent=2))


def profile_of(path: Path) -> dict[str, Any]:
    """A record's profiled launches: their summaries, and each rank's report of its window."""
    with judged_from(path):
        launches = of_record(from_record(open_record(path)))
    return {
        "record": str(path),
        "launches": [{**launch, "folder": str(path / "traces" / launch_name(launch["launch"]))} for launch in launches],
    }


def kept(profile: dict[str, Any]) -> bool:
    """True if any step was kept."""
    return any(
        any(window["kept"] for window in launch["windows"]) or any(part.get("file") for part in launch["nsys"])
        for launch in profile["launches"]
    )


def only_profiled(path: Path) -> bool:
    """True if the record comes from `assay profile`: it has no timed launches, so there is nothing to judge."""
    profile = open_record(path).experiment.profile
    return profile is not None and profile.only
