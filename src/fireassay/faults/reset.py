"""How does the system behave when connections are reset?

assay's own proxy resets a share of a replica's connections, open and new; `fireassay.traffic.proxy` defines which.
"""

from __future__ import annotations

from fireassay.faults import delay
from fireassay.faults.support.base import Fault, Struck, Undo


def on_load(struck: Struck, asked: delay.Shared) -> Undo:
    """Reset the share of connections until undone. Raises RuntimeError: the proxy has exited."""
    struck.front.control(struck.front_url, reset_share=asked.share)
    return lambda: struck.front.control(struck.front_url)


FAULT = Fault(name="reset", on_load=on_load, needs="proxy", keys=delay.Shared, check=delay.check, front=delay.front)
