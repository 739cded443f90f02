"""What is recorded once, at the beginning and at the end of a launch?"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from fireassay.instruments.recorder import clock_pings, peak_memory
from fireassay.instruments.recorder.flight_recorder import Flights, read_at_end
from fireassay.instruments.recorder.sink import Identity, process_start_ns

Append = Callable[[str, tuple[Any, ...]], None]


class LaunchEnd:
    """Writes a worker's first and last rows."""

    def __init__(self, identity: Identity, append: Append, now: Callable[[], int]) -> None:
        self._identity, self._append, self._now = identity, append, now
        self._key = (identity.launch, identity.rank, identity.incarnation)
        self.last_comparison: Callable[[], None] = no_comparison  # last comparison with another host's clock

    def start(self) -> dict[str, object]:
        """What a worker's first event says."""
        start_ns, boot = process_start_ns(), clock_pings.boot_id()
        return {"pid": os.getpid(), "world_size": self._identity.workers, "process_start_ns": start_ns, "boot_id": boot}

    def compare_clocks(self, folder: Path, environ: Mapping[str, str]) -> None:
        """Compare the hosts' clocks, if there are several; if that fails, the job is recorded anyway."""
        try:
            self.last_comparison = clock_pings.begin(folder, environ, self._append, self._key, self._identity.host)
        except OSError as error:
            say(f"the clocks of the hosts are not compared: {type(error).__name__}: {error}")

    def record_resources(self, flush_cpu_ns: int | None, hash_ns: int) -> None:
        """Record what the probe used, and this rank's peak memory on host and devices."""
        if flush_cpu_ns is not None:
            self.cost("flush_cpu", flush_cpu_ns, "ns")
        self.cost("hash_total", hash_ns, "ns")
        with suppress(Exception):  # a failed device reports nothing; its peak is absent
            torch = sys.modules.get("torch")
            if torch is not None:
                self._record(f"rank-{self._identity.rank}/torch", "threads", torch.get_num_threads(), "count")
            for device, counter, most in peak_memory.peaks(torch):
                self._record(f"rank-{self._identity.rank}/{device}", counter, most, "B")

    def record_torch_list(self, flights: Flights | None, event: Callable[..., None]) -> None:
        """Record torch's own list of the last steps' collectives."""
        torch = sys.modules.get("torch")
        if flights is None or torch is None or (listing := read_at_end(flights, torch)) is None:
            return
        rows, inventory = listing
        for row in rows:
            self._append("inventory", (*self._key, *row))
        event("flight_recorder", self._now(), value=float(inventory["entries"]), detail=inventory)

    def cost(self, counter: str, value: float, unit: str) -> None:
        """Record a cost of the probe."""
        self._record("probe", counter, value, unit)

    def _record(self, device: str, counter: str, value: float, unit: str) -> None:
        self._append("telemetry", (self._identity.launch, self._now(), self._identity.host, device, counter, float(value), unit, "self"))


def why_unseen() -> str | None:
    """Why this worker has no steps, if torch was imported."""
    hooks = sys.modules.get("fireassay.instruments.attach")
    why: str | None = hooks.unseen() if hooks is not None and "torch" in sys.modules else None
    return why


def no_comparison() -> None:
    """There is no other host."""


def say(sentence: str) -> None:
    """Tell the user."""
    with suppress(OSError, ValueError, AttributeError):  # standard error may be closed
        print(f"assay: {sentence}", file=sys.stderr, flush=True)
