"""Are nodes that a cluster took away, and launches on other nodes, said?"""

from __future__ import annotations

from fireassay.verdict.audits.every.allocations import blind, examine_lost, examine_nodes
from tests.handmade import Handmade
from tests.metrics.test_allocations import preempted


def test_the_loss_is_a_note_and_other_nodes_a_warning() -> None:
    measured = preempted().measured()
    [note] = examine_lost(measured, {})
    assert (note.severity, note.evidence) == (
        "note",
        "1 of 2 allocations ended early (PREEMPTED): 1 launch made again; 2 min 20 s in the queue",
    )
    [warning] = examine_nodes(measured, {})
    assert (warning.severity, warning.evidence) == ("warning", "later allocations had other nodes: n1, n2; then n1, n3")
    assert blind(measured, {}) is None


def test_without_an_engine_there_is_nothing_to_say() -> None:
    measured = Handmade(levels=(2,), blocks=1).measured()
    assert [*examine_lost(measured, {}), *examine_nodes(measured, {})] == []
    assert blind(measured, {}) == "no engine of a cluster lent nodes"
