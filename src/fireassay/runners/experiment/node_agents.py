"""How does the coordinator reach the agent of each node (`launchers/support/node_agent.py`)?

    agents = NodeAgents(hosts)      started through the nodes' prefixes, all at once; each says what its node is like
    agents.of("a").ask({...})       one order, one answer
A node that cannot be reached, or whose agent ends, is named with the reason; it never fails an experiment.
"""

from __future__ import annotations

import json
import os
import queue
import select
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, TypeVar

import fireassay
from fireassay import isolated
from fireassay.launchers.nodes import over, taking_part
from fireassay.launchers.support.base import ready
from fireassay.launchers.support.node_agent import START
from fireassay.record.machine import absent
from fireassay.spec.sections.workload import Host, Launcher

KEYS: Final = ("host.name", "host.os", "host.kernel", "cpu.model", "cpu.logical", "cpu.governors", "memory.total_bytes", "gpu.nvidia")
LIMIT_S: Final = 60.0  # for the greeting
ANSWER_S: Final = 10.0
POLL_S: Final = 0.1
QUIET_S: Final = 5.0  # after which a wait for nodes is shown
NAMED: Final = 3
END_S: Final = 5.0
ALIVE_S: Final = 4.0  # between two signs of life; an agent ends after five that are missing
AT_ONCE: Final = 64  # nodes that are asked at the same time
SHOWN: Final = 200  # characters of a reason

Result = TypeVar("Result")


