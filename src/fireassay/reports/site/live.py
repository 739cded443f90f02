"""What does a site show of the runs in flight?

A row per run: launches, what runs now, the time left; and what its finished launches say so far, without any mark or status: stopping at
a pleasant number would be optional stopping.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from fireassay.estimates.format import count
from fireassay.printable import one_line
from fireassay.reports.page import Block, Cell, Page, Prose, Section, Table, Words, heads
from fireassay.reports.site.index import allowing, script

KEY: Final = "running"


@dataclass(frozen=True, kw_only=True)
class Flight:
    """A run in flight."""

    record: str
    kind: str
    ended: int  # launches
    planned: int
    adaptive: bool  # the plan is only the maximum
    now: str  # what runs
    left: str  # time
    caption: str = ""  # of the provisional numbers
    names: tuple[str, ...] = ()  # their heads
    rows: tuple[tuple[str, ...], ...] = ()


def section(flights: Sequence[Flight]) -> Section:
    """The runs in flight, or that there are none."""
    if not flights:
        return Section(key=KEY, title="Runs in flight", content=(Prose(text="None.", weight="quiet"),))
    table = Table(name="flights", heads=heads("Record", "Kind", "Launches ended", "Now", "Time left"), rows=tuple(map(_row, flights)))
    blocks: list[Block] = [table]
    for number, flight in enumerate(flights):
        if flight.rows:
            rows = tuple(tuple(Words(text=one_line(cell)) for cell in row) for row in flight.rows)
            title = f"{one_line(flight.record)}: {one_line(flight.caption)}"
            blocks.append(Table(name=f"provisional-{number}", title=title, heads=heads(*map(one_line, flight.names)), rows=rows))
    return Section(key=KEY, title="Runs in flight", content=tuple(blocks))


def _row(flight: Flight) -> tuple[Cell, ...]:
    ended = f"{flight.ended} of {'at most ' if flight.adaptive else ''}{count(flight.planned)}"
    return one_line(flight.record), one_line(flight.kind), Words(text=ended), one_line(flight.now), one_line(flight.left)


def page(flights: Sequence[Flight]) -> Page:
    """The section alone."""
    return Page(title="Runs in flight", sections=(section(flights),))


def refreshing(html: str) -> str:
    """The page with a script that replaces the section by the server's newest, and reloads when a record is new or has ended."""
    text = script("live")
    return allowing(html.replace("</body>", f"<script>{text}</script></body>", 1), text, "connect-src 'self'")
