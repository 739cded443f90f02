"""A launch of two nodes, each metered on its own clock, with the coordinator's pings of both."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tests.handmade import Handmade

S = 1_000_000_000


def there(offset_s: float, ppm: float) -> Callable[[float], int]:
    """Seconds of the coordinator's clock -> what the node's clock says, nanoseconds."""
    return lambda at_s: round((at_s + offset_s + at_s * ppm * 1e-6) * S)


def two_nodes(*, wall_s: float = 100.0, clocks: Mapping[str, tuple[float, float]] | None = None, **outcomes: dict[str, Any]) -> Handmade:
    """`clocks`: node -> its clock's offset in seconds and its drift in ppm. `outcomes`: what the coordinator says of a node at the end."""
    made = Handmade(levels=(2,), blocks=1)
    number = made.launch(workers=2, wall_s=wall_s)
    made.event(number, "launch_begin", 0.0, host="login")
    nodes = {name: outcomes.get(name, {"metered_by": name}) for name in "ab"}
    made.event(number, "node_meters", wall_s, host="login", detail={"nodes": nodes})
    for name in "ab":
        says = there(*(clocks or {}).get(name, (0.0, 0.0)))
        sent = [at / 10.0 for at in range(int(wall_s * 10))]
        pings = [[round(at * S), says(at + 1e-4), says(at + 1.1e-4), round((at + 2.1e-4) * S)] for at in sent]
        made.event(number, "node_clock", wall_s, host="login", detail={"node": name, "pings": pings})
    return made


def read(made: Handmade, node: str, watts: float, *, clock: tuple[float, float] = (0.0, 0.0), until_s: float = 101.0) -> None:
    """A counter of joules, read every half second by the node's clock, the last time after the end of the launch."""
    says = there(*clock)
    for tick in range(int(until_s * 2) + 1):
        made.rows["telemetry"].append((0, says(tick / 2.0), node, "package-0", "energy", watts * tick / 2.0, "J", "counter"))
