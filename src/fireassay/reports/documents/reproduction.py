"""How do other programs read a reproduction?

As strict JSON, with the keys of a check where they mean the same.
"""

from __future__ import annotations

from fireassay.reports.documents.json_object import BriefMeasured, Difference, Document, JsonObject, encode, key, spread
from fireassay.verdict.reproduction import STATES, Reproduction


class Agreement(JsonObject):
    """A metric of both."""

    metric: str = key("its name")
    configuration: str = key("for example `workers=2`")
    agreement: str = key("whether the two agree")
    decides: bool = key("whether it decides the state")
    difference: Difference = spread()
    launches_needed: float | None = key("on each side, for a decision")
    first: BriefMeasured | None = key("its value")
    second: BriefMeasured | None = key("likewise")
    sentence: str = key("for people")


class Condition(JsonObject):  # of `Mismatch`
    field: str = key("the condition")
    class_: str = key("`identity`, `hardware`, `condition` or `context`", "kind")
    values: list[str] = key("first and second")
    why: str = key("why it matters")


class ReproductionDocument(Document):  # of `Reproduction`
    VERB = "reproduce"
    VERSION = "assay-reproduction/1"

    state: str = key(f"one of {', '.join(f'`{state}`' for state in STATES)}")
    exit_code: float = key("of the state", lambda result: STATES[result.state][0])
    first: str = key("the record")
    second: str = key("the repeated one")
    record: str = key("its path", lambda _: "")
    sentence: str = key("the sentence that may be quoted")
    notes: list[str] = key("its limits")
    rows: list[Agreement] = key("every metric")
    conditions: list[Condition] = key("those that differ", "mismatches")


DOCUMENT = ReproductionDocument


def render(reproduction: Reproduction, *, record: str = "") -> str:
    """Render the document as strict JSON."""
    return encode({**DOCUMENT.of(reproduction), "record": record})
