"""How do other programs read the timing of commands?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from fireassay.estimates.estimate import Absent, Value
from fireassay.reports.documents.values import Document, Key, Keys, absent, measured
from fireassay.reports.rows.timing import Summary
from fireassay.verdict.comparison.types import Change, Comparison

TIME: Final[Keys[Value]] = (
    Key("value", "number", "in the unit", when=measured),
    Key("low", "number or null", "lower end of its interval", when=measured),
    Key("high", "number or null", "upper end of it", when=measured),
    Key("unit", "string", "s or B", when=measured),
    Key("confidence", "number", "of the interval", when=measured),
    Key("n_launches", "integer", "launches", when=measured),
    Key("n_trials", "integer", "trials", when=measured),
    Key("launch_values", "list of numbers", "one for each launch", when=measured),
    Key("method", "string", "how the interval was made", when=measured),
    Key(
        "absent",
        "string",
        "only if not measured: the reason",
        lambda value: value.reason if isinstance(value, Absent) else None,
        when=absent,
    ),
    Key("detail", "string", "only if not measured; what is missing, and how to obtain it", when=absent),
)
COMMAND: Final[Keys[tuple[Summary, str]]] = (
    Key("label", "string", "the command", lambda item: item[0].label),
    Key("record", "string", "its record", lambda item: item[1]),
    Key("time", "object", "of one start or call", lambda item: item[0].time, TIME),
    Key("processor_time", "object", "user and kernel time", lambda item: item[0].processor, TIME),
    Key("memory", "object", "at its largest", lambda item: item[0].memory, TIME),
    Key("launches", "integer", "rounds", lambda item: item[0].launches),
    Key("trials", "integer", "counted", lambda item: item[0].trials),
    Key("calls_per_trial", "integer", "calls of a trial", lambda item: item[0].calls),
    Key("warm_up_trials", "integer", "kept, not counted", lambda item: item[0].warm_ups),
    Key("fastest_s", "number or null", "of all counted trials", lambda item: item[0].fastest),
    Key("slowest_s", "number or null", "likewise", lambda item: item[0].slowest),
    Key("floor_s", "number or null", "time of an empty start or call", lambda item: item[0].floor),
    Key("floor_memory_bytes", "number or null", "memory of the starter itself", lambda item: item[0].floor_memory),
    Key("notes", "list of strings", "caveats", lambda item: item[0].notes),
)
CHANGE: Final[Keys[Change]] = (
    Key("label", "string", "the command", lambda change: change.side),
    Key("outcome", "string", "as in a comparison"),
    Key("word", "string", "for people"),
    Key("ratio", "number or null", "its time over that of the first"),
    Key("low", "number or null", "lower end of its interval"),
    Key("high", "number or null", "upper end of it"),
    Key("minimum_detectable_effect", "number or null", "relative, at 80 % power"),
    Key("sentence", "string", "in words"),
)


Commands = tuple[Sequence[tuple[Summary, str]], Sequence[Change]]
KEYS: Final[Keys[Commands]] = (
    Key("commands", "list of objects", "the commands, in their order", lambda item: item[0], COMMAND),
    Key("against_first", "list of objects", "each further command compared with the first", lambda item: item[1], CHANGE),
)
DOCUMENT: Final = Document(verb="time", keys=KEYS)


def render(summaries: Sequence[tuple[Summary, str]], comparison: Comparison | None) -> str:
    """Render several commands with their records, each compared with the first."""
    changes = [] if comparison is None else [change for change in comparison.changes if change.primary]
    return json.dumps(DOCUMENT.content((summaries, changes)), indent=2, allow_nan=False)
