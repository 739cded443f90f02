"""What happens when a worker, or a replica, dies at once?  The victim gets the planned signal (kill(2)), SIGKILL by default.

Under a load every process of the replica gets it; after `for_s` the replica is started again, on its old port.
"""

from __future__ import annotations

import os
import signal

from assay.faults.support.base import Fault, Struck, Undo, Victim
from assay.spec.plan import PlannedFault
from assay.spec.sections.faults import Fault as Asked


def strike(victim: Victim, fault: PlannedFault) -> None:
    """Send the signal to the worker; the engine starts it again.

    Raises:
        ProcessLookupError: the victim is gone already.
    """
    os.kill(victim.pid, signal.Signals[f"SIG{fault.signal}"])


def on_load(struck: Struck, asked: Asked) -> Undo:
    """Send the signal to the replica's whole family; undone by starting it again.

    Raises:
        ProcessLookupError: it is gone already.
    """
    replicas = struck.own
    replicas.kill(struck.replica, signal.Signals[f"SIG{asked.signal}"])
    return lambda: replicas.restart(struck.replica)


FAULT = Fault(name="kill", strike=strike, on_load=on_load, needs="pids", ends_worker=True, further=("signal",), undone_at_end=False)
