"""How is a launch metered, watched and struck on the nodes where its workers are?

Each node's agent (`launchers/support/node_agent.py`) writes its own readings; of nodes that share a machine, one reads it.
While a launch runs, each agent is pinged in bursts: the event `node_clock` holds the four times of every ping (this clock, the node's twice,
this one), which `frames/clock_offsets.py` turns into an offset with a bound. At the end the event `node_meters` says of every node whether
it was metered to the end, and if not, why.
"""

from __future__ import annotations

import os
import platform
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from fireassay.faults.support.base import Fault, Undo, Victim
from fireassay.instruments.recorder.clock_pings import boot_id
from fireassay.launchers.support import supervisor
from fireassay.launchers.support.base import Request
from fireassay.record.folder import write_event
from fireassay.runners.experiment.context import RunContext
from fireassay.runners.experiment.node_agents import Agent, NodeAgents, each, metered_by
from fireassay.runners.launching.watch import Worker
from fireassay.spec.plan import PlannedFault
from fireassay.units import NS_PER_S

FIRST: Final = 20  # pings at the begin: enough for an offset of a launch that ends at once
BURST: Final = 5  # then so many
REST_S: Final = 5.0  # every so often: a drift of 50 ppm moves a clock by 0.25 ms meanwhile
LAST: Final = 20
PING_S: Final = 5.0  # an agent that takes longer is silent
END_S: Final = 15.0  # for the last reading, of drivers too
SILENT_END_S: Final = 2.0  # the same of an agent that is silent already


def mark_of(record: Path, number: int) -> str:
    """FIREASSAY_MARK of a launch; begins with the record's name and a dot, so that leftover processes can be found."""
    return f"{record.resolve().name}.{number:04d}."


class Here:
    """On this machine: where workers are watched and struck, as `NodeMeters` does on theirs."""

    def __init__(self, request: Request) -> None:
        self._mark, self._several = request.mark, bool(request.settings.hosts)

    def watch(self, worker: Worker) -> bool:
        """Whether the caller is to note a new worker's end. Some pids of several nodes without agents mean nothing here."""
        return not self._several or self.has(worker.pid, worker.rank)

    def has(self, pid: int, _rank: int) -> bool:
        """True if the process is alive and belongs to the launch."""
        return supervisor.is_marked(pid, self._mark)

    def strike(self, fault: Fault, victim: Victim, planned: PlannedFault) -> Undo | None:
        """Act."""
        assert fault.strike is not None
        return fault.strike(victim, planned)


class NodeMeters:
    """The meters of the nodes of one launch at a time; used as the meter of one machine is."""

    def __init__(self, context: RunContext, agents: NodeAgents, *, of_clients: bool = False) -> None:
        """`of_clients`: of a load; the coordinator, beside which engines may run, has its own meter."""
        self._context, self._agents, self._of_clients = context, agents, of_clients
        self._settings = context.experiment.launcher
        self._energy = context.experiment.energy.model_dump_json()
        self._absences: dict[str, Mapping[str, str]] = {}
        self._launch: _Launch | None = None
        self._of_all("absences")

    def absences(self) -> dict[str, str]:
        """Reasons for missing measurements, by name, with the nodes on which they are missing unless that is all of them."""
        found: dict[str, dict[str, list[str]]] = {}
        for node, reasons in self._absences.items():
            for name, reason in reasons.items():
                found.setdefault(name, {}).setdefault(reason, []).append(node)
        everywhere = len(self._absences)
        return {
            name: "; ".join(reason if len(nodes) == everywhere else f"{', '.join(nodes)}: {reason}" for reason, nodes in of.items())
            for name, of in found.items()
        }

    def before_launch(self) -> None:
        """Measure the idle power of the nodes, if it is to be subtracted."""
        if self._context.experiment.energy.idle == "subtract":
            self._of_all("idle", self._context.experiment.energy.idle_s + END_S)

    def _of_all(self, do: str, limit_s: float = END_S) -> None:
        def ask(agent: Agent) -> None:
            answer = agent.ask({"do": do, "host": agent.host.name, "energy": self._energy}, limit_s)
            if answer is not None and "absences" in answer:
                self._absences[agent.host.name] = answer["absences"]

        each(self._agents.of(self._settings), ask)

    def start(self, launch: int, _pids: object, *, workers: int) -> None:
        """Begin a launch on its nodes: a first reading of each, and the first comparison of its clock."""
        self.stop()
        agents = self._agents.revive(self._agents.of(self._settings, workers))
        self._launch = _Launch(self._context, launch, agents, of_clients=self._of_clients)
        self._launch.begin(workers, self._energy)

    def stop(self) -> None:
        """Last readings. No-op if no launch is metered."""
        if self._launch is not None:
            self._absences |= self._launch.end()
            self._launch = None

    # ---- workers

    def watch(self, worker: Worker) -> bool:
        """The agent of its node notes its death."""
        self._ask_all({"do": "watch", **asdict(worker)})
        return False

    def has(self, pid: int, rank: int) -> bool:
        """True if the worker still runs on one of the nodes."""
        return self._owner(pid, rank) is not None

    def strike(self, fault: Fault, victim: Victim, planned: PlannedFault) -> Undo | None:
        """Let the worker's node strike. Raises ProcessLookupError: it has ended. OSError: the fault cannot act there."""
        agent = self._owner(victim.pid, victim.rank)
        if agent is None:
            raise ProcessLookupError(f"process {victim.pid} of rank {victim.rank} is gone")
        assert planned.training is not None
        plan = {name: value for name, value in vars(planned).items() if name not in ("serving", "training")}
        order = {"do": "strike", "pid": victim.pid, "rank": victim.rank, "log": str(victim.log), "fault": fault.name, "planned": plan}
        answer = _answered(agent, {**order, "spec": planned.training.model_dump(mode="json")})
        if "gone" in answer:
            raise ProcessLookupError(answer["gone"])

        def undo() -> None:
            _answered(agent, {"do": "undo"})

        return undo if answer["lasts"] else None

    def _owner(self, pid: int, rank: int) -> Agent | None:
        answers = self._ask_all({"do": "owns", "pid": pid, "rank": rank})
        found = next((agent for agent, answer in answers if answer is not None and answer.get("here")), None)
        silent = [agent.host.name for agent, answer in answers if answer is None]
        if found is None and silent:
            raise OSError(f"no fault can be struck on {', '.join(silent)}: assay's agent there does not answer")
        return found

    def _ask_all(self, order: dict[str, Any]) -> list[tuple[Agent, dict[str, Any] | None]]:
        agents = self._launch.agents if self._launch is not None else []
        return list(zip(agents, each(agents, lambda agent: agent.ask(order)), strict=True))


