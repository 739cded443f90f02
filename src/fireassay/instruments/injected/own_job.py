"""Where does a worker of a job that assay did not start leave its rows?

FIREASSAY_ATTACH=1 in a job script is all: the wheel brings a path file, which Python reads at its start and which calls `arm_quietly` in
every worker; without the wheel (an editable installation), PYTHONPATH with this folder does the same.
FIREASSAY_RECORD names the record's folder, which all hosts share; by default it is records/attached-SCRIPT-ID below the working folder, where
ID follows from the job's identifier, its rendezvous and its command. Until the job has ended and `assay report` seals it, the folder holds
attached/workers=W.start=N/: one folder per start of the job, the launch folder of its workers.
No coordinator numbers the starts and no rank sees another: a rank takes the first number at which nobody has its own place (rank and
incarnation) yet; a restarted one goes to the newest start of its predecessor. A place is a file that the worker keeps locked while it
lives. Starts of another command, and those after the sealing, go to FOLDER-2, FOLDER-3, ...
Cannot tell: two starts of one job apart if some ranks of the first never reached this line. Standard library only: it runs in workers.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
import socket
import sys
import time
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from fireassay.instruments.recorder.clock_pings import boot_id
from fireassay.record.secrets.redact import redact_arguments, secret_values

FOLDER: Final = "FIREASSAY_RECORD"
LAUNCH: Final = "FIREASSAY_LAUNCH_DIR"
ATTACHED: Final = "attached"  # below the record's folder, until it is sealed
COMMAND: Final = "command.json"
PLACE: Final = re.compile(r"place\.rank=(\d+)\.inc=(\d+)\.json")
START: Final = re.compile(r"workers=(\d+)\.start=(\d+)")
MOST: Final = 10_000
_LOCAL_RANK: Final = re.compile(r"--local[-_]rank(=.*)?$")  # an argument of the old launcher, which differs between ranks
_JOB: Final = ("SLURM_JOB_ID", "SLURM_STEP_ID", "SLURM_JOB_NAME", "SLURM_JOB_PARTITION", "SLURM_RESTART_COUNT", "TORCHELASTIC_RUN_ID")
_KEPT: list[int] = []  # locked until this process ends


def arm() -> None:
    """Wait for torch; in a job of one's own, take this worker's place first."""
    from fireassay.instruments import attach, found_scores, loopback

    if LAUNCH not in os.environ:
        begin(os.environ, sys.orig_argv)
    loopback.arm()
    attach.arm()
    found_scores.arm()


def arm_quietly() -> None:
    """The same for the path file: the script must run as it would without assay. A loader's helper is no worker."""
    if any(word.startswith(("from multiprocessing.", "--multiprocessing-fork")) for word in sys.orig_argv):
        return
    try:
        arm()
    except Exception as error:
        print(f"assay: this worker's steps are not measured: {_why(error)}", file=sys.stderr, flush=True)


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename}: {error.strerror}. Set {FOLDER} to a folder in which all workers can write."
    return f"{type(error).__name__}: {error}"


def begin(environ: MutableMapping[str, str], words: Sequence[str]) -> Path:
    """Take this worker's place and set the variables of a launch. `words`: the interpreter's own command line.

    Raises:
        OSError: the folder is not writable.
        ValueError: the variables of torchrun are no numbers.
    """
    rank, workers, incarnation = (int(environ.get(name) or default) for name, default in _NUMBERS)
    command = {"words": redact_arguments(without_rank(words[1:]), secret_values(environ)), "folder": os.getcwd()}
    host = environ.get("FIREASSAY_HOST") or environ.get("SLURMD_NODENAME") or socket.gethostname()
    about = {
        **command,
        "rank": rank,
        "workers": workers,
        "incarnation": incarnation,
        "host": host,
        "pid": os.getpid(),
        "boot_id": boot_id(),
        "begin_ns": time.monotonic_ns(),
        "begin_utc": time.time(),
        "python": sys.version.split()[0],
        "job": {name: environ[name] for name in _JOB if name in environ},
    }
    folder = _place(_record(environ, command) / ATTACHED, about)
    if rank == 0 and not incarnation:
        from shlex import quote  # in one worker of the job only

        print(
            f"assay: recording this job; judge it after its end: assay report {quote(str(folder.parents[1]))}", file=sys.stderr, flush=True
        )
    environ[LAUNCH] = str(folder)
    environ.setdefault("FIREASSAY_HOST", host)
    environ.setdefault("FIREASSAY_LAUNCH", "0")  # numbered when the record is sealed
    return folder


