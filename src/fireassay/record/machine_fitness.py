"""Where are the results of `assay doctor` kept, and what of them does every record carry?

One file per machine in the user's state folder (XDG Base Directory Specification: $XDG_STATE_HOME, else ~/.local/state):

    assay/doctor/<machine key>.json

The key is derived from coarse hardware facts (processor model, processors, gigabytes of memory, architecture), never from a
reading: a new kernel or host name leaves the machine the same, and a home folder that several machines share holds one file
for each.  Files are versioned and written atomically (temporary file, rename); a newer, damaged or unreadable file counts as
absent, with the reason.  The results of `assay doctor client` are under `client` in the same file; neither check overwrites
the other's result.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from fireassay import __version__
from fireassay.record import files
from fireassay.record.environment import capture_keys
from fireassay.record.machine import Machine, absent

VERSION: Final = 1
STALE_DAYS: Final = 30
NEVER: Final = "assay doctor was never run on this machine"
NEVER_CLIENT: Final = "assay doctor client was never run on this machine"
CLIENT: Final = "client"
GIB: Final = 1024**3
# The part of the result that a record carries; the rest stays in the file.
# fmt: off
CARRIED: Final = (
    "utc", "assay_version", "fitness", "noise_floor", "noise_floor_apart", "minimum_detectable_effect_k5", "false_alarm_rate",
    "false_alarm_rate_apart", "drift_over_the_run", "autocorrelation", "clock", "launches", "seconds",
)
# fmt: on
CARRIED_CLIENT: Final = ("utc", "assay_version", "python", "fitness", "errors", "ceiling", "timer_lag_ms", "loop_lag_ms", "seconds")


def folder(environ: Mapping[str, str] | None = None) -> Path:
    """The folder of the results. A relative XDG_STATE_HOME is ignored, as the specification requires."""
    environ = os.environ if environ is None else environ
    state_home = Path(environ.get("XDG_STATE_HOME", ""))
    home = Path(environ.get("HOME", "~")).expanduser()
    return (state_home if state_home.is_absolute() else home / ".local" / "state") / "assay" / "doctor"


def machine_key(machine: Machine | None = None) -> str:
    """Identifies the machine by its hardware: 12 hexadecimal digits, stable across restarts."""
    seen = capture_keys(("cpu.model", "cpu.logical", "cpu.physical", "memory.total_bytes"), machine)
    total = seen["memory.total_bytes"]
    memory = round(total / GIB) if isinstance(total, int) else None
    known = [platform.machine(), *(seen[name] if isinstance(seen[name], str | int) else None for name in list(seen)[:3]), memory]
    return hashlib.sha256(json.dumps(known).encode()).hexdigest()[:12]


def write(result: Mapping[str, Any], *, machine: Machine | None = None, at: Path | None = None) -> Path:
    """Keep a result of `assay doctor` for later records. Returns its path. Raises RecordError: the state folder cannot be written."""
    content = _content(machine, at)
    client = {CLIENT: content[CLIENT]} if CLIENT in content else {}
    return _write({**result, **client}, machine, at)


def write_client(result: Mapping[str, Any], *, machine: Machine | None = None, at: Path | None = None) -> Path:
    """Keep a result of `assay doctor client` beside the machine's. Returns its path.

    Raises:
        RecordError: the state folder cannot be written.
    """
    content = _content(machine, at)
    return _write({**({} if "absent" in content else content), CLIENT: dict(result)}, machine, at)


def _write(content: Mapping[str, Any], machine: Machine | None, at: Path | None) -> Path:
    path = (at or folder()) / f"{machine_key(machine)}.json"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.replace(path, json.dumps({"version": VERSION, **content}, indent=2).encode())
    except OSError as error:
        raise files.explain(error, path, "keep the result of assay doctor in") from error
    return path


def read(*, machine: Machine | None = None, at: Path | None = None) -> dict[str, Any]:
    """The machine's stored result, or `{"absent": reason}`. Never raises."""
    content = _content(machine, at)
    if "absent" in content:
        return content
    rest = {name: value for name, value in content.items() if name != CLIENT}
    return rest if rest.keys() - {"version"} else absent(NEVER)


def read_client(*, machine: Machine | None = None, at: Path | None = None) -> dict[str, Any]:
    """The client's stored result, or `{"absent": reason}`. Never raises."""
    content = _content(machine, at)
    if "absent" in content:
        return content if content["absent"] != NEVER else absent(NEVER_CLIENT)
    client = content.get(CLIENT)
    return client if isinstance(client, dict) else absent(NEVER_CLIENT)


def _content(machine: Machine | None, at: Path | None) -> dict[str, Any]:
    try:
        path = (at or folder()) / f"{machine_key(machine)}.json"
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return absent(NEVER)
    except (OSError, ValueError, RuntimeError) as error:
        return absent(f"the result of assay doctor cannot be read: {error}")
    if not isinstance(content, dict) or not isinstance(content.get("version"), int):
        return absent(f"{path.name} holds no result of assay doctor")
    if content["version"] > VERSION:
        return absent(f"the result of assay doctor was written by a newer assay ({content.get('assay_version')})")
    return content


def carried(now: datetime, *, machine: Machine | None = None, at: Path | None = None) -> dict[str, Any]:
    """The entry `environment.before.doctor` of a record, marked if stale. Never raises.

    `client` holds the client's calibration, if there is one, marked likewise.
    """
    fitness = _carried(read(machine=machine, at=at), CARRIED, now)
    client = read_client(machine=machine, at=at)
    return fitness if "absent" in client else {**fitness, CLIENT: _carried(client, CARRIED_CLIENT, now)}


def _carried(fitness: Mapping[str, Any], names: tuple[str, ...], now: datetime) -> dict[str, Any]:
    if "absent" in fitness:
        return dict(fitness)
    kept = {name: fitness.get(name) for name in names}
    why = stale(fitness, now)
    return {**kept, "stale": why} if why else kept


def stale(found: Mapping[str, Any], now: datetime) -> str:
    """Why the check should be repeated; empty if it need not be."""
    who = "assay doctor client" if "ceiling" in found else "assay doctor"
    if found.get("assay_version") != __version__:
        return f"made by assay {found.get('assay_version')}, this is {__version__}: run {who} again"
    try:
        days = (now - datetime.fromisoformat(str(found.get("utc")))).days
    except (ValueError, TypeError):
        return f"without a readable date: run {who} again"
    return f"{days} days old: run {who} again" if days > STALE_DAYS else ""
