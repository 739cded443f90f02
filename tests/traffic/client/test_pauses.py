"""A process that is made steady is still the same process: its settings hold, and it works."""

from __future__ import annotations

import subprocess
import sys

from tests.limits import PROCESS_S

CODE = """
import sys
from fireassay.traffic.client.timer import SWITCH_S, steady
steady()
import pyarrow as pa
assert abs(sys.getswitchinterval() - SWITCH_S) < 1e-6
assert pa.default_memory_pool().backend_name == "system"
assert sum(pa.array(range(1000)).to_pylist()) == 499500
"""


def test_the_settings_hold_in_a_process_of_its_own() -> None:
    subprocess.run([sys.executable, "-c", CODE], check=True, timeout=PROCESS_S)
