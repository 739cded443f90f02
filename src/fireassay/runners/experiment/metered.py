"""How do all launches of an experiment share one meter?"""

from __future__ import annotations

from collections.abc import Mapping

from fireassay.instruments.machine.meter import Meter, Row
from fireassay.runners.experiment.context import RunContext


class Metered:
    """Base of makers whose launches are metered: readings go into the launch's table `telemetry`."""

    def __init__(self, context: RunContext) -> None:
        self.context = context
        self.meter = Meter(context.experiment.energy, self._emit, context.clock)

    def absences(self) -> Mapping[str, str]:
        """Counters that the meter cannot read, with reasons."""
        return self.meter.absences()

    def _emit(self, row: Row) -> None:
        self.context.record.writer(row[0]).append("telemetry", row)
