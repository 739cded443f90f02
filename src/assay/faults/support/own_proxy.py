"""Can assay's own proxy stand before an engine, and what is asked of a proxy?  Only where addresses are http://."""

from __future__ import annotations

from pydantic import Field

from assay.errors import Problem, SpecError
from assay.spec.model import LONGEST_S
from assay.spec.sections.faults import Fault as Asked
from assay.spec.sections.serving import Target
from assay.traffic.proxy import Proxies


class Shared(Asked):
    """What may be asked of a proxy."""

    share: float = Field(0.1, gt=0.0, le=1.0, description="the share of the connections that is hit.")


class Delayed(Shared):
    """What may be asked of a proxy that holds back."""

    delay_s: float = Field(0.5, ge=0.0, le=LONGEST_S, description="seconds by which everything is held back.")


def check(asked: Asked, target: Target) -> None:
    """Whether a proxy can stand before it.

    Raises:
        SpecError: one of its addresses is not http://.
    """
    if wrong := [url for url in target.urls if not url.startswith("http://")]:
        raise SpecError(
            (
                Problem(
                    where="faults[].kind",
                    found=f"{asked.kind!r} for {wrong[0]}",
                    allowed="such a fault where the address is http://",
                    mend="A certificate would not name the proxy: address the server without TLS for this experiment.",
                ),
            )
        )


def front(asked: Asked, target: Target, mark: str, seed: int) -> Proxies:
    """Start the proxy."""
    return Proxies(mark=mark, seed=seed)
