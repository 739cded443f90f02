"""How does the system behave on a slow network?

assay's own proxy (`fireassay.traffic.proxy`) delays every response byte on a share of a replica's connections.  Byte order is
preserved; held bytes are released when the fault ends.
"""

from __future__ import annotations

from fireassay.faults.support import own_proxy
from fireassay.faults.support.base import Fault, Struck, Undo


def on_load(struck: Struck, asked: own_proxy.Delayed) -> Undo:
    """Delay responses by `delay_s` on the share of connections until undone. Raises RuntimeError: the proxy has exited."""
    struck.front.control(struck.front_url, delay_s=asked.delay_s, share=asked.share)
    return lambda: struck.front.control(struck.front_url)


FAULT = Fault(name="delay", on_load=on_load, needs="proxy", keys=own_proxy.Delayed, check=own_proxy.check, front=own_proxy.front)
