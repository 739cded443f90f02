"""What happens when a replica hangs, with its connections open?  All of its processes are stopped (SIGSTOP), then go on.

The kernel still accepts connections for it, so that nothing is refused: it is the fault that only time limits notice.
"""

from __future__ import annotations

import signal

from assay.faults.base import Fault, Struck, Undo
from assay.launchers import guard
from assay.spec.experiment import Fault as Asked


def on_load(struck: Struck, asked: Asked) -> Undo:
    """Stop the replica's whole family; undone by SIGCONT.

    Raises:
        ProcessLookupError: it is gone already.
    """
    replicas = struck.own
    replicas.kill(struck.replica, signal.SIGSTOP)
    return lambda: guard.send(replicas.pids(struck.replica), signal.SIGCONT)


FAULT = Fault(name="stop", on_load=on_load, needs="pids")
