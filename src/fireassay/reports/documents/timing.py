"""How do other programs read the timing of commands?"""

from __future__ import annotations

import json
from collections.abc import Sequence

from fireassay.reports.documents.json_object import Document, JsonObject, is_absent, is_measured, key, spread
from fireassay.reports.pages.timing import Summary
from fireassay.verdict.comparison.types import Comparison


class Time(JsonObject):
    """A number with its interval and sample."""

    value: float = key("in the unit", when=is_measured)
    low: float | None = key("lower end of its interval", when=is_measured)
    high: float | None = key("upper end of it", when=is_measured)
    unit: str = key("s or B", when=is_measured)
    confidence: float = key("of the interval", when=is_measured)
    n_launches: int = key("launches", when=is_measured)
    n_trials: int = key("trials", when=is_measured)
    launch_values: list[float] = key("one for each launch", when=is_measured)
    method: str = key("how the interval was made", when=is_measured)
    absent: str = key("only if not measured: the reason", "reason", when=is_absent)
    detail: str = key("only if not measured; what is missing, and how to obtain it", when=is_absent)


class OfCommand(JsonObject):  # of `Summary`
    time: Time = key("of one start or call")
    processor_time: Time = key("user and kernel time", "processor")
    memory: Time = key("at its largest")
    launches: int = key("rounds")
    trials: int = key("counted")
    calls_per_trial: int = key("calls of a trial", "calls")
    warm_up_trials: int = key("kept, not counted", "warm_ups")
    fastest_s: float | None = key("of all counted trials", "fastest")
    slowest_s: float | None = key("likewise", "slowest")
    floor_s: float | None = key("time of an empty start or call", "floor")
    floor_memory_bytes: float | None = key("memory of the starter itself", "floor_memory")
    notes: list[str] = key("caveats")


class Command(JsonObject):
    """A command and its record."""

    label: str = key("the command")
    record: str = key("its record")
    summary: OfCommand = spread()


class Change(JsonObject):  # of `Change`
    label: str = key("the command", "side")
    outcome: str = key("as in a comparison")
    word: str = key("for people")
    ratio: float | None = key("its time over that of the first")
    low: float | None = key("lower end of its interval")
    high: float | None = key("upper end of it")
    minimum_detectable_effect: float | None = key("relative, at 80 % power")
    sentence: str = key("in words")


class TimingDocument(Document):
    """Several commands."""

    VERB = "time"

    commands: list[Command] = key("the commands, in their order")
    against_first: list[Change] = key("each further command compared with the first")


DOCUMENT = TimingDocument


def render(summaries: Sequence[tuple[Summary, str]], comparison: Comparison | None) -> str:
    """Render several commands with their records, each compared with the first."""
    commands = [Command(label=summary.label, record=record, summary=summary) for summary, record in summaries]
    changes = [] if comparison is None else [change for change in comparison.changes if change.primary]
    return json.dumps(DOCUMENT.of(DOCUMENT(commands=commands, against_first=changes)), indent=2, allow_nan=False)
