"""Which pages does a site of records have, from what is each made, and when must it be made again?

    index.html              all records and workloads
    compare.html            any two records side by side, by a script of its own
    records/<record>.html   the record's page
    compare/<record>.html   the record against the previous one of its workload, as `assay compare` shows it
    trends/<workload>.html  the main metrics of a workload over its comparable records, with change points

A page is named by what it is made from: the seals of its records and the digest of the code (`verdicts`).  An equal key means an equal
page.  All names of files are made here, from letters, digits, dots and dashes.

How does a site become files, each written only if it changed?

The folder's `.assay-site.json` says what each page was made from.  Without it, a folder that is not empty is refused, so that no file of
somebody else is overwritten.  Pages of records that are gone are removed: only those named there, and only below the folder.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Final
from urllib.parse import quote

from fireassay import catalog
from fireassay.api.records.sides import Sides, remembered
from fireassay.api.records.survey import Entry, judge_digest, listed
from fireassay.api.sides import comparable
from fireassay.errors import AssayError, Problem, RecordError, SpecError
from fireassay.estimates.format import show
from fireassay.printable import one_line
from fireassay.record import files
from fireassay.record.untrusted import paths
from fireassay.reports.build_view import build as view_of
from fireassay.reports.page import Page, Section
from fireassay.reports.pages import comparison, history
from fireassay.reports.pages.comparison_view import build
from fireassay.reports.pages.record_list import Listed
from fireassay.reports.site import index, side_by_side
from fireassay.reports.site.index import Way, with_ways
from fireassay.verdict.checking.history import histories, worth_showing
from fireassay.verdict.comparison.compare import compare

INDEX: Final = "index.html"
MAX_NAME: Final = 80  # characters of a file's name
MAX_POINTS: Final = 200  # newest records of a trend
VARYING: Final = ("code",)  # what may differ between the records of a trend, as in `assay check`


@dataclass(frozen=True, kw_only=True)
class SitePage:
    """A page of the site that is made when needed."""

    path: str
    key: str  # digest of what it is made from
    make: Callable[[], str]


@dataclass(frozen=True, kw_only=True)
class Named:
    """A complete record with the file name of its pages and the previous record of its workload."""

    entry: Entry
    slug: str
    previous: Named | None = None


def named(entries: Sequence[Entry]) -> list[Named]:
    """The complete records with their file names, the oldest first."""
    found: list[Named] = []
    last: dict[tuple[str, str], Named] = {}
    used: set[str] = set()
    for entry in reversed(entries):
        if entry.seal:
            name = slug(entry.record, used)
            used.add(name)
            workload = (entry.kind, entry.name)
            before = last.get(workload)
            copied = before is not None and before.entry.seal == entry.seal  # a record is never compared with itself
            last[workload] = Named(entry=entry, slug=name, previous=None if copied else before)
            found.append(last[workload])
    return found


def slug(text: str, used: set[str] | frozenset[str] = frozenset()) -> str:
    """A file name for a text; one that had to be changed, or is in use, also gets a digest."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:MAX_NAME].strip(".-")
    if plain == text and plain not in used:
        return plain
    digest = hashlib.sha256(f"{text} {sum(one.startswith(plain) for one in used)}".encode(errors="surrogatepass")).hexdigest()[:8]
    return f"{plain}-{digest}".strip("-")


def record_pages(entries: Sequence[Entry], sides: Sides) -> list[SitePage]:
    """The pages of single records and of neighbours: those that judge. In an order in which each record is judged once."""
    pages = []
    for one in named(entries):
        links = [("All records", f"../{INDEX}"), ("Beside any other", f"../{index.SIDE_BY_SIDE}#b={quote(one.entry.record)}")]
        if one.previous is not None:
            links.insert(1, (f"Against the previous one, {one.previous.entry.record}", f"../{_against(one)}"))
        pages.append(SitePage(path=_page(one), key=_key(one.entry.seal, *map(str, links)), make=partial(_record, one, sides, links)))
        if one.previous is not None:
            key = _key(one.entry.seal, one.previous.entry.seal, one.previous.slug)
            pages.append(SitePage(path=_against(one), key=key, make=partial(_comparison, one, one.previous, sides)))
    return pages


