"""What are statuses, dimensions and their questions called, for each kind of record?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from assay.metrics.base import ALL

STATUS_WORDS: Final[Mapping[str, str]] = {
    "PASS": "pass",
    "FAIL": "fail",
    "INCONCLUSIVE": "inconclusive",
    "INVALID": "invalid",
    "NOT_MEASURED": "not measured",
}
STATUS_MEANINGS: Final[Mapping[str, str]] = {
    "PASS": "the recommended configuration passes every gate on admissible numbers",
    "FAIL": "on admissible numbers, something that was required does not hold",
    "INCONCLUSIVE": "the evidence is too small to recommend anything",
    "INVALID": "an audit found the record inadmissible; its numbers decide nothing",
    "NOT_MEASURED": "nothing was recorded that could answer",
}
TIMING_MEANINGS: Final[Mapping[str, str]] = {
    **STATUS_MEANINGS,
    "PASS": "the time has an interval over launches",
    "INCONCLUSIVE": "too few launches for an interval that can be relied on",
}
COLLECTIVE_MEANINGS: Final[Mapping[str, str]] = {
    **STATUS_MEANINGS,
    "PASS": "the data of every timed call were right, and every time has an interval over launches",
    "FAIL": "a collective gave wrong data",
    "INCONCLUSIVE": "something that was asked for has no number that can be relied on",
}
SEVERITIES: Final = ("invalid", "fail", "warning", "note")
DIMENSION_TITLES: Final[Mapping[str, str]] = {
    "correctness": "Correctness",
    "performance": "Performance",
    "cost": "Cost and energy",
    "reliability": "Reliability",
}
DIMENSION_QUESTIONS: Final[Mapping[str, str]] = {
    "correctness": "Did distribution preserve the result?",
    "performance": "Did the machines buy speed?",
    "cost": "Was it worth it?",
    "reliability": "Does it survive?",
}
LOAD_QUESTIONS: Final[Mapping[str, str]] = {
    "correctness": "Are the answers right, and did everybody get their own?",
    "performance": "How fast is it, and under how much load?",
    "cost": "What does an answer cost?",
    "reliability": "Does it survive?",
}
COLLECTIVE_QUESTIONS: Final[Mapping[str, str]] = {
    **DIMENSION_QUESTIONS,
    "correctness": "Were the data of the timed calls right?",
    "performance": "How fast are the collectives?",
    "cost": "What did measuring cost?",
}
NETWORK_QUESTIONS: Final[Mapping[str, str]] = {
    **DIMENSION_QUESTIONS,
    "correctness": "Was the result right?",
    "performance": "How fast is the way to the other hosts?",
    "cost": "What did looking cost?",
    "reliability": "Does everything arrive?",
}
NETWORK_MEANINGS: Final[Mapping[str, str]] = {
    **STATUS_MEANINGS,
    "PASS": "every host answered, and every number has an interval over rounds",
    "FAIL": "a host never answered",
    "INCONCLUSIVE": "something that was asked for has no number that can be relied on",
}
WHOLE: Final = "whole experiment"


def questions(*, collectives: bool, network: bool, serving: bool) -> Mapping[str, str]:
    """What each dimension asks."""
    if collectives:
        return COLLECTIVE_QUESTIONS
    if network:
        return NETWORK_QUESTIONS
    return LOAD_QUESTIONS if serving else DIMENSION_QUESTIONS


def meanings(subject: str, *, timing: bool) -> Mapping[str, str]:
    """What each status means."""
    if subject == "collectives":
        return COLLECTIVE_MEANINGS
    if subject == "network":
        return NETWORK_MEANINGS
    return TIMING_MEANINGS if timing else STATUS_MEANINGS


def place_of(configuration: str | None) -> str:
    """What a finding or value is about that is of no one configuration."""
    return WHOLE if configuration in (None, ALL) else str(configuration)
