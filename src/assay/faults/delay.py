"""What happens when the network is slow?  On a share of a replica's connections every byte of the answers is held back.

Through a proxy of assay's own (`assay.traffic.proxy`): bytes stay in order, and come at once when the fault ends.
"""

from __future__ import annotations

from assay.faults.support import own_proxy
from assay.faults.support.base import Fault, Struck, Undo


def on_load(struck: Struck, asked: own_proxy.Delayed) -> Undo:
    """Hold answers back by `delay_s` on the share of the connections until it is undone.

    Raises:
        RuntimeError: the proxy is gone.
    """
    struck.front.control(struck.front_url, delay_s=asked.delay_s, share=asked.share)
    return lambda: struck.front.control(struck.front_url)


FAULT = Fault(name="delay", on_load=on_load, needs="proxy", keys=own_proxy.Delayed, check=own_proxy.check, front=own_proxy.front)
