"""How do other programs read a tuning?

As strict JSON of a stable shape: `assay-tune-1`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from fireassay.reports.documents import comparison
from fireassay.reports.documents.values import Key, Keys, encode, finite, made

if TYPE_CHECKING:
    from fireassay.verdict.tuning import Round, Standing, Tuned

SCHEMA: Final = "assay-tune-1"
ARM: Final[Keys[Standing]] = (
    Key("label", "string", "the settings, in words", lambda arm: arm.label),
    Key("settings", "object", "knob -> value", lambda arm: dict(arm.settings)),
    Key("gain", "number or null", "times as good as today's settings", lambda arm: finite(arm.gain)),
    Key("low", "number or null", "lower end of its interval; null: not bounded", lambda arm: finite(arm.low)),
    Key("high", "number or null", "upper end of it", lambda arm: finite(arm.high)),
    Key("out", "string", "why it is out of the question; empty: it is not", lambda arm: arm.out),
    Key("goes_on", "boolean", "whether it is in the next round", lambda arm: arm.goes_on),
    Key("record", "string", "its record", lambda arm: arm.record),
)
ROUND: Final[Keys[Round]] = (
    Key("blocks", "integer", "launches of each", lambda one: one.blocks),
    Key("metric", "string", "by which they are ordered", lambda one: one.metric),
    Key("arms", "list of objects", "every arm of the round", lambda one: [made(ARM, arm) for arm in one.standings]),
)
DOCUMENT: Final[Keys[Tuned]] = (
    Key("schema", "string", f"always `{SCHEMA}`", lambda tuned: SCHEMA),
    Key("sentence", "string", "the one that may be quoted", lambda tuned: tuned.sentence),
    Key("adopted", "object or null", "the better settings; null: today's stay", lambda t: None if t.adopted is None else dict(t.adopted)),
    Key("left_out", "integer", "combinations that were not tried out", lambda tuned: tuned.left_out),
    Key("rounds", "list of objects", "every round", lambda tuned: [made(ROUND, one) for one in tuned.rounds]),
    Key(
        "final",
        "object or null",
        "the comparison of the last round, which alone decides",
        lambda tuned: None if tuned.final is None else comparison.document(tuned.final),
    ),
    Key("final_records", "list of strings", "its records", lambda tuned: list(tuned.records)),
)


def render(tuned: Tuned) -> str:
    """Render the document as strict JSON. An end of an interval that the data do not bound is null."""
    return encode(made(DOCUMENT, tuned))
