"""How does the system behave on a slow network?

assay's own proxy (`fireassay.traffic.proxy`) delays every response byte on a share of a replica's connections.  Byte order is
preserved; held bytes are released when the fault ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from fireassay.errors import refuse
from fireassay.faults.support.base import Fault, Struck, Undo
from fireassay.spec.model import MAX_S
from fireassay.spec.sections.faults import Fault as FaultSpec
from fireassay.spec.sections.serving import Target

if TYPE_CHECKING:
    from fireassay.traffic.proxy import Proxies


class Shared(FaultSpec):
    """Keys of a proxy fault."""

    share: float = Field(0.1, gt=0.0, le=1.0, description="the share of the connections that is hit.")


class Delayed(Shared):
    """Keys of a proxy fault that delays."""

    delay_s: float = Field(0.5, ge=0.0, le=MAX_S, description="delay of all data in seconds.")


def check(asked: FaultSpec, target: Target) -> None:
    """Check that a proxy can stand in front of the target. Raises SpecError: an address is not http://."""
    if unsupported := [url for url in target.urls if not url.startswith("http://")]:
        raise refuse(
            "faults[].kind",
            f"{asked.kind!r} for {unsupported[0]}",
            "such a fault where the address is http://",
            "A certificate would not name the proxy: address the server without TLS for this experiment.",
        )


def front(asked: FaultSpec, target: Target, mark: str, seed: int) -> Proxies:
    from fireassay.traffic.proxy import Proxies  # deferred: it loads asyncio, and the fault's keys are read with every record

    return Proxies(mark=mark, seed=seed)


def on_load(struck: Struck, asked: Delayed) -> Undo:
    """Delay responses by `delay_s` on the share of connections until undone. Raises RuntimeError: the proxy has exited."""
    struck.front.control(struck.front_url, delay_s=asked.delay_s, share=asked.share)
    return lambda: struck.front.control(struck.front_url)


FAULT = Fault(name="delay", on_load=on_load, needs="proxy", keys=Delayed, check=check, front=front)
