"""What are statuses, dimensions and severities called?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from fireassay.metrics.metric import ALL

STATUS_WORDS: Final[Mapping[str, str]] = {
    "PASS": "pass",
    "GAIN": "gain",
    "NO_GAIN": "no gain",
    "MEASURED": "measured",
    "FAIL": "fail",
    "INCONCLUSIVE": "inconclusive",
    "INVALID": "invalid",
    "NOT_MEASURED": "not measured",
}
NO_OPERATOR: Final = "in no operator"  # on a processor, the idle time of a profile is the script's own Python
SEVERITIES: Final = ("invalid", "fail", "warning", "note")
DIMENSION_TITLES: Final[Mapping[str, str]] = {
    "correctness": "Correctness",
    "performance": "Performance",
    "cost": "Cost and energy",
    "reliability": "Reliability",
}
WHOLE: Final = "whole experiment"
UNSAID: Final = "not stated in the file"  # of an imported record


def place_of(configuration: str | None) -> str:
    """The label of a finding or value that belongs to no single configuration."""
    return WHOLE if configuration in (None, ALL) else str(configuration)


MAX_NAME_LENGTH: Final = 60  # characters of an item's id or a label


def cut(text: str, most: int = MAX_NAME_LENGTH) -> str:
    """At most so many characters, and a sign that there are more."""
    return text if len(text) <= most else f"{text[:most]} …"
