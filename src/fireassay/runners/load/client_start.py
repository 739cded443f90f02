"""How long does a client process take to start on this machine now?"""

from __future__ import annotations

import subprocess
import time
from functools import cache

from fireassay import isolated


@cache
def client_start_s() -> float:
    """Seconds from its command until everything that it needs is imported, measured once."""
    begin = time.monotonic()
    subprocess.run(isolated.python("-c", "import fireassay.traffic.client.process"), check=False, capture_output=True)
    return time.monotonic() - begin
