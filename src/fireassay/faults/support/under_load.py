"""How does a fault strike a load on time, and how is its undo guaranteed?

    check(fault, asked, target)                        # before launch
    with Strike(fault, struck, asked, emit) as strike:
        strike.at(ns)                                  # strikes at that monotonic time, undoes asked.for_s later
        ...                                            # leaving the block undoes whatever is still broken

A dedicated thread waits for the time, so a busy coordinator does not delay the fault.  It calls `emit(kind, ns, replica, detail)`:

    fault         just before the act   {"fault": kind, "replica", "for_s", and the kind's own parameters}
    fault_end     just before the undo  {"fault", "replica", "at_end": the load had ended, "trouble": why it failed, or ""}
    fault_missed  the act failed        {"fault", "replica", "why"}
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

from fireassay import catalog
from fireassay.errors import EnvironmentLacks, refuse
from fireassay.faults.support.base import Fault, Struck, Undo
from fireassay.launchers.support import supervisor
from fireassay.record.secrets.redact import redact
from fireassay.spec.sections.faults import Fault as FaultSpec
from fireassay.spec.sections.serving import Target
from fireassay.units import NS_PER_S

Emit = Callable[[str, int, int | None, dict[str, object]], None]
JOIN_S = 120.0  # allows for a slow undo


def check(fault: Fault, asked: FaultSpec, target: Target) -> None:
    """Check that this fault can strike this engine.

    Raises:
        SpecError: it does not apply to loads, or needs processes that assay did not start.
        EnvironmentLacks: a permission or a program is missing.
    """
    if fault.on_load is None:
        kinds = [name for name, other in catalog.load_all("faults").items() if other.on_load is not None]
        raise refuse("faults[].kind", repr(fault.name), "a kind that strikes under a load", f"Use {', '.join(kinds[:-1])} or {kinds[-1]}.")
    if fault.needs == "pids" and not target.command:
        raise refuse(
            "faults[].kind",
            f"{fault.name!r} for {target.name}, which assay does not start",
            "such a fault where the target has a `command`",
            'Let assay start it (targets[].command), or use kind = "command" with a line that reaches the server.',
        )
    if asked.replica is not None and asked.replica >= (len(target.urls) or target.replicas):
        raise refuse("faults[].replica", str(asked.replica), f"0 to {(len(target.urls) or target.replicas) - 1}")
    fault.check(asked, target)


class Strike:
    """One fault of one launch."""

    def __init__(self, fault: Fault, struck: Struck, asked: FaultSpec, emit: Emit) -> None:
        self.fault, self.struck, self.asked, self._emit = fault, struck, asked, emit
        self.done = threading.Event()  # struck and undone, or missed
        self.missed = ""  # why it did not strike
        self._over = threading.Event()
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def at(self, ns: int) -> None:
        """Strike at that monotonic time; returns immediately."""
        self._thread = threading.Thread(target=self._run, args=(ns,), name=f"assay-{self.fault.name}", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End of the load: undo what is still broken. A fault that is not yet due no longer strikes."""
        self._over.set()
        if self._thread is not None:
            self._thread.join(JOIN_S)
        if self.struck.mark:
            supervisor.end_marked(f"{self.struck.mark}act.")

    def _run(self, due_ns: int) -> None:
        try:
            if self._waited(due_ns):
                self._say("fault_missed", time.monotonic_ns(), why="the load was over before its moment")
                self.missed = "the load was over before its moment"
                return
            begin_ns = time.monotonic_ns()
            self._say("fault", begin_ns, for_s=self.asked.for_s, **self._parameters())
            undo = self._act()
            if undo is not None:
                at_end = self._waited(begin_ns + round(self.asked.for_s * NS_PER_S))
                self._undo(undo, at_end)
        finally:
            self.done.set()

    def _act(self) -> Undo | None:
        assert self.fault.on_load is not None
        try:
            return self.fault.on_load(self.struck, self.asked)
        except (OSError, RuntimeError, EnvironmentLacks) as error:
            self.missed = redact(str(error)) or type(error).__name__
            self._say("fault_missed", time.monotonic_ns(), why=self.missed)
            return None

    def _undo(self, undo: Undo, at_end: bool) -> None:
        ns, trouble = time.monotonic_ns(), ""
        if not at_end or self.fault.undone_at_end:
            try:
                undo()
            except Exception as error:  # an exception in a thread would go unnoticed
                trouble = redact(f"{type(error).__name__}: {error}")
        self._say("fault_end", ns, at_end=at_end, trouble=trouble)

    def _waited(self, until_ns: int) -> bool:
        """Wait until a time; True if the load ended first."""
        while (left_ns := until_ns - time.monotonic_ns()) > 0:
            if self._over.wait(min(left_ns / NS_PER_S, 3600.0)):
                return True
        return False

    def _parameters(self) -> dict[str, Any]:
        requested = {name: getattr(self.asked, name) for name in self.fault.parameters}
        return {name: redact(value) if isinstance(value, str) else value for name, value in requested.items()}

    def _say(self, kind: str, ns: int, **detail: object) -> None:
        self._emit(kind, ns, self.struck.replica, {"fault": self.fault.name, "replica": self.struck.replica, **detail})
