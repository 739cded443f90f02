"""What is the answer of a network probe, on one screen?  The first host's round trip and rates, a row for each host, what is missing."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, count, show
from fireassay.frames.links.network_probe import BACK
from fireassay.kinds.network.tables import COLUMNS, MEGABITS
from fireassay.metrics.network import LINK_RATE, ROUND_TRIP
from fireassay.reports import answering
from fireassay.reports.page import Answer, Head, Line, Section, Table, Words, number
from fireassay.reports.page import Cell as TableCell
from fireassay.reports.view import View

MOST_HOSTS: Final = 12
LONGEST_NAME: Final = 24


def answer(view: View) -> Answer:
    """Status, the first host's numbers, what lacks."""
    invalid = view.status == "INVALID"
    return Answer(
        mark=answering.mark(view.status),
        headline=_headline(view),
        tiles=answering.tiles(view),
        lines=() if invalid else tuple(_lines(view)),
        next=answering.remedies(view, ("invalid", "fail", "warning")),
        record=answering.record_line(view, f"{count(answering.timed(view), 'rounds')}, one TCP connection"),
    )


def brief(view: View) -> tuple[Section, ...]:
    """A row for each host."""
    if view.network is None or view.status == "INVALID":
        return ()
    hosts = view.network.hosts[:MOST_HOSTS]
    rows = tuple(
        (
            Words(text=answering.shortened(host, LONGEST_NAME)),
            *(_cell(view.value(metric, f"{host}{end}"), scale) for _, metric, end, scale in COLUMNS),
        )
        for host in hosts
    )
    left = (f"{count(len(view.network.hosts) - len(hosts), 'more hosts')}: --full",) if len(view.network.hosts) > len(hosts) else ()
    heads = (Head(text="host"), *(Head(text=text) for text, *_ in COLUMNS))
    table = Table(name="hosts", heads=heads, rows=rows, notes=left, inline=True)
    return (Section(key="brief-hosts", title="", role="answer", content=(table,)),)


def _cell(value: Value | None, scale: Scale) -> TableCell:
    return None if value is None else number(value, scale, bare=True)


def _headline(view: View) -> str:
    if view.status == "INVALID":
        return f"no number counts: {answering.told(view)}"
    if view.status != "PASS" or view.network is None:
        return answering.told(view)
    host = view.network.hosts[0]
    there, back = (view.value(LINK_RATE.name, f"{host}{end}") for end in ("", BACK))
    told = f"{host}: {_words(there, MEGABITS)} there, {_words(back, MEGABITS)} back, round trip {_words(view.value(ROUND_TRIP.name, host))}"
    others = len(view.network.hosts) - 1
    return f"{told}; {count(others, 'more hosts')}" if others else told


def _words(value: Value | None, scale: Scale | None = None) -> str:
    return show(value, scale).full if isinstance(value, Estimate) else "not measured"


def _lines(view: View) -> Iterator[Line]:
    """What was asked for and is missing, each reason once; then the doubts."""
    reasons: dict[str, dict[str, None]] = {}
    for host in view.network.hosts if view.network is not None else ():
        for _, metric, end, _ in COLUMNS:
            value = view.value(metric, f"{host}{end}")
            if isinstance(value, Absent):
                reasons.setdefault(value.detail, {})[host] = None
    if reasons:
        text = "; ".join(f"{', '.join(hosts)}: {why}" for why, hosts in reasons.items())
        yield Line(label="not measured", text=answering.shortened(text), mark=answering.mark("NOT_MEASURED"), target="hosts")
    yield answering.doubts(view)
