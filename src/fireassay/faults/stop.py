"""How does the system behave when a worker or replica hangs with its connections open?

All its processes are stopped (SIGSTOP), then continued.  The kernel still accepts connections on its behalf, so nothing is refused:
only timeouts notice this fault.  In training, every other rank waits; nothing is lost if the worker resumes in time.
"""

from __future__ import annotations

import signal

from fireassay.faults.support.base import Fault, Struck, Undo, Victim
from fireassay.launchers.support import supervisor
from fireassay.spec.plan import PlannedFault
from fireassay.spec.sections.faults import Fault as FaultSpec


def strike(victim: Victim, fault: PlannedFault) -> Undo:
    """Stop the worker and its children; SIGCONT undoes it. Raises ProcessLookupError: the worker has already exited."""
    supervisor.send(victim.family(), signal.SIGSTOP)
    return lambda: supervisor.send(victim.family(), signal.SIGCONT)


def on_load(struck: Struck, asked: FaultSpec) -> Undo:
    """Stop all processes of the replica; SIGCONT undoes it. Raises ProcessLookupError: the replica has already exited."""
    replicas = struck.own
    replicas.kill(struck.replica, signal.SIGSTOP)
    return lambda: supervisor.send(replicas.pids(struck.replica), signal.SIGCONT)


FAULT = Fault(name="stop", strike=strike, on_load=on_load, needs="pids")
