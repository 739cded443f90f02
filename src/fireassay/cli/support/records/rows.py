"""How is a record shown in one row of a list?"""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fireassay.cli.support.records.survey import Entry
from fireassay.printable import shell_word
from fireassay.reports.pages.record_list import Listed

if TYPE_CHECKING:
    from fireassay.reports.page import Tone


def listed(entry: Entry, now: datetime) -> Listed:
    """The row of a record."""
    tone, headline = _headline(entry)
    return Listed(
        record=entry.record,
        name=entry.name,
        kind=entry.kind,
        verdict=entry.verdict,
        tone=tone,
        headline=headline,
        created=entry.created_utc,
        age_s=_age(entry.created_utc, now),
        problem=entry.reason if entry.state == "damaged" else "",
        judged=entry.summary is not None,
    )


def _headline(entry: Entry) -> tuple[Tone, str]:
    if entry.summary is not None:
        return entry.summary.tone, entry.summary.headline  # type: ignore[return-value]
    launches = f"{entry.done} of {entry.planned}"
    match entry.state:
        case "running":
            return "open", f"{launches} launches"
        case "interrupted":
            return "open", f"{launches}: assay resume {shell_word(entry.id or entry.record)}"
        case "failed":
            return "bad", entry.reason or f"{launches} launches"
        case "damaged":
            return "bad", f"assay verify {shell_word(entry.record)}"
        case _:
            return "absent", f"assay report {shell_word(entry.record)}"


def _age(created_utc: str, now: datetime) -> float | None:
    """Seconds since a record was begun; None if its date cannot be read or lies ahead."""
    with suppress(ValueError, TypeError, OverflowError):
        begun = datetime.fromisoformat(created_utc)
        seconds = (now - (begun if begun.tzinfo else begun.replace(tzinfo=UTC))).total_seconds()
        return seconds if seconds >= 0.0 else None
    return None
