"""What happens when connections are reset?  Of those to a replica a share is, open and new ones, through a proxy of assay's own.

What exactly is reset says `assay.traffic.proxy`.
"""

from __future__ import annotations

from assay.faults.support import own_proxy
from assay.faults.support.base import Fault, Struck, Undo


def on_load(struck: Struck, asked: own_proxy.Shared) -> Undo:
    """Reset the share of the connections until it is undone.

    Raises:
        RuntimeError: the proxy is gone.
    """
    struck.front.control(struck.front_url, reset_share=asked.share)
    return lambda: struck.front.control(struck.front_url)


FAULT = Fault(name="reset", on_load=on_load, needs="proxy", keys=own_proxy.Shared, check=own_proxy.check, front=own_proxy.front)
