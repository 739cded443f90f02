"""How do other programs read a tuning?

As strict JSON of a stable shape: `assay-tune-1`.
"""

from __future__ import annotations

from typing import Any

from fireassay.reports.documents.comparison import ComparisonDocument
from fireassay.reports.documents.json_object import Document, JsonObject, key


class Arm(JsonObject):  # of `Standing`
    label: str = key("the settings, in words")
    settings: dict[str, Any] = key("knob -> value")
    gain: float | None = key("improvement over the current settings, as a factor")
    low: float | None = key("lower end of its interval; null: not bounded")
    high: float | None = key("upper end of it")
    out: str = key("why it is excluded; empty: it is not")
    goes_on: bool = key("whether it is in the next round")
    record: str = key("its record")


class Round(JsonObject):  # of `Round`
    blocks: int = key("launches of each")
    metric: str = key("the metric that orders them")
    arms: list[Arm] = key("every arm of the round", "standings")


class TuningDocument(Document):  # of `Tuned`
    VERB = "tune"
    VERSION = "assay-tune-1"

    sentence: str = key("the sentence that may be quoted")
    adopted: dict[str, Any] | None = key("the better settings; null: keep the current ones")
    left_out: int = key("combinations not tried")
    rounds: list[Round] = key("every round")
    final: ComparisonDocument | None = key("the comparison of the last round, which alone decides")
    final_records: list[str] = key("its records", "records")


DOCUMENT = TuningDocument
render = DOCUMENT.render
