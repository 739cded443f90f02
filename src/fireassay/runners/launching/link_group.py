"""How do several nodes run one program together?  Started at once through their prefixes, told where to meet, ended at once.

The first node's program prints its port as a line of JSON, then its results; orders go to the programs' standard input, whose end makes
them end: however assay ends, none stays.
"""

from __future__ import annotations

import json
import os
import secrets
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any, Final

from fireassay.instruments.machine import link_tests
from fireassay.launchers.nodes import over
from fireassay.launchers.support.base import ready
from fireassay.spec.sections.workload import Host

POLL_S: Final = 0.05
PATIENCE_S: Final = 20.0 + link_tests.LIMIT_S  # the program ends itself before that
CLOSE_S: Final = 5.0


@dataclass(frozen=True, kw_only=True)
class GroupResult:
    """What the first node said of each test; else why there is nothing, and of which node that is known."""

    results: dict[str, Any] = field(default_factory=dict)
    why: str = ""
    culprit: str = ""


def run_group(hosts: Sequence[Host], transport: str, tests: Sequence[str], stopped: Callable[[], bool]) -> GroupResult:
    """Run the tests on these nodes together."""
    started: list[Program] = []
    try:
        for rank, host in enumerate(hosts):
            words = [sys.executable, "-I", link_tests.__file__, str(rank), str(len(hosts)), host.address, transport, *tests]
            environment = [f"{name}={text}" for name, text in host.environment.items()]
            try:
                started.append(Program(host, over(host.prefix, [*(["env", *environment] if environment else []), *words])))
            except OSError as error:
                return GroupResult(why=f"{host.name}: {error.strerror}", culprit=host.name)
        return _talk(started, stopped)
    finally:
        for program in started:
            program.close()


class Program:
    """One node's program."""

    def __init__(self, host: Host, words: list[str]) -> None:
        self.host, self.heard = host, b""
        self.errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  a pipe that nobody reads would fill
        try:
            pipe = subprocess.PIPE
            self.process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=self.errors, start_new_session=True)
        except OSError:
            self.errors.close()
            raise

    def tell(self, orders: dict[str, Any]) -> None:
        """Send the orders; a program that has ended is noticed elsewhere."""
        if self.process.stdin is not None:
            with suppress(OSError):
                os.write(self.process.stdin.fileno(), json.dumps(orders).encode() + b"\n")

    def lines(self) -> list[dict[str, Any]]:
        """The objects that it printed so far."""
        found = []
        for line in self.heard.split(b"\n")[:-1]:
            with suppress(ValueError):  # others are banners of a login
                found.append(json.loads(line))
        return [line for line in found if isinstance(line, dict)]

    def why(self) -> str:
        """Its exit code and last words."""
        self.errors.seek(0)
        said = self.errors.read().decode("utf-8", "replace").strip().rpartition("\n")[2]
        return f"{self.host.name}: exit code {self.process.poll()}: {said[:200] or 'no output'}"

    def close(self) -> None:
        """End it: softly by the end of its input, then by force."""
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()
        try:
            self.process.wait(CLOSE_S if self.lines() else POLL_S)
        except subprocess.TimeoutExpired:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        self.errors.close()


def _talk(programs: list[Program], stopped: Callable[[], bool]) -> GroupResult:
    first, token, met = programs[0], secrets.token_hex(16), False
    output = first.process.stdout
    assert output is not None
    first.tell({"token": token})
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and not stopped():
        if ready(output, select.POLLIN, POLL_S):
            data = os.read(output.fileno(), 1 << 16)
            first.heard += data
            lines = first.lines()
            if len(lines) > 1:
                return GroupResult(results=lines[-1])
            if not data:
                first.process.wait()
                return GroupResult(why=first.why(), culprit=first.host.name)
            if lines and not met:
                met = True
                for other in programs[1:]:
                    other.tell({"token": token, "address": first.host.address, "port": lines[0].get("port")})
        for other in programs[1:]:
            if other.process.poll() not in (None, 0):
                return GroupResult(why=other.why(), culprit=other.host.name)
    return GroupResult() if stopped() else _no_answer(programs, met=met)


def _no_answer(programs: list[Program], *, met: bool) -> GroupResult:
    silent = "" if met else programs[0].host.name
    return GroupResult(why=f"{f'{silent}: ' if silent else ''}no answer in {PATIENCE_S:g} s", culprit=silent)
