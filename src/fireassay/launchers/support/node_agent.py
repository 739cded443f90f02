"""Which counters, deaths and faults of a node can only be handled on that node?

    prefix python -P -c START SOURCE        SOURCE: the folder that holds the package

One agent runs on each node from before the first launch to after the last. It meters launches (`instruments/machine/meter.py`) into a
stream of its own in the launch's folder, notes when a worker dies, strikes faults, and answers pings, which compare its clock.
It is no part of a launch, and a launch does not need it: an agent that ends costs its node's counters.

Protocol: one JSON object per line on standard input, answered by one on standard output with the same `n`; first {"hello": ...}.
End of input ends it: it undoes a fault and closes its streams. So does silence for `SILENT_S`: slurmstepd
holds the input of a node whose slurmd is dead, and a node may be cut off.
"""

from __future__ import annotations

import glob
import json
import os
import selectors
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Final

from fireassay import catalog
from fireassay.clock import SystemClock
from fireassay.faults.support.base import Fault, Undo, Victim
from fireassay.instruments.machine.host import Ended, clock_ticks_per_s, coordinator_time, process_time
from fireassay.instruments.machine.meter import Meter, Row
from fireassay.instruments.machine.reading import Reading
from fireassay.instruments.machine.sentinel import Sentinel, calibrated
from fireassay.instruments.recorder.clock_pings import boot_id
from fireassay.launchers.support import supervisor
from fireassay.record.declared import EVENTS
from fireassay.record.environment import capture_keys
from fireassay.record.live.progress import node_of, read_progress
from fireassay.record.machine import Machine
from fireassay.record.writer import StreamWriter
from fireassay.spec.plan import PlannedFault
from fireassay.spec.sections.energy import Energy

START: Final = "import sys; sys.path.insert(0, sys.argv[1]); from fireassay.launchers.support.node_agent import main; main(sys.argv[2:])"
SILENT_S: Final = 20.0  # the coordinator writes at least an empty line every 4 s, from a thread that waits for nothing
FLUSH_S: Final = 0.5
CHUNK: Final = 1 << 16

Answer = dict[str, Any]


def owns(pid: int, mark: str, rank: int) -> bool:
    """True if a process of this node is that rank: a pid alone may exist on several nodes of a launch."""
    try:
        variables = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return f"{supervisor.MARK}={mark}".encode() in variables and f"RANK={rank}".encode() in variables


def usage(files: Sequence[Path]) -> tuple[float, int, int, int]:
    """CPU seconds, involuntary switches, major and minor faults of the engines that have ended: their supervisors' own counts."""
    total = [0.0, 0, 0, 0]
    for file in files:
        with suppress(OSError, ValueError, TypeError):
            total = [sum(pair) for pair in zip(total, json.loads(file.read_text()), strict=True)]
    return total[0], int(total[1]), int(total[2]), int(total[3])


def left(folder: Path, nodes: Sequence[str]) -> list[Path]:
    """The files of the supervisors that have ended on these nodes: a training has one on each, a load one per client."""
    return [file for name in nodes for file in (folder / f"{name}.json", *folder.glob(f"{glob.escape(name)}.client-*.json"))]


