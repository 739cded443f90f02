"""How do other programs read the timing of commands?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.reports.documents.values import Key, Keys, finite, made
from fireassay.reports.rows.timing import Summary
from fireassay.verdict.comparison.types import Change, Comparison

ESTIMATE: Final[Keys[Estimate]] = (
    Key("value", "number", "in the unit", lambda value: value.value),
    Key("low", "number or null", "lower end of its interval", lambda value: finite(value.low)),
    Key("high", "number or null", "upper end of it", lambda value: finite(value.high)),
    Key("unit", "string", "s or B", lambda value: value.unit),
    Key("confidence", "number", "of the interval", lambda value: value.confidence),
    Key("n_launches", "integer", "launches", lambda value: value.n_launches),
    Key("n_trials", "integer", "trials", lambda value: value.n_trials),
    Key("launch_values", "list of numbers", "one for each launch", lambda value: list(value.launch_values)),
    Key("method", "string", "how the interval was made", lambda value: value.method),
)


def _value(value: Value) -> dict[str, Any]:
    return {"absent": value.reason, "detail": value.detail} if isinstance(value, Absent) else made(ESTIMATE, value)


COMMAND: Final[Keys[tuple[Summary, str]]] = (
    Key("label", "string", "the command", lambda one: one[0].label),
    Key("record", "string", "its record", lambda one: one[1]),
    Key("time", "object", "of one start or call", lambda one: _value(one[0].time)),
    Key("processor_time", "object", "user and kernel time", lambda one: _value(one[0].processor)),
    Key("memory", "object", "at its largest", lambda one: _value(one[0].memory)),
    Key("launches", "integer", "rounds", lambda one: one[0].launches),
    Key("trials", "integer", "counted", lambda one: one[0].trials),
    Key("calls_per_trial", "integer", "calls of a trial", lambda one: one[0].calls),
    Key("warm_up_trials", "integer", "kept, not counted", lambda one: one[0].warm_ups),
    Key("fastest_s", "number or null", "of all counted trials", lambda one: one[0].fastest),
    Key("slowest_s", "number or null", "likewise", lambda one: one[0].slowest),
    Key("floor_s", "number or null", "what an empty start or call takes", lambda one: one[0].floor),
    Key("floor_memory_bytes", "number or null", "what the starter holds itself", lambda one: one[0].floor_memory),
    Key("notes", "list of strings", "what to beware of", lambda one: list(one[0].notes)),
)
CHANGE: Final[Keys[Change]] = (
    Key("label", "string", "the command", lambda change: change.side),
    Key("outcome", "string", "as in a comparison", lambda change: change.outcome),
    Key("word", "string", "for people", lambda change: change.word),
    Key("ratio", "number or null", "its time over that of the first", lambda change: change.ratio),
    Key("low", "number or null", "lower end of its interval", lambda change: change.low),
    Key("high", "number or null", "upper end of it", lambda change: change.high),
    Key("minimum_detectable_effect", "number or null", "relative, at 80 % power", lambda change: change.minimum_detectable_effect),
    Key("sentence", "string", "in words", lambda change: change.sentence),
)


def as_json(summary: Summary, record: str) -> dict[str, Any]:
    """The JSON object of one command."""
    return made(COMMAND, (summary, record))


def render(summaries: Sequence[tuple[Summary, str]], comparison: Comparison | None) -> str:
    """Render several commands with their records, each compared with the first."""
    changes = [] if comparison is None else [change for change in comparison.changes if change.primary]
    document = {
        "commands": [made(COMMAND, summary) for summary in summaries],
        "against_first": [made(CHANGE, change) for change in changes],
    }
    return json.dumps(document, indent=2, allow_nan=False)
