"""What happens when a worker dies at once?  The victim gets the planned signal (kill(2)), SIGKILL by default."""

from __future__ import annotations

import os
import signal

from assay.faults.base import Fault
from assay.spec.plan import PlannedFault


def strike(pid: int, fault: PlannedFault) -> None:
    """Send the signal.

    Raises:
        ProcessLookupError: the victim is gone already.
    """
    os.kill(pid, signal.Signals[f"SIG{fault.signal}"])


FAULT = Fault(name="kill", strike=strike)
