"""How do the nodes of one launch stay together?

Each has its own supervisor; when one fails, the others are ended.

    FIREASSAY_NODES='{"grace_s": ..., "nodes": [{"name", "start", "job"}]}' python -I -S node_group.py

`start` is the command line that runs `supervisor.py` on the node (a prefix such as `ssh a`, then Python).  The supervisor reads its job
from standard input, with this process's environment plus the node's additions, so no variable appears in an argument; it reports on
standard output how the job ended.  End of file on its input ends the job: whatever happens to this process or the connection, the node
cleans up by itself.
After a node fails, the others get `grace_s` to end by themselves (torch elastic ends or restarts them); then they are terminated.
A node whose connection breaks, or that does not answer the order to end, is lost. It counts as the first to fail: workers elsewhere
notice a dead peer before the connection does.
Standard library only.  Returns the exit code of the node that failed first; 255 if it was unreachable.
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

NODES = "FIREASSAY_NODES"
UNREACHED = 255  # same code as ssh
SHOWN = 1 << 14  # bytes of the end of a node's log that are copied to the launch's own
ANSWER_S = 40.0  # how long a supervisor may take to end, beyond its grace period, before its connection is closed

_asked_to_end: list[int] = []


class Node:
    """One node: the process that connects to its supervisor, and the supervisor's messages."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.name, self.job = told["name"], told["job"]
        self.ended: dict[str, Any] | None = None
        self.unanswered_s = 0.0  # how long it was silent when it was given up
        self.heard = b""
        # In a group of its own: an order to end goes through the supervisor, while SIGTERM would let srun cancel its step without any grace.
        self.process = subprocess.Popen(told["start"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0)
        self.send(self.job)

    def send(self, message: dict[str, Any]) -> None:
        """Send one line to the supervisor; a dead one is detected by its end of file."""
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps(message).encode() + b"\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return

    def listen(self) -> bool:
        """Read the supervisor's messages; False at end of file."""
        assert self.process.stdout is not None
        data = os.read(self.process.stdout.fileno(), 1 << 16)
        *lines, self.heard = (self.heard + data).split(b"\n")
        for line in lines:
            self._hear(line)
        return bool(data)

    def _hear(self, line: bytes) -> None:
        try:
            message = json.loads(line)
        except ValueError:  # a login banner
            return
        if isinstance(message, dict):
            self.ended = message.get("ended", self.ended)

    def give_up(self, silent_s: float) -> None:
        """End its connection: it did not answer the order to end."""
        self.unanswered_s = silent_s
        self.process.kill()

    @property
    def lost(self) -> bool:
        """Whether it ended without a report; valid once it has ended."""
        return self.ended is None

    @property
    def code(self) -> int:
        """0, or how the node failed; valid once it has ended."""
        if self.ended is None:
            return UNREACHED if self.unanswered_s else self.process.wait() or UNREACHED
        code, number = self.ended["exit_code"], self.ended["signal"]
        return int(code) if code is not None else 128 + int(number) if number is not None else UNREACHED

    def last_words(self) -> None:
        """Copy the end of its log, and report errors that the log lacks."""
        try:
            output = Path(self.job["log"]).read_bytes()[-SHOWN:]
        except OSError as error:
            output = f"its log cannot be read here ({error}); is the record's folder shared?\n".encode()
        head = f"assay: node {self.name} ended with {self.code}; it said:\n".encode()
        sys.stdout.buffer.write(head + output + (b"" if output.endswith(b"\n") else b"\n"))
        if self.unanswered_s:
            print(f"assay: node {self.name} was lost: it did not end within {self.unanswered_s:g} s of the order to")
        elif self.lost:
            print(f"assay: node {self.name} was lost: the connection to it failed or broke (its prefix ended with {self.code})")
        sys.stdout.flush()


def run(told: dict[str, Any]) -> int:
    """Start all, wait for all; 0, or how the first failed node failed."""
    nodes, ended = [Node(member) for member in told["nodes"]], []
    selector = selectors.DefaultSelector()
    for node in nodes:
        assert node.process.stdout is not None
        selector.register(node.process.stdout, selectors.EVENT_READ, node)
    end_at, cut_at = float("inf"), float("inf")
    while selector.get_map():
        for key, _ in selector.select(0.05):
            if not key.data.listen():
                selector.unregister(key.fileobj)
                ended.append(key.data)
        now, failed = time.monotonic(), any(node.code for node in ended)
        if failed or _asked_to_end:
            end_at = min(end_at, now + (0.0 if _asked_to_end else float(told["grace_s"])))
        if now >= end_at and cut_at == float("inf"):
            cut_at = now + float(told["grace_s"]) + ANSWER_S
            _order(nodes, ended)
        if now >= cut_at:
            break
    for node in nodes:
        if node not in ended:
            node.give_up(float(told["grace_s"]) + ANSWER_S)
            ended.append(node)
    broken = sorted((node for node in ended if node.code), key=lambda node: not node.lost)
    for node in (*(node for node in ended if not node.code), *reversed(broken)):  # the first to fail last, where people look
        node.last_words()
    return broken[0].code if broken else 0


def _order(nodes: list[Node], ended: list[Node]) -> None:
    for node in nodes:
        if node not in ended:
            node.send({"do": "stop"})


def main() -> int:
    """Run the job in the environment."""
    plan = json.loads(os.environ.pop(NODES))
    shared = dict(os.environ)
    for node in plan["nodes"]:
        node["job"]["environment"] = {**shared, **node["job"]["environment"]}
    signal.signal(signal.SIGTERM, lambda number, _: _asked_to_end.append(number))
    code = run(plan)
    return 128 + _asked_to_end[0] if _asked_to_end else code


if __name__ == "__main__":
    sys.exit(main())
