"""Which records does a folder hold, and what is known of each?

A complete record whose verdict is cached is not opened: its seal is checked, and the cache has the rest.  A damaged record is an entry
with its problem and hides no other.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from fireassay.api.records.verdicts import Summary, cached
from fireassay.errors import RecordError
from fireassay.printable import shell_word
from fireassay.record.lookup import record_folders, short_name
from fireassay.record.manifest import MAX_MANIFEST
from fireassay.record.unjudged import judged_from
from fireassay.record.untrusted import paths, strict_json
from fireassay.reports.pages.record_list import Listed

if TYPE_CHECKING:
    from fireassay.record.reader import Record
    from fireassay.reports.page import Tone

EXPERIMENT: Final = "experiment.toml"
NOT_JUDGED: Final = "not judged"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One record of a folder."""

    path: Path
    state: str  # running, complete, failed, interrupted, damaged
    name: str = ""
    id: str = ""
    created_utc: str = ""
    reason: str = ""
    kind: str = ""
    done: int | None = None  # launches
    planned: int | None = None
    seal: str = ""  # of a complete record
    summary: Summary | None = None  # of a complete record that was judged

    @property
    def record(self) -> str:
        """Its short name, which every verb accepts."""
        return short_name(self.path.name, self.name, self.id)

    @property
    def verdict(self) -> str:
        """The word of its verdict in capitals; in lower case its state, if it has none."""
        if self.summary is not None:
            return self.summary.word.upper()
        return NOT_JUDGED if self.state == "complete" else self.state

    @property
    def judgeable(self) -> bool:
        """True if it has yet to be judged."""
        return self.state == "complete" and self.summary is None


def survey(root: Path, cache: Path) -> list[Entry]:
    """The records of a folder, the newest first; only cached verdicts are known.

    Raises:
        RecordError: the folder cannot be listed.
    """
    entries = [entry_of(path, cache) for path in record_folders(root)]
    return sorted(entries, key=lambda entry: (entry.created_utc, entry.path.name), reverse=True)


def entry_of(path: Path, cache: Path) -> Entry:
    """What is known of one record without judging it."""
    if (seal := intact_seal(path)) and (summary := cached(seal, cache)) is not None:
        return _of_summary(path, summary)
    from fireassay.record.reader import open_record

    try:
        with judged_from(path):
            return _opened(open_record(path))
    except RecordError as error:
        return Entry(path=path, state="damaged", reason=str(error))


def intact_seal(path: Path) -> str:
    """SHA-256 of the manifest, if that is what SEAL says, the experiment is the sealed one and every file has its sealed size; else empty.

    Sizes instead of digests keep a list cheap; `assay verify` reads every byte.
    """
    with suppress(OSError, ValueError, LookupError, TypeError, AttributeError, RecordError):
        manifest = paths.read(path, "manifest.json", MAX_MANIFEST)
        digest = hashlib.sha256(manifest).hexdigest()
        sealed = strict_json.json_of(manifest)["sealed"]["files"]
        experiment = hashlib.sha256(paths.read(path, EXPERIMENT, MAX_MANIFEST)).hexdigest()
        same = paths.read(path, "SEAL", paths.MIB) == f"{digest}  manifest.json\n".encode() and experiment == sealed[EXPERIMENT]["sha256"]
        if same and all(paths.plain(path, name).lstat().st_size == entry["bytes"] for name, entry in sealed.items()):
            return digest
    return ""


def _of_summary(path: Path, summary: Summary) -> Entry:
    return Entry(
        path=path,
        state="complete",
        name=summary.name,
        id=summary.id,
        created_utc=summary.created_utc,
        kind=summary.kind,
        done=summary.done,
        planned=summary.planned,
        seal=summary.seal,
        summary=summary,
    )


def _opened(record: Record) -> Entry:
    from fireassay.spec.kind import kind_of

    manifest = record.manifest
    done, planned = launches(record)
    return Entry(
        path=record.path,
        state=record.state,
        name=manifest["name"],
        id=manifest["id"],
        created_utc=manifest["created_utc"],
        reason=manifest.get("reason") or "",
        kind=kind_of(record.experiment).name,
        done=done,
        planned=planned,
        seal=record.seal if record.state == "complete" else "",
    )


def launches(record: Record) -> tuple[int, int]:
    """Numbers of planned launches that ended by themselves, successfully or not, and of all planned launches."""
    from fireassay.spec.plan import plan

    rows = record.arrow("launches").select(["slot", "status"]).to_pylist()
    not_made = ("aborted", "skipped")
    return len({row["slot"] for row in rows if row["status"] not in not_made}), len(plan(record.experiment))


# ---- a row of a list -------------------------------------------------------------------------------------------------


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
