"""How is an allocation held?  By a process that prints one line of JSON once it has the nodes, and gives them back at the end of its input.

However assay ends, the kernel closes that input.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import subprocess
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

from fireassay.errors import EnvironmentLacks, Interrupted
from fireassay.launchers.support.base import Lost, Waiting

POLL_S = 0.25
ANSWER_S = 20.0


@dataclass
class Held:
    """The process. `asked`: the words that a user may try by hand; `label`: what it puts before its own words."""

    engine: str
    words: list[str]
    asked: list[str]
    label: str = ""
    errors: bytes = b""
    line: bytes = b""
    process: subprocess.Popen[bytes] = field(init=False)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C reaches assay alone
        )

    def answer(self, waiting: Waiting) -> dict[str, Any]:
        """What it says of the nodes, once they are there.

        Raises:
            EnvironmentLacks: the engine refused; its own words.
            Interrupted: given up while waiting.
        """
        while not self._answered(POLL_S):
            if waiting(f"{self.engine}: {self.why() or 'asked for nodes'}"):
                self.release()
                raise Interrupted(f"a request to stop while waiting for {self.engine}")
        return dict(json.loads(self.line))

    def _answered(self, limit_s: float) -> bool:
        pipes = [_pipe(self.process.stdout), _pipe(self.process.stderr)]
        for pipe in select.select(pipes, [], [], limit_s)[0]:
            data = os.read(pipe.fileno(), 1 << 16)
            if pipe is self.process.stderr:
                self.errors += data
            else:
                self.line += data
                if not data:
                    self._listen()
                    self.release()
                    raise EnvironmentLacks(f"{self.engine} gave no nodes: {self.why()}\nAsked: {shlex.join(self.asked)}")
        return b"\n" in self.line

    def _listen(self) -> None:
        """What it said last, of a process that has ended."""
        os.set_blocking(_pipe(self.process.stderr).fileno(), False)
        with suppress(BlockingIOError):
            self.errors += os.read(_pipe(self.process.stderr).fileno(), 1 << 16)

    def why(self) -> str:
        """Its last words, as "Pending job allocation 12"."""
        lines = [line for line in self.errors.decode(errors="replace").splitlines() if line.strip()]
        return lines[-1].removeprefix(self.label).removeprefix("error: ") if lines else ""

    def has_ended(self, wait_s: float) -> bool:
        """Whether the allocation has ended before its time."""
        try:
            self.process.wait(wait_s)
        except subprocess.TimeoutExpired:
            return False
        self._listen()
        return True

    def lost(self, what: str, wait_s: float) -> Lost | None:
        """How the nodes were taken away, if they were: "the end of WHAT (its last words)"."""
        if not self.has_ended(wait_s):
            return None
        why = self.why() or "it says no reason"
        return Lost(
            words=f"the end of {what} ({why})", state=why, again="deleted" not in why and "not found" not in why
        )  # somebody's own will

    def release(self) -> None:
        """Give the nodes back."""
        with suppress(OSError):
            _pipe(self.process.stdin).close()
        try:
            self.process.wait(ANSWER_S)
        except subprocess.TimeoutExpired:  # it waits in a queue, where it reads no input: SIGTERM cancels the request
            self.process.terminate()
            self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            _pipe(pipe).close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe
