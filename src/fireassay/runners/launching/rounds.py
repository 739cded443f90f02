"""How is a launch made that is a round of visits: to hosts of a network, to nodes of a fleet?"""

from __future__ import annotations

import json
import os
import platform
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fireassay.launchers.support import supervisor
from fireassay.record.folder import check_written, write_event
from fireassay.runners.experiment.context import Job, Made, Metered


@dataclass(frozen=True, kw_only=True)
class Visited:
    """Who answered in a round, where it took place, and what is said if nobody did."""

    answered: Sequence[str]
    placement: Mapping[str, Any]
    nobody: str


class Rounds(Metered, ABC):
    """Base of makers of rounds, which are metered."""

    def make(self, job: Job) -> Made:
        """Run one round."""
        begin_utc = self.context.begin_utc()
        writer = self.context.record.writer(job.number)
        begin = self.context.clock.now_ns()
        write_event(writer, job.number, "launch_begin", begin, {"slot": job.planned.slot, "begin_utc": begin_utc})
        # what visits is a child of this process; other children, as the holder of the nodes that an engine lends, are there before
        others = frozenset(supervisor.family(os.getpid()))
        self.meter.start(
            job.number, lambda: [pid for pid in supervisor.family(os.getpid()) if pid not in others], workers=job.planned.workers
        )
        try:
            visited = self.visit(job)
        finally:
            self.meter.stop()
        check_written(writer, self.context.record.path)
        status, reason = self._judged(visited)
        row = job.row(
            begin_ns=begin,
            end_ns=self.context.clock.now_ns(),
            begin_utc=begin_utc,
            status=status,
            reason=reason,
            exit_code=0 if status == "ok" else None,
            placement=json.dumps({"host": platform.node(), **visited.placement}),
        )
        return Made(row=row)

    @abstractmethod
    def visit(self, job: Job) -> Visited:
        """Visit everyone and write down the numbers."""

    def _judged(self, visited: Visited) -> tuple[str, str]:
        if self.stopped():
            return "aborted", f"stopped by {self.context.stop.reason}"
        return ("ok", "") if visited.answered else ("failed", visited.nobody)

    def stopped(self) -> bool:
        """True if a stop was requested."""
        return bool(self.context.stop.count)

    def number(self, job: Job, device: str, counter: str, value: float, unit: str, method: str) -> None:
        """Write down a number."""
        row = (job.number, self.context.clock.now_ns(), platform.node(), device, counter, value, unit, method)
        self.context.record.writer(job.number).append("telemetry", row)

    def event(self, job: Job, kind: str, detail: Mapping[str, Any]) -> None:
        """Write down an event."""
        write_event(self.context.record.writer(job.number), job.number, kind, self.context.clock.now_ns(), detail)
