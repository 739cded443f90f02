"""How do other programs read a tuning?

As strict JSON of a stable shape: `assay-tune-1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fireassay.reports.documents import comparison
from fireassay.reports.documents.values import Document, Key, Keys

if TYPE_CHECKING:
    from fireassay.verdict.tuning import Round, Standing, Tuned

ARM: Final[Keys[Standing]] = (
    Key("label", "string", "the settings, in words"),
    Key("settings", "object", "knob -> value"),
    Key("gain", "number or null", "improvement over the current settings, as a factor"),
    Key("low", "number or null", "lower end of its interval; null: not bounded"),
    Key("high", "number or null", "upper end of it"),
    Key("out", "string", "why it is excluded; empty: it is not"),
    Key("goes_on", "boolean", "whether it is in the next round"),
    Key("record", "string", "its record"),
)
ROUND: Final[Keys[Round]] = (
    Key("blocks", "integer", "launches of each"),
    Key("metric", "string", "the metric that orders them"),
    Key("arms", "list of objects", "every arm of the round", lambda result: result.standings, ARM),
)
KEYS: Final[Keys[Tuned]] = (
    Key("sentence", "string", "the sentence that may be quoted"),
    Key("adopted", "object or null", "the better settings; null: keep the current ones"),
    Key("left_out", "integer", "combinations not tried"),
    Key("rounds", "list of objects", "every round", shape=ROUND),
    Key("final", "object or null", "the comparison of the last round, which alone decides", shape=comparison.DOCUMENT.shape),
    Key("final_records", "list of strings", "its records", lambda tuned: tuned.records),
)
DOCUMENT: Final = Document(verb="tune", schema="assay-tune-1", keys=KEYS)
render = DOCUMENT.render
