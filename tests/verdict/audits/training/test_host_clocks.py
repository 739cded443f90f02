"""host_clocks: whether times of different hosts can be compared."""

from __future__ import annotations

import re

from fireassay.verdict.audits.training.host_clocks import AUDIT
from tests.handmade import Handmade
from tests.metrics.clocks_made import clock, collect, look, two_hosts


def record(*, looks: int = 120, there_s: float = 1.0, calls_s: float | None = None) -> Handmade:
    made = Handmade(levels=(4,), blocks=1)
    number = made.launch(workers=4)
    two_hosts(made, number)
    look(made, number, clock(there_s, 0.0), count=looks)
    if calls_s is not None:
        collect(made, number, clock(calls_s, 0.0))
    return made


def test_clocks_that_are_known_are_clear_however_far_apart() -> None:
    assert tuple(AUDIT.examine(record(there_s=5.0, calls_s=5.0).measured(), {})) == ()
    assert AUDIT.blind is not None
    assert AUDIT.blind(record().measured(), {}) is None


def test_clocks_that_nobody_looked_at_are_noted() -> None:
    (finding,) = AUDIT.examine(record(looks=0).measured(), {})
    assert (finding.rule, finding.severity, finding.configuration) == ("clocks_unknown", "note", "workers=4")
    assert finding.evidence.startswith("times of b cannot be compared")


def test_looks_and_collectives_that_disagree_are_a_warning() -> None:
    (finding,) = AUDIT.examine(record(there_s=1.0, calls_s=1.2).measured(), {})
    assert (finding.rule, finding.severity) == ("clocks_disagree", "warning")
    assert re.search(r"disagree by (199\.9|200\.0)\d+ ms", finding.evidence)


def test_one_host_cannot_be_examined() -> None:
    made = Handmade(levels=(1,), blocks=1)
    made.event(made.launch(workers=1), "worker_start", 0.0, rank=0, incarnation=0)
    assert AUDIT.blind is not None
    assert "one host" in str(AUDIT.blind(made.measured(), {}))
