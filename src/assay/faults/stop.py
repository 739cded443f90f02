"""What happens when a worker, or a replica, hangs with its connections open?  All of its processes are stopped (SIGSTOP), then go on.

The kernel still accepts connections for it, so that nothing is refused: it is the fault that only time limits notice.
In a training every other rank waits for it; nothing is lost if it comes back in time.
"""

from __future__ import annotations

import signal

from assay.faults.support.base import Fault, Struck, Undo, Victim
from assay.launchers.support import supervisor
from assay.spec.plan import PlannedFault
from assay.spec.sections.faults import Fault as Asked


def strike(victim: Victim, fault: PlannedFault) -> Undo:
    """Stop the worker with whatever it started; undone by SIGCONT.

    Raises:
        ProcessLookupError: it is gone already.
    """
    supervisor.send(victim.family(), signal.SIGSTOP)
    return lambda: supervisor.send(victim.family(), signal.SIGCONT)


def on_load(struck: Struck, asked: Asked) -> Undo:
    """Stop the replica's whole family; undone by SIGCONT.

    Raises:
        ProcessLookupError: it is gone already.
    """
    replicas = struck.own
    replicas.kill(struck.replica, signal.SIGSTOP)
    return lambda: supervisor.send(replicas.pids(struck.replica), signal.SIGCONT)


FAULT = Fault(name="stop", strike=strike, on_load=on_load, needs="pids")
