"""How does the system behave when a worker or replica dies abruptly?

The victim gets the configured signal (kill(2)), SIGKILL by default.  Under load, every process of the replica gets it; after
`for_s` the replica restarts on its old port.
"""

from __future__ import annotations

import os
import signal

from fireassay.faults.support.base import Fault, Struck, Undo, Victim
from fireassay.spec.plan import PlannedFault
from fireassay.spec.sections.faults import Fault as FaultSpec


def strike(victim: Victim, fault: PlannedFault) -> None:
    """Send the signal to the worker; the engine restarts it. Raises ProcessLookupError: the victim has already exited."""
    os.kill(victim.pid, signal.Signals[f"SIG{fault.signal}"])


def on_load(struck: Struck, asked: FaultSpec) -> Undo:
    """Send the signal to all processes of the replica; the undo restarts it. Raises ProcessLookupError: the replica has already exited."""
    replicas = struck.own
    replicas.kill(struck.replica, signal.Signals[f"SIG{asked.signal}"])
    return lambda: replicas.restart(struck.replica)


FAULT = Fault(name="kill", strike=strike, on_load=on_load, needs="pids", ends_worker=True, further=("signal",), undone_at_end=False)
