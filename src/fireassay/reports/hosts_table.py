"""Which host is slow, hot, disturbed or apart in time?  A table of the hosts of the largest worker count."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from fireassay.estimates.format import number, percent, reading
from fireassay.frames.hosts import HostUse, host_uses
from fireassay.reports.page import Cell, Table, Words, heads
from fireassay.reports.view import View
from fireassay.units import BYTES_PER_SECOND, JOULES, SECONDS
from fireassay.verdict.audits.every.nodes import unlike_others

MOST: Final = 64  # hosts: those whose own time is longest
COLUMNS: Final[dict[str, Callable[[HostUse], str | None]]] = {
    "own step": lambda of: None if of.own_s is None else reading(of.own_s, SECONDS),
    "processors": lambda of: None if of.processors is None else number(of.processors, 2),
    "received": lambda of: None if of.received_per_s is None else reading(of.received_per_s, BYTES_PER_SECOND),
    "sent": lambda of: None if of.sent_per_s is None else reading(of.sent_per_s, BYTES_PER_SECOND),
    "others": lambda of: None if of.foreign is None else percent(of.foreign),
    "stolen": lambda of: None if of.steal is None else percent(of.steal),
    "throttled": lambda of: None if of.throttled is None else percent(of.throttled),
    "GPU, C": lambda of: None if of.hottest is None else number(of.hottest, 0),
    "probe": lambda of: None if of.probe_s is None else reading(of.probe_s, SECONDS),
    "energy": lambda of: None if of.joules is None else reading(of.joules, JOULES),
    "clock": lambda of: None if of.clock_s is None else _clock(of.clock_s, of.clock_bound_s or 0.0),
}
NOTE: Final = (
    "Own step: without waiting for others, of the host's slowest rank. Processors: used by the launch's own processes. Others: processor time "
    "of other programs. Probe: the same work on every host. Clock: against the machine that ran assay, with its bound."
)


def _clock(seconds: float, bound: float) -> str:
    return f"{'+' if seconds > 0.0 else ''}{number(seconds, 4)} s, {reading(bound, SECONDS)}"


def hosts_table(view: View) -> tuple[Table, ...]:
    """None where all workers, or clients of a load, ran on one machine. Columns that no host has are left out."""
    uses = sorted(host_uses(view.measured), key=lambda of: -(of.own_s or 0.0))[:MOST]
    shown = {name: cell for name, cell in COLUMNS.items() if any(cell(of) for of in uses)}
    if not uses:
        return ()
    unlike = unlike_others(view.measured)
    titles = heads("host", "clients" if view.kind.sends_requests else "ranks", *shown, *(["differs in"] if unlike else []))
    rows = tuple(
        (
            of.host,
            _ranks(of.ranks),
            *(_cell(cell(of)) for cell in shown.values()),
            *([", ".join(unlike.get(of.host, ()))] if unlike else []),
        )
        for of in sorted(uses, key=lambda of: of.host)
    )
    return (Table(name="hosts", title="Hosts", heads=titles, rows=rows, stub=2, notes=(NOTE,)),)


def _cell(text: str | None) -> Cell:
    return Words(text=text) if text else None


def _ranks(ranks: tuple[int, ...]) -> str:
    """ "0-7", as ranks of a host usually follow each other."""
    if len(ranks) > 2 and ranks == tuple(range(ranks[0], ranks[-1] + 1)):
        return f"{ranks[0]}-{ranks[-1]}"
    return ", ".join(map(str, ranks))
