"""Can assay's own proxy stand before an engine?  Shared by the faults that need it: only where addresses are http://."""

from __future__ import annotations

from assay.errors import Problem, SpecError
from assay.spec.sections.faults import Fault as Asked
from assay.spec.sections.serving import Target
from assay.traffic.proxy import Proxies


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