def _answered(agent: Agent, order: dict[str, Any]) -> dict[str, Any]:
    answer = agent.ask(order)
    if answer is None or "error" in answer:
        why = "assay's agent there does not answer" if answer is None else answer["error"]
        raise OSError(f"{agent.host.name}: {why}")
    return answer


class _Launch:
    """The launch being metered."""

    def __init__(self, context: RunContext, launch: int, agents: Sequence[Agent], *, of_clients: bool) -> None:
        self.agents, self._of_clients = agents, of_clients
        self._here = {boot_id(): platform.node()} if of_clients and boot_id() else {}
        self._context, self._number, self._writer = context, launch, context.record.writer(launch)
        self._over = threading.Event()
        self._ended: dict[str, Mapping[str, str]] = {}  # node -> its absences, of agents that ended the launch
        self._begun: set[str] = set()
        self._threads = [threading.Thread(target=self._follow, args=(agent,), name="assay-node", daemon=True) for agent in agents]
        self._meters = metered_by(agents, self._here)

    def _covers(self, node: str) -> list[str]:
        """The nodes on the machine that this one's agent meters."""
        return [other for other, by in self._meters.items() if by == node and not self._is_here(other)]

    def _is_here(self, node: str) -> bool:
        """Whether the coordinator's own meter reads its machine."""
        return any(agent.clock in self._here for agent in self.agents if agent.host.name == node)

    def begin(self, workers: int, energy: str) -> None:
        record, here = self._context.record, boot_id()
        common = {"do": "begin", "launch": self._number, "energy": energy, "folder": str(record.launch_folder(self._number).resolve())}
        common["mark"] = mark_of(record.path, self._number)

        def ask(agent: Agent) -> None:
            covers = self._covers(agent.host.name)
            own = {"host": agent.host.name, "covers": covers, "meters": bool(covers)}
            own["workers"] = workers * len(covers) // len(self.agents)
            own["beside"] = [os.getpid()] if here and agent.clock == here else []
            answer = agent.ask({**common, **own})
            if answer is not None and "error" not in answer:
                self._begun.add(agent.host.name)

        each(self.agents, ask)
        for thread in self._threads:
            thread.start()

    def end(self) -> dict[str, Mapping[str, str]]:
        now = self._context.clock.now_ns()
        since = {agent.host.name: (now - agent.heard_ns) / NS_PER_S for agent in self.agents}
        self._over.set()
        for thread in self._threads:
            thread.join(PING_S + END_S)
        nodes = {agent.host.name: self._outcome(agent, since[agent.host.name]) for agent in self.agents}
        write_event(self._writer, self._number, "node_meters", now, {"nodes": nodes})
        return dict(self._ended)

    def _outcome(self, agent: Agent, silent_s: float) -> dict[str, Any]:
        name = agent.host.name
        outcome: dict[str, Any] = {"metered_by": self._meters[name]}
        if self._of_clients:
            outcome |= {"of_clients": True, "here": self._is_here(name)}
        if name not in self._begun:
            outcome["absent"] = agent.trouble or "its agent did not begin the launch"
        elif name not in self._ended:
            outcome |= {"lost": agent.trouble or "its agent did not answer", "before_end_s": round(max(0.0, silent_s), 3)}
        return outcome

    # ---- one thread for each agent

    def _follow(self, agent: Agent) -> None:
        answers = self._burst(agent, FIRST)
        while not self._over.wait(REST_S):
            answers = self._burst(agent, BURST)
        answers = answers and self._burst(agent, LAST)
        answer = agent.ask({"do": "end"}, END_S if answers else SILENT_END_S)
        if answer is not None and "absences" in answer:
            self._ended[agent.host.name] = answer["absences"]

    def _burst(self, agent: Agent, count: int) -> bool:
        """Ping; whether it answers."""
        pings = []
        for _ in range(count):
            answer = agent.ask({"do": "ping"}, PING_S)
            if answer is None or "heard" not in answer:
                break
            pings.append([answer["sent"], answer["heard"], answer["answered"], answer["received"]])
        if pings:
            write_event(self._writer, self._number, "node_clock", self._context.clock.now_ns(), {"node": agent.host.name, "pings": pings})
        return len(pings) == count
