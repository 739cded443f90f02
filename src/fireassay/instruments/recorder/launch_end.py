"""What is recorded once, at the beginning and at the end of a launch?"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from fireassay.instruments.recorder import clock_pings, peak_memory
from fireassay.instruments.recorder.flight_recorder import read_at_end
from fireassay.instruments.recorder.profiler import Profiled, asked_of
from fireassay.instruments.recorder.recorder_state import NOTHING, say
from fireassay.instruments.recorder.sink import process_start_ns
from fireassay.instruments.recorder.step_limit import KIND as STEPS_REACHED
from fireassay.instruments.recorder.step_work import WorkOfAStep
from fireassay.instruments.recorder.watched_model import WatchedModel


class LaunchEnd(WatchedModel):
    """Writes a worker's first and last rows."""

    def reached(self, step: int, made: int) -> None:
        """End this rank after the requested number of steps."""
        self._event(STEPS_REACHED, self._now(), step=step, value=float(made))

    def counts_work(self, environ: Mapping[str, str]) -> None:
        """Count the FLOPs of the first step, and profile some later ones, if the launch requests it."""
        request = asked_of(environ)
        if request is not None:
            self._profiled = Profiled(request, self.rank, self._event)
        if environ.get("FIREASSAY_FLOPS") == "1":
            peak, _, precision = environ.get("FIREASSAY_PEAK", "").partition(":")
            self._work = WorkOfAStep(measures_peak=peak == "measured", precision=precision)

    def begin(self, cost_ns: float, calibration_steps: int) -> None:
        """Record this worker's start and the probe's cost."""
        detail = {"pid": os.getpid(), "world_size": self.workers, "process_start_ns": process_start_ns(), "boot_id": clock_pings.boot_id()}
        self._event("worker_start", self._now(), detail=detail)
        self.cost_ns = cost_ns
        self._cost("cost_per_step", cost_ns, "ns")
        self._cost("calibration_steps", calibration_steps, "steps")

    def looks_at_clocks(self, folder: Path, environ: Mapping[str, str]) -> None:
        """Compare the hosts' clocks, if there are several; if that fails, the job is recorded anyway."""
        try:
            self._last_look = clock_pings.begin(folder, environ, self._append, self._key, self._identity.host)
        except OSError as error:
            say(f"the clocks of the hosts are not compared: {type(error).__name__}: {error}")

    def costs(self, cost_ns: float, steps: int) -> None:
        """Record the hooks' cost per step: the median over its last `steps` steps."""
        self._cost("cost_per_step", cost_ns, "ns")
        self._cost("own_steps", steps, "steps")

    def logs_every(self, steps: int) -> None:
        """Record how often DistributedDataParallel's log is read."""
        self._cost("ddp_logging_every", steps, "steps")

    def _tell_unseen(self) -> None:
        """Record why this worker has no steps, if torch was imported."""
        hooks = sys.modules.get("fireassay.instruments.attach")
        if hooks is not None and "torch" in sys.modules:
            self._event("steps_unseen", self._now(), detail={"why": hooks.unseen()})

    def _tell_memory(self) -> None:
        """Record this rank's peak memory on host and devices."""
        launch, host, now = self._key[0], self._identity.host, self._now()
        with suppress(Exception):  # a failed device reports nothing; its peak is absent
            for device, counter, most in peak_memory.peaks(sys.modules.get("torch")):
                row = (launch, now, host, f"rank-{self.rank}/{device}", counter, float(most), "B", "self")
                self._append("telemetry", row)

    def _tell_inventory(self) -> None:
        """Record torch's own list of the last steps' collectives."""
        torch = sys.modules.get("torch")
        listing = read_at_end(self._flights, torch) if self._flights is not None and torch is not None else None
        if listing is None:
            return
        rows, detail = listing
        for row in rows:
            self._append("inventory", (*self._key, *row))
        self._event("flight_recorder", self._now(), value=float(detail["entries"]), detail=detail)

    def _stop(self) -> None:
        self.active = False
        self._leave_gradients()
        self._leave_later_steps()
        self._watching = None
        self._named = dict.fromkeys(self._named, NOTHING)
        self._on_close()
        self._sink.close()