def overviews(entries: Sequence[Entry], title: str, now: datetime, live: Sequence[Section] = ()) -> list[SitePage]:
    """The pages made from summaries: first page, any two records, trends."""
    records = named(entries)
    trends = [_trend_page(group) for group in _workloads(records).values() if len(group) > 1]
    first = SitePage(path=INDEX, key="", make=partial(_index, entries, records, title, now, tuple(live)))
    items = [_item(one) for one in reversed(records) if one.entry.summary is not None]
    pairs = [SitePage(path=index.SIDE_BY_SIDE, key="", make=partial(_side_by_side, items))] if len(items) > 1 else []
    return [first, *pairs, *trends]


# ---- single pages ----------------------------------------------------------------------------------------------------


def _record(one: Named, sides: Sides, links: Sequence[Way]) -> str:
    side = sides.judged(one.entry)
    page: Page = catalog.load("reports.pages", "record").page(view_of(side.measured, side.judgement))
    return written(page, links)


def _comparison(one: Named, before: Named, sides: Sides) -> str:
    base, side = sides.judged(before.entry), sides.judged(one.entry)
    view = build(compare((base, side), varying=VARYING), base.judgement.metrics, base.measured.experiment.workload.work)
    links = (("All records", f"../{INDEX}"), (before.entry.record, f"../{_page(before)}"), (one.entry.record, f"../{_page(one)}"))
    return written(comparison.page(view), links)


def _trend_page(group: Sequence[Named]) -> SitePage:
    newest = group[-MAX_POINTS:]
    return SitePage(path=_trend(group), key=_key(*(f"{one.entry.seal} {one.slug}" for one in newest)), make=partial(_history, newest))


def _history(group: Sequence[Named]) -> str:
    """The trend of a workload over the records comparable with its newest."""
    sides = [remembered(one.entry, one.entry.summary) for one in group if one.entry.summary is not None]
    newest = sides[-1]
    past = comparable(newest, sides[:-1], VARYING)
    series = histories([*past, newest], list(worth_showing(newest, "")))
    targets = {one.entry.record: f"../{_page(one)}" for one in group}
    made = history.page(
        series, f"Trend of {one_line(newest.measured.experiment.name)}", lambda label: index.link(label, targets.get(label, ""))
    )
    left = len(sides) - 1 - len(past)
    about = (f"{len(past) + 1} records under the conditions of the newest; {left} others are not comparable with it.",)
    return written(replace(made, about=about), (("All records", f"../{INDEX}"),))


def _index(entries: Sequence[Entry], records: Sequence[Named], title: str, now: datetime, live: tuple[Section, ...]) -> str:
    pages = {one.entry.path: one for one in records}
    rows = []
    for entry in entries:
        one = pages.get(entry.path)
        rows.append(
            index.RecordRow(
                listed=_public(listed(entry, now), entry),
                page=_page(one) if one else "",
                previous=_against(one) if one and one.previous else "",
            )
        )
    workloads = [
        index.Workload(
            name=name, kind=kind, records=len(group), newest=group[-1].entry.created_utc, trend=_trend(group) if len(group) > 1 else ""
        )
        for (kind, name), group in _workloads(records).items()
    ]
    return written(index.page(title, rows, workloads, live))


def _public(row: Listed, entry: Entry) -> Listed:
    """Without the folder of the records, which is nobody's business."""
    return replace(row, problem=row.problem.replace(f"{entry.path.parent}/", ""))


def _side_by_side(items: Sequence[side_by_side.Item]) -> str:
    return side_by_side.filled(written(side_by_side.page(), (("All records", INDEX),)), items)


def _item(one: Named) -> side_by_side.Item:
    entry, summary = one.entry, one.entry.summary
    assert summary is not None
    metrics = {}
    for measure in summary.measures:
        shown = show(measure.value, work=summary.work)
        title = f"{measure.title}, {measure.configuration}"
        metrics[f"{measure.metric} {measure.configuration}"] = side_by_side.Shown(title=title, text=shown.text, interval=shown.interval)
    return side_by_side.Item(
        record=entry.record,
        group=f"{entry.name} ({entry.kind})",
        date=index.date(entry.created_utc),
        verdict=entry.verdict,
        headline=summary.headline,
        page=_page(one),
        metrics=metrics,
    )


