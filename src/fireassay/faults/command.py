"""How does an experiment inject any other fault, with a shell command such as `kubectl delete pod vllm-{replica}`?

Placeholders: {replica}, {port}, {pid} (the replica's first process, if assay started it) and {url} under load; {rank} and {pid} of
the worker in training.  The command runs on the fault's own thread, in a process group that is killed after `MAX_S`; `undo`, if
given, runs after `for_s`.  The command's output goes to the fault's log with secrets removed.  The fault is timed at the command's start.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field

from fireassay.errors import Problem, refuse
from fireassay.faults.support.base import Fault, Struck, Undo, Victim, of_kind
from fireassay.launchers.support import launch_log, supervisor
from fireassay.spec.explain import NOTHING
from fireassay.spec.plan import PlannedFault
from fireassay.spec.sections.faults import Fault as FaultSpec
from fireassay.spec.sections.serving import Target

MAX_S = 60.0
POLL_S = 0.005
MAX_SAID = 2000  # characters of output kept in the message


class Keys(FaultSpec):
    """Keys of this fault."""

    command: str = Field(
        "", description="the line for the shell. {replica}, {port}, {pid} and {url} are replaced; in a training {rank} and {pid}."
    )
    undo: str = Field("", description="the line that undoes it, after for_s.")


def rule(asked: Keys) -> Iterator[Problem]:
    """Require a command."""
    if not asked.command.strip():
        fix = 'For example command = "kubectl delete pod vllm-{replica}".'
        yield Problem("command", NOTHING, 'a line for the shell where kind = "command"', fix)


def check(asked: Keys, target: Target) -> None:
    """Check that every placeholder can be filled. Raises SpecError: the command needs a process ID that is unknown."""
    if not target.command and "{pid}" in asked.command + asked.undo:
        raise refuse("faults[].command", "{pid}", "{replica}, {port} and {url} where assay does not start the server")


def strike(victim: Victim, fault: PlannedFault) -> Undo:
    """Run the command and wait for it to end; `undo` reverts it. Raises OSError: the command failed; its output is in the message."""
    spec = of_kind(Keys, fault)

    def line(text: str) -> None:
        run(text.replace("{rank}", str(victim.rank)).replace("{pid}", str(victim.pid)), victim)

    line(spec.command)
    return (lambda: line(spec.undo)) if spec.undo else (lambda: None)


def on_load(struck: Struck, asked: Keys) -> Undo | None:
    """Run the command and wait for it to end; `undo` reverts it. Raises OSError: the command failed; its output is in the message."""
    run(filled(asked.command, struck), struck)
    return (lambda: run(filled(asked.undo, struck), struck)) if asked.undo else (lambda: None)


def filled(line: str, struck: Struck) -> str:
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


def run(line: str, struck: Struck | Victim, *, longest_s: float = MAX_S) -> None:
    """Run a command in a shell. Its background processes keep running until the fault ends.

    Raises:
        OSError: the command did not start, exited non-zero, or timed out.
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
    # with hundreds of expressions: not for every report, which loads the faults
    from fireassay.record.secrets.redact import redact, secret_values

    assert process.stdout is not None
    with process.stdout:
        output, timed_out = _until_the_end(process, process.stdout.fileno(), longest_s)
    message = redact(output.decode("utf-8", "replace"), secret_values(os.environ))[-MAX_SAID:].strip()
    _log(struck.log, f"$ {redact(line)}\n{message}\n")
    if timed_out:
        raise OSError(f"the command did not end within {longest_s:g} s: {redact(line)}")
    if process.returncode:
        raise OSError(f"the command ended with code {process.returncode}: {redact(line)}: {message}")


def _until_the_end(process: subprocess.Popen[bytes], descriptor: int, longest_s: float) -> tuple[bytes, bool]:
    """The end of its output, and whether it was killed. Does not wait for background processes."""
    os.set_blocking(descriptor, False)
    deadline, output, timed_out = time.monotonic() + longest_s, b"", False
    while True:
        ended = process.poll() is not None
        with suppress(BlockingIOError):
            while data := os.read(descriptor, 1 << 16):
                output = (output + data)[-4 * MAX_SAID :]
                if time.monotonic() > deadline:
                    break
        if ended:
            return output, timed_out
        if time.monotonic() > deadline:
            timed_out = True
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