class Agent:
    """The orders of one node, by name."""

    def __init__(self) -> None:
        self.clock = SystemClock()
        self.host, self.launch, self.folder = "", 0, Path()
        self.meter: Meter | None = None
        self.energy = ""  # JSON with which the meter was made
        self.writer: StreamWriter | None = None
        self.undo: Undo | None = None
        self.beside: tuple[int, ...] = ()
        self.mark = ""
        self.deaths = selectors.DefaultSelector()

    def obey(self, order: Mapping[str, Any], heard_ns: int) -> Answer:
        """Carry out one order. Errors are part of the answer."""
        if order["do"] == "ping":
            return {"heard": heard_ns, "answered": self.clock.now_ns()}
        try:
            handler: Callable[[Mapping[str, Any]], Answer] = getattr(self, f"do_{order['do']}")
            return handler(order)
        except Exception as error:  # an agent that ended would lose the node's counters
            return {"error": f"{type(error).__name__}: {error}"[:300]}

    # ---- metering

    def do_calibrate(self, order: Mapping[str, Any]) -> Answer:
        """Rounds of the sentinel's work that take about so long here."""
        return {"rounds": calibrated(order["seconds"], self.clock).rounds}

    def do_sentinel(self, order: Mapping[str, Any]) -> Answer:
        """Time the fixed piece of work."""
        read = Sentinel(order["rounds"], self.clock).read(order["when"])
        return {"value": read.value, "ns": self.clock.now_ns()}

    def do_absences(self, order: Mapping[str, Any]) -> Answer:
        """Which counters this node lacks, and why."""
        return {"absences": self._metered(order).absences()}

    def do_idle(self, order: Mapping[str, Any]) -> Answer:
        """Measure the idle power, if it is to be subtracted."""
        self._metered(order).before_launch()
        return {}

    def do_begin(self, order: Mapping[str, Any]) -> Answer:
        """Begin a launch: `mark` and `folder` are its own. `meters`: whether this agent is the one that meters this machine."""
        self._close_launch()
        self.host, self.launch, self.folder, self.mark = order["host"], order["launch"], Path(order["folder"]), order["mark"]
        self.writer = StreamWriter(self.folder, f"node={self.host}.pid={os.getpid()}", flush_s=FLUSH_S)
        if order["meters"]:
            self.beside = tuple(order["beside"])
            folder, covers = self.folder / "usage", list(order["covers"])
            ended = Ended(lambda: usage(left(folder, covers))[0], lambda: usage(left(folder, covers))[1:])
            meter, mark = self._metered(order), f"{self.mark}"
            meter.start(self.launch, partial(supervisor.marked, mark), workers=order["workers"], ended=ended)
        return {}

    def do_end(self, _: Mapping[str, Any]) -> Answer:
        """Make the last reading, and close the launch's streams."""
        self._close_launch()
        return {"absences": self.meter.absences() if self.meter is not None else {}}

    def _metered(self, order: Mapping[str, Any]) -> Meter:
        if self.meter is None or self.energy != order["energy"]:
            energy = Energy.model_validate_json(order["energy"])
            self.meter, self.energy = Meter(energy, self._emit, self.clock, host=order["host"], own=self._own), order["energy"]
        return self.meter

    def _emit(self, row: Row) -> None:
        if self.writer is not None:
            self.writer.append("telemetry", row)

    def _own(self) -> Reading:
        """CPU time of assay here: of this agent, and of the coordinator where it is on this machine, without what that has started."""
        seen = [process_time(Machine(), pid) for pid in self.beside]
        others = sum(times.own for times in seen if times is not None) / clock_ticks_per_s()
        own = coordinator_time()
        return Reading(own.device, own.counter, own.value + others, own.unit, own.method)

    def _close_launch(self) -> None:
        self.do_undo({})
        if self.meter is not None:
            self.meter.stop()
        if self.mark:
            supervisor.end_marked(f"{self.mark}act.")
        for key, _ in self.deaths.select(0) if self.deaths.get_map() else ():
            if key.data is not None:
                self.died(key)
        for key in [key for key in self.deaths.get_map().values() if key.data is not None]:
            self._forget(key)
        if self.writer is not None:
            self.writer.close()
        self.writer, self.mark = None, ""

    # ---- workers

    def do_owns(self, order: Mapping[str, Any]) -> Answer:
        """Whether a worker is one of this node, and alive."""
        return {"here": owns(order["pid"], self._mark_here, order["rank"])}

    def do_watch(self, order: Mapping[str, Any]) -> Answer:
        """Note the death of a worker, if it is one of this node. It may have ended before the order came."""
        pid, rank, incarnation = order["pid"], order["rank"], order["incarnation"]
        if owns(pid, self._mark_here, rank):
            try:
                self.deaths.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, rank, incarnation))
                return {"here": True}
            except ProcessLookupError:  # just now
                pass
            except (OSError, AttributeError):  # no pidfds here: its death is not seen
                return {"here": True}
        if here := order["node"] == node_of(self._mark_here):
            self._note_death(pid, rank, incarnation)
        return {"here": here}

    def died(self, key: selectors.SelectorKey) -> None:
        """A watched worker has ended."""
        self._forget(key)
        self._note_death(*key.data)

    def _note_death(self, pid: int, rank: int, incarnation: int) -> None:
        """Its progress file outlives it."""
        last = read_progress(self.folder / "progress" / f"rank={rank}.bin")
        step = last.steps if last is not None and last.pid == pid else None
        values = {"launch": self.launch, "ns": self.clock.now_ns(), "host": self.host, "kind": "worker_gone", "rank": rank}
        values |= {"incarnation": incarnation, "step": step, "detail": json.dumps({"pid": pid})}
        if self.writer is not None:
            self.writer.append("events", tuple(values.get(name) for name in EVENTS.column_names))

    def _forget(self, key: selectors.SelectorKey) -> None:
        self.deaths.unregister(key.fileobj)
        os.close(key.fd)

    @property
    def _mark_here(self) -> str:
        return f"{self.mark}{self.host}."  # as `launchers/nodes.py` marks the node's processes

    # ---- faults

    def do_strike(self, order: Mapping[str, Any]) -> Answer:
        """Strike a fault on a worker of this node."""
        pid, rank = order["pid"], order["rank"]
        if not owns(pid, self._mark_here, rank):
            return {"gone": f"process {pid} of rank {rank} is gone"}
        self.do_undo({})
        fault: Fault = catalog.load("faults", order["fault"])
        keys = {name: value for name, value in order["spec"].items() if name in fault.keys.model_fields}
        planned = PlannedFault(**order["planned"], training=fault.keys.model_validate_json(json.dumps(keys)))
        victim = Victim(pid=pid, rank=rank, log=Path(order["log"]), mark=self.mark)
        assert fault.strike is not None
        try:
            self.undo = fault.strike(victim, planned)
        except ProcessLookupError as error:
            return {"gone": str(error)}
        return {"lasts": self.undo is not None, "ns": self.clock.now_ns()}

    def do_undo(self, _: Mapping[str, Any]) -> Answer:
        """Undo a lasting fault; a victim that has ended needs nothing."""
        undo, self.undo = self.undo, None
        with suppress(ProcessLookupError):
            if undo is not None:
                undo()
        return {}

    def close(self) -> None:
        """Leave nothing behind."""
        with suppress(OSError):
            self._close_launch()


