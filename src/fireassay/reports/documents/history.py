"""How do other programs read what gates kept?

As strict JSON of a stable, documented shape: `assay-history/1`.  A line of a history is one of the objects in `gates`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from fireassay.reports.documents.json_object import Document, JsonObject, key
from fireassay.verdict.checking.kept import SCHEMA, Kept


class Gate(JsonObject):  # of `Kept`
    created_utc: str = key("when the record was begun, ISO 8601")
    verdict: str = key(
        "`PASS`, `FAIL`, `INCONCLUSIVE`, `IMPROVEMENT`, `NOT COMPARABLE` or `NOTHING MEASURED`; `, ACCEPTED` if --accept let it pass"
    )
    sentence: str = key("for people")
    name: str = key("the experiment's name")
    workload: str = key("digest of what was run; another one is another series")
    metric: str = key("the metric that decided")
    title: str = key("its title")
    unit: str = key("its unit")
    better: str = key("`lower`, `higher` or `neither`")
    configuration: str = key("for example `workers=1`")
    value: float | None = key("of the change; null: none")
    low: float | None = key("lower end of its interval; null: not bounded")
    high: float | None = key("upper end of it")
    confidence: float | None = key("of the interval, 0..1")
    launch_values: list[float] = key("one for each pair")
    change: float | None = key("against the base, a ratio; a difference where values may be 0")
    change_low: float | None = key("lower end of its interval; null: not bounded")
    change_high: float | None = key("upper end of it")
    base: str = key("commit of the base; empty: not known")
    commit: str = key("commit of the change")
    digest: str = key("SHA-256 of the change's sealed manifest.json, for `assay verify --expect`")
    base_digest: str = key("likewise of the base's")
    machine: dict[str, Any] = key("hardware conditions of the catalogue, by name")


class HistoryDocument(Document):
    VERB = "history"
    VERSION = SCHEMA

    gates: list[Gate] = key("in the order in which they were kept")


DOCUMENT = HistoryDocument


def render(lines: Sequence[Kept]) -> str:
    """Render the document as strict JSON."""
    return DOCUMENT.render({"gates": lines})
