"""What are statuses, dimensions and their questions called, for each kind of record?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fireassay.metrics.metric import ALL

STATUS_WORDS: Final[Mapping[str, str]] = {
    "PASS": "pass",
    "FAIL": "fail",
    "INCONCLUSIVE": "inconclusive",
    "INVALID": "invalid",
    "NOT_MEASURED": "not measured",
}
SEVERITIES: Final = ("invalid", "fail", "warning", "note")
DIMENSION_TITLES: Final[Mapping[str, str]] = {
    "correctness": "Correctness",
    "performance": "Performance",
    "cost": "Cost and energy",
    "reliability": "Reliability",
}
WHOLE: Final = "whole experiment"


def place_of(configuration: str | None) -> str:
    """What a finding or value is about that is of no one configuration."""
    return WHOLE if configuration in (None, ALL) else str(configuration)
