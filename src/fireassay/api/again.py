"""Can the work of a record be done again as it stands?  What the commands of its answer name, and what they lack by now.

The only effects of a report on its surroundings: a look for the script, and at a port of this machine.  No other machine is asked, since a
record from elsewhere must not make its reader send anything.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from fireassay.api.experiment_run import folder_of
from fireassay.errors import RecordError
from fireassay.frames.record_data import RecordData
from fireassay.record.lookup import resolve
from fireassay.record.secrets.redact import REDACTED
from fireassay.reports.answering import shell_command
from fireassay.reports.view import Again
from fireassay.runners.experiment.script import script_path
from fireassay.spec.experiment import Experiment
from fireassay.spec.flags.evaluate import score_words
from fireassay.spec.flags.experiment import BETWEEN
from fireassay.spec.plan import targets_of

ROOT: Final = Path("records")  # where verbs look for a name unless --root says otherwise
OF_A_FILE: Final = ("training", "command", "program", "replay")  # runners that start or read `workload.script`
ANSWERS_S: Final = 0.2  # a port of this machine answers or refuses at once


def again(path: Path, measured: RecordData) -> Again:
    """What commands about the record need."""
    experiment = measured.experiment
    gone = _gone(experiment, measured)
    score = score_words(experiment, folder_of(measured.manifest)) if measured.foreign is None and not gone else ()
    return Again(record=_named(path), gone=gone, silent=_silent(experiment), score=score)


def timed_again(paths: Sequence[Path], records: Sequence[RecordData], here: Path) -> str:
    """The command that times both commands in turn; "" if one of them is no longer there, or was run elsewhere or with other variables."""
    words: list[str] = []
    for path, measured in zip(paths, records, strict=True):
        workload = measured.experiment.workload
        own = workload.runner == "command" and measured.foreign is None and not workload.environment
        command = (workload.script, *workload.arguments)
        if not own or folder_of(measured.manifest).resolve() != here.resolve() or again(path, measured).gone or unready(command):
            return ""
        words += [BETWEEN, *command] if words else command
    return shell_command("assay", "time", "--", *words)


def unready(command: Sequence[str]) -> bool:
    """True if a word stands for what the record does not hold, or would be taken for the mark between two commands."""
    return any(word == BETWEEN or REDACTED in word for word in command)


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
