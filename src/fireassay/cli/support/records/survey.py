"""Which records does a folder hold, and what is known of each?

A complete record whose verdict is cached is not opened: its seal is checked, and the cache has the rest.  A damaged record is an entry
with its problem and hides no other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TextIO

from fireassay.cli.support.records import verdict_cache
from fireassay.errors import RecordError
from fireassay.printable import one_line

if TYPE_CHECKING:
    from fireassay.cli.support.records.summary import Summary
    from fireassay.record.reader import Record

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
        from fireassay.record.lookup import short_name

        return short_name(self.path.name, self.name, self.id)

    @property
    def verdict(self) -> str:
        """The word of its verdict in capitals; in lower case its state, if it has none."""
        if self.summary is not None:
            return self.summary.word.upper()
        return NOT_JUDGED if self.state == "complete" else self.state

    @property
    def judgeable(self) -> bool:
        """Whether it has yet to be judged."""
        return self.state == "complete" and self.summary is None


def survey(root: Path, cache: Path) -> list[Entry]:
    """The records of a folder, the newest first; only cached verdicts are known.

    Raises:
        RecordError: the folder cannot be listed.
    """
    from fireassay.record.lookup import record_folders

    entries = [entry_of(path, cache) for path in record_folders(root)]
    return sorted(entries, key=lambda entry: (entry.created_utc, entry.path.name), reverse=True)


def entry_of(path: Path, cache: Path) -> Entry:
    """What is known of one record without judging it."""
    if (seal := intact_seal(path)) and (summary := verdict_cache.cached(seal, cache)) is not None:
        return _of_summary(path, summary)
    from fireassay.record.reader import open_record
    from fireassay.record.unjudged import judged_from

    try:
        with judged_from(path):
            return _opened(open_record(path))
    except RecordError as error:
        return Entry(path=path, state="damaged", reason=str(error))


def intact_seal(path: Path) -> str:
    """SHA-256 of the manifest, if that is what SEAL says, the experiment is the sealed one and every file has its sealed size; else empty.

    Sizes instead of digests keep a list cheap; `assay verify` reads every byte.
    """
    from fireassay.record.manifest import MAX_MANIFEST
    from fireassay.record.untrusted import paths, strict_json

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


# ---- judging ---------------------------------------------------------------------------------------------------------


def judged(entry: Entry, cache: Path) -> Entry:
    """Verify and judge a complete record, and keep its summary; one that cannot be judged becomes an entry with its problem."""
    from fireassay.cli.support import record_lookup, threads
    from fireassay.cli.support.records.summary import summarised

    threads.suited_to(entry.path)
    try:
        side = record_lookup.side(entry.path)
    except RecordError as error:
        return replace(entry, state="damaged", reason=str(error))
    summary = summarised(side.measured, side.judgement, done=entry.done or 0, planned=entry.planned or 0)
    verdict_cache.keep(summary, cache)
    return replace(entry, summary=summary)


def all_judged(entries: Sequence[Entry], cache: Path, progress: Callable[[int, int, Entry], Any] = lambda *_: None) -> list[Entry]:
    """The same entries, every complete one judged; `progress` gets number, total and entry before each is judged."""
    total = sum(entry.judgeable for entry in entries)
    result: list[Entry] = []
    number = 0
    for entry in entries:
        if entry.judgeable:
            number += 1
            progress(number, total, entry)
            entry = judged(entry, cache)
        result.append(entry)
    return result


@contextmanager
def judging_shown(stream: TextIO, *, skip: str) -> Iterator[Callable[[int, int, Entry], None]]:
    """Progress of `all_judged`: one line that is redrawn on a terminal, else one line at the start; nothing with --quiet.

    `skip`: how to do without.
    """
    from fireassay.cli.support.settings import USED

    if USED.get().quiet:
        yield lambda *_: None
        return
    redraws = stream.isatty()
    written = 0

    def show(number: int, total: int, entry: Entry) -> None:
        nonlocal written
        if redraws:
            text = f"judging {number} of {total}: {one_line(entry.record)} ({skip})"[:79]
            stream.write(f"\r{text:<{written}}")
            stream.flush()
            written = len(text)
        elif number == 1:
            print(f"judging {total} {'records' if total > 1 else 'record'} for the first time ({skip})", file=stream, flush=True)

    try:
        yield show
    finally:
        if written:
            stream.write(f"\r{'':<{written}}\r")
            stream.flush()
