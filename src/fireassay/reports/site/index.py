"""What does the first page of a site show?

Records in flight, a row per record, a row per workload with its trend, and the way to compare any two.

Ways to other pages, and scripts that the content security policy allows, are put into the written HTML: a page knows neither its neighbours
nor a script, and its sections may be shown or not.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import jinja2

from fireassay.estimates.format import count
from fireassay.printable import one_line
from fireassay.reports.page import Bullet, Bullets, Cell, Link, Mark, Page, Prose, Section, Table, Words, heads
from fireassay.reports.pages.record_list import Listed

SIDE_BY_SIDE: Final = "compare.html"


@dataclass(frozen=True, kw_only=True)
class RecordRow:
    """A record, with the addresses of its pages; empty: there is none."""

    listed: Listed
    page: str = ""
    previous: str = ""  # comparison with the previous record of its workload


@dataclass(frozen=True, kw_only=True)
class Workload:
    """The records of one name and kind."""

    name: str
    kind: str
    records: int
    newest: str  # date
    trend: str = ""


def page(
    title: str, rows: Sequence[RecordRow], workloads: Sequence[Workload], live: Sequence[Section] = (), footer: tuple[str, ...] = ()
) -> Page:
    """The first page."""
    trends = {(one.kind, one.name): one.trend for one in workloads}
    sections = (*live, _records(rows, trends), *_workloads(workloads), *_any_two(rows))
    return Page(title=title, sections=sections, about=(f"{count(len(rows), 'records')}, the newest first.",), footer=footer)


def _records(rows: Sequence[RecordRow], trends: dict[tuple[str, str], str]) -> Section:
    if not rows:
        return Section(key="records", title="Records", content=(Prose(text="No records: assay run makes a record."),))
    names = ("Record", "Workload", "Kind", "Verdict", "Headline", "Date (UTC)")
    pairs = any(row.previous for row in rows)  # else the last column is empty
    shown = tuple(_row(row, trends) for row in rows)
    table = Table(
        name="records", heads=heads(*names, *(("Against",) if pairs else ())), rows=shown if pairs else tuple(row[:-1] for row in shown)
    )
    problems = tuple(Bullet(title=one_line(row.listed.record), text=one_line(row.listed.problem)) for row in rows if row.listed.problem)
    return Section(key="records", title="Records", content=(table, *((Bullets(items=problems),) if problems else ())))


def _row(row: RecordRow, trends: dict[tuple[str, str], str]) -> tuple[Cell, ...]:
    one = row.listed
    return (
        link(one.record, row.page),
        link(one.name or "-", trends.get((one.kind, one.name), "")),
        one_line(one.kind) or "-",
        Mark(word=one_line(one.verdict), tone=one.tone),
        Words(text=one_line(one.headline)),
        date(one.created),
        link("the previous one", row.previous) if row.previous else "",
    )


def _workloads(workloads: Sequence[Workload]) -> tuple[Section, ...]:
    rows = tuple((link(one.name, one.trend), one_line(one.kind), one.records, date(one.newest)) for one in workloads)
    table = Table(name="workloads", heads=heads("Workload", "Kind", "Records", "Newest (UTC)"), rows=rows)
    question = "How did the numbers develop, and when did they change?"
    return (Section(key="workloads", title="Workloads", question=question, content=(table,)),) if rows else ()


def _any_two(rows: Sequence[RecordRow]) -> tuple[Section, ...]:
    if sum(row.listed.judged for row in rows) < 2:
        return ()
    table = Table(
        name="compare",
        heads=heads("Page", "What it shows"),
        rows=((Link(text="Two records side by side", target=SIDE_BY_SIDE), "the main numbers of any two records, with their intervals"),),
    )
    return (Section(key="compare", title="Any two records", content=(table,)),)


def link(text: str, target: str) -> Cell:
    """A link, or the text alone where there is no page."""
    return Link(text=one_line(text), target=target) if target else one_line(text)


def date(created_utc: str) -> str:
    """A date and time to the minute."""
    return one_line(created_utc[:16].replace("T", " ")) or "-"


# ---- what is put into written pages ----------------------------------------------------------------------------------


Way = tuple[str, str]  # text, relative address


def with_ways(page: str, ways: Sequence[Way]) -> str:
    """The page with links to others above its content."""
    links = "".join(
        f'<a href="{html.escape(target)}" style="margin-right:1.5em">{html.escape(one_line(text))}</a>' for text, target in ways
    )
    nav = f'<nav aria-label="More pages" style="padding:8px 0;font-size:14px;overflow-wrap:anywhere">{links}</nav>'
    return re.sub(r"<main[^>]*>", lambda match: f"{match[0]}{nav}", page, count=1)


@cache
def script(name: str) -> str:
    """A script of the site."""
    loader = jinja2.PackageLoader("fireassay.reports.site", "scripts")
    return loader.get_source(jinja2.Environment(), f"{name}.js")[0].strip()


def allowing(html: str, text: str, *more: str) -> str:
    """The page, its content security policy allowing one inline script, and `more` directives."""
    allowed = f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    def widened(match: re.Match[str]) -> str:
        policy = match[2].strip().rstrip(";")
        with_script = f"script-src {allowed}"
        policy = policy.replace("script-src", with_script, 1) if "script-src" in policy else f"{policy}; {with_script}"
        return f"{match[1]}{'; '.join((policy, *more))}{match[3]}"

    return re.sub(r'(<meta http-equiv="Content-Security-Policy" content=")([^"]*)(")', widened, html, count=1)