# ---- names and keys --------------------------------------------------------------------------------------------------


def _page(one: Named) -> str:
    return f"records/{one.slug}.html"


def _against(one: Named) -> str:
    return f"compare/{one.slug}.html"


def _trend(group: Sequence[Named]) -> str:
    entry = group[0].entry
    return f"trends/{slug(f'{entry.kind}-{entry.name}')}.html"


def _workloads(records: Sequence[Named]) -> dict[tuple[str, str], list[Named]]:
    """Kind and name -> the judged records, the oldest first; newest workload first."""
    groups: dict[tuple[str, str], list[Named]] = {}
    for one in reversed(records):
        if one.entry.summary is not None:
            groups.setdefault((one.entry.kind, one.entry.name), []).insert(0, one)
    return groups


def _key(*parts: str) -> str:
    return hashlib.sha256("\n".join((judge_digest(), *parts)).encode(errors="surrogatepass")).hexdigest()


def written(page: Page, ways: Sequence[Way] = ()) -> str:
    """The page as HTML, with ways to others."""
    made = str(catalog.load("reports.writers", "html").write(page))
    return with_ways(made, ways) if ways else made


# ---- the folder of a site --------------------------------------------------------------------------------------------


CONTENTS: Final = ".assay-site.json"
OURS: Final = re.compile(r"(?:(?:records|compare|trends)/)?[A-Za-z0-9][A-Za-z0-9._-]*\.html")


@dataclass
class SiteFolder:
    """A folder that holds a site; `close` notes what it holds."""

    path: Path
    keys: dict[str, str] = field(default_factory=dict)  # page -> what it was made from
    wanted: set[str] = field(default_factory=set)
    written: int = 0

    def write(self, pages: Sequence[SitePage], progress: Callable[[str], object], skipped: Callable[[AssayError], object]) -> None:
        """Write the pages that changed; one that cannot be made is reported and left out. Raises RecordError: a file cannot be written."""
        for page in pages:
            if page.key and self.keys.get(page.path) == page.key and self._is_there(page.path):
                self.wanted.add(page.path)
                continue
            if page.key:
                progress(page.path)
            try:
                content = page.make().encode()
            except AssayError as error:
                skipped(error)
                continue
            self.wanted.add(page.path)
            self._put(page, content)

    def close(self) -> None:
        """Remove pages of records that are gone, and note what the folder holds."""
        for name in sorted(self.keys.keys() - self.wanted):
            if OURS.fullmatch(name):
                with suppress(OSError):
                    (self.path / name).unlink()
        kept = {name: key for name, key in sorted(self.keys.items()) if name in self.wanted}
        self._store(CONTENTS, json.dumps(kept, indent=1).encode())

    def _put(self, page: SitePage, content: bytes) -> None:
        with suppress(OSError, RecordError):
            if not page.key and paths.read(self.path, page.path, len(content)) == content:
                self.keys[page.path] = page.key
                return
        self._store(page.path, content)
        self.keys[page.path] = page.key
        self.written += 1

    def _store(self, name: str, content: bytes) -> None:
        try:
            paths.write(self.path, name, content)
        except OSError as error:
            raise files.explain(error, self.path / name, "write the page") from error

    def _is_there(self, name: str) -> bool:
        return (self.path / name).is_file()


def opened(path: Path) -> SiteFolder:
    """The folder of a site, created if missing.

    Raises:
        SpecError: it holds files that are not of a site.
        RecordError: it cannot be created.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        others = any(path.iterdir())
    except OSError as error:
        raise files.explain(error, path, "write the site to") from error
    if others and not (path / CONTENTS).is_file():
        problem = Problem(
            where="FOLDER", found=f"{path}, which holds other files", allowed="a new or empty folder, or one written by assay site"
        )
        raise SpecError((problem,), "the command line")
    keys: dict[str, str] = {}
    with suppress(OSError, ValueError, RecordError):
        found = paths.json_of(paths.read(path, CONTENTS, 8 * paths.MIB))
        keys = {str(name): str(key) for name, key in found.items()} if isinstance(found, dict) else {}
    site = SiteFolder(path=path, keys=keys)
    if not others:  # at once, so that an interrupted site is taken for one
        site.close()
    return site
