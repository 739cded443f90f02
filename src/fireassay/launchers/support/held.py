"""How is an allocation held?  By a process that prints one line of JSON once it has the nodes, and gives them back at the end of its input.

However assay ends, the kernel closes that input.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from fireassay.errors import EnvironmentLacks, Interrupted
from fireassay.launchers.support import held_exec
from fireassay.launchers.support.base import Lost, Waiting, ready
from fireassay.record.scratch import PREFIX, Locked, locked
from fireassay.spec.sections.workload import Host

POLL_S = 0.25
ANSWER_S = 20.0
SHOWN = 1 << 16  # bytes of the end of what it says


@dataclass
class Held:
    """The process. `asked`: the words that a user may try by hand; `label`: what it puts before its own words.

    `order`: its first line of input, with a folder for its socket. Arguments would be seen by every user of the machine.
    `queue_s`: how long it may leave the end of its input unread while it waits for nodes.
    """

    engine: str
    words: list[str]
    asked: list[str]
    order: Mapping[str, Any] | None = None
    label: str = ""
    queue_s: float = ANSWER_S
    process: subprocess.Popen[bytes] = field(init=False)
    errors: IO[bytes] = field(init=False)
    folder: Locked = field(init=False)  # here, as that process may be killed

    def __post_init__(self) -> None:
        self.folder = locked(Path(tempfile.gettempdir()), PREFIX)
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  a pipe that nobody reads would fill
        pipe = subprocess.PIPE
        # a session of its own: Ctrl-C reaches assay alone
        self.process = subprocess.Popen(self.words, stdin=pipe, stdout=pipe, stderr=self.errors, start_new_session=True)
        if self.order is not None:
            with suppress(OSError):  # it has ended, and says why
                _pipe(self.process.stdin).write(json.dumps({**self.order, "folder": str(self.folder.path)}).encode() + b"\n")
                _pipe(self.process.stdin).flush()

    def answer(self, waiting: Waiting) -> dict[str, Any]:
        """What it says of the nodes, once they are there.

        Raises:
            EnvironmentLacks: the engine refused; its own words.
            Interrupted: given up while waiting.
        """
        output, line = _pipe(self.process.stdout), b""
        while b"\n" not in line:
            if ready(output, select.POLLIN, POLL_S):
                line += (data := os.read(output.fileno(), 1 << 16))
                if not data:
                    self._end()
                    why = self.why()
                    self.release()
                    raise EnvironmentLacks(f"{self.engine} gave no nodes: {why}\nAsked: {shlex.join(self.asked)}")
            elif waiting(f"{self.engine}: {self.why() or 'asked for nodes'}"):
                self.release(self.queue_s)
                raise Interrupted(f"a request to stop while waiting for {self.engine}")
        return dict(json.loads(line))

    def hosts(self, answer: Mapping[str, Any]) -> tuple[Host, ...]:
        """The nodes of an answer, each with the prefix that runs a command there."""
        prefix = (sys.executable, "-I", "-S", held_exec.__file__, answer["socket"])
        return tuple(Host(**host, prefix=(*prefix, str(place))) for place, host in enumerate(answer["hosts"]))

    def why(self) -> str:
        """Its last words, as "Pending job allocation 12"."""
        text = os.pread(self.errors.fileno(), SHOWN, max(0, os.fstat(self.errors.fileno()).st_size - SHOWN))
        lines = [line for line in text.decode(errors="replace").splitlines() if line.strip()]
        return lines[-1].removeprefix(self.label).removeprefix("error: ") if lines else ""

    def has_ended(self, wait_s: float) -> bool:
        """Whether the allocation has ended before its time."""
        try:
            self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return False
        return True

    def lost(self, what: str, wait_s: float) -> Lost | None:
        """How the nodes were taken away, if they were: "the end of WHAT (its last words)"."""
        if not self.has_ended(wait_s):
            return None
        why = self.why() or "it says no reason"
        unwanted = "deleted" not in why and "not found" not in why  # else it was somebody's own will
        return Lost(words=f"the end of {what} ({why})", state=why, again=unwanted)

    def release(self, patience_s: float = ANSWER_S) -> None:
        """Give the nodes back."""
        self._end(patience_s)
        _pipe(self.process.stdout).close()
        self.errors.close()
        self.folder.remove()

    def _end(self, patience_s: float = ANSWER_S) -> None:
        with suppress(OSError):
            _pipe(self.process.stdin).close()
        try:
            self.process.wait(patience_s)
        except subprocess.TimeoutExpired:  # it waits in a queue, where it reads no input: SIGTERM cancels the request
            self.process.terminate()
            self.process.wait()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
