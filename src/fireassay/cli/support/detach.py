"""How does a run outlive the login session that started it?

`--detach` starts the same command in a session of its own, where the end of the terminal (SIGHUP) does not reach it.  Its output goes into a file
without a name until the record exists, then into `reports/console.txt` of the record, which is not sealed.  The parent waits for the
first record's name: a command that is refused says so at once, with its exit code, as without `--detach`.  A verb that makes several
records is followed by its output, since no one record ends with it; so is a load that first looks for its rates.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from fireassay import isolated

TYPE_CHECKING = False  # read by type checkers as true; see fireassay/__init__.py
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

    from fireassay.runners.experiment.progress import RunProgress

FLAG = "--detach"
SEVERAL = "run in the background, whatever becomes of this terminal; the output goes into the first record"
PILOT = "-pilot-"  # in the names of records that look for a load's rates
CHANNEL = "FIREASSAY_DETACHED"  # descriptors on which the parent waits for the record's name, and of the output
CONSOLE = "reports/console.txt"


def add_detach(parser: argparse.ArgumentParser, *, several: bool = False) -> None:
    """Add the flag of the verbs that make a record by launches, or `several`."""
    help = "run in the background, whatever becomes of this terminal; see assay status and assay attach"
    parser.add_argument(FLAG, action="store_true", help=help if not several else SEVERAL)
    parser.set_defaults(several_records=several)


def start(words: list[str], *, several: bool = False) -> int:
    """Start the command detached; returns the exit code: 0 once its record exists, else its own."""
    at = words.index(FLAG)
    words = [*words[:at], *words[at + 1 :]]
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as output, os.fdopen(reading) as channel:
        process = subprocess.Popen(
            isolated.python("-m", "fireassay", *words),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
            pass_fds=(writing, output.fileno()),
            env=isolated.environment({**os.environ, CHANNEL: f"{writing},{output.fileno()}"}),
        )
        os.close(writing)
        try:
            record = channel.readline().rstrip("\n")
        except KeyboardInterrupt:
            process.send_signal(signal.SIGTERM)
            process.wait()
            raise
        if record:
            process.returncode = 0  # nobody waits for it
            return _started(Path(record), process.pid, several=several or PILOT in record)
        code = process.wait()
        _pass_on(output)
    return code if code >= 0 else 128 - code


def _started(record: Path, pid: int, *, several: bool) -> int:
    from fireassay.printable import say, shell_word

    job = os.environ.get("SLURM_JOB_ID")
    bound = f"; it ends with Slurm job {job}, inside which it was started" if job else ""
    name = shell_word(record)
    if several:
        console = shell_word(record / CONSOLE)
        say(
            f"detached: process {pid}{bound}\nfirst record: {record}\noutput: {console}\nnext: tail -f {console}\n      kill {pid}    (ends it)"
        )
        return 0
    say(f"detached: process {pid}{bound}\nrecord: {record}\nnext: assay status {name}\n      assay attach {name}    (--stop ends it)")
    return 0


def _pass_on(output: IO[bytes]) -> None:
    """What a command without a record said."""
    output.seek(0)
    sys.stderr.write(output.read().decode(errors="replace"))


# ---- in the detached process -----------------------------------------------------------------------------------------

_channel: list[int] = []  # descriptors: of the parent's pipe, of the output so far


def adopt() -> None:
    """Take the descriptors, and hide them from every process that is started here."""
    if text := os.environ.pop(CHANNEL, ""):
        with suppress(ValueError, OSError):
            _channel[:] = map(int, text.split(","))
            for descriptor in _channel:
                os.set_inheritable(descriptor, False)


def announcing(show: Callable[[RunProgress], None] | None) -> Callable[[RunProgress], None] | None:
    """The progress callback, which also tells the parent of the first record."""
    if not _channel:
        return show

    def told(progress: RunProgress) -> None:
        if _channel:
            _announce(progress.record)
        if show is not None:
            show(progress)

    return told


def _announce(record: Path) -> None:
    from fireassay.record.untrusted import paths

    pipe, output = _channel
    _channel.clear()
    with suppress(OSError):
        if not (record / CONSOLE).is_file():
            paths.write(record, CONSOLE, b"")
        console = os.open(record / CONSOLE, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)
        sys.stdout.flush()
        sys.stderr.flush()
        os.lseek(output, 0, os.SEEK_SET)
        while piece := os.read(output, 1 << 16):
            os.write(console, piece)
        os.dup2(console, 1)
        os.dup2(console, 2)
        os.close(console)
    with suppress(OSError):  # the parent is gone
        os.write(pipe, f"{record}\n".encode())
    for descriptor in (pipe, output):
        os.close(descriptor)
