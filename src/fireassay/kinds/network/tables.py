"""Which tables does a network probe have?  A row for each host, and one for each interface that leads there."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Final

from fireassay.estimates.estimate import Value
from fireassay.estimates.format import Scale, number
from fireassay.frames.links.network_probe import BACK, Interface, Network
from fireassay.metrics.network import ECHOES_LOST, LINK_RATE, ROUND_TRIP
from fireassay.reports.page import Cell, Head, Table, Words
from fireassay.reports.page import number as number_cell

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