class Agent:
    """One node's agent. Thread-safe: orders are sent one at a time."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._begin_s = time.monotonic()
        self.trouble = ""  # why it cannot be asked any more
        self.clock = ""  # identifies the node's monotonic clock, and with it the machine; "": unknown
        self.remote_id: int | None = None  # of the agent, on its node
        self.heard_ns = 0  # its last answer, by this machine's clock
        self._answers: queue.Queue[tuple[int, dict[str, Any] | None]] = queue.Queue()
        self._number = 0
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        source = str(Path(fireassay.__file__).parents[1])
        environment, pipe = isolated.environment(os.environ), subprocess.PIPE
        words = over(host.prefix, isolated.python("-c", START, source, *KEYS))
        try:
            # a session of its own: Ctrl-C is for the coordinator, which ends it
            self._process = subprocess.Popen(
                words, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, start_new_session=True, bufsize=0
            )
        except OSError as error:
            self.trouble = str(error)
            return
        assert self._process.stdin is not None
        os.set_blocking(self._process.stdin.fileno(), False)
        self._said = b""  # the end of its standard error
        self._threads = [threading.Thread(target=read, daemon=True, name="assay-agent") for read in (self._drain, self._listen)]
        for thread in self._threads:
            thread.start()

    @property
    def process_id(self) -> int | None:
        """The process started here: the prefix, or without one the agent itself."""
        return None if self._process is None else self._process.pid

    @property
    def is_silent(self) -> bool:
        """Whether nothing has come from it, nor its end."""
        return not self.trouble and self._answers.empty()

    def greeting(self, deadline: float) -> dict[str, Any]:
        """The environment of its node, or why it is not known."""
        answer = None if self.trouble else self._wait(None, deadline)
        if answer is None:
            self.trouble = self.trouble or f"no answer within {time.monotonic() - self._begin_s:.0f} s"
            return absent(self.trouble)
        self.clock, self.remote_id = str(answer["hello"]["clock"]), int(answer["hello"]["pid"])
        return dict(answer["hello"]["environment"])

    def ask(self, order: dict[str, Any], limit_s: float = ANSWER_S) -> dict[str, Any] | None:
        """The answer to one order; None: it gave none in time, or has ended (`trouble`)."""
        with self._lock:
            if self.trouble or self._process is None:
                return None
            self._number += 1
            line = json.dumps({**order, "n": self._number}).encode() + b"\n"
            deadline, sent = time.monotonic() + limit_s, time.monotonic_ns()
            if not self._sent(line, deadline):
                return None
            answer = self._wait(self._number, deadline)
            return None if answer is None else {**answer, "sent": sent}

    def _sent(self, line: bytes, deadline: float) -> bool:
        """Whether it took the whole order: its pipe may be full, and may take a part."""
        assert self._process is not None
        assert self._process.stdin is not None
        rest = line
        with self._writing:
            try:
                while rest and (left := deadline - time.monotonic()) > 0.0:
                    if ready(self._process.stdin, select.POLLOUT, left):
                        rest = rest[self._process.stdin.write(rest) or 0 :]
            except (OSError, ValueError):  # it is being ended
                return False
        if 0 < len(rest) < len(line):  # what is sent next would be read as its end
            self.trouble = "its agent took a part of an order only"
        return not rest

    def _wait(self, number: int | None, deadline: float) -> dict[str, Any] | None:
        """The answer with that number: later than asked, an earlier one may come first."""
        while (left := deadline - time.monotonic()) > 0.0:
            try:
                received, answer = self._answers.get(timeout=left)
            except queue.Empty:
                return None
            if answer is None:
                return None
            if answer.get("n") == number:
                self.heard_ns = received
                return {**answer, "received": received}
        return None

    def _listen(self) -> None:
        assert self._process is not None
        assert self._process.stdout is not None
        unread = b""
        with self._process.stdout as output:
            while data := os.read(output.fileno(), 1 << 16):
                received = time.monotonic_ns()
                *lines, unread = (unread + data).split(b"\n")
                for line in lines:
                    with suppress(ValueError):  # a login banner
                        answer = json.loads(line)
                        if isinstance(answer, dict) and ("n" in answer or "hello" in answer):
                            self._answers.put((received, answer))
        code = self._process.wait()
        self._threads[0].join(1.0)  # its last words; a process that it left behind may hold them open
        last = self._said.decode(errors="replace").strip().splitlines()[-1:]
        how = "its agent ended" if self.clock else "the node answered nothing"
        self.trouble = self.trouble or f"{how} (exit code {code}{f': {last[0][:SHOWN]}' if last else ''})"
        self._answers.put((time.monotonic_ns(), None))

    def _drain(self) -> None:
        assert self._process is not None
        assert self._process.stderr is not None
        with self._process.stderr as errors:
            while data := os.read(errors.fileno(), 1 << 12):
                self._said = (self._said + data)[-(1 << 12) :]

    def reassure(self) -> None:
        """A sign of life, also while an answer is waited for. An order that is being written is one."""
        if self._writing.acquire(blocking=False):
            with suppress(OSError, ValueError):
                if self._process is not None and self._process.stdin is not None:
                    self._process.stdin.write(b"\n")
            self._writing.release()

    def close(self, deadline: float) -> None:
        """End it: by the end of its input, else by force."""
        if self._process is None:
            return
        assert self._process.stdin is not None
        with suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for thread in self._threads:
            thread.join(1.0)  # a process that the prefix left behind may hold its output


class NodeAgents:
    """The agents of all nodes of an experiment, and what each node is like."""

    def __init__(self, hosts: Sequence[Host], waiting: Callable[[str], bool] = lambda _: False) -> None:
        self._agents = {host.name: Agent(host) for host in hosts}
        self._over = threading.Event()
        threading.Thread(target=self._reassure, daemon=True, name="assay-agents").start()
        _await(list(self._agents.values()), waiting)
        now = time.monotonic()
        self.facts = {name: agent.greeting(now if agent.is_silent else now + ANSWER_S) for name, agent in self._agents.items()}

    def _reassure(self) -> None:
        while not self._over.wait(ALIVE_S):
            for agent in list(self._agents.values()):
                agent.reassure()

    def of(self, settings: Launcher, workers: int | None = None) -> list[Agent]:
        """The agents of all nodes, or of those that such a launch fills; ended ones included."""
        hosts = settings.hosts if workers is None else taking_part(settings, workers)
        return [self._agents[host.name] for host in hosts]

    def revive(self, agents: Sequence[Agent]) -> list[Agent]:
        """The same, with another agent for each that has ended: its node may be back."""
        again = {agent.host.name: Agent(agent.host) for agent in agents if agent.trouble and agent.clock}
        deadline = time.monotonic() + ANSWER_S
        for name, agent in again.items():
            self._agents[name].close(deadline)
            agent.greeting(deadline)
            agent.clock = agent.clock or self._agents[name].clock
        self._agents |= again
        return [self._agents[agent.host.name] for agent in agents]

    def rounds(self, seconds: float) -> int | None:
        """Rounds of the sentinel's work that take so long on the first node that answers; all nodes do the same work."""
        answers = (agent.ask({"do": "calibrate", "seconds": seconds}) for agent in self._agents.values())
        return next((answer["rounds"] for answer in answers if answer is not None and "rounds" in answer), None)

    def close(self) -> None:
        """End all."""
        self._over.set()
        deadline = time.monotonic() + END_S
        each(list(self._agents.values()), lambda agent: agent.close(deadline))


def _await(agents: Sequence[Agent], waiting: Callable[[str], bool]) -> None:
    """Wait for their first words. `waiting`: gets what is waited for, "" at first; whether to give up."""
    begin = time.monotonic()
    while silent := [agent.host.name for agent in agents if agent.is_silent]:
        waited_s = time.monotonic() - begin
        more = f" and {len(silent) - NAMED} more" if len(silent) > NAMED else ""
        words = f"an answer of {', '.join(silent[:NAMED])}{more}, at most {LIMIT_S:g} s" if waited_s > QUIET_S else ""
        if waiting(words) or waited_s > LIMIT_S:
            return
        time.sleep(POLL_S)


def metered_by(agents: Sequence[Agent], already: Mapping[str, str] | None = None) -> dict[str, str]:
    """Node -> the first node on its machine, which is the one to be read: emulated nodes share one, known by its clock.

    `already`: clock of a machine that has a meter -> the name in that meter's rows.
    """
    first = dict(already or {})
    return {agent.host.name: first.setdefault(agent.clock or agent.host.name, agent.host.name) for agent in agents}


def each(agents: Sequence[Agent], do: Callable[[Agent], Result]) -> list[Result]:
    """The result of every agent, asked at the same time."""
    with ThreadPoolExecutor(max(1, min(len(agents), AT_ONCE))) as pool:
        return list(pool.map(do, agents))