_NUMBERS: Final = (("RANK", 0), ("WORLD_SIZE", 1), ("TORCHELASTIC_RESTART_COUNT", 0))


def without_rank(words: Sequence[str]) -> list[str]:
    """A command line that all ranks share."""
    kept: list[str] = []
    for word, before in zip(words, ("", *words), strict=False):
        if not _LOCAL_RANK.match(word) and before not in ("--local-rank", "--local_rank"):
            kept.append(word)
    return kept


def script_of(words: Sequence[str]) -> str:
    """The script or module in an interpreter's command line; "" if there is none."""
    follows = iter(words)
    for word in follows:
        if word == "-m":
            return next(follows, "")
        if word in ("-c", "-"):
            return ""
        if word in ("-W", "-X"):
            next(follows, None)
        elif not word.startswith("-"):
            return word
    return ""


def _record(environ: Mapping[str, str], command: Mapping[str, Any]) -> Path:
    """The first folder that is neither sealed nor of another command."""
    content = json.dumps(command).encode()
    base = Path(environ.get(FOLDER) or Path("records") / _name(environ, command, content)).absolute()
    for number in range(1, MOST):
        folder = base if number == 1 else base.with_name(f"{base.name}-{number}")
        if (folder / "manifest.json").exists():
            continue
        (folder / ATTACHED).mkdir(parents=True, exist_ok=True)
        file = folder / ATTACHED / COMMAND
        _create(file, content)
        if file.read_bytes() == content:
            return folder
    raise FileExistsError(f"no free name for {base}")


def _name(environ: Mapping[str, str], command: Mapping[str, Any], content: bytes) -> str:
    run = environ.get("TORCHELASTIC_RUN_ID", "")
    run = run if run != "none" else ""
    job = environ.get("SLURM_JOB_ID") or run or f"{environ.get('MASTER_ADDR', '')}:{environ.get('MASTER_PORT', '')}"
    stem = re.sub(r"[^A-Za-z0-9._-]+", "-", Path(script_of(command["words"])).stem)[:40] or "job"
    return f"{ATTACHED}-{stem}-{hashlib.sha256(job.encode() + content).hexdigest()[:6]}"


def _place(attached: Path, about: Mapping[str, Any]) -> Path:
    """The launch folder in which this worker has its place."""
    name = "place.rank={}.inc={}.json"
    mine = name.format(about["rank"], about["incarnation"])
    before = name.format(about["rank"], about["incarnation"] - 1)
    starts = [attached / f"workers={about['workers']}.start={number}" for number in range(_known(attached, about["workers"]) + 1)]
    if about["incarnation"]:
        starts = [start for start in reversed(starts) if (start / before).exists()] or starts
    content = json.dumps(about).encode()
    while True:
        for start in starts:
            start.mkdir(exist_ok=True)
            if _create(start / mine, content):
                _KEPT.append(_locked(start / mine))
                return start
        starts = [attached / f"workers={about['workers']}.start={_known(attached, about['workers'])}"]


def _known(attached: Path, workers: int) -> int:
    """One more than the highest number of a start with so many workers."""
    matches = (START.fullmatch(folder.name) for folder in attached.iterdir())
    return max((int(match[2]) + 1 for match in matches if match and int(match[1]) == workers), default=0)


def _create(file: Path, content: bytes) -> bool:
    """Create a file whole; false if it exists. (A link is atomic on NFS too.)"""
    fresh = file.with_name(f".{file.name}.{socket.gethostname()}.{os.getpid()}")
    fresh.write_bytes(content)
    try:
        os.link(fresh, file)
    except FileExistsError:
        return False
    finally:
        fresh.unlink()
    return True


def _locked(file: Path) -> int:
    descriptor = os.open(file, os.O_RDWR | os.O_CLOEXEC)
    with suppress(OSError):  # this file system has no locks: the end of the streams must suffice
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor
