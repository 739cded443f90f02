"""Can times of different hosts be compared?

Durations are taken on one host and need no other clock. Comparisons between hosts (recovery after a fault, timelines) use a measured offset
with its bound (`frames/clock_offsets.py`). A warning if two estimates of the offset disagree by more than both bounds, or no straight line
fits the readings: a clock jumped during the launch (a suspended or migrated machine). A note if no offset was measured. Cannot tell: a
network asymmetry shared by all readings; the bound covers it.
"""

from __future__ import annotations

from fireassay.frames.clock_offsets import HostClock, clock_offsets
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.stats.groups.clocks import LEAST_PINGS
from fireassay.verdict.audits.support.audit import Audit
from fireassay.verdict.types import Finding, Severity


def examine(measured: RecordData, _: Results) -> tuple[Finding, ...]:
    """One finding per configuration and host: its first launch with an unknown clock."""
    names = dict(measured.table("launches").select("launch", "configuration").iter_rows())
    first: dict[tuple[str, str], HostClock] = {}
    for clock in clock_offsets(measured).values():
        if not clock.known and clock.launch in names:
            first.setdefault((names[clock.launch], clock.host), clock)
    return tuple(_finding(name, clock) for (name, _host), clock in first.items())


def _finding(name: str, clock: HostClock) -> Finding:
    looked = clock.looks >= LEAST_PINGS
    severity: Severity = "warning" if looked else "note"
    evidence = f"times of {clock.host} cannot be compared with other hosts' in launch {clock.launch}: {clock.trouble}"
    remedy = (
        "check whether a host was suspended, moved or restarted during the launch"
        if looked
        else "make rank 0's port reachable from the other hosts (a helper thread contacts it at MASTER_ADDR), and let runs last a few seconds"
    )
    return Finding("clocks_disagree" if looked else "clocks_unknown", severity, name, evidence, remedy)


def blind(measured: RecordData, _: Results) -> str | None:
    """Blind with a single host."""
    hosts = {host for _, host in clock_offsets(measured)}
    return None if len(hosts) > 1 else "all workers ran on one host, which has one clock"


AUDIT = Audit(
    name="host_clocks",
    title="clocks of several hosts",
    question="Can times of different hosts be compared?",
    examine=examine,
    about=("training",),
    blind=blind,
)
