"""Where do the client processes of a load run, and how are they started, told when to begin, watched and ended?

On this machine, or on `launcher.hosts`: client k on host k modulo their number, each below a supervisor that its host's prefix starts.
What such a client must know quickly goes through the supervisor's pipe, secrets included: another host's file system may show a new file
only after seconds. Schedule, prompts and rows lie in the record's folder, which all hosts share.

Each host has its own clock. The coordinator reads it between two readings of its own, before the load and every `CLOCK_S` during it (table
`clocks`); the client gets the load's begin on its own clock, by the tightest reading.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from fireassay import isolated
from fireassay.launchers.nodes import HOST, OF_THE_NODE, over
from fireassay.launchers.support import base, supervisor
from fireassay.launchers.support.base import Ending, Request, SupervisedHandle
from fireassay.record.declared import CLOCKS
from fireassay.record.folder import table_row
from fireassay.record.secrets.redact import secret_values
from fireassay.runners.experiment.context import RunContext
from fireassay.runners.launching.node_meters import mark_of
from fireassay.spec.sections.workload import Host
from fireassay.units import MIB, NS_PER_S

CLIENT_MODULE: Final = "fireassay.traffic.client.process"
CLOCK_S: Final = 0.5  # between two looks at a host's clock
READINGS: Final = 3  # of a look, of which the quickest bounds best
CLOCK_LIMIT_S: Final = 0.05  # for one reading; a later answer bounds nothing
FIRST_LOOKS: Final = 8  # before the load; an offset over time needs 20 readings
SILENT_S: Final = 15.0  # without any sign of a client's supervisor: its host is lost


class Clients:
    """The client processes of one load."""

    def __init__(self, context: RunContext, launch: int, load: Path, number: int) -> None:
        self._context, self._launch, self._load = context, launch, load
        self.number = number
        self.hosts: tuple[Host, ...] = context.experiment.launcher.hosts[:number]
        self.handles: list[SupervisedHandle] = []
        self.endings: dict[int, Ending] = {}
        self._writer = context.record.writer(launch)
        self._offsets: dict[str, tuple[int, int]] = {}  # host -> (round trip, our clock minus its own) of the tightest reading
        self._read_at = 0
        self._begun = False

    # ---- start

    def start(self) -> None:
        """Start all."""
        for client in range(self.number):
            words = ("-m", CLIENT_MODULE, str(self._load / "job.json"), str(client))
            request = self.request(client)
            if (host := self.host(client)) is None:
                self.handles.append(base.start(request, isolated.python(*words)))
            else:
                job = {
                    **base.job_of(request, isolated.python(*words)),
                    "environment": {**request.environment, **host.environment, HOST: host.name, supervisor.MARK: f"{request.mark}host."},
                    "inherited": OF_THE_NODE,
                    "mark": f"{request.mark}host.",  # that of the prefix's own process is another's
                    "watched": str(self._report_file(client)),
                    "usage": str(self._load.parent / "usage" / f"{host.name}.client-{client}.json"),
                }
                outer = {**request.environment, supervisor.MARK: request.mark}
                self.handles.append(base.start_supervised(request, job, over(host.prefix, list(base.SUPERVISOR)), outer))

    def host(self, client: int) -> Host | None:
        """Where a client runs; None: on this machine, as a child of this process."""
        return self.hosts[client % len(self.hosts)] if self.hosts else None

    def request(self, client: int) -> Request:
        """What is started."""
        experiment = self._context.experiment
        log = self._context.record.log_path(self._launch).resolve()
        environment = isolated.environment({**os.environ, **experiment.workload.environment})
        return Request(
            script=Path(CLIENT_MODULE),
            arguments=(),
            workers=1,
            environment=environment,
            cwd=self._context.folder.resolve(),
            log=log if client == 0 else log.with_suffix(f".client-{client}.log"),
            log_bytes=int(experiment.limits.log_mib * MIB),
            secrets=secret_values(environment),
            mark=f"{mark_of(self._context.record.path, self._launch)}client-{client}.",
            max_restarts=0,
            grace_s=experiment.limits.grace_s,
            settings=experiment.launcher,
        )

    # ---- the common clock

    def read_clocks(self) -> bool:
        """Read the clocks of all hosts often enough to begin; False if one cannot be read."""
        for _ in range(FIRST_LOOKS):
            self._read_at = 0
            self.keep_reading()
        return all(host.name in self._offsets for host in self.hosts)

    def keep_reading(self) -> None:
        """Read the clock of every host again, if it is time."""
        now = self._context.clock.now_ns()
        if not self.hosts or now < self._read_at:
            return
        self._read_at = now + round(CLOCK_S * NS_PER_S)
        for client, host in enumerate(self.hosts):
            reader = next((k for k in range(client, self.number, len(self.hosts)) if k not in self.endings), None)
            for _ in range(0 if reader is None else READINGS):
                if (reading := self.handles[reader or 0].read_clock(CLOCK_LIMIT_S)) is not None:
                    self._note_reading(reader or 0, host.name, *reading)

    def _note_reading(self, client: int, host: str, sent: int, there: int, received: int) -> None:
        trip = received - sent
        if not self._begun and (host not in self._offsets or trip < self._offsets[host][0]):
            self._offsets[host] = trip, (sent + received) // 2 - there
        times = {"sent_ns": sent, "heard_ns": there, "answered_ns": there, "received_ns": received, "bound_ns": -(-trip // 2)}
        row = table_row(CLOCKS, launch=self._launch, rank=client, incarnation=0, host=platform.node(), peer=host, **times)
        self._writer.append("clocks", row)

    def own_ns(self, client: int, ns: int) -> int:
        """A time of ours on a client's clock."""
        host = self.host(client)
        return ns if host is None else ns - self._offsets.get(host.name, (0, 0))[1]

    def offsets(self) -> dict[str, dict[str, int]]:
        """Our clock minus that of each host, for the event of the begin; from then on it stays."""
        return {"client_offsets_ns": {host: offset for host, (_, offset) in self._offsets.items()}} if self.hosts else {}

    # ---- orders and reports

    def put(self, name: str, text: str) -> None:
        """Write a file into the load's folder."""
        hidden = self._load / f".{name}"
        hidden.write_text(text, encoding="utf-8")
        hidden.replace(self._load / name)

    def order(self, name: str, ns: int | None = None) -> None:
        """Tell all clients to go on: to begin at a time of ours, which each gets on its own clock."""
        self._begun = ns is not None
        self.put(name, "" if ns is None else str(ns))
        if self.hosts:
            for client, handle in enumerate(self.handles):
                handle.put(self._load / f"{name}-{client}", "" if ns is None else str(self.own_ns(client, ns)))

    def reports(self) -> list[Mapping[str, Any]]:
        """The clients' latest status."""
        reports = [handle.report for handle in self.handles] if self.hosts else [_read(self._report_file(k)) for k in range(self.number)]
        return [report for report in reports if report is not None]

    def _report_file(self, client: int) -> Path:
        return self._load / f"client-{client}.json"

    # ---- ends

    def poll(self) -> None:
        """Note which have ended."""
        now = self._context.clock.now_ns()
        for client, handle in enumerate(self.handles):
            if client in self.endings:
                continue
            if (ending := handle.poll()) is not None:
                self.endings[client] = ending
            elif self.hosts and now - handle.heard_ns > SILENT_S * NS_PER_S and handle.report is not None:
                self.endings[client] = Ending(exit_code=None, trouble=f"nothing was heard of it for {SILENT_S:g} s")

    @property
    def done(self) -> bool:
        """True if all have ended."""
        return len(self.endings) == len(self.handles)

    @property
    def dead(self) -> list[int]:
        """Clients that failed."""
        return [client for client, ending in self.endings.items() if ending.exit_code != 0]

    @property
    def cut_off(self) -> list[int]:
        """Clients that failed with their host, or the connection to it: nobody says how they ended."""
        return [client for client in self.dead if self.hosts and self.endings[client].exit_code is None and not self.endings[client].signal]

    def pids(self) -> tuple[int, ...]:
        """Their processes on this machine."""
        return tuple(pid for handle in self.handles for pid in handle.pids())

    def stop(self) -> None:
        """End all gracefully."""
        for handle in self.handles:
            handle.stop()

    def kill(self) -> None:
        """End all at once."""
        for handle in self.handles:
            handle.kill()

    def close(self) -> None:
        """Ensure that nothing is left."""
        for handle in self.handles:
            handle.close()

    def placed(self) -> dict[str, Sequence[str]]:
        """The host of each client, for the launch's placement."""
        return {"client_hosts": [self.hosts[client % len(self.hosts)].name for client in range(self.number)]} if self.hosts else {}


def _read(path: Path) -> Mapping[str, Any] | None:
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):  # not yet written
        return None
    return content if isinstance(content, dict) else None
