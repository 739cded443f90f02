"""What is shown of a network probe?  The first host's round trip and rates, a row for each host, and one for each interface that leads there."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from fireassay.estimates.estimate import Absent, Estimate, Value
from fireassay.estimates.format import Scale, count, number, show
from fireassay.frames.links.network_probe import BACK, Interface, Network, network
from fireassay.metrics.network import ECHOES_LOST, LINK_RATE, ROUND_TRIP
from fireassay.reports import answering
from fireassay.reports.build_view import KindView
from fireassay.reports.charts.of_view import Draw
from fireassay.reports.page import Answer, Cell, Head, Line, Section, Table, Words
from fireassay.reports.page import number as number_cell
from fireassay.reports.pages import record
from fireassay.reports.pages.record_sheets import sheets
from fireassay.reports.pages.results import results
from fireassay.reports.view import View

VIEW = KindView(fields=lambda view, measured, judgement: {"network": network(measured)})


MILLISECONDS: Final = Scale(factor=1e3, after=" ms")
MEGABITS: Final = Scale(factor=8e-6, after=" Mbit/s")
PERCENT: Final = Scale(factor=100.0, after=" %")
COLUMNS: Final = (
    ("round trip, ms", ROUND_TRIP.name, "", MILLISECONDS),
    ("there, Mbit/s", LINK_RATE.name, "", MEGABITS),
    ("back, Mbit/s", LINK_RATE.name, BACK, MEGABITS),
    ("echoes lost", ECHOES_LOST.name, "", PERCENT),
)
COUNTERS: Final = (
    ("received, MB", "received_bytes", 1e-6),
    ("sent, MB", "sent_bytes", 1e-6),
    ("errors", "errors", 1.0),
    ("dropped", "dropped", 1.0),
)
MAX_HOSTS: Final = 12


def tables(network: Network, values: Mapping[str, Mapping[str, Value]]) -> tuple[Table, ...]:
    """Hosts, then interfaces; `values`: metric -> key -> value."""
    rows = tuple(
        (Words(text=host), *(_cell(values.get(metric, {}).get(f"{host}{end}"), scale) for _, metric, end, scale in COLUMNS))
        for host in network.hosts
    )
    by_host = Table(
        inline=True,
        name="hosts",
        title="Hosts",
        stub=1,
        heads=(Head(text="Host"), *(Head(text=text) for text, *_ in COLUMNS)),
        rows=rows,
        notes=("Rates are of payload over one TCP connection; a link's own rate counts headers too.",),
    )
    head = ("Interface", "to", "MTU", "speed, Mbit/s", "duplex", *(text for text, *_ in COUNTERS))
    by_interface = Table(
        inline=True,
        name="interfaces",
        title="Interfaces of this machine",
        stub=2,
        heads=tuple(Head(text=text) for text in head),
        rows=tuple(_interface(interface) for interface in network.interfaces),
        notes=("Counters: their growth over all rounds, by any program.",),
    )
    return (by_host, by_interface) if network.interfaces else (by_host,)


def _cell(value: Value | None, scale: Scale) -> Cell:
    return None if value is None else number_cell(value, scale, bare=True)


def _grown(value: float) -> str:
    """At least three digits, so that a few packets are not 0 MB. A counter that fell was reset to 0."""
    if value < 0.0:
        return "–"
    return number(value, 0 if value == round(value) or value >= 100.0 else 2 - math.floor(math.log10(value)))


def _interface(interface: Interface) -> tuple[Cell, ...]:
    speed = interface.settings.get("speed_bits")
    texts = (
        interface.name,
        ", ".join(interface.to),
        str(interface.settings.get("mtu", "–")),
        "–" if speed is None else number(speed / 1e6, 0),
        str(interface.settings.get("duplex", "–")),
        *(_grown(interface.grew[counter] * factor) for _, counter, factor in COUNTERS),
    )
    return tuple(Words(text=text, tone="absent" if text == "–" else "plain") for text in texts)


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
    hosts = view.network.hosts[:MAX_HOSTS]
    rows = tuple(
        (Words(text=host), *(_cell(view.value(metric, f"{host}{end}"), scale) for _, metric, end, scale in COLUMNS)) for host in hosts
    )
    left = (f"{count(len(view.network.hosts) - len(hosts), 'more hosts')}: --full",) if len(view.network.hosts) > len(hosts) else ()
    heads = (Head(text="host"), *(Head(text=text) for text, *_ in COLUMNS))
    table = Table(name="hosts", heads=heads, rows=rows, notes=left, inline=True)
    return (Section(key="brief-hosts", title="", role="answer", content=(table,)),)


def _headline(view: View) -> str:
    if view.status == "INVALID":
        return f"no number counts: {answering.verdict_words(view)}"
    if view.status != "MEASURED" or view.network is None:
        return answering.verdict_words(view)
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


def page(view: View) -> tuple[Section, ...]:
    """The sections of such a record."""
    return (
        record.dimensions(view),
        Section(key="numbers", title="Numbers", content=_numbers(view)),
        record.charts(view),
        *record.imported(view),
        record.findings(view),
        *record.how(view, record.TRAINING_COLUMNS),
        *brief(view),
        *sheets(view),
        *results(view),
    )


def _numbers(view: View) -> tuple[Table, ...]:
    values = {row.name: {key: shown.value for key, shown in row.cells.items()} for row in view.metrics}
    return () if view.network is None else tables(view.network, values)


def charts(_: View) -> tuple[Draw, ...]:
    """None: the tables say it all."""
    return ()
