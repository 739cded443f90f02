"""The fault `kill` sends the planned signal to the victim."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from assay.faults import kill
from assay.spec.plan import PlannedFault


@pytest.mark.parametrize("name", ["KILL", "TERM", "ABRT", "SEGV"])
def test_the_victim_gets_the_signal(name: str) -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", "input()"], stdin=subprocess.PIPE)
    kill.FAULT.strike(process.pid, PlannedFault(kind="kill", rank=0, after_checkpoints=0, delay_steps=1, signal=name))
    process.communicate()
    assert process.returncode == -signal.Signals[f"SIG{name}"]


def test_a_victim_that_is_gone_is_told() -> None:
    process = subprocess.Popen([sys.executable, "-S", "-c", "pass"])
    process.wait()
    with pytest.raises(ProcessLookupError):
        kill.FAULT.strike(
            process.pid, PlannedFault(kind="kill", rank=0, after_checkpoints=0, delay_steps=1, signal="KILL")
        )
