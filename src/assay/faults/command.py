"""What happens when anything else breaks?  A line for the shell says what: `kubectl delete pod vllm-{replica}` and the like.

{replica}, {port}, {pid} (of the replica's first process, where assay started it) and {url} are replaced; in a training
{rank} and {pid} of the worker.  The line runs in
the fault's own thread, in a process group that is killed after `LONGEST_S`; `undo`, if given, runs after `for_s`.
What it prints goes to the fault's log, without secrets.  The moment of the fault is the line's start.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field

from assay.errors import Problem, SpecError
from assay.faults.support.base import Fault, Struck, Undo, Victim, of_kind
from assay.launchers.support import launch_log, supervisor
from assay.record.secrets.redact import redact, secret_values
from assay.spec.explain import NOTHING
from assay.spec.plan import PlannedFault
from assay.spec.sections.faults import Fault as Asked
from assay.spec.sections.serving import Target

LONGEST_S = 60.0
POLL_S = 0.005
MOST_SAID = 2000  # characters of its output that are kept


class Keys(Asked):
    """What may be asked for."""

    command: str = Field(
        "", description="the line for the shell. {replica}, {port}, {pid} and {url} are replaced; in a training {rank} and {pid}."
    )
    undo: str = Field("", description="the line that undoes it, after for_s.")


def rule(asked: Mapping[str, Any]) -> Iterator[Problem]:
    """There must be a line."""
    line = asked.get("command", "")
    if isinstance(line, str) and not line.strip():
        yield Problem(
            where="command",
            found=NOTHING,
            allowed='a line for the shell where kind = "command"',
            mend='For example command = "kubectl delete pod vllm-{replica}".',
        )


def check(asked: Keys, target: Target) -> None:
    """Whether the line can be filled in.

    Raises:
        SpecError: it needs a process id that nobody knows.
    """
    if not target.command and "{pid}" in asked.command + asked.undo:
        raise SpecError(
            (Problem(where="faults[].command", found="{pid}", allowed="{replica}, {port} and {url} where assay does not start the server"),)
        )


def strike(victim: Victim, fault: PlannedFault) -> Undo:
    """Run the line and wait for its end; undone by the other line.

    Raises:
        OSError: it failed; what it said is in the message.
    """
    asked = of_kind(Keys, fault)

    def line(text: str) -> None:
        run(text.replace("{rank}", str(victim.rank)).replace("{pid}", str(victim.pid)), victim)

    line(asked.command)
    return (lambda: line(asked.undo)) if asked.undo else (lambda: None)


def on_load(struck: Struck, asked: Keys) -> Undo | None:
    """Run the line and wait for its end; undone by the other line.

    Raises:
        OSError: it failed; what it said is in the message.
    """
    run(filled(asked.command, struck), struck)
    return (lambda: run(filled(asked.undo, struck), struck)) if asked.undo else (lambda: None)


def filled(line: str, struck: Struck) -> str:
    """The line with its placeholders replaced."""
    parts = urlsplit(struck.url)
    pids = struck.replicas.pids(struck.replica) if struck.replicas is not None else ()
    values = {
        "{replica}": str(struck.replica),
        "{url}": struck.url,
        "{port}": str(parts.port or (443 if parts.scheme == "https" else 80)),
        "{pid}": str(pids[0]) if pids else "",
    }
    if "{pid}" in line and not pids:
        raise ProcessLookupError(f"no process of replica {struck.replica} is running")
    for placeholder, value in values.items():
        line = line.replace(placeholder, value)
    return line


def run(line: str, struck: Struck | Victim, *, longest_s: float = LONGEST_S) -> None:
    """Run a line in a shell. What it leaves in the background goes on, until the fault is over.

    Raises:
        OSError: it could not be started, ended with another code than 0, or took too long.
    """
    process = subprocess.Popen(
        line,
        shell=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        env={**os.environ, supervisor.MARK: f"{struck.mark}act."} if struck.mark else None,
    )
    assert process.stdout is not None
    with process.stdout:
        output, late = _until_the_end(process, process.stdout.fileno(), longest_s)
    said = redact(output.decode("utf-8", "replace"), secret_values(os.environ))[-MOST_SAID:].strip()
    _log(struck.log, f"$ {redact(line)}\n{said}\n")
    if late:
        raise OSError(f"the command did not end within {longest_s:g} s: {redact(line)}")
    if process.returncode:
        raise OSError(f"the command ended with code {process.returncode}: {redact(line)}: {said}")


def _until_the_end(process: subprocess.Popen[bytes], descriptor: int, longest_s: float) -> tuple[bytes, bool]:
    """The last of what it printed, and whether it had to be killed. Does not wait for what it left in the background."""
    os.set_blocking(descriptor, False)
    deadline, output, late = time.monotonic() + longest_s, b"", False
    while True:
        ended = process.poll() is not None
        with suppress(BlockingIOError):
            while data := os.read(descriptor, 1 << 16):
                output = (output + data)[-4 * MOST_SAID :]
                if time.monotonic() > deadline:
                    break
        if ended:
            return output, late
        if time.monotonic() > deadline:
            late = True
            _kill(process)
        time.sleep(POLL_S)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def _log(path: Path | None, text: str) -> None:
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with launch_log.appending(path) as file:
            file.write(text.encode("utf-8", "replace"))


FAULT = Fault(name="command", keys=Keys, rule=rule, strike=strike, on_load=on_load, check=check)
