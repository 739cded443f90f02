"""Which nodes of a fleet are to be drained, and why?"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from fireassay.estimates.format import percent
from fireassay.frames.fleet import Fleet, fleet
from fireassay.frames.record_data import RecordData
from fireassay.metrics.metric import Results
from fireassay.spec.fleet import TESTS
from fireassay.verdict.audits.audit import Audits
from fireassay.verdict.types import Finding

AUDITS: Final = Audits(about=("fleet",))


@AUDITS.add("fleet", "Is any node slower than equal nodes ever are, or silent?", title="slow or silent nodes")
def examine_fleet(measured: RecordData, _: Results) -> Iterator[Finding]:
    """One finding per node to drain, whose remedy is the line for Slurm.

    A node is slow if it is slower than the slowest of a fleet of equal nodes would be, at the record's confidence over all nodes and tests,
    and by at least 1 %. It is silent if it never answered a test that another node answered.
    """
    found = fleet(measured)
    for node in found.drained:
        rule, reason = ("slow_node", slow_words(found, node)) if found.slow(node) else ("silent_node", silent_words(found, node))
        yield Finding(rule, "fail", None, f"{node}: {reason}", drain_line(node, reason))


def slow_words(found: Fleet, node: str) -> str:
    """ "disk write 41 % slower than the fleet, where ordinary nodes are at most 6 % slower"."""
    return "; ".join(
        f"{TESTS[test].title} {percent(result.slower, 2)} slower than the fleet, where ordinary nodes are at most {percent(result.ordinary, 2)} slower"
        for test, result in found.slow(node).items()
    )


def silent_words(found: Fleet, node: str) -> str:
    """Tests without an answer, by reason."""
    reasons: dict[str, list[str]] = {}
    for test, why in found.silent[node].items():
        reasons.setdefault(why, []).append(test)
    return "; ".join(f"no {', '.join(tests)} in any round: {why}" for why, tests in reasons.items())


def drain_line(node: str, reason: str) -> str:
    """The command that takes a node out of Slurm."""
    return f"scontrol update nodename={shlex.quote(node)} state=drain reason={shlex.quote(f'assay fleet: {reason}')}"
