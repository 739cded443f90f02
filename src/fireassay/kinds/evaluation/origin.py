"""What does the page of an imported evaluation say of its origin?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import given
from fireassay.frames.record_data import RecordData
from fireassay.kinds.evaluation.imported import reported
from fireassay.reports.view import Fact

MOST: Final = 60  # reported numbers that are shown


def facts(measured: RecordData) -> Iterator[Fact]:
    """Meanings, settings of each side, what is missing, and what the harness reported beside what its items make."""
    foreign = measured.foreign or {}
    yield from (Fact(name=f"Their {name}", text=str(words)) for name, words in (foreign.get("meanings") or {}).items())
    for side, settings in (foreign.get("settings") or {}).items():
        yield Fact(name=str(side), text=", ".join(f"{name} {words}" for name, words in settings.items()))
    yield from (Fact(name="Not stated", text=str(words)) for words in foreign.get("missing") or ())
    yield from (Fact(name="Contradiction", text=str(words)) for words in foreign.get("doubts") or ())
    for row in reported(measured)[:MOST]:
        beside = "" if row.ours is None else f"; from the items {row.ours:.10g}"
        yield Fact(name=f"{row.name} of {row.task} ({row.configuration})", text=f"{given(row.theirs)} by {foreign.get('title')}{beside}")
