"""What does the page show that puts any two records side by side?

It holds every record's main metrics as JSON; a script of its own makes the table in the browser.  It compares nothing: no difference, no
ratio and no test is computed there, for conditions may differ; the page names the command that does.
The page comes from the usual writer; the script is put in afterwards, and its digest into the content security policy.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Final

from fireassay.printable import one_line
from fireassay.reports.page import Page, Prose, Section
from fireassay.reports.site.index import allowing, script

PLACE: Final = "assay-side-by-side"  # of the table, in the page
NOT_A_VERDICT: Final = (
    "These are the numbers of two records side by side, not a verdict: their conditions may differ, and no difference is tested here. "
    "The command below compares them, and refuses if it would mislead."
)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One metric at one configuration, as text."""

    title: str
    text: str
    interval: str


@dataclass(frozen=True, kw_only=True)
class Item:
    """One record."""

    record: str
    group: str  # workload and kind
    date: str
    verdict: str
    headline: str
    page: str
    metrics: Mapping[str, Shown]  # by metric and configuration


def page() -> Page:
    """The page without its script."""
    content = (Prose(text=NOT_A_VERDICT), Prose(text=PLACE))
    section = Section(key="choose", title="Two records side by side", content=content)
    return Page(title="Two records side by side", sections=(section,))


def filled(html: str, items: Sequence[Item]) -> str:
    """The written page with the records and the script that shows them."""
    data = json.dumps([_clean(asdict(item)) for item in items], ensure_ascii=False).replace("<", "\\u003c")
    table = f'<div id="{PLACE}"></div><script type="application/json" id="{PLACE}-data">{data}</script><script>{script("side_by_side")}</script>'
    noscript = "<noscript><p>This table needs a script. Without one: assay compare A B.</p></noscript>"
    whole, found = re.subn(rf"<p[^>]*>{PLACE}</p>", lambda _: table + noscript, html, count=1)
    if not found:
        raise AssertionError("the writer left out the place of the table")
    return allowing(whole, script("side_by_side"))


def _clean(value: object) -> object:
    """Texts without control characters."""
    if isinstance(value, dict):
        return {one_line(str(key)): _clean(inner) for key, inner in value.items()}
    return one_line(value) if isinstance(value, str) else value
