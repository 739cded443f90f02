"""Which nodes of a fleet are to be drained, which links are to be repaired, and why?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import count
from fireassay.frames.fleet import fleet
from fireassay.frames.record_data import RecordData
from fireassay.kinds.fleet.drain import drain_line, link_name, link_words, reason_of, silent_words
from fireassay.metrics.metric import Results
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits(about=("fleet",))
MAX_LINKS: Final = 50  # told one by one


@AUDITS.add("fleet", "Is any node slower than equal nodes ever are, or silent?", title="slow or silent nodes")
def examine_fleet(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per node to drain, whose remedy is the line for Slurm.

    A node is slow if it is slower than the slowest of a fleet of equal nodes would be, at the record's confidence over all nodes and tests,
    and by at least 1 %. It is silent if it never answered a test that another node answered.
    """
    found = fleet(measured)
    for node in found.drained:
        rule, reason = reason_of(found, node)
        yield Finding(rule, "fail", None, f"{node}: {reason}", drain_line(node, reason))


@AUDITS.add("fleet_links", "Is any link slower than its nodes explain, or cut?", title="slow or silent links")
def examine_links(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per link to repair: slower than its two nodes and its class explain, as nodes are judged; or silent between two nodes
    that answer others.
    """
    found = fleet(measured)
    for link in found.bad_links[:MAX_LINKS]:
        slow = found.slow_link(link)
        rule, reason = ("slow_link", link_words(slow)) if slow else ("silent_link", silent_words(found.cut[link]))
        remedy = "Check cable, transceiver, switch port and its error counters: both nodes are ordinary with the others."
        yield Finding(rule, "fail", None, f"{link_name(found, link)}: {reason}", remedy)
    if left := found.bad_links[MAX_LINKS:]:
        words = f"{count(len(left), 'more links')}: --drain-list FILE.json has all"
        yield Finding("slow_link", "fail", None, words, "So many links have one cause: look at what they share.")
