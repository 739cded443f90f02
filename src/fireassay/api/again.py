"""Can the work of a record be done again as it stands?  What the commands of its answer name, and what they lack by now.

The only effects of a report on its surroundings: a look for the script, and at a port of this machine.  No other machine is asked, since a
record from elsewhere must not make its reader send anything.
"""

from __future__ import annotations

import ipaddress
import socket
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from fireassay.api.experiment_run import folder_of
from fireassay.errors import RecordError
from fireassay.frames.record_data import RecordData
from fireassay.record.lookup import resolve
from fireassay.reports.view import Again
from fireassay.runners.experiment.script import script_path
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.evaluate import score_words
from fireassay.spec.plan import targets_of

ROOT: Final = Path("records")  # where verbs look for a name unless --root says otherwise
OF_A_FILE: Final = ("training", "command", "replay")  # runners that start or read `workload.script`
ANSWERS_S: Final = 0.2  # a port of this machine answers or refuses at once


def again(path: Path, measured: RecordData) -> Again:
    """What commands about the record need."""
    experiment = measured.experiment
    gone = _gone(experiment, measured)
    score = score_words(experiment, folder_of(measured.manifest)) if measured.foreign is None and not gone else ()
    return Again(record=_named(path), gone=gone, silent=_silent(experiment), score=score)


def _named(path: Path) -> str:
    """The shortest text by which a verb finds the record from here."""
    short = path.resolve().name.rsplit("-", 1)[-1]
    with suppress(RecordError):
        if short and resolve(short, ROOT).resolve() == path.resolve():
            return short
    return str(path)


def _gone(experiment: Experiment, measured: RecordData) -> str:
    if experiment.workload.runner == "answers" and experiment.evaluation is not None and measured.foreign is None:
        folder = folder_of(measured.manifest)
        return next((f"{one.path} is no longer there" for one in experiment.evaluation.answers if not (folder / one.path).exists()), "")
    if experiment.workload.runner not in OF_A_FILE:
        return ""
    file = script_path(experiment, folder_of(measured.manifest))
    return "" if file.exists() else f"{experiment.workload.script} is no longer there"


def _silent(experiment: Experiment) -> str:
    targets = targets_of(experiment.serving) if experiment.serving else ()
    urls = [url for target in targets for url in target.urls or (() if target.command else (experiment.workload.script,))]
    return next((f"nothing answers at {url}" for url in urls if _is_silent(url)), "")


def _is_silent(url: str) -> bool:
    """True if the address is a port of this machine where nothing listens."""
    with suppress(ValueError):
        parts = urlsplit(url)
        port = parts.port or {"https": 443}.get(parts.scheme, 80)
        if parts.hostname == "localhost" or (parts.hostname and ipaddress.ip_address(parts.hostname).is_loopback):
            try:
                socket.create_connection((parts.hostname, port), ANSWERS_S).close()
            except OSError:
                return True
    return False
