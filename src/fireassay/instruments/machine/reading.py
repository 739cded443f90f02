"""What does an instrument return for one counter of one device?

The meter adds the launch, the time and the host, and writes the row of the `telemetry` table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Method = Literal["counter", "sampled", "modelled", "self", "scraped"]


@dataclass(frozen=True, slots=True)
class Reading:
    """A counter's value.

    `method`: counter (counted by the machine), sampled (polled by us), modelled (assumed), self (about assay), scraped (from a server).
    """

    device: str
    counter: str
    value: float
    unit: str
    method: Method = "counter"