def main(keys: Sequence[str]) -> None:
    """Obey until the end of input. `keys`: of the environment, for the greeting."""
    out = os.dup(1)
    os.dup2(2, 1)
    agent = Agent()
    _say(out, {"hello": {"environment": capture_keys(keys), "clock": boot_id(), "pid": os.getpid()}})
    agent.deaths.register(0, selectors.EVENT_READ, None)
    unread, silent_at = b"", time.monotonic() + SILENT_S
    while (found := agent.deaths.select(max(0.0, silent_at - time.monotonic()))) or time.monotonic() < silent_at:
        for key, _ in found:
            if key.data is not None:
                agent.died(key)
                continue
            heard_ns, data = time.monotonic_ns(), os.read(0, CHUNK)
            if not data:
                agent.deaths.unregister(0)
                return agent.close()
            *lines, unread = (unread + data).split(b"\n")
            for line in filter(None, lines):
                order = json.loads(line)
                _say(out, {"n": order["n"], **agent.obey(order, heard_ns)})
            silent_at = time.monotonic() + SILENT_S
    agent.deaths.unregister(0)
    return agent.close()


def _say(out: int, message: Answer) -> None:
    with suppress(OSError):  # the coordinator has died: its end of input follows
        os.write(out, json.dumps(message).encode() + b"\n")
